/* SPDX-License-Identifier: Apache-2.0 */
/* client_streams: the streams of a call of a client. Threads of the client move the bytes between
 * the caller's streams and the connection, from the moment in which the node wants some or has some
 * until the call has ended. Before that the caller's streams are not touched, and the call may be
 * sent again. The leader alone, but for those threads.
 */
#ifndef CLUSTER_CLIENT_CLIENT_STREAMS_H
#define CLUSTER_CLIENT_CLIENT_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/stream/streams.h"
#include "hub/base/thread_pool.h"
#include "hub/channel/pump.h"
#include "hub/wire/stream_ids.h"

#define CLUSTER_CLIENT_STREAMS_MAX 1024 /* in all calls of a client */

/* How a call ended. */
struct cluster_client_end {
    int code; /* 0, or a failure with the rest */
    int application;
    struct rapahub_string text;
    struct rapahub_bytes payload; /* the result, if code is 0 */
};

/* The streams of all calls of a client share this. */
struct cluster_client_stream_means {
    struct cluster_streams open; /* on the connection */
    struct cluster_bell *bell;   /* wakes the leader */
    struct hub_thread_pool pool;
};

int cluster_client_streams_init(struct cluster_client_stream_means *means);
void cluster_client_streams_fini(struct cluster_client_stream_means *means); /* none are open */

/* The streams of one call. */
struct cluster_client_streams {
    struct cluster_client_stream_means *means;
    const struct hub_stream_marks *marks; /* the caller's streams */
    struct cluster_call_streams *sent;    /* NULL: the call was not sent, or must be sent again */
    struct hub_pump *pumps[HUB_SIGNATURE_ARGUMENTS_MAX];
    uint32_t begun;
    struct hub_a32 ended; /* how many of those pumps have ended */
    bool moves;           /* bytes may have been read or written: it is not sent again */
    bool has_end;
    struct cluster_client_end end;
    void *memory; /* its text or payload */
};

/* Makes those of a call; `marks` outlive them. NULL with the diagnosis: no memory. */
struct cluster_client_streams *cluster_client_streams_make(const struct hub_stream_marks *marks);
void cluster_client_streams_release(struct cluster_client_streams **streams);

/* Bits of the indexes of sources, and of sinks. */
uint32_t cluster_client_streams_sources(const struct hub_stream_marks *marks);
uint32_t cluster_client_streams_sinks(const struct hub_stream_marks *marks);

/* The call is going to be sent, with this number. -EBUSY: this client has too many streams;
 * -ENOMEM. */
int cluster_client_streams_offer(struct cluster_client_streams *streams,
                                 struct cluster_client_stream_means *means, uint64_t call,
                                 uint64_t patience_ns);

/* The call, which was sent, is to be sent again. False: it must not be. */
bool cluster_client_streams_withdraw(struct cluster_client_streams *streams);

/* A frame of them has come: bytes move from now on. -ENOMEM: there is no thread for them. */
int cluster_client_streams_begin(struct cluster_client_streams *streams);

/* The call has ended so, which is copied. A failure counts more than an end without one, and the
 * first failure counts. */
void cluster_client_streams_end(struct cluster_client_streams *streams,
                                const struct cluster_client_end *end);

/* The end of a call that can neither be sent again nor be told as it is. */
extern const struct cluster_client_end cluster_client_streams_maybe;

/* Says whether the method has returned, and nothing came yet of what it wrote. */
bool cluster_client_streams_lack(const struct cluster_client_streams *streams);

/* Says whether the streams, after the end, are the caller's again. */
bool cluster_client_streams_are_done(const struct cluster_client_streams *streams);

/* Waits for that, and returns the end: the call's, or the failure of a stream, with its text in
 * `text`. */
struct cluster_client_end cluster_client_streams_finish(struct cluster_client_streams *streams,
                                                        char *text, size_t size);

/* Returns when bytes moved last; 0: never. */
uint64_t cluster_client_streams_moved(const struct cluster_client_streams *streams);

#endif
