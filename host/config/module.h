/* SPDX-License-Identifier: Apache-2.0 */
/* module: reads the description that a shared object contains of itself from its bytes. No code of
 * it is run. */
#ifndef CONFIG_MODULE_H
#define CONFIG_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/base/elf_facts.h"

struct config_module {
    uint64_t size_bytes;
    struct hub_elf_facts facts;

    bool is_chimod; /* it has the symbol `rapahub_chimod`; the members below are read from there */
    uint32_t abi, callbacks; /* callbacks: bit n: the n-th is there */
    uint64_t state_bytes;
    char name[HUB_ELF_NAME], version[HUB_ELF_NAME];
};

/* Describes the image of a file. */
void config_module_describe(struct hub_elf *image, struct config_module *out);

/* Describes a file. RAPAHUB_ELOAD: it is no shared object for this machine; -errno: it cannot be
 * read. */
int config_module_read(const char *path, struct config_module *out);

/* Says whether a file is a chimod's, without its description; else as above. */
int config_module_is_chimod(const char *path);

/* Copies the name for a guest of this module: the chimod's own, else the file's without folder, lib
 * and .so. */
void config_module_name(const char *path, char *to, size_t size);

/* The name of the n-th callback of struct rapahub_container_ops; NULL after the last. */
const char *config_module_callback(unsigned index);

#endif
