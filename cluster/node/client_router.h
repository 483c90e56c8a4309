/* SPDX-License-Identifier: Apache-2.0 */
/* client_router: what the clients of a node ask for goes where it belongs: calls of pools to the
 * core, those of `rapahub.node` to the services; and the answers go back. Owner.
 */
#ifndef CLUSTER_NODE_CLIENT_ROUTER_H
#define CLUSTER_NODE_CLIENT_ROUTER_H

#include "cluster/core/core.h"
#include "cluster/node/base/client_counts.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/calls/router.h"
#include "cluster/node/services/services.h"

struct cluster_clients_options;
struct cluster_marker;
struct cluster_node_identity;
struct cluster_client_router;

struct cluster_client_router_parts { /* all live longer */
    struct rapahub_host *host;
    const struct cluster_core *core;
    struct cluster_event_queue *events;
    struct cluster_router *router;
    struct cluster_services *services;
    const struct cluster_node_identity *identity;
    struct cluster_marker *marker; /* for nodes that join */
    const char *place;             /* see struct cluster_join_admission_parts */
};

/* Opens the socket, as cluster_clients_open does; its hooks are set here. */
int cluster_client_router_create(const struct cluster_client_router_parts *parts,
                                 const struct cluster_clients_options *options,
                                 struct cluster_client_router **out);

/* Returns what is counted of the clients until they are closed. */
const struct cluster_client_counts *cluster_client_router_counts(
    const struct cluster_client_router *self);

/* Ends all connections. The ends of calls that are open are dropped. */
void cluster_client_router_close(struct cluster_client_router *self);
void cluster_client_router_release(struct cluster_client_router **self);

/* Readable when cluster_client_router_dispatch has something to do. */
int cluster_client_router_fd(const struct cluster_client_router *self);
int cluster_client_router_dispatch(struct cluster_client_router *self);

/* See cluster_clients_look_at_certificates. */
void cluster_client_router_look_at_certificates(struct cluster_client_router *self);

/* Reads "GROUP" or "GROUP:ROLE", whose members may use the socket; without a role they are viewers.
 * The name is written to `group`. RAPAHUB_EINVAL: it is neither. */
#define CLUSTER_CLIENT_ROUTER_GROUP 256
int cluster_client_router_group(const char *text, char group[CLUSTER_CLIENT_ROUTER_GROUP],
                                struct cluster_clients_options *out);

#endif
