/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES_MAX 1000

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_left_out(const FTSENT *folder)
{
    char mark[PATH_BYTES_MAX + 32];

    (void)snprintf(mark, sizeof(mark), "%.*s/CMakeCache.txt", PATH_BYTES_MAX, folder->fts_accpath);
    return strcmp(folder->fts_name, ".git") == 0 || access(mark, F_OK) == 0;
}

static int add(struct archive_files *files, const char *path, uint64_t size)
{
    struct archive_file *list = files->list;
    size_t room = files->room > 0 ? 2 * files->room : 1024;

    if (strlen(path) > PATH_BYTES_MAX || strchr(path, '\n')) {
        files->skipped++;
        return 0;
    }
    if (files->count == files->room) {
        list = realloc(list, room * sizeof(*list));
        if (!list)
            return -1;
        files->list = list;
        files->room = room;
    }
    list[files->count] = (struct archive_file){.path = strdup(path)};
    if (!list[files->count].path)
        return -1;
    files->count++;
    files->bytes += size;
    files->folder_room -= size;
    return 0;
}

static int visit(struct archive_files *files, FTS *walk, FTSENT *entry)
{
    if (entry->fts_info == FTS_D && is_left_out(entry))
        return fts_set(walk, entry, FTS_SKIP);
    if (entry->fts_info != FTS_F || (uint64_t)entry->fts_statp->st_size > files->folder_room)
        return 0;
    return add(files, entry->fts_path, (uint64_t)entry->fts_statp->st_size);
}

int archive_files_add(struct archive_files *files, const char *folder, uint64_t max)
{
    char *path = strdup(folder);
    char *const paths[] = {path, NULL};
    FTS *walk = path ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
    FTSENT *entry;
    int r = walk ? 0 : -1;

    files->folder_room = max;
    while (r == 0 && (entry = fts_read(walk)) != NULL) {
        r = visit(files, walk, entry);
        if (entry->fts_level == FTS_ROOTLEVEL && entry->fts_info == FTS_NS) {
            errno = entry->fts_errno;
            r = -1;
        }
    }
    if (walk)
        (void)fts_close(walk);
    free(path);
    return r;
}

static int read_all(int fd, struct archive_file *file, size_t size)
{
    ssize_t n = 1;

    file->bytes = malloc(size + 1);
    if (!file->bytes)
        return -1;
    while (n != 0 && file->size < size) {
        n = read(fd, file->bytes + file->size, size - file->size);
        if (n < 0 && errno != EINTR)
            return -1;
        file->size += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int archive_files_read(struct archive_file *file)
{
    int r, failure, fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat info;

    if (fd < 0)
        return -1;
    r = fstat(fd, &info);
    if (r == 0)
        r = read_all(fd, file, (size_t)info.st_size);
    failure = errno;
    close(fd);
    errno = failure;
    return r;
}

void archive_files_fini(struct archive_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->list[i].path);
        free(files->list[i].bytes);
    }
    free(files->list);
}
