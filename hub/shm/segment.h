/* SPDX-License-Identifier: Apache-2.0 */
/* segment: a hub's shared memory: made by a host, attached to by a guest, mapped once.
 *
 * Not thread-safe to create and release; the pointers it gives may be used by any thread. */
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

/* Pointers to what concerns one peer, inside the mapping; to nothing of another one.
 * r[impl shm.topology.hub.communication] */
struct hub_segment_view {
    struct hub_header *header;
    struct hub_peer_entry *entry;
    struct hub_ring_cell *guest_to_host, *host_to_guest; /* ring_size cells each */
    struct hub_channel_entry *channels;
    uint8_t *host_pool, *guest_pool; /* bitmap, then slots; both the size classes where they are */
};

/* As the host: a memfd (`shared` false; limits->guests_max must be 1), or a file. The magic is
 * written last. Of a file only what all share has its pages (room.h); -ENOSPC where there are too
 * few. r[impl shm.file.create] */
int hub_segment_create(const struct hub_limits *limits, bool shared, struct hub_segment **out);

/* The same for a file at this very path. A segment whose host is dead, which its lock proves, is
 * removed from there; -EEXIST where a host lives, or something else stands there. */
int hub_segment_create_at(const struct hub_limits *limits, const char *path,
                          struct hub_segment **out);

/* The same with a layout that was computed before. `path` NULL: a file of a new name, or a memfd.
 */
int hub_segment_create_from(const struct hub_geometry *geometry, bool shared, const char *path,
                            struct hub_segment **out);

/* As the guest `peer`: waits at most 2 s for the magic, copies header and entry once, checks them.
 * Writes nothing. The view's pointers are inside the mapping, whatever the header says.
 * r[impl shm.file.attach] r[impl shm.handshake.no-negotiation] */
int hub_segment_attach(const char *path, uint32_t peer, struct hub_segment **out,
                       struct hub_segment_view *view);

/* The same with another deadline for the magic. */
struct hub_segment_ticket {
    const char *path;
    uint32_t peer;
};
int hub_segment_attach_until(const struct hub_segment_ticket *ticket, uint64_t deadline_ns,
                             struct hub_segment **out, struct hub_segment_view *view);

/* As a guest without a ticket: the first half of it, all that is the same for every peer, over an
 * open file description of its own; and then, for each peer it might be, the second half, for an
 * entry that must be Empty: -EAGAIN, without a diagnosis, where it is not. */
int hub_segment_open(const char *path, struct hub_segment **out);
int hub_segment_check_peer(struct hub_segment *segment, uint32_t peer,
                           struct hub_segment_view *view);

/* What concerns `peer`, for the host that created it. */
void hub_segment_view(const struct hub_segment *segment, uint32_t peer,
                      struct hub_segment_view *out);

/* Unmaps and closes; the creator of a file unlinks it. Accepts NULL. */
void hub_segment_release(struct hub_segment **segment);

/* The name before uid, pid and nonce of a segment file, and the lock that guards it. */
#define HUB_SEGMENT_PREFIX "rapahub"

#endif
