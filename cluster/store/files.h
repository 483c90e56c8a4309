/* SPDX-License-Identifier: Apache-2.0 */
/* files: the calls by which the rooms of a node reach its disk, as a table, so that a test can put
 * a disk in place that tears, fills up or fails; and what all of them do with files.
 *
 * Functions return 0 or more, or -errno. Those of the table write no diagnosis, the others do: it
 * names the folder and the file. Any thread; a folder and a file have one at a time.
 */
#ifndef CLUSTER_STORE_FILES_H
#define CLUSTER_STORE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#define CLUSTER_FILES_NAME_MAX 96 /* bytes of a name that a node gives, with the 0 */

typedef void cluster_files_visit(void *user, const char *name);

/* A descriptor is the table's own: only its functions take it. `flags` are those of open(2). */
struct cluster_files {
    int (*open_folder)(const struct cluster_files *files, int parent, const char *name);
    int (*make_folder)(const struct cluster_files *files, int parent, const char *name);
    int (*open)(const struct cluster_files *files, int folder, const char *name, int flags,
                unsigned mode);
    void (*close)(const struct cluster_files *files, int fd);
    int64_t (*size)(const struct cluster_files *files, int fd);
    int (*mode)(const struct cluster_files *files, int fd); /* the rights of all users, as 0600 */
    int64_t (*read)(const struct cluster_files *files, int fd, void *to, size_t size, uint64_t at);
    int64_t (*write)(const struct cluster_files *files, int fd, const void *from, size_t size,
                     uint64_t at);
    int (*allocate)(const struct cluster_files *files, int fd, uint64_t size);
    int (*cut)(const struct cluster_files *files, int fd, uint64_t size);
    int (*sync)(const struct cluster_files *files, int fd); /* the bytes, and how many there are */
    int (*sync_folder)(const struct cluster_files *files, int folder); /* the names */
    int (*rename)(const struct cluster_files *files, int folder, const char *from, const char *to);
    int (*link)(const struct cluster_files *files, int folder, const char *from, int to_folder,
                const char *to); /* -EEXIST: that name is in use, and is left */
    int (*remove)(const struct cluster_files *files, int folder, const char *name);
    int (*list)(const struct cluster_files *files, int folder, cluster_files_visit *visit,
                void *user);
};

/* The system's own. */
extern const struct cluster_files cluster_files_system;

struct cluster_files_folder {
    const struct cluster_files *files;
    int fd;
    char *path; /* for messages */
};

/* Opens the folder `name` of `parent`, or of no folder: NULL. `make`: one that is missing is made,
 * and its name is durable. */
int cluster_files_open_folder(const struct cluster_files *files,
                              const struct cluster_files_folder *parent, const char *name,
                              bool make, struct cluster_files_folder *out);
void cluster_files_close_folder(struct cluster_files_folder *folder);

/* Writes the diagnosis "FOLDER/NAME: cannot WHAT: why" and returns `code`. */
int cluster_files_fail(const struct cluster_files_folder *folder, const char *name,
                       const char *what, int code);

/* Writes all of it. Returns the first failure; then some of it may be written. No diagnosis. */
int cluster_files_write(const struct cluster_files *files, int fd, const void *from, size_t size,
                        uint64_t at);

/* Reads until `size` bytes are there or the file ends. Returns their number. No diagnosis. */
int64_t cluster_files_read(const struct cluster_files *files, int fd, void *to, size_t size,
                           uint64_t at);

/* Reads a whole file into memory that the caller frees. -ENOENT: there is none, without a
 * diagnosis. -EFBIG: it has more than `most` bytes. */
int cluster_files_load(const struct cluster_files_folder *folder, const char *name, size_t most,
                       uint8_t **out, size_t *size);

/* Makes a file under a temporary name, in place of one that was left there. Returns its descriptor.
 * No diagnosis. */
int cluster_files_create(const struct cluster_files_folder *folder, const char *temporary);

/* Makes a file that was written whole under a temporary name the one of that name: when it returns
 * 0 that is durable. Until then, after a crash too, the name has the file of before, or all of the
 * new one. It closes `fd`. */
int cluster_files_settle(const struct cluster_files_folder *folder, int fd, const char *temporary,
                         const char *name);

/* Makes a file of these bytes, or replaces the one of that name, as the function above does. Its
 * mode is 0600. `name` has at most CLUSTER_FILES_NAME_MAX - 5 bytes. */
int cluster_files_replace(const struct cluster_files_folder *folder, const char *name,
                          const void *from, size_t size);

/* Gives a damaged file the name NAME.bad, so that it is not read again but can be looked at. It is
 * durable, and said in the log. An earlier one of that name is lost. */
int cluster_files_put_aside(const struct cluster_files_folder *folder, const char *name,
                            const char *why);

/* Says whether there is no space for what was to be written: refused now, and possible once there
 * is. */
bool cluster_files_is_full(int code);

#endif
