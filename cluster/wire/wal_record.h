/* SPDX-License-Identifier: Apache-2.0 */
/* wal_record: the bytes of a node's own log of its map: the header of a segment, and records, each
 * with a checksum. Everything is little-endian. Bytes from a disk are foreign, as those from a
 * peer are.
 */
#ifndef CLUSTER_WIRE_WAL_RECORD_H
#define CLUSTER_WIRE_WAL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/wire/delta.h"

#define CLUSTER_WAL_RECORD_VERSION 1
#define CLUSTER_WAL_RECORD_SEGMENT 64 /* bytes of the header of a segment */
#define CLUSTER_WAL_RECORD_SIZE    40 /* bytes of a record before its changes */
#define CLUSTER_WAL_RECORD_CHANGE  48
#define CLUSTER_WAL_RECORD_UUID    16
#define CLUSTER_WAL_RECORD_SIZE_MAX \
    (CLUSTER_WAL_RECORD_SIZE + CLUSTER_DELTA_CHANGES_MAX * CLUSTER_WAL_RECORD_CHANGE)

struct cluster_wal_segment {
    uint32_t node, boot;
    uint8_t uuid[CLUSTER_WAL_RECORD_UUID]; /* the node's */
    uint64_t first;                        /* revision of its first record */
};

struct cluster_wal_record {
    uint64_t revision, previous;
    uint64_t wall_ns; /* for people only */
    uint32_t count;
    const uint8_t *changes; /* after reading: a view, for cluster_wal_record_change */
};

void cluster_wal_record_put_segment(const struct cluster_wal_segment *segment,
                                    uint8_t to[CLUSTER_WAL_RECORD_SEGMENT]);

/* RAPAHUB_EFORMAT: it is no header, or damaged. RAPAHUB_EABI: a later version wrote it. */
int cluster_wal_record_read_segment(struct rapahub_bytes from, struct cluster_wal_segment *out);

/* Writes the record with its changes. Returns its size, -EMSGSIZE where it has more than `room`
 * bytes, or -EINVAL where a reader would refuse it. Session, destination and module of an entry are
 * not in the log: the store has them. */
int cluster_wal_record_put(const struct cluster_wal_record *record,
                           const struct cluster_delta_change *changes, uint8_t *to, size_t room);

/* Reads the record at the start of `from`. Returns its size; 0 where the log ends: nothing is left,
 * or only the zeros that a segment is filled with at first; RAPAHUB_EFORMAT where it is damaged or
 * cut. */
int cluster_wal_record_read(struct rapahub_bytes from, struct cluster_wal_record *out);

/* Returns a change of a record that was read; `at` is below its count. Session, destination and
 * module are 0. */
struct cluster_delta_change cluster_wal_record_change(const struct cluster_wal_record *record,
                                                      uint32_t at);

#endif
