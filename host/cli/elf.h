/* SPDX-License-Identifier: Apache-2.0 */
/* elf: what a shared object says of itself, read from its bytes: nothing of it is run. */
#ifndef CLI_ELF_H
#define CLI_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_ELF_NEEDS    64
#define CLI_ELF_VERSIONS 16
#define CLI_ELF_WORD     64 /* bytes of a library's name, of a version */

struct cli_elf_need {
    char library[CLI_ELF_WORD];
    unsigned version_count;
    char versions[CLI_ELF_VERSIONS][CLI_ELF_WORD];
};

struct cli_elf {
    uint64_t size_bytes;
    char sha256[65]; /* "" where the kernel does not compute it for us */
    char build_id[65];
    unsigned need_count;
    struct cli_elf_need needs[CLI_ELF_NEEDS];
    uint64_t constructors; /* beside the one of the compiler's own start-up file */
    bool text_relocations, executable_stack;

    bool is_chimod; /* it has the symbol `rapahub_chimod`; what follows is read from there */
    uint32_t abi, state_version, callbacks; /* callbacks: bit n: the n-th is there */
    uint64_t state_bytes;
    char name[CLI_ELF_WORD], version[CLI_ELF_WORD];
};

/* RAPAHUB_ELOAD where it is no shared object for this machine, -errno where it cannot be read. */
int cli_elf_read(const char *path, struct cli_elf *out);

/* The highest of the versions "GLIBC_..." it needs, without the prefix; "" where it needs none. */
void cli_elf_glibc(const struct cli_elf *elf, char to[CLI_ELF_WORD]);

/* The name of the n-th callback of struct rapahub_container_ops; NULL behind the last. */
const char *cli_elf_callback(unsigned index);

#endif
