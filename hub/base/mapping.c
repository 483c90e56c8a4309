/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/mapping.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/lock.h"
#include "hub/base/own.h"
#include "hub/base/random.h"
#include "hub/base/rlimit.h"

#define FOLDER "/dev/shm"
#define TRIES  16

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

void hub_mapping_init(struct hub_mapping *mapping)
{
    *mapping = (struct hub_mapping){.fd = -1};
}

static int map_for(int fd, uint64_t offset, size_t size, int protection, struct hub_mapping *out)
{
    void *data = mmap(NULL, size, protection, MAP_SHARED, fd, (off_t)offset);

    if (data == MAP_FAILED)
        return rapahub_fail(-errno, "shm.file.mmap-posix", "cannot map %zu bytes of shared memory",
                            size);
    (void)madvise(data, size, MADV_DONTFORK);
    hub_mapping_init(out);
    out->data = data;
    out->size = size;
    out->whole = true;
    return 0;
}

static int map_part(int fd, uint64_t offset, size_t size, struct hub_mapping *out)
{
    return map_for(fd, offset, size, PROT_READ | PROT_WRITE, out);
}

static int map(int fd, size_t size, struct hub_mapping *out)
{
    return map_part(fd, 0, size, out);
}

/* Kernels before 6.3 do not know the seal against execution. */
static int make_memfd(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* Pages are allocated when they are touched. Allocating them now, as for a file, was measured at
 * 0.1 ms a MiB, 1.6 ms for 16 MiB, at every start of a guest. A memfd is not limited by the size of
 * a mounted file system, so space does not run out there. */
int hub_mapping_create_sealed(const char *name, size_t size, struct hub_mapping *out)
{
    OWN(hub_fd) int fd = make_memfd(name);
    int r = hub_rlimit_check_file(size, "shm.file.create");

    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot make a memfd for shared memory");
    if (r < 0)
        return r;
    if (ftruncate(fd, (off_t)size) < 0)
        return rapahub_fail(-errno, "", "cannot make %zu bytes of shared memory", size);
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return rapahub_fail(-errno, "hub.file.seal", "cannot seal a memfd");
    r = map(fd, size, out);
    if (r == 0)
        out->fd = TAKE(fd);
    return r;
}

/* Locks a new file. Returns 0, or -EAGAIN if a sweeper was faster and removes the file. */
static int lock_new(int fd)
{
    struct stat file;
    int r = hub_lock_try(fd, HUB_LOCK_HOST, 1);

    if (r < 0)
        return r;
    if (fstat(fd, &file) < 0)
        return -errno;
    return file.st_nlink > 0 ? 0 : -EAGAIN;
}

/* Makes and locks a new file of this name. Returns its descriptor, -EEXIST, or -EAGAIN if a sweeper
 * removed it. */
static int make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), r;

    if (fd < 0)
        return -errno;
    r = lock_new(fd);
    if (r == 0)
        return fd;
    unlink(path);
    close(fd);
    return r;
}

static int refuse_file(int r, const char *path)
{
    return rapahub_fail(r, "shm.file.create", "cannot create '%s': %s", path, strerrordesc_np(-r));
}

/* Makes a new file. If a sweeper removed it, the next name is tried. */
static int open_new(const char *prefix, char path[HUB_MAPPING_PATH_MAX])
{
    for (int i = 0; i < TRIES; i++) {
        int fd;

        snprintf(path, HUB_MAPPING_PATH_MAX, FOLDER "/%.40s-%u-%d-%016" PRIx64, prefix, getuid(),
                 getpid(), hub_random_nonce());
        fd = make_file(path);
        if (fd >= 0)
            return fd;
        if (fd != -EEXIST && fd != -EAGAIN)
            return refuse_file(fd, path);
    }
    return rapahub_fail(-EEXIST, "shm.file.create", "no free name in " FOLDER " after %d tries",
                        TRIES);
}

