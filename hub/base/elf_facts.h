/* SPDX-License-Identifier: Apache-2.0 */
/* elf_facts: properties of a shared object: the libraries it needs, its build id, and flags that a
 * loader obeys. */
#ifndef HUB_BASE_ELF_FACTS_H
#define HUB_BASE_ELF_FACTS_H

#include "hub/base/elf.h"

#define HUB_ELF_FACTS_NEEDS    64
#define HUB_ELF_FACTS_VERSIONS 16
#define HUB_ELF_FACTS_BUILD_ID 65 /* bytes of its text: 32 bytes as hexadecimal digits, and a 0 */

struct hub_elf_need {
    char library[HUB_ELF_NAME];
    unsigned version_count;
    char versions[HUB_ELF_FACTS_VERSIONS][HUB_ELF_NAME];
};

struct hub_elf_facts {
    char build_id[HUB_ELF_FACTS_BUILD_ID]; /* "" where it has none */
    unsigned need_count;
    struct hub_elf_need needs[HUB_ELF_FACTS_NEEDS];
    uint64_t constructors; /* without the one of the compiler's own start-up file */
    bool text_relocations, executable_stack;
};

/* Reads all of them. Texts are printable; more needs or versions than there is room are left out.
 */
void hub_elf_facts_read(const struct hub_elf *image, struct hub_elf_facts *out);

/* Reads the build id alone. It works for any 64-bit ELF file, whatever its machine. */
void hub_elf_facts_build_id(const struct hub_elf *image, char to[HUB_ELF_FACTS_BUILD_ID]);

/* The highest version "GLIBC_..." that is needed, without the prefix; "" for none. */
void hub_elf_facts_glibc(const struct hub_elf_facts *facts, char to[HUB_ELF_NAME]);

#endif
