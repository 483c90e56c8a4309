/* SPDX-License-Identifier: Apache-2.0 */
/* routed_streams: the streams of a call that the router carries out. The router gets ends of its
 * own, which it may use until it has answered, even if the call has ended before. Threads of the
 * library move the bytes between these and the streams of the caller while the call is open. */
#ifndef HOST_CALL_ROUTED_STREAMS_H
#define HOST_CALL_ROUTED_STREAMS_H

#include <rapahub/route.h>

#include "hub/base/thread_pool.h"
#include "hub/wire/stream_ids.h"

/* The ends that the router gets. */
struct host_routed_ends {
    struct hub_a32 holders;
    struct hub_a64 moved_ns; /* when bytes moved last; 0: never */
    uint32_t count;
    struct rapahub_raw_stream list[HUB_SIGNATURE_ARGUMENTS_MAX];
};

struct host_routed_ends *host_routed_streams_hold(struct host_routed_ends *ends);
void host_routed_streams_release(struct host_routed_ends **ends); /* NULL is allowed in it */

struct host_routed_streams;

struct host_routed_streams_order {
    const struct hub_stream_marks *marks; /* the caller's streams, which outlive the call */
    struct rapahub_bytes arguments;       /* the encoded arguments, in which they are marked */
    struct hub_thread_pool *pool;
    uint64_t patience_ns;       /* how long nothing need move */
    void (*on_end)(void *user); /* a stream has ended; on a thread of its own */
    void *user;
};

/* Makes the ends and begins to move bytes. Any thread. */
int host_routed_streams_open(const struct host_routed_streams_order *order,
                             struct host_routed_streams **out);

/* The arguments with the index of each stream, and the ends. */
struct rapahub_bytes host_routed_streams_arguments(const struct host_routed_streams *streams);
struct host_routed_ends *host_routed_streams_ends(const struct host_routed_streams *streams);

/* The call has ended, well or not. Streams of no further use stop; what the router wrote is still
 * written out. */
void host_routed_streams_close(struct host_routed_streams *streams, bool good);

/* Waits until the deadline for the last byte to be written: true when it is, or when nothing moved
 * for too long, which stops it. */
bool host_routed_streams_settle(struct host_routed_streams *streams, uint64_t deadline_ns);

/* Waits for the threads and frees it: 0, or why a stream of the caller failed, with its
 * diagnosis. */
int host_routed_streams_finish(struct host_routed_streams **streams);

#endif
