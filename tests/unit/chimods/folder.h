/* SPDX-License-Identifier: Apache-2.0 */
/* folder: a fresh folder for one test of kv, and raw access to its log. In memory: nothing here is
 * about the disk. */
#ifndef TESTS_UNIT_CHIMODS_FOLDER_H
#define TESTS_UNIT_CHIMODS_FOLDER_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/testing.h"

struct folder {
    char path[64];
    char log[96];
};

static inline void folder_make(struct folder *folder)
{
    (void)snprintf(folder->path, sizeof(folder->path), "%s/kv-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(folder->path));
    (void)snprintf(folder->log, sizeof(folder->log), "%s/log", folder->path);
}

static inline void folder_drop(struct folder *folder)
{
    static const char *const names[] = {"log", "log.new", "lock"};
    char path[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder->path, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(folder->path), 0);
}

/* All of a file; the caller frees it. */
static inline char *folder_read(const char *path, size_t *size)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &file), 0);
    *size = (size_t)file.st_size;
    bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, *size, 0), (ssize_t)*size);
    close(fd);
    return bytes;
}

static inline void folder_write(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

#endif
