/* SPDX-License-Identifier: Apache-2.0 */
/* stream: one stream of a call whose two ends are in two processes, as one of them has it. Its one
 * side is an end as in <rapahub/stream.h>, for a thread that may wait; the other side is for the
 * thread that serves the connection, and never waits. At most CLUSTER_STREAM_WINDOW bytes are
 * between the two.
 */
#ifndef CLUSTER_STREAM_STREAM_H
#define CLUSTER_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/route.h>
#include <rapahub/value.h>

#include "cluster/stream/bell.h"
#include "hub/base/atomic.h"

#define CLUSTER_STREAM_WINDOW (256u * 1024) /* bytes; a power of 2 */

struct cluster_stream;

/* Makes a stream whose bytes come by the connection, or go by it. The bell rings, and outlives it,
 * when there is something to do for the thread of the connection; `moved_ns` is when a byte passed
 * the end for threads last. NULL with the diagnosis: no memory. */
struct cluster_stream *cluster_stream_make(bool comes, struct cluster_bell *bell,
                                           struct hub_a64 *moved_ns);
void cluster_stream_release(struct cluster_stream **stream); /* nothing uses it any more */

/* Returns the end for threads: a source, if the bytes come by the connection, else a sink. It is
 * used by one thread at a time, which waits there as long as it takes, until it is told to stop or
 * the stream has ended. It is not to be destroyed. */
struct rapahub_raw_stream cluster_stream_end(struct cluster_stream *stream);

/* ---- a stream that comes ---- */

/* Adds bytes. False: they are more than fit in. */
bool cluster_stream_put(struct cluster_stream *stream, struct rapahub_bytes bytes);

/* All has come. */
void cluster_stream_finish(struct cluster_stream *stream);

/* Bytes may come before anything wants to read them. */
void cluster_stream_want(struct cluster_stream *stream);

/* Returns for how many bytes there is space again since it was asked last: none as long as nothing
 * has wanted to read, then the whole window at first. */
uint32_t cluster_stream_space(struct cluster_stream *stream);

/* Says whether its reader wants no more. */
bool cluster_stream_is_left(struct cluster_stream *stream);

/* ---- a stream that goes ---- */

enum cluster_stream_state {
    CLUSTER_STREAM_OPEN,  /* more may be written */
    CLUSTER_STREAM_WHOLE, /* all is written */
    CLUSTER_STREAM_BROKEN /* the rest will not come */
};

/* Returns how many bytes wait to be sent. */
size_t cluster_stream_waiting(struct cluster_stream *stream, enum cluster_stream_state *state);

/* Takes so many of them. */
void cluster_stream_take(struct cluster_stream *stream, uint8_t *to, size_t size);

/* The other side wants no more: writes fail with RAPAHUB_ERESET. */
void cluster_stream_leave(struct cluster_stream *stream);

/* ---- both ---- */

/* No more comes or goes, unless all has: the end for threads fails with RAPAHUB_ERESET, a reader's
 * after what is there. Any thread. */
void cluster_stream_break(struct cluster_stream *stream);

#endif
