/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/copy_image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>

#define ENDING ".fetch"

static void name_of(const struct cluster_copy_file *file, char to[CLUSTER_FILES_NAME_MAX + 8])
{
    snprintf(to, CLUSTER_FILES_NAME_MAX + 8, "%s" ENDING, file->name);
}

int64_t cluster_copy_image_read(const struct cluster_copy_file *file, uint64_t at, void *to,
                                size_t size)
{
    uint64_t left = file->end > at ? file->end - at : 0;
    size_t wanted = left < size ? (size_t)left : size;
    int64_t n = cluster_files_read(file->folder->files, file->fd, to, wanted, at);

    if (n == (int64_t)wanted)
        return n;
    return cluster_files_fail(file->folder, file->name, "read it", n < 0 ? (int)n : -EIO);
}

int cluster_copy_image_write(const struct cluster_copy_file *file, uint64_t at, const void *from,
                             size_t size)
{
    const struct cluster_files *files = file->folder->files;
    char name[CLUSTER_FILES_NAME_MAX + 8];
    int fd, r;

    name_of(file, name);
    fd = at == 0 ? cluster_files_create(file->folder, name)
                 : files->open(files, file->folder->fd, name, O_RDWR, 0);
    r = fd < 0 ? fd : cluster_files_write(files, fd, from, size, at);
    if (fd >= 0)
        files->close(files, fd);
    return r < 0 ? cluster_files_fail(file->folder, name, "write it", r) : 0;
}

/* Returns 0 where the file that was written is sound, and is the one that was wanted. */
static int check(const struct cluster_copy_file *file, const char *name, uint64_t token,
                 uint64_t seq)
{
    const struct cluster_files *files = file->folder->files;
    struct cluster_copy_file image;
    int r =
        cluster_copy_file_open_beside(&image, file->folder, file->pool, file->container, ENDING);
    bool wanted = r == 0 && image.token == token && image.seq == seq;

    cluster_copy_file_close(&image);
    if (r < 0 || wanted)
        return r;
    if (r == 0)
        files->remove(files, file->folder->fd, name);
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.copy.fetch",
                        "%s/%s: what came of another node does not end with copy %" PRIu64
                        ", as it said, or is damaged",
                        file->folder->path, file->name, seq);
}

/* r[impl cluster.copy.fetch] */
int cluster_copy_image_adopt(struct cluster_copy_file *file, uint64_t token, uint64_t seq)
{
    const struct cluster_files_folder *folder = file->folder;
    const struct cluster_files *files = folder->files;
    char name[CLUSTER_FILES_NAME_MAX + 8];
    uint64_t pool = file->pool;
    uint32_t container = file->container;
    int r;

    name_of(file, name);
    r = check(file, name, token, seq);
    if (r < 0)
        return r;
    r = files->rename(files, folder->fd, name, file->name);
    if (r == 0)
        r = files->sync_folder(files, folder->fd);
    if (r < 0)
        return cluster_files_fail(folder, file->name, "replace it", r);
    cluster_copy_file_close(file);
    r = cluster_copy_file_open(file, folder, pool, container);
    return r <= 0 ? r : rapahub_fail(RAPAHUB_EFORMAT, "cluster.copy.fetch", "it is damaged");
}
