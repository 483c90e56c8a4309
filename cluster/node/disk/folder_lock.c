/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define RULE "cluster.folder.lock"

static int fail(const char *path, const char *what, int error)
{
    return rapahub_fail(-error, RULE, "%s/" CLUSTER_FOLDER_LOCK_NAME ": cannot %s it: %s", path,
                        what, strerrordesc_np(error));
}

/* The process that wrote its number into the file; 0: none that can be read. */
static long holder_of(int fd)
{
    char text[24];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    char *end = text;
    long pid;

    if (n <= 0)
        return 0;
    text[n] = 0;
    pid = strtol(text, &end, 10);
    return *end == '\n' && pid > 0 ? pid : 0;
}

static int fail_locked(int fd, const char *path)
{
    long pid = holder_of(fd);

    if (pid > 0)
        return rapahub_fail(RAPAHUB_EBUSY, RULE,
                            "%s: process %ld runs a node in this folder: stop that one, or name "
                            "another folder",
                            path, pid);
    return rapahub_fail(RAPAHUB_EBUSY, RULE,
                        "%s: another process runs a node in this folder: stop that one, or name "
                        "another folder",
                        path);
}

/* Says whether the descriptor is of the file that the folder has by this name. */
static bool is_of(int folder, int fd)
{
    struct stat named, opened;

    return fstatat(folder, CLUSTER_FOLDER_LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

static int open_lock(int folder, const char *path, int given)
{
    int fd;

    if (given < 0)
        fd = openat(folder, CLUSTER_FOLDER_LOCK_NAME,
                    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    else
        fd = fcntl(given, F_DUPFD_CLOEXEC, 3);
    return fd < 0 ? fail(path, "open", errno) : fd;
}

/* For people only: where it cannot be written, a message names no process. */
static void name_holder(int fd)
{
    char text[24];
    int size = snprintf(text, sizeof text, "%d\n", (int)getpid());

    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)size, 0) != size)
        (void)!ftruncate(fd, 0);
}

/* r[impl cluster.folder.lock] */
int cluster_folder_lock_take(int folder, const char *path, int given)
{
    OWN(hub_fd) int fd = open_lock(folder, path, given);

    if (fd < 0)
        return fd;
    if (!is_of(folder, fd))
        return rapahub_fail(RAPAHUB_ESTATE, RULE, "%s/" CLUSTER_FOLDER_LOCK_NAME ": %s: %s", path,
                            given < 0 ? "it is no file, or was replaced meanwhile"
                                      : "the descriptor that was handed over is of another file",
                            given < 0 ? "remove it if no node runs there"
                                      : "hand over that of this folder");
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? fail_locked(fd, path) : fail(path, "lock", errno);
    if (!is_of(folder, fd))
        return fail_locked(fd, path);
    if (given < 0)
        name_holder(fd);
    return TAKE(fd);
}

int cluster_folder_lock_look(int folder, const char *path)
{
    OWN(hub_fd)
    int fd =
        openat(folder, CLUSTER_FOLDER_LOCK_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0)
        return fail(path, "open", errno);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? fail_locked(fd, path) : fail(path, "lock", errno);
    return TAKE(fd);
}
