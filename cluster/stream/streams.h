/* SPDX-License-Identifier: Apache-2.0 */
/* streams: the streams of calls that a connection carries. The side that calls numbers and opens
 * them, the first with 1, and no number comes again. Frames of a stream that is over here and
 * may not be there are dropped. For the thread that serves the connection.
 */
#ifndef CLUSTER_STREAM_STREAMS_H
#define CLUSTER_STREAM_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/stream/call_streams.h"

struct cluster_streams {
    struct hub_list open; /* struct cluster_call_streams */
    uint32_t count;       /* streams of them */
    uint32_t last;        /* the last number */
    uint64_t late;        /* bytes that may still come of streams that are over */
};

void cluster_streams_init(struct cluster_streams *streams);

/* Adds the streams of a call, which are held here from now on. */
void cluster_streams_add(struct cluster_streams *streams, struct cluster_call_streams *call);

/* Finds those of a call, or NULL. */
struct cluster_call_streams *cluster_streams_find(const struct cluster_streams *streams,
                                                  uint64_t call);

/* Breaks the streams of a call, and drops them here. */
void cluster_streams_remove(struct cluster_streams *streams, struct cluster_call_streams *call);

/* The connection has ended: removes all. */
void cluster_streams_lose(struct cluster_streams *streams);

/* The call has ended, well or not. Streams that were written whole are
 * still sent; then they are removed. */
void cluster_streams_answered(struct cluster_streams *streams, uint64_t call, bool good);

/* Opens the streams of a call which was sent: the side that calls. `frame` is the call's. The
 * failures of cluster_connection_put. */
int cluster_streams_open(struct cluster_streams *streams, struct cluster_call_streams *call,
                         struct cluster_connection *connection, const struct cluster_frame *frame);

/* Takes a BULK_OPEN: the side that is called. RAPAHUB_EPROTOCOL: it breaks a rule. For a
 * call that has no streams here, because it was refused or has ended, it is none. */
int cluster_streams_opened(struct cluster_streams *streams, const struct cluster_frame *frame,
                           const struct cluster_body_bulk_open *open);

/* Takes any other frame of a stream. Returns its call's in *of, NULL if it came late.
 * RAPAHUB_EPROTOCOL: it breaks a rule. */
int cluster_streams_take(struct cluster_streams *streams, const struct cluster_frame *frame,
                         const struct cluster_body *body, struct cluster_call_streams **of);

/* Sends what there is, in turn, as far as there is credit and the connection takes it. The failures
 * of the connection. */
int cluster_streams_send(struct cluster_streams *streams, struct cluster_connection *connection);

/* Returns the streams of a call that have not moved for longer than its patience, or NULL; and when
 * to look again, or HUB_NEVER. */
struct cluster_call_streams *cluster_streams_stuck(const struct cluster_streams *streams,
                                                   uint64_t now_ns);
uint64_t cluster_streams_due(const struct cluster_streams *streams);

#endif
