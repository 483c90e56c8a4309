/* SPDX-License-Identifier: Apache-2.0 */
/* segment: the shared memory of a hub. A host makes it, a guest attaches to it, and it is mapped
 * once.
 *
 * Creation and release are not thread-safe. Any thread may use the pointers.
 */
#ifndef HUB_SHM_SEGMENT_H
#define HUB_SHM_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mapping.h"
#include "hub/shm/geometry.h"
#include "hub/shm/layout.h"

struct hub_segment {
    struct hub_mapping mapping;
    struct hub_geometry geometry;
    bool shared; /* several guests may be in it */
};

/* Pointers to the parts that concern one peer, inside the mapping, and to nothing of other peers.
 * r[impl shm.topology.hub.communication] */
struct hub_segment_view {
    struct hub_header *header;
    struct hub_peer_entry *entry;
    struct hub_ring_cell *guest_to_host, *host_to_guest; /* ring_size cells each */
    struct hub_channel_entry *channels;
    uint8_t *host_pool, *guest_pool; /* bitmap, then slots; with size classes both point to them */
};

/* Host: makes a memfd (`shared` false; limits->guests_max must be 1) or a file. The magic is
 * written last. In a file only the shared parts have pages (commit.h); -ENOSPC if there are too
 * few. r[impl shm.file.create] */
int hub_segment_create(const struct hub_limits *limits, bool shared, struct hub_segment **out);

/* The same for a file at this path. A segment whose host is dead, as its lock proves, is removed
 * first; -EEXIST if its host lives, or if anything else exists there. */
int hub_segment_create_at(const struct hub_limits *limits, const char *path,
                          struct hub_segment **out);

/* The same with a layout that was computed before. `path` NULL: a file with a new name, or a
 * memfd. */
int hub_segment_create_from(const struct hub_geometry *geometry, bool shared, const char *path,
                            struct hub_segment **out);

/* Attaches as the guest `peer`: waits at most 2 s for the magic, copies header and entry once, and
 * checks them. Writes nothing. The view's pointers are inside the mapping, whatever the header
 * says. r[impl shm.file.attach] r[impl shm.handshake.no-negotiation] */
int hub_segment_attach(const char *path, uint32_t peer, struct hub_segment **out,
                       struct hub_segment_view *view);

/* The same with another deadline for the magic. */
struct hub_segment_ticket {
    const char *path;
    uint32_t peer;
};
int hub_segment_attach_until(const struct hub_segment_ticket *ticket, uint64_t deadline_ns,
                             struct hub_segment **out, struct hub_segment_view *view);

/* Guest without a ticket: hub_segment_open does the part that is the same for every peer, through
 * an open file description of its own. hub_segment_check_peer does the rest for one peer, whose
 * entry must be Empty: -EAGAIN, without a diagnosis, if it is not. */
int hub_segment_open(const char *path, struct hub_segment **out);
int hub_segment_check_peer(struct hub_segment *segment, uint32_t peer,
                           struct hub_segment_view *view);

/* Returns the view of `peer`, for the host that made the segment. */
void hub_segment_view(const struct hub_segment *segment, uint32_t peer,
                      struct hub_segment_view *out);

/* Unmaps and closes; the creator of a file unlinks it. NULL is allowed. */
void hub_segment_release(struct hub_segment **segment);

/* The start of a segment file's name, before uid, pid and nonce. */
#define HUB_SEGMENT_PREFIX "rapahub"

#endif
