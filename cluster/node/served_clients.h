/* SPDX-License-Identifier: Apache-2.0 */
/* served_clients: what the clients of a node ask for goes where it belongs: calls of pools to the
 * core, those of `rapahub.node` to the services; and the answers go back. Owner.
 */
#ifndef CLUSTER_NODE_SERVED_CLIENTS_H
#define CLUSTER_NODE_SERVED_CLIENTS_H

#include "cluster/core/core.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/calls/router.h"
#include "cluster/node/services/services.h"

struct cluster_clients_options;
struct cluster_served_clients;

struct cluster_served_clients_parts { /* all live longer */
    const struct cluster_core *core;
    struct cluster_event_queue *events;
    struct cluster_router *router;
    struct cluster_services *services;
};

/* Opens the socket, as cluster_clients_open does; its hooks are set here. */
int cluster_served_clients_create(const struct cluster_served_clients_parts *parts,
                                  const struct cluster_clients_options *options,
                                  struct cluster_served_clients **out);

/* Ends all connections. The end of a call that is open is told to nobody. */
void cluster_served_clients_close(struct cluster_served_clients *served);
void cluster_served_clients_release(struct cluster_served_clients **served);

/* Readable when cluster_served_clients_dispatch has something to do. */
int cluster_served_clients_fd(const struct cluster_served_clients *served);
int cluster_served_clients_dispatch(struct cluster_served_clients *served);

#endif
