/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/elf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#if defined(__x86_64__)
#define MACHINE       EM_X86_64
#define TYPE_RELATIVE R_X86_64_RELATIVE
#else
#define MACHINE       EM_AARCH64
#define TYPE_RELATIVE R_AARCH64_RELATIVE
#endif

#define HEADERS_MAX     512
#define DYNAMIC_MAX     4096
#define SYMBOLS_MAX     65536
#define RELOCATIONS_MAX 1048576

bool hub_elf_copy(const struct hub_elf *image, uint64_t offset, void *to, size_t size)
{
    if (offset > image->size || size > image->size - offset)
        return false;
    if (!image->data)
        return pread(image->fd, to, size, (off_t)offset) == (ssize_t)size;
    memcpy(to, image->data + offset, size);
    return true;
}

/* ---- checks ---- */

static unsigned head_faults(const struct hub_elf *image)
{
    const Elf64_Ehdr *head = &image->head;

    return (head->e_ident[EI_CLASS] != ELFCLASS64 ? HUB_ELF_CLASS : 0u) |
           (head->e_ident[EI_DATA] != ELFDATA2LSB ? HUB_ELF_ORDER : 0u) |
           (head->e_type != ET_DYN ? HUB_ELF_TYPE : 0u) |
           (head->e_machine != MACHINE ? HUB_ELF_MACHINE : 0u);
}

/* The loader maps what the headers name: a file that is shorter would end it with SIGBUS. */
static unsigned segment_faults(const struct hub_elf *image)
{
    Elf64_Phdr segment;
    uint64_t end;

    if (image->head.e_phentsize != sizeof segment || image->head.e_phnum > HEADERS_MAX)
        return HUB_ELF_MALFORMED;
    for (unsigned i = 0; i < image->head.e_phnum; i++) {
        if (!hub_elf_segment(image, i, &segment))
            return HUB_ELF_CUT;
        if (segment.p_type == PT_LOAD &&
            (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end) || end > image->size))
            return HUB_ELF_CUT;
    }
    return 0;
}

unsigned hub_elf_faults(const struct hub_elf *image)
{
    unsigned faults = image->size == 0 ? HUB_ELF_EMPTY : 0u;
    unsigned char magic[SELFMAG];

    if (!hub_elf_copy(image, 0, magic, sizeof magic) || memcmp(magic, ELFMAG, SELFMAG) != 0)
        faults |= HUB_ELF_NO_MAGIC;
    if (image->size < sizeof image->head)
        faults |= HUB_ELF_SHORT;
    return faults | head_faults(image) | segment_faults(image);
}

/* ---- files ---- */

static int read_whole(int fd, const char *path, struct hub_elf *out)
{
    for (uint64_t done = 0; done < out->size;) {
        ssize_t n = read(fd, out->data + done, out->size - done);

        if (n < 0)
            return rapahub_fail(-errno, "", "cannot read '%s'", path);
        if (n == 0)
            return rapahub_fail(RAPAHUB_ELOAD, "", "'%s' became shorter while it was read", path);
        done += (uint64_t)n;
    }
    return 0;
}

