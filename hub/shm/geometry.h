/* SPDX-License-Identifier: Apache-2.0 */
/* geometry: the sizes and offsets of a segment, computed by a host or read from a foreign header.
 *
 * A finished geometry is private memory, and is never read from the segment again.
 */
#ifndef HUB_SHM_GEOMETRY_H
#define HUB_SHM_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/shm/layout.h"
#include "hub/shm/size_classes.h"

/* The limits that a host chooses. */
struct hub_limits {
    uint32_t payload_max; /* bytes of a message, 32 to 2^30; above slot_size - 4: size classes */
    uint32_t credit_size; /* bytes, 1 to 2^31 - 1 */
    uint32_t guests_max;  /* 1 to 255 */
    uint32_t ring_size;   /* descriptors; a power of two, 4 to 65,536 */
    /* bytes; a multiple of 64, 64 to 2^30; with size classes: of the smallest */
    uint32_t slot_size;
    /* slots of each pool, 1 to 65,536; with size classes: of the smallest, for each side */
    uint32_t slot_count;
    uint32_t channels_max; /* 4 to 65,536 */
    uint64_t heartbeat_ns; /* 0, or 10 ms to 1 h */
    /* limit in bytes of all size classes with their extents; 0: none is ever added */
    uint64_t var_bytes_max;
    bool strangers; /* guests that the host did not start may attach to any entry */
};

struct hub_geometry {
    struct hub_limits limits; /* with size classes slot_size and slot_count are 0 */
    uint64_t slot_region;     /* offset of the host's pool, or of the size classes */
    uint64_t pool_size;       /* bytes of a pool: bitmap and slots; 0 with size classes */
    uint64_t bitmap_size;     /* bytes of a pool's bitmap, a multiple of 64 */
    struct hub_size_classes classes;
    uint64_t guest_area; /* offset of guest 1's rings; 0 in a foreign geometry */
    uint64_t guest_stride;
    uint64_t total_size;
};

/* Offsets of the parts that belong to one peer. */
struct hub_peer_place {
    uint64_t entry;
    uint64_t guest_to_host_ring;
    uint64_t host_to_guest_ring;
    uint64_t channel_table;
    uint64_t guest_pool;
};

/* Computes the canonical layout of these limits. -EINVAL and the rule id if one is out of range.
 * r[impl hub.layout.canonical] */
int hub_geometry_compute(const struct hub_limits *limits, struct hub_geometry *out);

/* The same for these classes, whose sizes and numbers are set, but not their offsets. */
int hub_geometry_compute_classes(const struct hub_limits *limits,
                                 const struct hub_size_classes *classes, struct hub_geometry *out);

/* Returns the offsets for `peer` (1 to guests_max) in the canonical layout. */
void hub_geometry_place(const struct hub_geometry *geometry, uint32_t peer,
                        struct hub_peer_place *out);

/* Checks private copies of a foreign header and peer entry against the file's size, and reads sizes
 * and offsets from them. RAPAHUB_EFORMAT and the id of the first broken rule, in the order of
 * docs/spec/shm.md. Nothing is written. r[impl hub.layout.validate] */
struct hub_foreign {
    struct hub_header header;
    struct hub_peer_entry entry;                           /* the entry of `peer` */
    struct hub_size_class_header classes[HUB_CLASSES_MAX]; /* header.var_class_count of them */
    uint32_t peer;
    uint64_t file_size;
};
int hub_geometry_read(const struct hub_foreign *foreign, struct hub_geometry *out,
                      struct hub_peer_place *place);

/* Checks only the header: the conditions for reading the peer table. */
int hub_geometry_check_header(const struct hub_header *header, uint32_t peer, uint64_t file_size);

#endif
