/* SPDX-License-Identifier: Apache-2.0 */
/* disk: a disk in memory under the rooms of a node, as their table of files. It knows of each
 * sector of 512 bytes and of each name whether it is durable, so that it can be copied as a crash
 * would leave it; and its calls can be made to fail. One thread.
 *
 * After a failed sync the sectors that were not durable stay so for good, whatever later syncs say.
 */
#ifndef TESTS_STORE_DISK_H
#define TESTS_STORE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/store/files.h"
#include "hub/base/random.h"

#define DISK_FILES_MAX   512
#define DISK_NAMES_MAX   96
#define DISK_PENDING_MAX 160
#define DISK_SECTOR      512

struct disk_file {
    bool folder, lost; /* `lost`: a sync of it failed */
    uint8_t *now, *durable;
    bool *dirty;               /* of each sector */
    size_t room, durable_room; /* bytes held; the rest of the size is zeros */
    uint64_t size, durable_size;
};

struct disk_name {
    int folder, file; /* file -1: the name is not used */
    char text[CLUSTER_FILES_NAME_MAX];
};

/* A change of names that is not durable. */
struct disk_change {
    int folder, file;                                              /* file -1: removed */
    char from[CLUSTER_FILES_NAME_MAX], to[CLUSTER_FILES_NAME_MAX]; /* "": none */
};

struct disk {
    struct cluster_files files;             /* its functions take the disk by this */
    struct disk_file *file[DISK_FILES_MAX]; /* a descriptor is an index; 0 is the root */
    size_t files_count;
    struct disk_name now[DISK_NAMES_MAX], durable[DISK_NAMES_MAX];
    size_t now_count, durable_count;
    struct disk_change pending[DISK_PENDING_MAX];
    size_t pending_count;

    void (*step)(void *user); /* before each call that changes the disk, and after each byte that is
                                 written; NULL: none */
    void *user;

    uint64_t calls, fail_at; /* the number, from 1 on, of the call that fails; 0: none */
    int fail_code;
    bool fail_on, fired; /* and all after it; one has failed */
    bool misused;        /* a file was written or synced after a sync of it had failed */
    bool short_writes;
};

struct disk *disk_new(void);
void disk_free(struct disk *disk);

/* The root, as a folder whose path is "disk". */
struct cluster_files_folder disk_root(struct disk *disk);

enum disk_crash {
    DISK_KILLED, /* the process was killed: all that was written is there */
    DISK_TORN    /* power failed: of the rest anything may be there */
};

/* A new disk as the crash leaves this one. In DISK_TORN the bytes of each sector that are not
 * durable are new, old, zero or garbage, each change of names is there or not, in any order, and
 * the size is old, new or between. */
struct disk *disk_after(const struct disk *disk, enum disk_crash crash, struct hub_random *random);

/* The bytes of a file, to be looked at or damaged; NULL: there is none. They hold up to its size.
 */
uint8_t *disk_bytes(struct disk *disk, int folder, const char *name, size_t *size);

/* The names in a folder that are in use. */
size_t disk_count(const struct disk *disk, int folder, const char *part);

#endif
