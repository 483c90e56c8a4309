/* SPDX-License-Identifier: Apache-2.0 */
/* elf: the one reader of ELF files. Nothing of a file is run, no offset in it is trusted, and no
 * file is read for longer than HUB_ELF_STEPS_MAX allows. An image belongs to one thread. */
#ifndef HUB_BASE_ELF_H
#define HUB_BASE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The machine that this code was compiled for. */
#if defined(__x86_64__)
#define HUB_ELF_MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define HUB_ELF_MACHINE_NAME "arm64"
#endif

#define HUB_ELF_SIZE_MAX  ((uint64_t)256 << 20)
#define HUB_ELF_NAME      64       /* bytes of a symbol's name that are looked at */
#define HUB_ELF_STEPS_MAX 50000000 /* entries of tables; less than a second */

struct hub_elf {
    uint8_t *data; /* the whole file, allocated; NULL: it is read from `fd` piece by piece */
    int fd;        /* the caller's */
    uint64_t size;
    Elf64_Ehdr head;                /* zeros where the file is shorter */
    uint64_t strings, strings_size; /* the dynamic section's, as offsets in the file */
    uint64_t steps;                 /* entries looked at */
};

/* Reads a file into memory and checks that it is a shared object for this machine. RAPAHUB_ELOAD,
 * -errno. The image is to be released by hub_elf_fini. */
int hub_elf_open(const char *path, struct hub_elf *out);
void hub_elf_fini(struct hub_elf *image);

/* An image of an open file, which may be anything: only the header is read, and nothing is
 * allocated. It is valid as long as the descriptor, and nothing is to be released. */
void hub_elf_of_fd(int fd, struct hub_elf *out);

/* Why a file is no shared object that this machine can load. Callers choose their words, and which
 * of several reasons comes first. */
enum hub_elf_fault {
    HUB_ELF_EMPTY = 1,
    HUB_ELF_NO_MAGIC = 2,
    HUB_ELF_SHORT = 4, /* the header is not complete */
    HUB_ELF_CLASS = 8, /* not 64 bits */
    HUB_ELF_ORDER = 16,
    HUB_ELF_TYPE = 32, /* not ET_DYN */
    HUB_ELF_MACHINE = 64,
    HUB_ELF_MALFORMED = 128, /* program headers of another size, or too many */
    HUB_ELF_CUT = 256        /* program headers or segments beyond the end of the file */
};

/* All faults of an image; 0 for none. */
unsigned hub_elf_faults(const struct hub_elf *image);

/* Copies `size` bytes from an offset; false where they are not there. */
bool hub_elf_copy(const struct hub_elf *image, uint64_t offset, void *to, size_t size);

/* The index-th program header, or section header; false after the last. */
bool hub_elf_segment(const struct hub_elf *image, unsigned index, Elf64_Phdr *out);
bool hub_elf_section(const struct hub_elf *image, unsigned index, Elf64_Shdr *out);

/* The value of the index-th dynamic entry with this tag; false where there are not so many. */
bool hub_elf_dynamic(const struct hub_elf *image, int64_t tag, unsigned index, uint64_t *out);

/* Where an address of the loaded object lies in the file; false where nowhere. */
bool hub_elf_offset(const struct hub_elf *image, uint64_t address, uint64_t *out);

/* The text at an offset, cut at `size`, what is not printable made '?'. */
void hub_elf_text(const struct hub_elf *image, uint64_t offset, char *to, size_t size);

/* The pointer a loaded object will have at an address, as an address; 0 for NULL; UINT64_MAX for
 * one into another library, or where the steps are used up. */
uint64_t hub_elf_pointer(struct hub_elf *image, uint64_t address);

/* The symbol of another library that a loaded object will point to there; false where to none. */
bool hub_elf_import(struct hub_elf *image, uint64_t address, char to[HUB_ELF_NAME]);

/* The address of an exported symbol; false where it is not defined. */
bool hub_elf_symbol(struct hub_elf *image, const char *name, uint64_t *out);

#endif
