/* SPDX-License-Identifier: Apache-2.0 */
/* services: the container {UINT32_MAX, 16} of a node, `rapahub.node`: lists and orders for people.
 * The host and its clients reach it; a guest never does. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_SERVICES_H
#define CLUSTER_NODE_SERVICES_SERVICES_H

#include <stdint.h>

#include "cluster/core/base/effects.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/disk/store_thread.h"
#include "cluster/node/services/askers.h"
#include "cluster/node/services/lists.h"

struct cluster_marker;
struct cluster_services;

struct cluster_services_parts { /* all live longer */
    struct rapahub_host *host;
    struct cluster_event_queue *events;
    struct cluster_store_thread *disk;
    struct cluster_metastore *store;
    struct cluster_marker *marker;
    struct cluster_lists lists;
    struct cluster_node_identity *identity; /* also that of `lists` */
    const char *backups;                    /* path of the folder of backups of the metastore */
};

/* Makes the services, and their container in the host. */
int cluster_services_create(const struct cluster_services_parts *parts,
                            struct cluster_services **out);

/* The status says this of the clients of the node from here on; NULL: nothing. It stays the
 * caller's. */
void cluster_services_show_clients(struct cluster_services *services,
                                   const struct cluster_client_counts *clients);

/* All who wait get RAPAHUB_ECLOSED, and so do those who come later. */
void cluster_services_close(struct cluster_services *services);
void cluster_services_release(struct cluster_services **services);

/* Readable when cluster_services_step has something to do. */
int cluster_services_fd(const struct cluster_services *services);

/* Ends questions whose time is up. Returns when it is to be called again at the latest. In each
 * turn of the node, with whether the descriptor was found readable in it. */
uint64_t cluster_services_step(struct cluster_services *services, uint64_t now_ns, bool readable);

/* Asks a question for a client: `asker` says which, and in which role. A negative return refuses
 * it; else its answer comes once, perhaps before this returns. */
int cluster_services_ask(struct cluster_services *services, const struct cluster_asker *asker,
                         uint64_t method_id, struct rapahub_bytes arguments);

/* The asker with this key waits no more. */
void cluster_services_cancel(struct cluster_services *services, const void *user, uint64_t key);

/* Carries out the effect ORDERED; an order was refused by the core, with the thread's diagnosis. */
void cluster_services_ordered(struct cluster_services *services,
                              const struct cluster_effect *effect);
void cluster_services_refused(struct cluster_services *services, uint64_t order, int status);

#endif
