/* SPDX-License-Identifier: Apache-2.0 */
/* image: a shared object in memory, looked at through bounds: no offset in it is trusted. */
#ifndef CLI_IMAGE_H
#define CLI_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_IMAGE_SIZE_MAX ((uint64_t)256 << 20)

struct cli_image {
    uint8_t *data;
    uint64_t size;
    Elf64_Ehdr head;
    uint64_t strings, strings_size; /* of the dynamic section, as offsets in the file */
};

/* Reads a file and checks that it is a shared object for this machine. RAPAHUB_ELOAD, -errno. */
int cli_image_open(const char *path, struct cli_image *out);
void cli_image_fini(struct cli_image *image);

/* Copies `size` bytes from an offset; false where they are not there. */
bool cli_image_copy(const struct cli_image *image, uint64_t offset, void *to, size_t size);

/* The index-th program header, or section header; false behind the last. */
bool cli_image_segment(const struct cli_image *image, unsigned index, Elf64_Phdr *out);
bool cli_image_section(const struct cli_image *image, unsigned index, Elf64_Shdr *out);

/* The value of the index-th dynamic entry with this tag; false where there are not so many. */
bool cli_image_dynamic(const struct cli_image *image, int64_t tag, unsigned index, uint64_t *out);

/* Where an address of the loaded object lies in the file; false where nowhere. */
bool cli_image_offset(const struct cli_image *image, uint64_t address, uint64_t *out);

/* The text at an offset, cut at `size`, what is not printable made '?'. */
void cli_image_text(const struct cli_image *image, uint64_t offset, char *to, size_t size);

/* The pointer a loaded object will have at an address, as an address; 0 for NULL; UINT64_MAX for
 * one into another library. */
uint64_t cli_image_pointer(const struct cli_image *image, uint64_t address);

/* The address of an exported symbol; false where it is not defined. */
bool cli_image_symbol(const struct cli_image *image, const char *name, uint64_t *out);

#endif
