/* SPDX-License-Identifier: Apache-2.0 */
/* node_inquiries: the containers that a node offers in its host. The host keeps them as long as it
 * lasts, and a node may end before: from then on they refuse. On the thread that owns the host.
 */
#ifndef CLUSTER_NODE_SERVICES_NODE_INQUIRIES_H
#define CLUSTER_NODE_SERVICES_NODE_INQUIRIES_H

#include <rapahub/host.h>
#include <rapahub/route.h>

struct cluster_node_inquiries;

/* The functions of a node that answer: a constant table. Both as in struct rapahub_inquiries. */
struct cluster_node_inquiries_hooks {
    int (*begin)(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id answer);
    void (*cancel)(void *user, struct rapahub_request_id answer);
};

/* An offer of a node. */
struct cluster_node_inquiries_offer {
    const struct rapahub_container_options *container;
    const char *const *methods; /* ended by NULL */
    const struct cluster_node_inquiries_hooks *hooks;
    void *user;
};

/* Makes the container; it is freed with the host. RAPAHUB_EEXIST: the host has, or had, a node. */
int cluster_node_inquiries_make(struct rapahub_host *host,
                                const struct cluster_node_inquiries_offer *offer,
                                struct cluster_node_inquiries **out);

/* From now on it refuses: RAPAHUB_ECLOSED. NULL, and a second time, are ignored. */
void cluster_node_inquiries_end(struct cluster_node_inquiries **inquiries);

#endif
