/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/elf_facts.h"

#include <stdio.h>
#include <string.h>

#define NOTES_MAX    64 /* notes of a file that are looked at */
#define BUILD_ID_MAX 32 /* bytes */

static void read_string(const struct hub_elf *image, uint64_t index, char to[HUB_ELF_NAME])
{
    to[0] = '\0';
    if (index < image->strings_size)
        hub_elf_text(image, image->strings + index, to, HUB_ELF_NAME);
}

static void read_needs(const struct hub_elf *image, struct hub_elf_facts *out)
{
    uint64_t index;

    while (out->need_count < HUB_ELF_FACTS_NEEDS &&
           hub_elf_dynamic(image, DT_NEEDED, out->need_count, &index))
        read_string(image, index, out->needs[out->need_count++].library);
}

static struct hub_elf_need *find_need(struct hub_elf_facts *facts, const char *library)
{
    for (unsigned i = 0; i < facts->need_count; i++) {
        if (strcmp(facts->needs[i].library, library) == 0)
            return &facts->needs[i];
    }
    return NULL;
}

/* The versions wanted of one library. */
static void read_library(const struct hub_elf *image, uint64_t at, const Elf64_Verneed *head,
                         struct hub_elf_facts *out)
{
    char library[HUB_ELF_NAME];
    struct hub_elf_need *need;
    Elf64_Vernaux version;

    read_string(image, head->vn_file, library);
    need = find_need(out, library);
    at += head->vn_aux;
    for (unsigned i = 0; need && i < head->vn_cnt && need->version_count < HUB_ELF_FACTS_VERSIONS;
         i++) {
        if (!hub_elf_copy(image, at, &version, sizeof version))
            return;
        read_string(image, version.vna_name, need->versions[need->version_count++]);
        at += version.vna_next;
        if (version.vna_next == 0)
            return;
    }
}

static void read_versions(const struct hub_elf *image, struct hub_elf_facts *out)
{
    uint64_t address, count, at;
    Elf64_Verneed head;

    if (!hub_elf_dynamic(image, DT_VERNEED, 0, &address) ||
        !hub_elf_dynamic(image, DT_VERNEEDNUM, 0, &count) || !hub_elf_offset(image, address, &at))
        return;
    for (uint64_t i = 0; i < count && i < HUB_ELF_FACTS_NEEDS; i++) {
        if (!hub_elf_copy(image, at, &head, sizeof head))
            return;
        read_library(image, at, &head, out);
        if (head.vn_next == 0)
            return;
        at += head.vn_next;
    }
}

static void read_flags(const struct hub_elf *image, struct hub_elf_facts *out)
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

/* ---- the build id ---- */

static uint64_t padded(uint32_t size)
{
    return ((uint64_t)size + 3) & ~UINT64_C(3);
}

/* A note at `at`, of which `left` bytes belong to its segment. */
struct note {
    uint64_t at, left;
    Elf64_Nhdr head;
};

static bool read_note(const struct hub_elf *image, struct note *note)
{
    if (note->left < sizeof note->head ||
        !hub_elf_copy(image, note->at, &note->head, sizeof note->head))
        return false;
    note->at += sizeof note->head;
    note->left -= sizeof note->head;
    return padded(note->head.n_namesz) <= note->left &&
           note->head.n_descsz <= note->left - padded(note->head.n_namesz);
}

static bool print_build_id(const struct hub_elf *image, const struct note *note, char *to)
{
    uint8_t bytes[BUILD_ID_MAX];
    char name[4];

    if (note->head.n_type != NT_GNU_BUILD_ID || note->head.n_namesz != sizeof name ||
        note->head.n_descsz > sizeof bytes || !hub_elf_copy(image, note->at, name, sizeof name) ||
        memcmp(name, "GNU", sizeof name) != 0 ||
        !hub_elf_copy(image, note->at + sizeof name, bytes, note->head.n_descsz))
        return false;
    for (unsigned i = 0; i < note->head.n_descsz; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* `budget`: notes that may still be looked at. */
static bool find_build_id(const struct hub_elf *image, const Elf64_Phdr *segment, unsigned *budget,
                          char *to)
{
    struct note note = {.at = segment->p_offset, .left = segment->p_filesz};

    while (*budget > 0 && read_note(image, &note)) {
        uint64_t size = padded(note.head.n_namesz) + padded(note.head.n_descsz);

        --*budget;
        if (print_build_id(image, &note, to))
            return true;
        if (size > note.left)
            return false;
        note.at += size;
        note.left -= size;
    }
    return false;
}

void hub_elf_facts_build_id(const struct hub_elf *image, char to[HUB_ELF_FACTS_BUILD_ID])
{
    unsigned budget = NOTES_MAX;
    Elf64_Phdr segment;

    to[0] = '\0';
    if (hub_elf_faults(image) & (HUB_ELF_NO_MAGIC | HUB_ELF_CLASS))
        return;
    for (unsigned i = 0; hub_elf_segment(image, i, &segment); i++)
        if (segment.p_type == PT_NOTE && find_build_id(image, &segment, &budget, to))
            return;
}

void hub_elf_facts_read(const struct hub_elf *image, struct hub_elf_facts *out)
{
    *out = (struct hub_elf_facts){.need_count = 0};
    read_needs(image, out);
    read_versions(image, out);
    read_flags(image, out);
    hub_elf_facts_build_id(image, out->build_id);
}

void hub_elf_facts_glibc(const struct hub_elf_facts *facts, char to[HUB_ELF_NAME])
{
    static const char prefix[] = "GLIBC_";
    const char *highest = "";

    for (unsigned i = 0; i < facts->need_count; i++) {
        for (unsigned j = 0; j < facts->needs[i].version_count; j++) {
            const char *version = facts->needs[i].versions[j];

            if (strncmp(version, prefix, strlen(prefix)) == 0 &&
                strverscmp(version + strlen(prefix), highest) > 0)
                highest = version + strlen(prefix);
        }
    }
    snprintf(to, HUB_ELF_NAME, "%s", highest);
}