static int refuse_room(int r, const char *rule, const struct hub_mapping *file, uint64_t size)
{
    struct statvfs place;
    uint64_t free_bytes = 0;

    if (r == -EFBIG) /* the diagnosis already names the limit */
        return rapahub_fail(r, rule, "no room for %" PRIu64 " bytes more at '%s': %s", size,
                            file->path, rapahub_last_error()->text);
    if (fstatvfs(file->fd, &place) == 0)
        free_bytes = (uint64_t)place.f_bavail * place.f_frsize;
    return rapahub_fail(
        r, rule, "no room for %" PRIu64 " bytes more at '%s': %s; %" PRIu64 " bytes are free there",
        size, file->path, strerrordesc_np(-r), free_bytes);
}

/* Extends the file if it was shorter. */
static int reserve(int fd, uint64_t offset, uint64_t size)
{
    int r = hub_rlimit_check_file(offset + size, "shm.file.create");

    if (r < 0)
        return r;
    do
        r = fallocate(fd, 0, (off_t)offset, (off_t)size);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

/* The same for a range that is not in use yet: if the file system cannot reserve, each block is
 * written to. */
static int reserve_unused(int fd, uint64_t offset, uint64_t size)
{
    int r = reserve(fd, offset, size);

    return r == -EOPNOTSUPP ? -posix_fallocate(fd, (off_t)offset, (off_t)size) : r;
}

int hub_mapping_take(const struct hub_mapping *mapping, uint64_t offset, uint64_t size)
{
    int r = mapping->whole ? 0 : reserve(mapping->fd, offset, size);

    return r < 0 ? refuse_room(r, "hub.file.room", mapping, size) : 0;
}

/* Gives a new file its size but no pages, which are reserved later when they are needed. If this
 * file system cannot do that, all pages are reserved now. */
static int fill(struct hub_mapping *file, size_t size, bool *whole)
{
    int r = hub_rlimit_check_file(size, "shm.file.create");

    *whole = false;
    if (r < 0)
        return r;
    r = ftruncate(file->fd, (off_t)size) < 0 ? -errno : reserve(file->fd, 0, 1);
    *whole = r == -EOPNOTSUPP;
    if (*whole)
        r = reserve_unused(file->fd, 0, size);
    return r < 0 ? refuse_room(r, "shm.file.create", file, size) : 0;
}

/* Owns the descriptor from here on, and removes the file if it cannot be filled. */
static int fill_file(int made, const char *path, size_t size, struct hub_mapping *out)
{
    OWN(hub_fd) int fd = made;
    struct hub_mapping file = {.fd = fd};
    bool whole;
    int r;

    snprintf(file.path, sizeof file.path, "%s", path);
    r = fill(&file, size, &whole);
    if (r == 0)
        r = map(fd, size, out);
    if (r < 0) {
        unlink(path);
        return r;
    }
    memcpy(out->path, file.path, sizeof file.path);
    out->whole = whole;
    out->fd = TAKE(fd);
    return 0;
}

/* r[impl shm.file.create] r[impl shm.file.permissions] r[impl shm.file.path] */
int hub_mapping_create_file(const char *prefix, size_t size, struct hub_mapping *out)
{
    char path[HUB_MAPPING_PATH_MAX];
    int fd = open_new(prefix, path);

    return fd < 0 ? fd : fill_file(fd, path, size, out);
}

/* r[impl shm.file.create] r[impl shm.file.path] */
int hub_mapping_create_at(const char *path, size_t size, struct hub_mapping *out)
{
    int fd;

    if (strlen(path) >= HUB_MAPPING_PATH_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "shm.file.path", "the path '%.40s...' is too long",
                            path);
    fd = make_file(path);
    if (fd == -EAGAIN)
        fd = -EEXIST;
    return fd < 0 ? refuse_file(fd, path) : fill_file(fd, path, size, out);
}

/* Returns N for "/proc/self/fd/N" or "/dev/fd/N", else -1. */
static int descriptor_of(const char *path)
{
    static const char *const places[] = {"/proc/self/fd/", "/dev/fd/"};

    for (size_t i = 0; i < 2; i++) {
        size_t length = strlen(places[i]);
        char *end;
        long n;

        if (strncmp(path, places[i], length) != 0 || path[length] < '0' || path[length] > '9')
            continue;
        n = strtol(path + length, &end, 10);
        if (*end == '\0' && n <= INT32_MAX)
            return (int)n;
    }
    return -1;
}

/* Owns the descriptor from here on. */
static int map_opened(int opened, const char *path, size_t least, struct hub_mapping *out)
{
    OWN(hub_fd) int fd = opened;
    struct stat file;
    int r;

    if (fd < 0 || fstat(fd, &file) < 0)
        return rapahub_fail(-errno, "shm.file.attach", "cannot open the segment '%s': %s", path,
                            strerrordesc_np(errno));
    if (!S_ISREG(file.st_mode) || file.st_size < (off_t)least)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.file.attach",
                            "'%s' is no segment: %" PRId64 " bytes, at least %zu are needed", path,
                            (int64_t)file.st_size, least);
    r = map(fd, (size_t)file.st_size, out);
    if (r == 0)
        out->fd = TAKE(fd);
    return r;
}

