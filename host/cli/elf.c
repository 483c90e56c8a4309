/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/sha256.h"
#include "hub/base/elf.h"

#define NOTES_MAX 64

/* Where the members of struct rapahub_chimod lie, abi 1. The header itself is for modules. */
enum {
    CHIMOD_ABI = 0,
    CHIMOD_NAME = 8,
    CHIMOD_VERSION = 16,
    CHIMOD_STATE_SIZE = 24,
    CHIMOD_STATE_VERSION = 32,
    CHIMOD_OPS = 40
};

static const char *const callback_names[] = {
    "init",    "restart", "recover",          "save",   "load", "plugged",   "work_remaining",
    "migrate", "expand",  "schedule_recover", "health", "fini", "child_down"};

const char *cli_elf_callback(unsigned index)
{
    return index < sizeof callback_names / sizeof *callback_names ? callback_names[index] : NULL;
}

static void read_string(const struct hub_elf *image, uint64_t index, char to[CLI_ELF_WORD])
{
    to[0] = '\0';
    if (index < image->strings_size)
        hub_elf_text(image, image->strings + index, to, CLI_ELF_WORD);
}

static void read_needs(const struct hub_elf *image, struct cli_elf *out)
{
    uint64_t index;

    while (out->need_count < CLI_ELF_NEEDS &&
           hub_elf_dynamic(image, DT_NEEDED, out->need_count, &index))
        read_string(image, index, out->needs[out->need_count++].library);
}

static struct cli_elf_need *find_need(struct cli_elf *elf, const char *library)
{
    for (unsigned i = 0; i < elf->need_count; i++) {
        if (strcmp(elf->needs[i].library, library) == 0)
            return &elf->needs[i];
    }
    return NULL;
}

/* The versions wanted of one library. */
static void read_library(const struct hub_elf *image, uint64_t at, const Elf64_Verneed *head,
                         struct cli_elf *out)
{
    char library[CLI_ELF_WORD];
    struct cli_elf_need *need;
    Elf64_Vernaux version;

    read_string(image, head->vn_file, library);
    need = find_need(out, library);
    at += head->vn_aux;
    for (unsigned i = 0; need && i < head->vn_cnt && need->version_count < CLI_ELF_VERSIONS; i++) {
        if (!hub_elf_copy(image, at, &version, sizeof version))
            return;
        read_string(image, version.vna_name, need->versions[need->version_count++]);
        at += version.vna_next;
        if (version.vna_next == 0)
            return;
    }
}

static void read_versions(const struct hub_elf *image, struct cli_elf *out)
{
    uint64_t address, count, at;
    Elf64_Verneed head;

    if (!hub_elf_dynamic(image, DT_VERNEED, 0, &address) ||
        !hub_elf_dynamic(image, DT_VERNEEDNUM, 0, &count) || !hub_elf_offset(image, address, &at))
        return;
    for (uint64_t i = 0; i < count && i < CLI_ELF_NEEDS; i++) {
        if (!hub_elf_copy(image, at, &head, sizeof head))
            return;
        read_library(image, at, &head, out);
        if (head.vn_next == 0)
            return;
        at += head.vn_next;
    }
}

static void read_flags(const struct hub_elf *image, struct cli_elf *out)
{
    uint64_t value;
    Elf64_Phdr segment;

    if (hub_elf_dynamic(image, DT_INIT_ARRAYSZ, 0, &value))
        out->constructors = value / 8;
    /* The start-up file that brings DT_INIT also brings one entry of its own. */
    if (out->constructors > 0 && hub_elf_dynamic(image, DT_INIT, 0, &value))
        out->constructors--;
    out->text_relocations = hub_elf_dynamic(image, DT_TEXTREL, 0, &value) ||
                            (hub_elf_dynamic(image, DT_FLAGS, 0, &value) && value & DF_TEXTREL);
    out->executable_stack = true;
    for (unsigned i = 0; hub_elf_segment(image, i, &segment); i++) {
        if (segment.p_type == PT_GNU_STACK)
            out->executable_stack = segment.p_flags & PF_X;
    }
}

static bool read_note(const struct hub_elf *image, uint64_t at, const Elf64_Nhdr *head,
                      struct cli_elf *out)
{
    uint8_t bytes[32];
    char name[4];

