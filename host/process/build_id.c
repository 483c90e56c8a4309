/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/build_id.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS_MAX 64
#define NOTES_SIZE   1024 /* of one segment; where more follow they are not looked at */
#define ID_MAX       32

static bool read_at(int fd, uint64_t offset, void *to, size_t size)
{
    return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static bool is_one(const Elf64_Ehdr *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_phentsize == sizeof(Elf64_Phdr);
}

static size_t padded(uint32_t size)
{
    return ((size_t)size + 3) & ~(size_t)3;
}

static void print(const uint8_t *bytes, size_t size, char *to)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
    to[2 * size] = '\0';
}

/* Whatever the file says of sizes, nothing outside of `notes` is looked at. */
static bool find(const uint8_t *notes, size_t size, char *to)
{
    Elf64_Nhdr head;

    while (size >= sizeof head) {
        size_t name, data;

        memcpy(&head, notes, sizeof head);
        notes += sizeof head;
        size -= sizeof head;
        name = padded(head.n_namesz);
        if (name > size || head.n_descsz > size - name)
            return false;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && head.n_descsz <= ID_MAX &&
            memcmp(notes, "GNU", 4) == 0) {
            print(notes + name, head.n_descsz, to);
            return true;
        }
        data = name + padded(head.n_descsz);
        if (data > size)
            return false;
        notes += data;
        size -= data;
    }
    return false;
}

void host_build_id_read(int fd, char to[HOST_BUILD_ID_SIZE])
{
    uint8_t notes[NOTES_SIZE];
    Elf64_Ehdr head;
    Elf64_Phdr segment;

    to[0] = '\0';
    if (!read_at(fd, 0, &head, sizeof head) || !is_one(&head))
        return;
    for (unsigned i = 0; i < head.e_phnum && i < SEGMENTS_MAX; i++) {
        size_t size;

        if (!read_at(fd, head.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return;
        size = segment.p_filesz < sizeof notes ? (size_t)segment.p_filesz : sizeof notes;
        if (segment.p_type == PT_NOTE && read_at(fd, segment.p_offset, notes, size) &&
            find(notes, size, to))
            return;
    }
}

const char *host_build_id_of(struct host_build_id *id, int fd)
{
    if (!id->known)
        host_build_id_read(fd, id->text);
    id->known = true;
    return id->text;
}
