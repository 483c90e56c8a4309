/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Offsets of the members of struct rapahub_chimod, abi 1. The header itself is for modules. */
enum {
    CHIMOD_ABI = 0,
    CHIMOD_NAME = 8,
    CHIMOD_VERSION = 16,
    CHIMOD_STATE_SIZE = 24,
    CHIMOD_OPS = 40
};

static const char *const callback_names[] = {
    "init",         "restart", "recover",          "save",   "load", "plugged",    "work_remaining",
    "migrate",      "expand",  "schedule_recover", "health", "fini", "child_down", "save_changes",
    "load_changes", "route"};

const char *config_module_callback(unsigned index)
{
    return index < sizeof callback_names / sizeof *callback_names ? callback_names[index] : NULL;
}

static void read_pointed_text(struct hub_elf *image, uint64_t address, char *to)
{
    uint64_t offset;

    to[0] = '\0';
    if (hub_elf_offset(image, hub_elf_pointer(image, address), &offset))
        hub_elf_text(image, offset, to, HUB_ELF_NAME);
}

/* The chimod's description, as it lies in the file. */
static void read_chimod(struct hub_elf *image, struct config_module *out)
{
    uint64_t address, offset, ops;
    uint32_t sizes[2] = {0}; /* abi, ops_size */

    out->is_chimod = hub_elf_symbol(image, "rapahub_chimod", &address);
    if (!out->is_chimod || !hub_elf_offset(image, address, &offset))
        return;
    hub_elf_copy(image, offset + CHIMOD_ABI, sizes, sizeof sizes);
    hub_elf_copy(image, offset + CHIMOD_STATE_SIZE, &out->state_bytes, sizeof out->state_bytes);
    out->abi = sizes[0];
    read_pointed_text(image, address + CHIMOD_NAME, out->name);
    read_pointed_text(image, address + CHIMOD_VERSION, out->version);
    ops = hub_elf_pointer(image, address + CHIMOD_OPS);
    for (unsigned i = 0; ops && config_module_callback(i) && i < sizes[1] / 8; i++) {
        if (hub_elf_pointer(image, ops + UINT64_C(8) * i) != 0)
            out->callbacks |= UINT32_C(1) << i;
    }
}

void config_module_describe(struct hub_elf *image, struct config_module *out)
{
    *out = (struct config_module){.size_bytes = image->size};
    hub_elf_facts_read(image, &out->facts);
    read_chimod(image, out);
}

int config_module_read(const char *path, struct config_module *out)
{
    struct hub_elf image;
    int r = hub_elf_open(path, &image);

    if (r < 0)
        return r;
    config_module_describe(&image, out);
    hub_elf_fini(&image);
    return 0;
}

int config_module_is_chimod(const char *path)
{
    uint64_t address;
    struct hub_elf image;
    int r = hub_elf_open(path, &image);

    if (r < 0)
        return r;
    r = hub_elf_symbol(&image, "rapahub_chimod", &address);
    hub_elf_fini(&image);
    return r;
}

/* libnumbers.so.1 is called numbers. */
static void name_of_file(const char *path, char *to, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    if (strncmp(name, "lib", 3) == 0 && name[3] != '.' && name[3] != '\0')
        name += 3;
    snprintf(to, size, "%.*s", (int)strcspn(name, "."), name);
}

void config_module_name(const char *path, char *to, size_t size)
{
    struct config_module *elf = malloc(sizeof *elf);

    if (elf && config_module_read(path, elf) == 0 && elf->name[0])
        snprintf(to, size, "%s", elf->name);
    else
        name_of_file(path, to, size);
    free(elf);
}
