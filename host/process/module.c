/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/elf.h"
#include "hub/base/own.h"
#include "hub/base/rlimit.h"

#define PIECE ((size_t)64 << 10)

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
        {EM_X86_64, "a shared object for x86-64, not for " HUB_ELF_MACHINE_NAME},
        {EM_AARCH64, "a shared object for arm64, not for " HUB_ELF_MACHINE_NAME},
        {EM_386, "a shared object for i386, not for " HUB_ELF_MACHINE_NAME},
        {EM_ARM, "a shared object for 32-bit arm, not for " HUB_ELF_MACHINE_NAME},
        {EM_RISCV, "a shared object for risc-v, not for " HUB_ELF_MACHINE_NAME},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == machine)
            return known[i].name;
    return "a shared object for another machine than " HUB_ELF_MACHINE_NAME;
}

/* Only what tells a person more than the loader would: the rest is for dlopen in the guest. */
static int check_elf(int fd, const char *path)
{
    static const struct {
        unsigned fault;
        const char *what;
    } refusals[] = {
        {HUB_ELF_EMPTY, "empty"},
        {HUB_ELF_NO_MAGIC, "no ELF file"},
        {HUB_ELF_SHORT, "a truncated ELF file"},
        {HUB_ELF_CLASS, "a 32-bit ELF file; a chimod has 64"},
        {HUB_ELF_ORDER, "a big-endian ELF file"},
        {HUB_ELF_TYPE, "no shared object: link it with -shared"},
        {HUB_ELF_MACHINE, NULL},
        {HUB_ELF_MALFORMED, "a malformed ELF file"},
        {HUB_ELF_CUT, "a truncated ELF file"},
    };
    struct hub_elf image;
    unsigned faults;

    hub_elf_of_fd(fd, &image);
    faults = hub_elf_faults(&image);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (faults & refusals[i].fault)
            return refuse(path,
                          refusals[i].what ? refusals[i].what : machine_name(image.head.e_machine));
    return 0;
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

    while ((n = pread(from, piece, sizeof piece, (off_t)size)) > 0) {
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

/* The kind of a file that holds a module: links were followed. */
static int check_kind(const struct stat *status, const char *path)
{
    if (S_ISREG(status->st_mode))
        return 0;
    return refuse(path, S_ISDIR(status->st_mode) ? "a folder, not a module" : "no regular file");
}

int host_module_open_file(const char *path, struct stat *status, int *out)
{
    OWN(hub_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r;

    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot open the module %s", path);
    if (fstat(fd, status) < 0)
        return rapahub_fail(-errno, "", "cannot look at the module %s", path);
    r = check_kind(status, path);
    if (r == 0)
        *out = TAKE(fd);
    return r;
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

/* A descriptor of a path only, or for writing only, cannot be read. */
static int check_descriptor(int fd, const char *name)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY || fstat(fd, &status) < 0)
        return rapahub_fail(RAPAHUB_EBADF, "", "descriptor %d of the module %s cannot be read", fd,
                            name);
    return check_kind(&status, name);
}

static bool is_sealed(int fd)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & wanted) == wanted;
}

/* The bytes are read here and never again, and not from the cache of files either: it goes by the
 * times of a file, and those of a memfd stay when it is written through a mapping.
 * r[impl hub.module.bytes] */
int host_module_take(int fd, const char *name, bool shared, int *out)
{
    int r = check_descriptor(fd, name);

    if (r < 0)
        return r;
    if (!shared || !is_sealed(fd))
        return host_module_copy(fd, name, out);
    r = check_elf(fd, name);
    if (r < 0)
        return r;
    *out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *out < 0 ? rapahub_fail(-errno, "", "no descriptor is left for the module %s", name) : 0;
}