/* r[impl shm.file.attach] */
int hub_mapping_open(const char *path, size_t least, struct hub_mapping *out)
{
    int given = descriptor_of(path);

    if (given < 0)
        return hub_mapping_open_apart(path, least, out);
    return map_opened(fcntl(given, F_DUPFD_CLOEXEC, 0), path, least, out);
}

int hub_mapping_open_apart(const char *path, size_t least, struct hub_mapping *out)
{
    return map_opened(open(path, O_RDWR | O_CLOEXEC | O_NOCTTY), path, least, out);
}

int hub_mapping_create_unnamed(const char *folder, uint32_t mode, size_t size,
                               struct hub_mapping *out)
{
    OWN(hub_fd) int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct hub_mapping file = {.fd = fd};
    int r;

    snprintf(file.path, sizeof file.path, "%s", folder);
    if (fd < 0 || fchmod(fd, mode) < 0)
        return rapahub_fail(-errno, "region.room", "cannot make a file in '%s': %s", folder,
                            strerrordesc_np(errno));
    r = reserve_unused(fd, 0, size);
    if (r < 0)
        return refuse_room(r, "region.room", &file, size);
    r = map(fd, size, out);
    if (r == 0)
        out->fd = TAKE(fd);
    return r;
}

int hub_mapping_name(const struct hub_mapping *mapping, const char *path)
{
    char file[64];

    snprintf(file, sizeof file, "/proc/self/fd/%d", mapping->fd);
    if (linkat(AT_FDCWD, file, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    return errno == EEXIST ? -EEXIST
                           : rapahub_fail(-errno, "region.whole", "cannot name a file '%s': %s",
                                          path, strerrordesc_np(errno));
}

/* Says why a file that was opened must not be used; 0: it may be. */
static int check_named(int fd, const char *path, const struct hub_mapping_order *order,
                       struct stat *file)
{
    bool root_is_right = !order->own_only;
    struct statfs place;

    if (fstat(fd, file) < 0 || fstatfs(fd, &place) < 0)
        return rapahub_fail(-errno, "region.owner", "cannot look at '%s': %s", path,
                            strerrordesc_np(errno));
    if (!S_ISREG(file->st_mode))
        return rapahub_fail(RAPAHUB_EINVAL, "region.owner", "'%s' is no file", path);
    if (!order->foreign && file->st_uid != getuid() && !(root_is_right && file->st_uid == 0))
        return rapahub_fail(RAPAHUB_EPERM, "region.owner", "'%s' belongs to user %u", path,
                            file->st_uid);
    if (place.f_type != TMPFS_MAGIC)
        return rapahub_fail(RAPAHUB_ENOTSUP, "region.owner", "'%s' is not in memory (tmpfs)", path);
    return 0;
}

/* Owns the descriptor from here on. */
static int map_named(int opened, const char *path, const struct hub_mapping_order *order,
                     size_t least, struct hub_mapping *out)
{
    OWN(hub_fd) int fd = opened;
    struct stat file;
    int r = check_named(fd, path, order, &file);

    if (r == 0 && file.st_size < (off_t)least)
        r = rapahub_fail(RAPAHUB_ETRUNCATED, "region.order", "'%s' has %" PRId64 " bytes", path,
                         (int64_t)file.st_size);
    hub_mapping_init(out);
    if (r == 0 && file.st_size > 0)
        r = map_for(fd, 0, (size_t)file.st_size,
                    order->read_only ? PROT_READ : PROT_READ | PROT_WRITE, out);
    if (r == 0)
        out->fd = TAKE(fd);
    return r;
}

int hub_mapping_open_named(const char *path, const struct hub_mapping_order *order, size_t least,
                           struct hub_mapping *out)
{
    int flags = (order->read_only ? O_RDONLY : O_RDWR) | (order->follow ? 0 : O_NOFOLLOW);
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return rapahub_fail(-errno, "region.owner", "cannot open '%s': %s", path,
                            errno == ELOOP ? "it is a symbolic link" : strerrordesc_np(errno));
    return map_named(fd, path, order, least, out);
}

int hub_mapping_adopt_named(int fd, size_t least, struct hub_mapping *out)
{
    return map_named(fd, "a descriptor", &(struct hub_mapping_order){.foreign = true}, least, out);
}

uint64_t hub_mapping_page_align(uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return (size + page - 1) / page * page;
}

int hub_mapping_append(const struct hub_mapping *file, uint64_t end, uint64_t size,
                       struct hub_mapping *out)
{
    uint64_t offset = hub_mapping_page_align(end);
    int r = reserve_unused(file->fd, offset, size);

    return r < 0 ? refuse_room(r, "shm.varslot.extents", file, size)
                 : map_part(file->fd, offset, size, out);
}

int hub_mapping_open_part(int fd, uint64_t offset, uint64_t size, struct hub_mapping *out)
{
    struct stat file;

    if (fstat(fd, &file) < 0 || hub_mapping_page_align(offset) != offset ||
        size > (uint64_t)file.st_size || offset > (uint64_t)file.st_size - size)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.varslot.extents",
                            "%" PRIu64 " bytes at %" PRIu64 " are no part of the segment's file",
                            size, offset);
    return map_part(fd, offset, size, out);
}

int hub_mapping_adopt_sealed(int sent, uint64_t size, struct hub_mapping *out)
{
    OWN(hub_fd) int fd = sent;
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat file;

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &file) < 0 ||
        (uint64_t)file.st_size != size)
        return rapahub_fail(RAPAHUB_EFORMAT, "hub.file.seal",
                            "a memory that was sent is not sealed, or not of %" PRIu64 " bytes",
                            size);
    return map_part(fd, 0, size, out);
}

