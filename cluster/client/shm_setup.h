/* SPDX-License-Identifier: Apache-2.0 */
/* shm_setup: a client asks its node for a segment, takes it, and gives it up. The client's thread.
 */
#ifndef CLUSTER_CLIENT_SHM_SETUP_H
#define CLUSTER_CLIENT_SHM_SETUP_H

#include "cluster/client/client_loop.h"

/* The node has said HELLO: it is asked for a segment, if it gives any and one is wanted. */
int cluster_shm_setup_begin(struct cluster_client_loop *loop, uint64_t features);

/* Takes the answer. A failure ends the connection. Where there is no segment the diagnosis says
 * why. */
int cluster_shm_setup_take(struct cluster_client_loop *loop,
                           const struct cluster_body_shared *shared);

/* Gives up a segment that has come to its end, and asks for another one after a while. */
int cluster_shm_setup_look(struct cluster_client_loop *loop, uint64_t now_ns);

/* The connection has ended, and a segment does with it. Calls in it go on by the socket. */
void cluster_shm_setup_end(struct cluster_client_loop *loop);

#endif
