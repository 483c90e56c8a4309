/* SPDX-License-Identifier: Apache-2.0 */
/* client_link: the connection of a client to its node: made, lost, and what goes through it.
 */
#ifndef CLUSTER_CLIENT_CLIENT_LINK_H
#define CLUSTER_CLIENT_CLIENT_LINK_H

#include "cluster/client/client_loop.h"

/* Tries to connect, and says HELLO. A failure is noted, and an attempt follows later. */
void cluster_client_link_connect(struct cluster_client_loop *loop, uint64_t now_ns);

/* Reads what has come, and writes what waits. */
void cluster_client_link_dispatch(struct cluster_client_loop *loop, uint64_t now_ns);

/* The node is away, with the diagnosis: the connection is closed, and the calls wait. */
void cluster_client_link_lose(struct cluster_client_loop *loop, uint64_t now_ns);

/* Sends the calls that wait, as far as the node takes them, and the acknowledgements. */
void cluster_client_link_send(struct cluster_client_loop *loop, uint64_t now_ns);

/* Tells the node that a call is not waited for any more, if it has it. */
void cluster_client_link_cancel(struct cluster_client_loop *loop,
                                const struct cluster_client_call *call);

/* Says goodbye, as far as the socket takes it, and closes the connection. */
void cluster_client_link_close(struct cluster_client_loop *loop);

#endif
