/* SPDX-License-Identifier: Apache-2.0 */
/* connection: a link with its two tables of calls and its channels: the interface for host and
 * guest-sdk. */
#ifndef HUB_CONNECTION_CONNECTION_H
#define HUB_CONNECTION_CONNECTION_H

#include "hub/base/thread_pool.h"
#include "hub/call/calls.h"
#include "hub/call/inbound_calls.h"
#include "hub/channel/channels.h"
#include "hub/link/link.h"

/* The callbacks for the room above; any thread, under the receive token or a lock: they must not
 * wait, send or close; they set a flag and wake a loop. All required. */
struct hub_connection_events {
    void (*on_request)(void *user); /* hub_inbound_calls_next has something */
    void (*on_ready)(void *user);   /* hub_call_ends_deliver has something */
    void (*on_pending)(void *user); /* sweep again */
    void (*on_close)(void *user);   /* the link is closed; all calls have ended */
    void (*on_hint)(void *user);    /* the peer hung up, or its pidfd says it ended */
    void (*on_goodbye)(void *user, const char *reason); /* the peer said goodbye; escaped */
    void *user;
    hub_inbound_calls_streams *streams; /* NULL: no method served here has streams */
};

struct hub_connection {
    struct hub_link *link;
    struct hub_calls *calls;          /* calls that this side makes */
    struct hub_inbound_calls *served; /* calls that this side serves */
    struct hub_channels *channels;
    struct hub_connection_events events;
    struct hub_thread_pool pool; /* moves the streams of calls that this side makes */
    struct hub_a64 unknown;      /* requests that named no method; counted by the room above */
    struct hub_a64 refused;      /* requests of a peer that had its share; likewise */
    struct hub_a32 over;         /* the link is closed, and everything on it has ended */
    uint8_t reason[1040];        /* a Goodbye's, while it is received */
};

/* Says whether the link is closed, and every call, request and stream has ended with it. The
 * closing thread ends them after the close: hub_link_closed says nothing of them. Any thread. */
bool hub_connection_over(const struct hub_connection *connection);

/* Says whether an answer or a Reset owed to the peer found no space. While there is one, sweep now
 * and then. */
bool hub_connection_owes(struct hub_connection *connection);

/* Frees memory that streams have left: at once, or if it was not used since the last time. */
void hub_connection_trim(struct hub_connection *connection, bool at_once);

/* Opens a connection. `options` as for hub_link_create; its events are set here. -ENOMEM. The
 * connection must not move in memory. */
int hub_connection_open(struct hub_connection *connection, const struct hub_link_options *options,
                        const struct hub_connection_events *events);
void hub_connection_close(struct hub_connection *connection); /* frees; a zeroed one is allowed */

#endif
