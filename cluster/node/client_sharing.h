/* SPDX-License-Identifier: Apache-2.0 */
/* client_sharing: the segments of clients: guests of the host that it has admitted, each for one
 * container, which takes their calls. Owner.
 */
#ifndef CLUSTER_NODE_CLIENT_SHARING_H
#define CLUSTER_NODE_CLIENT_SHARING_H

#include <rapahub/host.h>
#include <rapahub/node.h>
#include <rapahub/value.h>

#include "cluster/node/clients.h"

#define CLUSTER_SHARING_MAX RAPAHUB_NODE_CLIENTS_MAX

struct cluster_client_sharing;

/* Upwards: a constant table. `client` is the number of cluster_client_sharing_give. */
struct cluster_client_sharing_hooks {
    /* A client asks, by a call of its segment. A failure refuses it with the diagnosis; else
     * cluster_client_sharing_respond answers it once, perhaps before this returns. */
    int (*request)(void *user, uint32_t client, uint64_t request, struct rapahub_bytes bytes);
    /* It has ended without an answer, and an answer is ignored. */
    void (*given_up)(void *user, uint64_t request);
};

/* Makes the container in the host. RAPAHUB_EEXIST: the host has, or had, a node. */
int cluster_client_sharing_create(struct rapahub_host *host,
                                  const struct cluster_client_sharing_hooks *hooks, void *user,
                                  struct cluster_client_sharing **out);

/* No hook is called after this; what still comes is refused. NULL in it is allowed. */
void cluster_client_sharing_release(struct cluster_client_sharing **sharing);

/* Admits the process at the other end of a socket, instead of a guest of the same client.
 * RAPAHUB_EFULL: there are as many as there may be; the errors of rapahub_host_admit. */
int cluster_client_sharing_give(struct cluster_client_sharing *sharing, uint32_t client, int fd,
                                struct cluster_clients_segment *out);

/* Cuts off the guest of a client; one that has none is ignored. */
void cluster_client_sharing_take_back(struct cluster_client_sharing *sharing, uint32_t client);

/* Answers a request with the type and the body of a frame. */
void cluster_client_sharing_respond(struct cluster_client_sharing *sharing, uint64_t request,
                                    uint8_t type, const struct cluster_body *body);

#endif