static int read_file(const char *path, struct hub_elf *out)
{
    OWN(hub_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return rapahub_fail(-errno, "", "cannot open '%s'", path);
    if (!S_ISREG(status.st_mode))
        return rapahub_fail(RAPAHUB_ELOAD, "", "'%s' is no file", path);
    if ((uint64_t)status.st_size > HUB_ELF_SIZE_MAX)
        return rapahub_fail(RAPAHUB_ELOAD, "", "'%s' is larger than 256 MiB", path);
    out->size = (uint64_t)status.st_size;
    out->data = malloc(out->size + 1);
    if (!out->data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for '%s'", path);
    return read_whole(fd, path, out);
}

/* A file whose segments are cut is no fault here: it is looked at, not loaded. */
static int check_head(const char *path, struct hub_elf *image)
{
    unsigned faults;

    (void)hub_elf_copy(image, 0, &image->head, sizeof image->head);
    faults = hub_elf_faults(image);
    if (faults & (HUB_ELF_NO_MAGIC | HUB_ELF_SHORT))
        return rapahub_fail(RAPAHUB_ELOAD, "", "'%s' is no shared object", path);
    if (faults & (HUB_ELF_CLASS | HUB_ELF_ORDER | HUB_ELF_MACHINE))
        return rapahub_fail(RAPAHUB_ELOAD, "", "'%s' is for another machine (%u)", path,
                            (unsigned)image->head.e_machine);
    if (faults & HUB_ELF_TYPE)
        return rapahub_fail(RAPAHUB_ELOAD, "", "'%s' is no shared object, but of ELF type %u", path,
                            (unsigned)image->head.e_type);
    return 0;
}

static void find_strings(struct hub_elf *image)
{
    uint64_t address;

    if (hub_elf_dynamic(image, DT_STRTAB, 0, &address) &&
        hub_elf_dynamic(image, DT_STRSZ, 0, &image->strings_size) &&
        hub_elf_offset(image, address, &image->strings))
        return;
    image->strings = image->size;
    image->strings_size = 0;
}

int hub_elf_open(const char *path, struct hub_elf *out)
{
    int r;

    *out = (struct hub_elf){0};
    r = read_file(path, out);
    if (r == 0)
        r = check_head(path, out);
    if (r < 0) {
        hub_elf_fini(out);
        return r;
    }
    find_strings(out);
    return 0;
}

void hub_elf_of_fd(int fd, struct hub_elf *out)
{
    struct stat status;

    *out = (struct hub_elf){.fd = fd};
    if (fstat(fd, &status) == 0 && status.st_size > 0)
        out->size = (uint64_t)status.st_size;
    if (!hub_elf_copy(out, 0, &out->head, sizeof out->head))
        out->head = (Elf64_Ehdr){0};
}

void hub_elf_fini(struct hub_elf *image)
{
    free(image->data);
    image->data = NULL;
}

bool hub_elf_segment(const struct hub_elf *image, unsigned index, Elf64_Phdr *out)
{
    return index < image->head.e_phnum && index < HEADERS_MAX &&
           image->head.e_phentsize == sizeof *out &&
           hub_elf_copy(image, image->head.e_phoff + index * sizeof *out, out, sizeof *out);
}

bool hub_elf_section(const struct hub_elf *image, unsigned index, Elf64_Shdr *out)
{
    return index < image->head.e_shnum && index < HEADERS_MAX &&
           image->head.e_shentsize == sizeof *out &&
           hub_elf_copy(image, image->head.e_shoff + index * sizeof *out, out, sizeof *out);
}

static bool find_segment(const struct hub_elf *image, uint32_t type, Elf64_Phdr *out)
{
    for (unsigned i = 0; hub_elf_segment(image, i, out); i++) {
        if (out->p_type == type)
            return true;
    }
    return false;
}

bool hub_elf_dynamic(const struct hub_elf *image, int64_t tag, unsigned index, uint64_t *out)
{
    Elf64_Phdr segment;
    Elf64_Dyn entry;

    if (!find_segment(image, PT_DYNAMIC, &segment))
        return false;
    for (unsigned i = 0; i < DYNAMIC_MAX && i < segment.p_filesz / sizeof entry; i++) {
        if (!hub_elf_copy(image, segment.p_offset + i * sizeof entry, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            return false;
        if (entry.d_tag == tag && index-- == 0) {
            *out = entry.d_un.d_val;
            return true;
        }
    }
    return false;
}

bool hub_elf_offset(const struct hub_elf *image, uint64_t address, uint64_t *out)
{
    Elf64_Phdr segment;

    for (unsigned i = 0; hub_elf_segment(image, i, &segment); i++) {
        uint64_t into = address - segment.p_vaddr;

        if (segment.p_type != PT_LOAD || address < segment.p_vaddr || into >= segment.p_filesz)
            continue;
        *out = segment.p_offset + into;
        return true;
    }
    return false;
}

void hub_elf_text(const struct hub_elf *image, uint64_t offset, char *to, size_t size)
{
    size_t i = 0;

    for (; i + 1 < size && hub_elf_copy(image, offset + i, &to[i], 1) && to[i]; i++) {
        if (to[i] < 0x20 || to[i] >= 0x7f)
            to[i] = '?';
    }
    to[i] = '\0';
}

/* Another entry of a table may be looked at. */
static bool step(struct hub_elf *image)
{
    return image->steps < HUB_ELF_STEPS_MAX && ++image->steps;
}

static bool find_relocation(struct hub_elf *image, uint64_t address, Elf64_Rela *out)
{
    uint64_t table, size, offset;

    if (!hub_elf_dynamic(image, DT_RELA, 0, &table) ||
        !hub_elf_dynamic(image, DT_RELASZ, 0, &size) || !hub_elf_offset(image, table, &offset))
        return false;
    for (uint64_t i = 0; i < size / sizeof *out && i < RELOCATIONS_MAX && step(image); i++) {
        if (!hub_elf_copy(image, offset + i * sizeof *out, out, sizeof *out))
            return false;
        if (out->r_offset == address)
            return true;
    }
    return false;
}

static bool symbol_of(const struct hub_elf *image, const Elf64_Rela *entry, Elf64_Sym *out)
{
    uint64_t table, offset;

    return hub_elf_dynamic(image, DT_SYMTAB, 0, &table) && hub_elf_offset(image, table, &offset) &&
           hub_elf_copy(image, offset + ELF64_R_SYM(entry->r_info) * sizeof *out, out, sizeof *out);
}

uint64_t hub_elf_pointer(struct hub_elf *image, uint64_t address)
{
    uint64_t offset, value = 0;
    Elf64_Rela entry;
    Elf64_Sym symbol;

    if (find_relocation(image, address, &entry)) {
        if (ELF64_R_TYPE(entry.r_info) == TYPE_RELATIVE)
            return (uint64_t)entry.r_addend;
        return symbol_of(image, &entry, &symbol) && symbol.st_shndx != SHN_UNDEF
                   ? symbol.st_value + (uint64_t)entry.r_addend
                   : UINT64_MAX;
    }
    /* Packed relocations (DT_RELR) keep the address in place. */
    if (hub_elf_offset(image, address, &offset))
        hub_elf_copy(image, offset, &value, sizeof value);
    return image->steps < HUB_ELF_STEPS_MAX ? value : UINT64_MAX;
}

bool hub_elf_import(struct hub_elf *image, uint64_t address, char to[HUB_ELF_NAME])
{
    Elf64_Rela entry;
    Elf64_Sym symbol;

    if (!find_relocation(image, address, &entry) || ELF64_R_TYPE(entry.r_info) == TYPE_RELATIVE ||
        entry.r_addend != 0 || !symbol_of(image, &entry, &symbol) || symbol.st_shndx != SHN_UNDEF ||
        symbol.st_name >= image->strings_size)
        return false;
    hub_elf_text(image, image->strings + symbol.st_name, to, HUB_ELF_NAME);
    return true;
}

static bool symbol_in(struct hub_elf *image, const Elf64_Shdr *table, const char *name,
                      uint64_t *out)
{
    Elf64_Sym symbol;
    char word[HUB_ELF_NAME];

    for (uint64_t i = 0; i < table->sh_size / sizeof symbol && i < SYMBOLS_MAX && step(image);
         i++) {
        if (!hub_elf_copy(image, table->sh_offset + i * sizeof symbol, &symbol, sizeof symbol))
            return false;
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= image->strings_size)
            continue;
        hub_elf_text(image, image->strings + symbol.st_name, word, sizeof word);
        if (strcmp(word, name) == 0) {
            *out = symbol.st_value;
            return true;
        }
    }
    return false;
}

bool hub_elf_symbol(struct hub_elf *image, const char *name, uint64_t *out)
{
    Elf64_Shdr section;

    for (unsigned i = 0; hub_elf_section(image, i, &section); i++) {
        if (section.sh_type == SHT_DYNSYM)
            return symbol_in(image, &section, name, out);
    }
    return false;
}
