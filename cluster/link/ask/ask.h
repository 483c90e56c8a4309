/* SPDX-License-Identifier: Apache-2.0 */
/* ask: one frame for a node, over a link of its own, and the answer to it. It waits, with a
 * deadline, on its caller's thread.
 */
#ifndef CLUSTER_LINK_ASK_ASK_H
#define CLUSTER_LINK_ASK_ASK_H

#include "cluster/link/host_port.h"
#include "cluster/link/tls.h"
#include "cluster/wire/body.h"
#include "cluster/wire/frame.h"

/* Upwards. A constant table. */
struct cluster_ask_hooks {
    /* Takes a frame of the other side, whose name its certificate has. 1: it is the answer; 0: it
     * is not. A failure, with its diagnosis, ends all. */
    int (*take)(void *user, const struct cluster_peer_name *from, const struct cluster_frame *frame,
                const struct cluster_body *body);
};

struct cluster_ask {
    const struct cluster_tls_context *context; /* lives longer, as all that follows */
    struct cluster_host_port to;
    uint64_t deadline_ns; /* monotonic */
    uint8_t type;         /* the frame's */
    struct cluster_body body;
    const struct cluster_ask_hooks *hooks;
    void *user;
};

/* Tries one address after the other until a node takes the frame. Failures are those of a look-up,
 * of a connection and of TLS, and what `take` returned; -ETIMEDOUT: no answer came, and the frame
 * may have been taken. The diagnosis begins with the address. */
int cluster_ask_run(const struct cluster_ask *ask);

#endif
