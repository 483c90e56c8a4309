/* SPDX-License-Identifier: Apache-2.0 */
/* connection: frames over one stream socket, in both directions, without ever waiting. All that the
 * other side wrote is hostile: each frame is checked before it is handed up, and the first that
 * breaks a rule ends the connection.
 *
 * A body of more than CLUSTER_FRAME_BODY_MAX bytes goes in parts, which are put together here.
 * Calls (CALL, RESULT, EACH) need credit: a body may begin while some is left, and may then take
 * more than is left. Other frames need none, but wait in a queue of at most
 * CLUSTER_CONNECTION_CONTROL_MAX bytes. The bytes of streams have credit of their own, see
 * cluster/stream. So each side keeps for the other a bounded number of bytes.
 * For one thread.
 */
#ifndef CLUSTER_LINK_CONNECTION_H
#define CLUSTER_LINK_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/link/transport.h"
#include "cluster/wire/body.h"
#include "cluster/wire/frame.h"
#include "hub/base/budget.h"
#include "hub/base/closer.h"

#define CLUSTER_CONNECTION_CREDIT      (8u << 20) /* bytes of calls */
#define CLUSTER_CONNECTION_CONTROL_MAX (4u << 20) /* bytes of other frames that wait */

struct cluster_connection;

/* Why the frame hook leaves a frame where it is: it is handed up again by the next dispatch. */
#define CLUSTER_CONNECTION_LATER 1

/* Upwards. Both run inside of cluster_connection_dispatch. They may put frames, but must not
 * release the connection. */
struct cluster_connection_hooks {
    /* A frame has come, whole; all of it is good until this returns. Returns 0, or
     * CLUSTER_CONNECTION_LATER. A failure, with its diagnosis, ends the connection. */
    int (*frame)(void *user, const struct cluster_frame *frame, const struct cluster_body *body);
    /* There is credit again after there was none. */
    void (*credit)(void *user);
};

struct cluster_connection_options {
    size_t body_max;           /* bytes of a body that comes in parts */
    uint64_t ping_ns;          /* after such a silence the other side is asked; 0: never */
    uint64_t silent_ns;        /* after such a silence the connection ends; 0: never */
    struct hub_budget *budget; /* of the memory for bodies in parts; NULL: no bound but body_max */
    struct hub_closer *closer; /* both live longer */
    bool descriptors;          /* two may come with a frame, and are kept for the frame hook */
    bool streams;              /* BULK_*, and CREDIT of a stream, are handed up, and not refused */
    const struct cluster_transport_table *transport; /* NULL: the socket itself */
    void *session;                                   /* of the transport */
};

/* Makes a connection of a socket, non-blocking, and of the session, which it owns from here on,
 * also after a failure. -ENOMEM. */
int cluster_connection_create(int fd, const struct cluster_connection_options *options,
                              const struct cluster_connection_hooks *hooks, void *user,
                              struct cluster_connection **out);
void cluster_connection_release(struct cluster_connection **connection);

int cluster_connection_fd(const struct cluster_connection *connection);

/* Returns what to poll the descriptor for: POLLIN, POLLOUT. While a frame was left for later and
 * bytes wait to be sent it is POLLOUT alone. */
short cluster_connection_events(const struct cluster_connection *connection);

/* Returns when to dispatch at the latest, or HUB_NEVER. */
uint64_t cluster_connection_due(const struct cluster_connection *connection);

/* Reads and hands up what has come, up to a bound, and writes what waits. A failure ends the
 * connection, with the rule that was broken in the diagnosis: RAPAHUB_EPROTOCOL, RAPAHUB_EFORMAT,
 * -ENOMEM; RAPAHUB_ECLOSED: the other side hung up; -ETIMEDOUT: it is silent; those of the
 * transport; what the hook returned. */
int cluster_connection_dispatch(struct cluster_connection *connection, uint64_t now_ns);

/* Writes what waits, as far as the socket takes it. The same failures. */
int cluster_connection_flush(struct cluster_connection *connection);

/* Says whether bytes wait to be sent, and how many. */
bool cluster_connection_waits(const struct cluster_connection *connection);
size_t cluster_connection_waiting(const struct cluster_connection *connection);

/* Adds a frame to what waits to be sent; its `body_size` and flags are set here. -EAGAIN: no credit
 * is left for it; the hook tells when there is. -EMSGSIZE: the body is larger than `body_max`;
 * -EINVAL: it would be refused. RAPAHUB_EFULL: too many frames wait, because the other side does
 * not read: the connection ends. -ENOMEM. */
int cluster_connection_put(struct cluster_connection *connection, const struct cluster_frame *frame,
                           const struct cluster_body *body);

/* Adds a BULK_DATA to what waits, and returns where its `size` bytes, at most
 * CLUSTER_FRAME_BODY_MAX, are to be written before anything else is done with the connection. The
 * caller bounds how many wait, and knows their credit. NULL with the diagnosis: no memory.
 */
uint8_t *cluster_connection_put_data(struct cluster_connection *connection, uint32_t stream,
                                     size_t size);

/* The same as cluster_connection_put for a frame that needs no credit, with two descriptors, which
 * are the connection's from here on. RAPAHUB_EBUSY: others wait to be sent. */
int cluster_connection_put_descriptors(struct cluster_connection *connection,
                                       const struct cluster_frame *frame,
                                       const struct cluster_body *body, const int descriptors[2]);

/* Gives out the two descriptors that came last. False: there are none. */
bool cluster_connection_take_descriptors(struct cluster_connection *connection, int out[2]);

#endif
