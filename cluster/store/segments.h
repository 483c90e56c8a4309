/* SPDX-License-Identifier: Apache-2.0 */
/* segments: the files of a node's log of its map, in one folder: domain_table.SEQUENCE.bin, which
 * follow each other by their sequence number, and the snapshot that they follow. A number is never
 * used again while a file bears it, and the files that were put aside count too.
 */
#ifndef CLUSTER_STORE_SEGMENTS_H
#define CLUSTER_STORE_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/store/files.h"
#include "cluster/wire/wal_record.h"

#define CLUSTER_SEGMENTS_SIZE ((uint32_t)4 << 20) /* a segment's, preallocated */
#define CLUSTER_SEGMENTS_SIZE_LEAST \
    ((uint32_t)4096) /* a test's; it has space for the header and the largest record */

#define CLUSTER_SEGMENTS_SNAPSHOT           "domain_table.snapshot"
#define CLUSTER_SEGMENTS_SNAPSHOT_TEMPORARY "domain_table.snapshot.new"

/* The log of one node, and where it is. */
struct cluster_segments {
    struct cluster_files_folder folder;
    uint32_t node, boot;
    uint8_t uuid[CLUSTER_WAL_RECORD_UUID];
};

struct cluster_segments_list {
    uint64_t *sequences; /* rising; to be freed */
    size_t count;
    uint64_t next; /* the sequence number of the next segment */
};

void cluster_segments_name(uint64_t sequence, char name[CLUSTER_FILES_NAME_MAX]);

int cluster_segments_list(const struct cluster_segments *log, struct cluster_segments_list *out);

/* Says whether a header is one of this log: 0, or RAPAHUB_EFORMAT for another node's, of which
 * nothing is to be changed. */
int cluster_segments_check(const struct cluster_segments *log, const char *name, uint32_t node,
                           const uint8_t uuid[CLUSTER_WAL_RECORD_UUID]);

/* Puts the whole log aside, so that no part of it is read for all of it: the snapshot, then each
 * segment, the first one first. Each name is durable before the next file is touched. Wherever it
 * is cut short, the part that is left begins with a gap, and is put aside in its turn. */
int cluster_segments_put_aside(const struct cluster_segments *log, const char *why);

/* Removes the segments that a durable snapshot of this revision has made needless: all before the
 * last one that begins at this revision or below it. */
int cluster_segments_remove_before(const struct cluster_segments *log, uint64_t revision);

#endif
