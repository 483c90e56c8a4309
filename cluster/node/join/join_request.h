/* SPDX-License-Identifier: Apache-2.0 */
/* join_request: asks a node, over the network, to be taken into its cluster. It waits, with a
 * deadline, on its caller's thread. The secret of the token leaves this machine only when the node
 * has proved that an authority with the digest that was given has signed its certificate.
 */
#ifndef CLUSTER_NODE_JOIN_JOIN_REQUEST_H
#define CLUSTER_NODE_JOIN_JOIN_REQUEST_H

#include "cluster/identity/certificate.h"
#include "cluster/link/host_port.h"
#include "cluster/wire/body.h"

struct cluster_join_request {
    struct cluster_host_port to;
    uint8_t ca_digest[CLUSTER_CERTIFICATE_DIGEST];
    uint64_t wait_ns;
    struct cluster_body_join join; /* its texts live longer */
};

/* The answer of the node. */
struct cluster_join_answer {
    uint32_t node;
    uint64_t revision;
    uint8_t cluster[CLUSTER_BODY_UUID];
    char place[CLUSTER_BODY_PLACE_MAX + 1]; /* URL of the metastore; "": the one that was asked is
                                               its seat */
    struct cluster_pem certificate;
    size_t anchors_size;
    char anchors[CLUSTER_BODY_ANCHORS_MAX];
};

/* Asks at one address after the other until one takes the question. Failures are those of a
 * look-up, of a connection and of TLS; what the node says, with its code; -ETIMEDOUT: it may have
 * been taken, and then a number and a use of the token are lost. */
int cluster_join_request_run(const struct cluster_join_request *request,
                             struct cluster_join_answer *out);

#endif
