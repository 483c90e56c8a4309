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
    bool whole;                      /* all pages are there, or come when they are touched */
    char path[HUB_MAPPING_PATH_MAX]; /* of the file this side created and will unlink; "" if none */
};

/* The empty mapping. */
void hub_mapping_init(struct hub_mapping *mapping);

/* Zeroed memory behind a memfd that can neither shrink nor grow. r[impl hub.file.seal] */
int hub_mapping_create_sealed(const char *name, size_t size, struct hub_mapping *out);

/* Zeroed memory behind a new file /dev/shm/PREFIX-<uid>-<pid>-<nonce>, mode 0600, locked by the OFD
 * lock on byte 2^40. Never opens a file that exists. It has no pages yet: who touches one that was
 * not taken may be killed by a SIGBUS. */
int hub_mapping_create_file(const char *prefix, size_t size, struct hub_mapping *out);

/* The same at a path of the caller's; -EEXIST where something stands there. */
int hub_mapping_create_at(const char *path, size_t size, struct hub_mapping *out);

/* Takes the pages of a range now, of a file this side created; what they hold stays. -ENOSPC where
 * there are too few: an error now, and no SIGBUS at a write. Text and hint name the file, how much
 * was wanted and is free, and what helps; then nothing is taken. May be repeated; any thread. */
int hub_mapping_take(const struct hub_mapping *mapping, uint64_t offset, uint64_t size);

/* Opens what somebody else made: a path, or "/proc/self/fd/N", "/dev/fd/N" for a descriptor, which
 * is duplicated. Maps the whole file; one below `least` bytes is refused. */
int hub_mapping_open(const char *path, size_t least, struct hub_mapping *out);

/* The same, but always through a new open file description, so that its locks are nobody else's. */
int hub_mapping_open_apart(const char *path, size_t least, struct hub_mapping *out);

/* The next multiple of the size of a page. */
uint64_t hub_mapping_page_align(uint64_t size);

/* Makes `file` larger, from the first page behind `end` on, and maps what is new, on its own and
 * zeroed, its pages taken. -ENOSPC as above; what was mapped before stays. */
int hub_mapping_append(const struct hub_mapping *file, uint64_t end, uint64_t size,
                       struct hub_mapping *out);

/* Maps a part of an open file that another process made longer; refused where it does not lie
 * inside the file or does not begin with a page. */
int hub_mapping_open_part(int fd, uint64_t offset, uint64_t size, struct hub_mapping *out);

/* Maps all of a memfd that was sent, and takes the descriptor: refused where it is not sealed
 * against shrinking, or of another size. r[impl hub.file.seal] */
int hub_mapping_adopt_sealed(int fd, uint64_t size, struct hub_mapping *out);

/* Closes what is no longer needed of memory that can never be larger: the mapping's descriptor, and
 * the one that `path` is, from which it was opened. Nothing of any other. r[impl hub.spawn.closed]
 */
void hub_mapping_forget_file(struct hub_mapping *mapping, const char *path);

/* Unmaps, closes, unlinks what this side created. Accepts the empty mapping; keeps errno. */
void hub_mapping_fini(struct hub_mapping *mapping);

/* Removes files /dev/shm/PREFIX-<own uid>-* whose host is dead: whose lock can be had. Age is never
 * looked at. Returns how many it removed; with `dry` how many it would. r[impl hub.file.sweep] */
int hub_mapping_sweep(const char *prefix, bool dry);

/* Removes the one file at `path` on the same condition: is it gone now? */
bool hub_mapping_sweep_at(const char *path);

#endif
