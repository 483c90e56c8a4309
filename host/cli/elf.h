/* SPDX-License-Identifier: Apache-2.0 */
/* elf: what a shared object says of itself, read from its bytes: nothing of it is run. */
#ifndef CLI_ELF_H
#define CLI_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/base/elf_facts.h"

struct cli_elf {
    uint64_t size_bytes;
    char sha256[65]; /* "" where the kernel does not compute it for us */
    struct hub_elf_facts facts;

    bool is_chimod; /* it has the symbol `rapahub_chimod`; what follows is read from there */
    uint32_t abi, state_version, callbacks; /* callbacks: bit n: the n-th is there */
    uint64_t state_bytes;
    char name[HUB_ELF_NAME], version[HUB_ELF_NAME];
};

/* RAPAHUB_ELOAD where it is no shared object for this machine, -errno where it cannot be read. */
int cli_elf_read(const char *path, struct cli_elf *out);

/* The name of the n-th callback of struct rapahub_container_ops; NULL behind the last. */
const char *cli_elf_callback(unsigned index);

#endif