    if (head->n_type != NT_GNU_BUILD_ID || head->n_namesz != 4 || head->n_descsz > sizeof bytes ||
        !hub_elf_copy(image, at + sizeof *head, name, sizeof name) || memcmp(name, "GNU", 4) != 0 ||
        !hub_elf_copy(image, at + sizeof *head + 4, bytes, head->n_descsz))
        return false;
    for (unsigned i = 0; i < head->n_descsz; i++)
        snprintf(out->build_id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static void read_notes(const struct hub_elf *image, const Elf64_Phdr *segment, struct cli_elf *out)
{
    uint64_t at = segment->p_offset;
    Elf64_Nhdr head;

    for (unsigned i = 0; i < NOTES_MAX && at - segment->p_offset < segment->p_filesz; i++) {
        if (!hub_elf_copy(image, at, &head, sizeof head) || read_note(image, at, &head, out))
            return;
        at += sizeof head + ((head.n_namesz + UINT64_C(3)) & ~UINT64_C(3)) +
              ((head.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
    }
}

static void read_build_id(const struct hub_elf *image, struct cli_elf *out)
{
    Elf64_Phdr segment;

    for (unsigned i = 0; !out->build_id[0] && hub_elf_segment(image, i, &segment); i++) {
        if (segment.p_type == PT_NOTE)
            read_notes(image, &segment, out);
    }
}

static void read_pointed_text(struct hub_elf *image, uint64_t address, char *to)
{
    uint64_t offset;

    to[0] = '\0';
    if (hub_elf_offset(image, hub_elf_pointer(image, address), &offset))
        hub_elf_text(image, offset, to, CLI_ELF_WORD);
}

/* The chimod's description, as it lies in the file. */
static void read_chimod(struct hub_elf *image, struct cli_elf *out)
{
    uint64_t address, offset, ops;
    uint32_t sizes[2] = {0}; /* abi, ops_size */

    out->is_chimod = hub_elf_symbol(image, "rapahub_chimod", &address);
    if (!out->is_chimod || !hub_elf_offset(image, address, &offset))
        return;
    hub_elf_copy(image, offset + CHIMOD_ABI, sizes, sizeof sizes);
    hub_elf_copy(image, offset + CHIMOD_STATE_SIZE, &out->state_bytes, sizeof out->state_bytes);
    hub_elf_copy(image, offset + CHIMOD_STATE_VERSION, &out->state_version,
                 sizeof out->state_version);
    out->abi = sizes[0];
    read_pointed_text(image, address + CHIMOD_NAME, out->name);
    read_pointed_text(image, address + CHIMOD_VERSION, out->version);
    ops = hub_elf_pointer(image, address + CHIMOD_OPS);
    for (unsigned i = 0; ops && cli_elf_callback(i) && i < sizes[1] / 8; i++) {
        if (hub_elf_pointer(image, ops + UINT64_C(8) * i) != 0)
            out->callbacks |= UINT32_C(1) << i;
    }
}

int cli_elf_read(const char *path, struct cli_elf *out)
{
    struct hub_elf image;
    int r = hub_elf_open(path, &image);

    if (r < 0)
        return r;
    *out = (struct cli_elf){.size_bytes = image.size};
    if (!cli_sha256(image.data, image.size, out->sha256))
        out->sha256[0] = '\0';
    read_needs(&image, out);
    read_versions(&image, out);
    read_flags(&image, out);
    read_build_id(&image, out);
    read_chimod(&image, out);
    hub_elf_fini(&image);
    return 0;
}

void cli_elf_glibc(const struct cli_elf *elf, char to[CLI_ELF_WORD])
{
    static const char prefix[] = "GLIBC_";
    const char *highest = "";

    for (unsigned i = 0; i < elf->need_count; i++) {
        for (unsigned j = 0; j < elf->needs[i].version_count; j++) {
            const char *version = elf->needs[i].versions[j];

            if (strncmp(version, prefix, strlen(prefix)) == 0 &&
                strverscmp(version + strlen(prefix), highest) > 0)
                highest = version + strlen(prefix);
        }
    }
    snprintf(to, CLI_ELF_WORD, "%s", highest);
}
