/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/own.h"

#define TOPIC "store"

/* ---- the system's ---- */

static int code_of(int r)
{
    return r < 0 ? -errno : r;
}

static int system_open_folder(const struct cluster_files *files, int parent, const char *name)
{
    (void)files;
    return code_of(openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int system_make_folder(const struct cluster_files *files, int parent, const char *name)
{
    (void)files;
    return code_of(mkdirat(parent, name, 0700));
}

static int system_open(const struct cluster_files *files, int folder, const char *name, int flags,
                       unsigned mode)
{
    int fd;

    (void)files;
    do
        fd = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
    while (fd < 0 && errno == EINTR);
    return code_of(fd);
}

static void system_close(const struct cluster_files *files, int fd)
{
    (void)files;
    close(fd);
}

static int64_t system_size(const struct cluster_files *files, int fd)
{
    struct stat found;

    (void)files;
    if (fstat(fd, &found) < 0)
        return -errno;
    return S_ISREG(found.st_mode) ? found.st_size : -EINVAL;
}

static int system_mode(const struct cluster_files *files, int fd)
{
    struct stat found;

    (void)files;
    return fstat(fd, &found) < 0 ? -errno : (int)(found.st_mode & 0777);
}

static int64_t system_read(const struct cluster_files *files, int fd, void *to, size_t size,
                           uint64_t at)
{
    ssize_t n;

    (void)files;
    do
        n = pread(fd, to, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int64_t system_write(const struct cluster_files *files, int fd, const void *from,
                            size_t size, uint64_t at)
{
    ssize_t n;

    (void)files;
    do
        n = pwrite(fd, from, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int system_allocate(const struct cluster_files *files, int fd, uint64_t size)
{
    int r;

    (void)files;
    do
        r = posix_fallocate(fd, 0, (off_t)size);
    while (r == EINTR);
    return -r;
}

static int system_cut(const struct cluster_files *files, int fd, uint64_t size)
{
    (void)files;
    return code_of(ftruncate(fd, (off_t)size));
}

/* No second try after a failure: it would succeed although the pages of the first are lost. */
static int system_sync(const struct cluster_files *files, int fd)
{
    (void)files;
    return code_of(fdatasync(fd));
}

static int system_sync_folder(const struct cluster_files *files, int folder)
{
    (void)files;
    return code_of(fsync(folder));
}

static int system_rename(const struct cluster_files *files, int folder, const char *from,
                         const char *to)
{
    (void)files;
    return code_of(renameat(folder, from, folder, to));
}

static int system_link(const struct cluster_files *files, int folder, const char *from,
                       int to_folder, const char *to)
{
    (void)files;
    return code_of(linkat(folder, from, to_folder, to, 0));
}

static int system_remove(const struct cluster_files *files, int folder, const char *name)
{
    (void)files;
    return code_of(unlinkat(folder, name, 0));
}

static int system_list(const struct cluster_files *files, int folder, cluster_files_visit *visit,
                       void *user)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), kept;
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *found;

    (void)files;
    if (!stream) {
        kept = errno;
        hub_fd_release(&fd);
        return -kept;
    }
    for (errno = 0; (found = readdir(stream)); errno = 0)
        visit(user, found->d_name);
    kept = errno;
    closedir(stream);
    return -kept;
}

const struct cluster_files cluster_files_system = {
    .open_folder = system_open_folder,
    .make_folder = system_make_folder,
    .open = system_open,
    .close = system_close,
    .size = system_size,
    .mode = system_mode,
    .read = system_read,
    .write = system_write,
    .allocate = system_allocate,
    .cut = system_cut,
    .sync = system_sync,
    .sync_folder = system_sync_folder,
    .rename = system_rename,
    .link = system_link,
    .remove = system_remove,
    .list = system_list,
};

/* ---- for all ---- */

int cluster_files_fail(const struct cluster_files_folder *folder, const char *name,
                       const char *what, int code)
{
    const char *why = strerrordesc_np(-code);

    return rapahub_fail(code, "", "%s/%s: cannot %s: %s", folder->path, name, what,
                        why ? why : rapahub_error_text(code));
}

bool cluster_files_is_full(int code)
{
    return code == -ENOSPC || code == -EDQUOT;
}

/* A folder that is there may have been made by a process that was killed before it synced. */
static int make_folder(const struct cluster_files *files, int parent, const char *name)
{
    int r = files->make_folder(files, parent, name);

    if (r < 0 && r != -EEXIST)
        return r;
    return parent == AT_FDCWD ? 0 : files->sync_folder(files, parent);
}

int cluster_files_open_folder(const struct cluster_files *files,
                              const struct cluster_files_folder *parent, const char *name,
                              bool make, struct cluster_files_folder *out)
{
    int from = parent ? parent->fd : AT_FDCWD, r = 0;
    OWN(hub_memory) char *path = NULL;

    if (asprintf(&path, "%s%s%s", parent ? parent->path : "", parent ? "/" : "", name) < 0) {
        path = NULL;
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the path of a folder");
    }
    if (make)
        r = make_folder(files, from, name);
    if (r == 0)
        r = files->open_folder(files, from, name);
    if (r < 0)
        return rapahub_fail(r, "", "%s: cannot %s the folder: %s", path, make ? "make" : "open",
                            strerrordesc_np(-r));
    *out = (struct cluster_files_folder){files, r, TAKE(path)};
    return 0;
}

void cluster_files_close_folder(struct cluster_files_folder *folder)
{
    if (folder->path)
        folder->files->close(folder->files, folder->fd);
    free(folder->path);
    folder->path = NULL;
}

int cluster_files_write(const struct cluster_files *files, int fd, const void *from, size_t size,
                        uint64_t at)
{
    const uint8_t *next = from;

    while (size > 0) {
        int64_t n = files->write(files, fd, next, size, at);

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        next += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

int64_t cluster_files_read(const struct cluster_files *files, int fd, void *to, size_t size,
                           uint64_t at)
{
    size_t done = 0;

    while (done < size) {
        int64_t n = files->read(files, fd, (uint8_t *)to + done, size - done, at + done);

        if (n < 0)
            return n;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (int64_t)done;
}

static int load(const struct cluster_files *files, int fd, size_t most, uint8_t **out, size_t *size)
{
    int64_t n = files->size(files, fd);
    OWN(hub_memory) uint8_t *bytes = NULL;

    if (n < 0)
        return (int)n;
    if ((uint64_t)n > most)
        return -EFBIG;
    bytes = malloc(n > 0 ? (size_t)n : 1);
    if (!bytes)
        return -ENOMEM;
    n = cluster_files_read(files, fd, bytes, (size_t)n, 0);
    if (n < 0)
        return (int)n;
    *size = (size_t)n;
    *out = TAKE(bytes);
    return 0;
}

int cluster_files_load(const struct cluster_files_folder *folder, const char *name, size_t most,
                       uint8_t **out, size_t *size)
{
    const struct cluster_files *files = folder->files;
    int fd = files->open(files, folder->fd, name, O_RDONLY, 0), r;

    if (fd == -ENOENT)
        return fd;
    if (fd < 0)
        return cluster_files_fail(folder, name, "open it", fd);
    r = load(files, fd, most, out, size);
    files->close(files, fd);
    return r < 0 ? cluster_files_fail(folder, name, "read it", r) : 0;
}

int cluster_files_create(const struct cluster_files_folder *folder, const char *temporary)
{
    const struct cluster_files *files = folder->files;
    int r = files->remove(files, folder->fd, temporary);

    if (r < 0 && r != -ENOENT)
        return r;
    return files->open(files, folder->fd, temporary, O_RDWR | O_CREAT | O_EXCL, 0600);
}

int cluster_files_settle(const struct cluster_files_folder *folder, int fd, const char *temporary,
                         const char *name)
{
    const struct cluster_files *files = folder->files;
    int r = files->sync(files, fd);

    files->close(files, fd);
    if (r == 0)
        r = files->rename(files, folder->fd, temporary, name);
    if (r < 0) {
        files->remove(files, folder->fd, temporary);
        return cluster_files_fail(folder, name, "write it", r);
    }
    r = files->sync_folder(files, folder->fd);
    return r < 0 ? cluster_files_fail(folder, name, "make its name durable", r) : 0;
}

int cluster_files_replace(const struct cluster_files_folder *folder, const char *name,
                          const void *from, size_t size)
{
    const struct cluster_files *files = folder->files;
    char temporary[CLUSTER_FILES_NAME_MAX];
    int fd, r;

    snprintf(temporary, sizeof temporary, "%s.new", name);
    fd = cluster_files_create(folder, temporary);
    if (fd < 0)
        return cluster_files_fail(folder, name, "write it", fd);
    r = cluster_files_write(files, fd, from, size, 0);
    if (r == 0)
        return cluster_files_settle(folder, fd, temporary, name);
    files->close(files, fd);
    files->remove(files, folder->fd, temporary);
    return cluster_files_fail(folder, name, "write it", r);
}

int cluster_files_put_aside(const struct cluster_files_folder *folder, const char *name,
                            const char *why)
{
    const struct cluster_files *files = folder->files;
    char bad[CLUSTER_FILES_NAME_MAX + 8];
    int r;

    snprintf(bad, sizeof bad, "%s.bad", name);
    r = files->rename(files, folder->fd, name, bad);
    if (r == 0)
        r = files->sync_folder(files, folder->fd);
    if (r < 0)
        return cluster_files_fail(folder, name, "put it aside", r);
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "%s/%s: %s; it is put aside as %s", folder->path, name,
                why, bad);
    return 0;
}