void hub_mapping_forget_file(struct hub_mapping *mapping, const char *path)
{
    int given = descriptor_of(path), seals = fcntl(mapping->fd, F_GET_SEALS);

    if (given < 0 || seals < 0 || !(seals & F_SEAL_GROW))
        return;
    close(given);
    close(mapping->fd);
    mapping->fd = -1;
}

/* r[impl shm.file.cleanup] */
void hub_mapping_fini(struct hub_mapping *mapping)
{
    int kept = errno;

    if (mapping->path[0] != '\0')
        unlink(mapping->path);
    if (mapping->data)
        munmap(mapping->data, mapping->size);
    if (mapping->fd >= 0)
        close(mapping->fd);
    hub_mapping_init(mapping);
    errno = kept;
}

/* Removes a file while holding its host's lock, if that can be acquired. Returns 1 if the file is
 * (or would be) gone. */
static int sweep_file(int folder, const char *name, bool dry)
{
    OWN(hub_fd) int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat file, named;

    if (fd < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || file.st_uid != getuid())
        return 0;
    if (dry)
        return hub_lock_free(fd, HUB_LOCK_HOST, 1) == 1;
    if (hub_lock_try(fd, HUB_LOCK_HOST, 1) < 0)
        return 0;
    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || named.st_ino != file.st_ino ||
        named.st_dev != file.st_dev)
        return 0;
    return unlinkat(folder, name, 0) == 0;
}

int hub_mapping_sweep(const char *prefix, bool dry)
{
    char start[64];
    size_t length = (size_t)snprintf(start, sizeof start, "%.40s-%u-", prefix, getuid());
    DIR *folder = opendir(FOLDER);
    struct dirent *entry;
    int count = 0;

    if (!folder)
        return rapahub_fail(-errno, "shm.file.cleanup", "cannot look into " FOLDER);
    while ((entry = readdir(folder)))
        if (strncmp(entry->d_name, start, length) == 0)
            count += sweep_file(dirfd(folder), entry->d_name, dry);
    closedir(folder);
    return count;
}

bool hub_mapping_sweep_at(const char *path)
{
    return sweep_file(AT_FDCWD, path, false) > 0;
}
