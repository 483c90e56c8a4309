/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/store/folder_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/base/own.h"

static void require(bool so, const char *what)
{
    if (so)
        return;
    perror(what);
    abort();
}

static int remove_it(const char *path, const struct stat *found, int kind, struct FTW *where)
{
    (void)found;
    (void)kind;
    (void)where;
    return remove(path);
}

void folder_stage_clear(const char *path)
{
    nftw(path, remove_it, 16, FTW_DEPTH | FTW_PHYS);
}

void folder_stage_begin(struct folder_stage *stage)
{
    snprintf(stage->top, sizeof stage->top, "/dev/shm/folder.XXXXXX");
    require(mkdtemp(stage->top) != NULL, stage->top);
    snprintf(stage->path, sizeof stage->path, "%s/data", stage->top);
}

void folder_stage_end(struct folder_stage *stage)
{
    folder_stage_clear(stage->top);
}

static void path_of(const struct folder_stage *stage, const char *name, char to[512])
{
    snprintf(to, 512, "%s/%s", stage->path, name);
}

void folder_stage_write(const struct folder_stage *stage, const char *name, const void *data,
                        size_t size)
{
    OWN(hub_fd) int fd = -1;
    char path[512];

    path_of(stage, name, path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size, path);
}

size_t folder_stage_read(const struct folder_stage *stage, const char *name, void *to, size_t room)
{
    OWN(hub_fd) int fd = -1;
    char path[512];
    ssize_t n;

    path_of(stage, name, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    require(fd >= 0, path);
    n = read(fd, to, room);
    require(n >= 0, path);
    return (size_t)n;
}

bool folder_stage_has(const struct folder_stage *stage, const char *name)
{
    char path[512];

    path_of(stage, name, path);
    return access(path, F_OK) == 0;
}

void folder_stage_remove(const struct folder_stage *stage, const char *name)
{
    char path[512];

    path_of(stage, name, path);
    folder_stage_clear(path);
}

void folder_stage_flip(const struct folder_stage *stage, const char *name, size_t at)
{
    OWN(hub_fd) int fd = -1;
    char path[512];
    uint8_t byte = 0;

    path_of(stage, name, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    require(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1, path);
    byte ^= 0x10;
    require(pwrite(fd, &byte, 1, (off_t)at) == 1, path);
}
