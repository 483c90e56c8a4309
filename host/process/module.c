/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/module.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/base/rlimit.h"

#define PIECE        ((size_t)64 << 10)
#define SEGMENTS_MAX 512

#if defined(__x86_64__)
#define MACHINE      EM_X86_64
#define MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define MACHINE      EM_AARCH64
#define MACHINE_NAME "arm64"
#endif

static int refuse(const char *path, const char *what)
{
    return rapahub_fail(RAPAHUB_ELOAD, "", "%s is %s", path, what);
}

static const char *machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } known[] = {
        {EM_X86_64, "a shared object for x86-64, not for " MACHINE_NAME},
        {EM_AARCH64, "a shared object for arm64, not for " MACHINE_NAME},
        {EM_386, "a shared object for i386, not for " MACHINE_NAME},
        {EM_ARM, "a shared object for 32-bit arm, not for " MACHINE_NAME},
        {EM_RISCV, "a shared object for risc-v, not for " MACHINE_NAME},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == machine)
            return known[i].name;
    return "a shared object for another machine than " MACHINE_NAME;
}

/* Is this segment, read from `at`, within the file? */
static bool is_whole(int fd, uint64_t at, uint64_t size)
{
    Elf64_Phdr segment;
    uint64_t end;

    if (at > INT64_MAX || pread(fd, &segment, sizeof segment, (off_t)at) != sizeof segment)
        return false;
    return segment.p_type != PT_LOAD ||
           (!__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end) && end <= size);
}

/* A file that is shorter than its segments would end the loader with SIGBUS. */
static int check_segments(int fd, const char *path, const Elf64_Ehdr *head)
{
    struct stat file;

    if (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phnum > SEGMENTS_MAX ||
        fstat(fd, &file) < 0)
        return refuse(path, "a malformed ELF file");
    for (uint64_t i = 0; i < head->e_phnum; i++) {
        uint64_t at;

        if (__builtin_add_overflow(head->e_phoff, i * sizeof(Elf64_Phdr), &at) ||
            !is_whole(fd, at, (uint64_t)file.st_size))
            return refuse(path, "a truncated ELF file");
    }
    return 0;
}

/* Only what tells a person more than the loader would: the rest is for dlopen in the guest. */
static int check_elf(int fd, const char *path)
{
    Elf64_Ehdr head;
    ssize_t n = pread(fd, &head, sizeof head, 0);

    if (n < SELFMAG || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return refuse(path, n == 0 ? "empty" : "no ELF file");
    if ((size_t)n < sizeof head)
        return refuse(path, "a truncated ELF file");
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return refuse(path, "a 32-bit ELF file; a chimod has 64");
    if (head.e_ident[EI_DATA] != ELFDATA2LSB)
        return refuse(path, "a big-endian ELF file");
    if (head.e_type != ET_DYN)
        return refuse(path, "no shared object: link it with -shared");
    if (head.e_machine != MACHINE)
        return refuse(path, machine_name(head.e_machine));
    return check_segments(fd, path, &head);
}

/* `size` bytes of the file were read, which may grow meanwhile. */
static int check_room(int from, size_t size, const char *path)
{
    struct stat file = {0};
    uint64_t whole = fstat(from, &file) == 0 && file.st_size > 0 ? (uint64_t)file.st_size : 0;

    if (size > HOST_MODULE_SIZE_MAX)
        return rapahub_fail(RAPAHUB_ELOAD, "", "%s is larger than 256 MiB", path);
    if (hub_rlimit_check_file(whole > size ? whole : size, "") < 0)
        return rapahub_fail(RAPAHUB_EFBIG, "", "cannot copy the module %s to memory: %s", path,
                            rapahub_last_error()->text);
    return 0;
}

static int copy(int from, int to, const char *path)
{
    char piece[PIECE];
    size_t size = 0;
    ssize_t n;

    while ((n = read(from, piece, sizeof piece)) > 0) {
        int r = check_room(from, size += (size_t)n, path);

        if (r < 0)
            return r;
        for (ssize_t done = 0, w; done < n; done += w) {
            w = write(to, piece + done, (size_t)(n - done));
            if (w < 0)
                return rapahub_fail(-errno, "", "cannot copy the module %s to memory: %s", path,
                                    strerrordesc_np(errno));
        }
    }
    return n < 0 ? rapahub_fail(-errno, "", "cannot read %s", path) : 0;
}

int host_module_open_file(const char *path, struct stat *status, int *out)
{
    OWN(hub_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot open the module %s", path);
    if (fstat(fd, status) < 0)
        return rapahub_fail(-errno, "", "cannot look at the module %s", path);
    if (!S_ISREG(status->st_mode))
        return refuse(path,
                      S_ISDIR(status->st_mode) ? "a folder, not a module" : "no regular file");
    *out = TAKE(fd);
    return 0;
}

static int new_memory(void)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = -1;

#ifdef MFD_EXEC
    fd = memfd_create("rapahub-module", flags | MFD_EXEC);
#endif
    return fd >= 0 ? fd : memfd_create("rapahub-module", flags);
}

int host_module_copy(int file, const char *path, int *out)
{
    OWN(hub_fd) int memory = -1;
    int r = check_elf(file, path);

    if (r < 0)
        return r;
    memory = new_memory();
    if (memory < 0)
        return rapahub_fail(-errno, "", "cannot make memory for the module %s", path);
    r = copy(file, memory, path);
    if (r < 0)
        return r;
    /* The file may have changed since the first look: the copy counts. */
    r = check_elf(memory, path);
    if (r < 0)
        return r;
    if (fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return rapahub_fail(-errno, "", "cannot seal the module %s", path);
    *out = TAKE(memory);
    return 0;
}

int host_module_open(const char *path, int *out)
{
    OWN(hub_fd) int file = -1;
    struct stat status;
    int r = host_module_open_file(path, &status, &file);

    return r == 0 ? host_module_copy(file, path, out) : r;
}
