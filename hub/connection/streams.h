/* SPDX-License-Identifier: Apache-2.0 */
/* streams: the streams of a call that this side makes: a channel for each, and a pump that moves
 * its bytes as long as the call is open. */
#ifndef HUB_CONNECTION_STREAMS_H
#define HUB_CONNECTION_STREAMS_H

#include "hub/connection/connection.h"
#include "hub/wire/stream_ids.h"

struct hub_streams;

struct hub_streams_order {
    struct hub_connection *connection;
    const struct hub_stream_marks *marks; /* the streams, which outlive the call */
    struct rapahub_bytes arguments;       /* the encoded arguments, in which they are marked */
    uint64_t deadline_ns;                 /* for the wait for ids */
    uint64_t patience_ns;                 /* how long nothing need move */
    void (*on_end)(void *user); /* a stream has ended; on a thread of its own; NULL: none */
    /* Says after hub_streams_finish whether anything was moved. If not, the streams are as they
     * were, for another call. NULL: they are of no more use in any case. */
    bool *moved;
    void *user;
};

/* Opens the channels and puts their ids into the arguments. -EBUSY if all ids stay in use;
 * RAPAHUB_ESTALE if the link is closed. */
int hub_streams_open(const struct hub_streams_order *order, struct hub_streams **out);

/* For the struct hub_call. */
struct rapahub_bytes hub_streams_arguments(const struct hub_streams *streams);
const struct hub_channel_list *hub_streams_channels(const struct hub_streams *streams);

/* The Request is out: bytes move, and with each the call's deadline. A failure here shows at the
 * end. */
void hub_streams_begin(struct hub_streams *streams, uint64_t number);

/* The call has ended, well or not; or it was never sent. Streams of no further use stop; received
 * data is still written out. */
void hub_streams_close(struct hub_streams *streams, bool good);

/* Waits until the deadline for the last byte to be written: true when it is, or nothing moved for
 * too long, which stops it. */
bool hub_streams_settle(struct hub_streams *streams, uint64_t deadline_ns);

/* Waits for the threads and frees it: 0, or why a stream of the caller failed, with its
 * diagnosis. */
int hub_streams_finish(struct hub_streams **streams);

#endif
