/* SPDX-License-Identifier: Apache-2.0 */
/* call_streams: the streams of one call, as one of the two processes has them that a connection
 * joins. The thread of the connection has them, and so have the users of
 * their other ends, until neither does.
 */
#ifndef CLUSTER_STREAM_CALL_STREAMS_H
#define CLUSTER_STREAM_CALL_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/route.h>

#include "cluster/link/connection.h"
#include "cluster/link/credit.h"
#include "cluster/stream/stream.h"
#include "cluster/wire/body.h"
#include "hub/base/budget.h"
#include "hub/base/list.h"

/* How a stream uses the connection. */
struct cluster_call_stream {
    struct cluster_stream *stream;
    struct cluster_credit credit;
    uint32_t number; /* on the connection; 0: it was not opened there */
    bool comes;      /* its bytes come by the connection; else they go */
    bool over;       /* nothing more comes or goes */
};

struct cluster_call_streams {
    struct hub_list link; /* in those of a connection */
    struct hub_a32 holders;
    struct hub_a64 moved_ns; /* when a byte moved last, or the call began */
    uint64_t call;           /* its number */
    uint64_t patience_ns;    /* how long nothing need move */
    bool answered;           /* its call has ended, and what was written may still be sent */
    uint32_t count;
    struct cluster_call_stream all[CLUSTER_BODY_STREAMS_MAX];
    struct rapahub_raw_stream ends[CLUSTER_BODY_STREAMS_MAX]; /* for threads */
    struct cluster_bell *bell;
    struct hub_budget *budget; /* NULL: none */
};

struct cluster_call_streams_order {
    uint64_t call, patience_ns;
    uint32_t come, go; /* a bit for each index, from 0 on, in one of the two */
    struct cluster_bell *bell;
    struct hub_budget *budget; /* that their memory is taken from; NULL: none */
};

/* Makes the streams of a call, with one holder. -EBUSY: there are too many, here or of this user;
 * -ENOMEM. */
int cluster_call_streams_make(const struct cluster_call_streams_order *order,
                              struct cluster_call_streams **out);

/* Add a holder, and take one away. NULL is allowed in what is dropped. Any thread. */
struct cluster_call_streams *cluster_call_streams_hold(struct cluster_call_streams *streams);
void cluster_call_streams_drop(struct cluster_call_streams **streams);

/* Says whether nothing more comes or goes. */
bool cluster_call_streams_are_over(const struct cluster_call_streams *streams);

/* They are of no more use: their ends for threads fail. */
void cluster_call_streams_break(struct cluster_call_streams *streams);

/* Takes a frame of an open stream of it. RAPAHUB_EPROTOCOL: it breaks a rule,
 * and ends the connection. */
int cluster_call_streams_take(struct cluster_call_stream *stream, const struct cluster_frame *frame,
                              const struct cluster_body *body);

/* Sends what there is of a stream, as far as it has credit and the connection does not wait for its
 * other side. Returns 1 if there may be more; 0; or the failure of the connection. */
int cluster_call_streams_send(struct cluster_call_stream *stream,
                              struct cluster_connection *connection);

#endif
