/* SPDX-License-Identifier: Apache-2.0 */
/* mapping: shared memory, as a sealed memfd or as a file in /dev/shm. */
#ifndef HUB_BASE_MAPPING_H
#define HUB_BASE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUB_MAPPING_PATH_MAX 128

struct hub_mapping {
    uint8_t *data; /* NULL: nothing is mapped */
    size_t size;
    int fd;                          /* CLOEXEC; -1: none */
    bool whole;                      /* all pages exist, or appear when they are touched */
    char path[HUB_MAPPING_PATH_MAX]; /* the file that this side made and will unlink; "" if none */
};

/* Makes the empty mapping. */
void hub_mapping_init(struct hub_mapping *mapping);

/* Maps zeroed memory of a new memfd that can neither shrink nor grow. r[impl hub.file.seal] */
int hub_mapping_create_sealed(const char *name, size_t size, struct hub_mapping *out);

/* Maps zeroed memory of a new file /dev/shm/PREFIX-<uid>-<pid>-<nonce>, mode 0600, locked by the
 * OFD lock on byte 2^40. Never opens an existing file. The file has no pages yet: touching a page
 * that was not reserved may cause a SIGBUS. */
int hub_mapping_create_file(const char *prefix, size_t size, struct hub_mapping *out);

/* The same at a path that the caller chooses; -EEXIST if it exists. */
int hub_mapping_create_at(const char *path, size_t size, struct hub_mapping *out);

/* Reserves the pages of a range of a file that this side made; their content is kept. -ENOSPC if
 * there are too few: an error now instead of a SIGBUS at a write. Its text and hint name the
 * file, the bytes wanted and free, and a remedy; nothing is reserved then. May be repeated. Any
 * thread. */
int hub_mapping_take(const struct hub_mapping *mapping, uint64_t offset, uint64_t size);

/* Maps the whole of a file that another process made, at a path, or at "/proc/self/fd/N" or
 * "/dev/fd/N", whose descriptor is duplicated. A file below `least` bytes is refused. */
int hub_mapping_open(const char *path, size_t least, struct hub_mapping *out);

/* The same, but always through a new open file description, so that its locks are separate. */
int hub_mapping_open_apart(const char *path, size_t least, struct hub_mapping *out);

/* Maps zeroed memory of a new file in `folder` that has no name yet, with all of its pages
 * reserved: a file system that is full is -ENOSPC now, never a SIGBUS later. The file is gone with
 * its last descriptor and mapping unless hub_mapping_name gives it a name. Not locked. r[impl
 * region.room] */
int hub_mapping_create_unnamed(const char *folder, uint32_t mode, size_t size,
                               struct hub_mapping *out);

/* Gives such a file its name, in one step. -EEXIST, without a diagnosis, if the name is taken. The
 * file stays when it is unmapped. */
int hub_mapping_name(const struct hub_mapping *mapping, const char *path);

/* How a file that another process made is opened. */
struct hub_mapping_order {
    bool read_only; /* mapped so, and through a descriptor that cannot write */
    bool foreign;   /* also files of other users; without it only this user's and root's */
    bool own_only;  /* only this user's, not even root's */
    bool follow;    /* the path is /proc/self/fd/N, which is a symbolic link */
};

/* Maps the whole of a file in a file system of memory (tmpfs), through a description of its own.
 * Never follows a symbolic link at the end of the path, unless asked to. -ENOENT; -EPERM: another
 * user's; -ENOTSUP: of another file system; RAPAHUB_ETRUNCATED: fewer than `least` bytes. Of an
 * empty file nothing is mapped. r[impl region.owner] */
int hub_mapping_open_named(const char *path, const struct hub_mapping_order *order, size_t least,
                           struct hub_mapping *out);

/* The same for a descriptor that was received, and owned from then on: mapped through the very
 * description, so that the locks which it has go with the mapping. */
int hub_mapping_adopt_named(int fd, size_t least, struct hub_mapping *out);

/* Rounds up to a multiple of the page size. */
uint64_t hub_mapping_page_align(uint64_t size);

/* Extends `file` from the first page after `end` on, and maps the new part separately, zeroed, with
 * its pages reserved. -ENOSPC as above; earlier mappings remain. */
int hub_mapping_append(const struct hub_mapping *file, uint64_t end, uint64_t size,
                       struct hub_mapping *out);

/* Maps a part of an open file that another process extended. Refused if it does not lie inside the
 * file or does not begin at a page. */
int hub_mapping_open_part(int fd, uint64_t offset, uint64_t size, struct hub_mapping *out);

/* Maps all of a memfd that was received, and owns the descriptor. Refused if it is not sealed
 * against shrinking, or has another size. r[impl hub.file.seal] */
int hub_mapping_adopt_sealed(int fd, uint64_t size, struct hub_mapping *out);

/* Closes the descriptors that memory of final size no longer needs: the mapping's, and the one
 * that `path` names, if it was opened from it. No other descriptor is touched.
 * r[impl hub.spawn.closed] */
void hub_mapping_forget_file(struct hub_mapping *mapping, const char *path);

/* Unmaps, closes, and unlinks the file that this side made. The empty mapping is allowed. errno is
 * kept. */
void hub_mapping_fini(struct hub_mapping *mapping);

/* Removes files /dev/shm/PREFIX-<own uid>-* whose host is dead, that is, whose lock can be
 * acquired. Their age is never considered. Returns the number of files removed, or with `dry` the
 * number that would be. r[impl hub.file.sweep] */
int hub_mapping_sweep(const char *prefix, bool dry);

/* Removes the file at `path` on the same condition. Says whether it is gone. */
bool hub_mapping_sweep_at(const char *path);

#endif
