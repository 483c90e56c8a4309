/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/reading_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* The table is `const` to the rooms that use it; what was refused is noted all the same. */
static struct cluster_reading_files *reading_of(const struct cluster_files *files)
{
    return (struct cluster_reading_files *)(uintptr_t)files;
}

static int refuse(const struct cluster_files *files, enum cluster_reading_files_change change,
                  const char *name)
{
    struct cluster_reading_files *reading = reading_of(files);

    if (reading->change == CLUSTER_READING_FILES_NONE) {
        reading->change = change;
        snprintf(reading->name, sizeof reading->name, "%s", name);
    }
    return -EROFS;
}

static bool is_there(int folder, const char *name)
{
    return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int make_folder(const struct cluster_files *files, int parent, const char *name)
{
    return is_there(parent, name) ? -EEXIST : refuse(files, CLUSTER_READING_FILES_MAKES, name);
}

static int open_file(const struct cluster_files *files, int folder, const char *name, int flags,
                     unsigned mode)
{
    if ((flags & O_CREAT) != 0)
        return refuse(files, CLUSTER_READING_FILES_MAKES, name);
    return cluster_files_system.open(files, folder, name, (flags & ~O_ACCMODE) | O_RDONLY, mode);
}

static int64_t write_file(const struct cluster_files *files, int fd, const void *from, size_t size,
                          uint64_t at)
{
    (void)fd;
    (void)from;
    (void)size;
    (void)at;
    return refuse(files, CLUSTER_READING_FILES_CUTS, "");
}

static int allocate_or_cut(const struct cluster_files *files, int fd, uint64_t size)
{
    (void)fd;
    (void)size;
    return refuse(files, CLUSTER_READING_FILES_CUTS, "");
}

/* A reader does not care whether its bytes are on the disk. */
static int sync_file(const struct cluster_files *files, int fd)
{
    (void)files;
    (void)fd;
    return 0;
}

static int rename_file(const struct cluster_files *files, int folder, const char *from,
                       const char *to)
{
    (void)to;
    return is_there(folder, from) ? refuse(files, CLUSTER_READING_FILES_MOVES, from) : -ENOENT;
}

static int link_file(const struct cluster_files *files, int folder, const char *from, int to_folder,
                     const char *to)
{
    (void)to_folder;
    (void)to;
    return is_there(folder, from) ? refuse(files, CLUSTER_READING_FILES_MOVES, from) : -ENOENT;
}

static int remove_file(const struct cluster_files *files, int folder, const char *name)
{
    return is_there(folder, name) ? refuse(files, CLUSTER_READING_FILES_REMOVES, name) : -ENOENT;
}

/* ---- calls that change nothing ---- */

static int open_folder(const struct cluster_files *files, int parent, const char *name)
{
    return cluster_files_system.open_folder(files, parent, name);
}

static void close_file(const struct cluster_files *files, int fd)
{
    cluster_files_system.close(files, fd);
}

static int64_t size_of(const struct cluster_files *files, int fd)
{
    return cluster_files_system.size(files, fd);
}

static int mode_of(const struct cluster_files *files, int fd)
{
    return cluster_files_system.mode(files, fd);
}

static int64_t read_file(const struct cluster_files *files, int fd, void *to, size_t size,
                         uint64_t at)
{
    return cluster_files_system.read(files, fd, to, size, at);
}

static int list_names(const struct cluster_files *files, int folder, cluster_files_visit *visit,
                      void *user)
{
    return cluster_files_system.list(files, folder, visit, user);
}

static const struct cluster_files table = {
    .open_folder = open_folder,
    .make_folder = make_folder,
    .open = open_file,
    .close = close_file,
    .size = size_of,
    .mode = mode_of,
    .read = read_file,
    .write = write_file,
    .allocate = allocate_or_cut,
    .cut = allocate_or_cut,
    .sync = sync_file,
    .sync_folder = sync_file,
    .rename = rename_file,
    .link = link_file,
    .remove = remove_file,
    .list = list_names,
};

void cluster_reading_files_init(struct cluster_reading_files *reading)
{
    reading->files = table;
    cluster_reading_files_clear(reading);
}

void cluster_reading_files_clear(struct cluster_reading_files *reading)
{
    reading->change = CLUSTER_READING_FILES_NONE;
    reading->name[0] = 0;
}
