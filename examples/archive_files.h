/* SPDX-License-Identifier: Apache-2.0 */
/* archive_files: the regular files in some folders. Their bytes are kept after the first reading,
 * so that the data read back is compared with the data stored, even if the file has changed. */
#ifndef ARCHIVE_FILES_H
#define ARCHIVE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive_file {
    char *path;
    uint8_t *bytes; /* NULL until read */
    size_t size;
};

struct archive_files {
    struct archive_file *list;
    size_t count, room;
    size_t skipped;       /* names that are too long or contain a line break */
    uint64_t bytes;       /* sizes that the folders state */
    uint64_t folder_room; /* bytes still allowed for the current folder */
};

/* Adds the files of a folder as long as they have no more than `max` bytes together. Links are not
 * followed; `.git` and trees with a CMakeCache.txt are left out. Returns 0, or less with errno
 * set. */
int archive_files_add(struct archive_files *files, const char *folder, uint64_t max);

/* Reads a whole file, once. Returns 0, or less with errno set. */
int archive_files_read(struct archive_file *file);

void archive_files_fini(struct archive_files *files);

#endif
