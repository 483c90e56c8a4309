/* SPDX-License-Identifier: Apache-2.0 */
/* local_containers: the containers that are on this node, whatever the map says of them. Between a
 * change of the map and what follows from it here the two differ, so a call is looked up in both.
 */
#ifndef CLUSTER_CORE_MAP_LOCAL_CONTAINERS_H
#define CLUSTER_CORE_MAP_LOCAL_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/states.h"

enum cluster_local_state {
    CLUSTER_LOCAL_BEGINNING, /* its callbacks run; nothing else does */
    CLUSTER_LOCAL_SERVING,
    CLUSTER_LOCAL_HELD, /* new calls wait */
    CLUSTER_LOCAL_DOWN, /* its guest died, and it was not begun anew yet */
    CLUSTER_LOCAL_STATES
};

extern const struct hub_states cluster_local_states;

struct cluster_local_container {
    uint64_t pool;
    uint64_t token;   /* its life has it */
    uint64_t lineage; /* where the history of its calls began */
    uint32_t container;
    uint32_t state;
    bool copying;  /* it serves, but new calls wait until its state is taken */
    bool restored; /* the history of its calls is that of the copy with which it begins */
};

struct cluster_local_containers;

/* Makes a table of at most `max` containers. -ENOMEM. */
int cluster_local_containers_create(uint32_t max, uint64_t secret,
                                    struct cluster_local_containers **out);
void cluster_local_containers_release(struct cluster_local_containers **locals);

/* Begins a life of a container: of a new one, or of one that is down. RAPAHUB_ESTALE where its
 * token is not above that of its last life, RAPAHUB_ESTATE where it is not down, RAPAHUB_EFULL
 * where there are too many. */
int cluster_local_containers_begin(struct cluster_local_containers *locals, uint64_t pool,
                                   uint32_t container, uint64_t token, uint64_t lineage);

/* Changes the state of a container that is there. Aborts on a change that is not in the table. */
void cluster_local_containers_move(struct cluster_local_containers *locals, uint64_t pool,
                                   uint32_t container, enum cluster_local_state to);

/* Removes a container, if it is there. */
void cluster_local_containers_remove(struct cluster_local_containers *locals, uint64_t pool,
                                     uint32_t container);

/* Return a container, or NULL. It is good until the next change. */
struct cluster_local_container *cluster_local_containers_find(
    const struct cluster_local_containers *locals, uint64_t pool, uint32_t container);

/* Returns the least container of the pool that serves; if none does the least that is here, or
 * NULL. */
const struct cluster_local_container *cluster_local_containers_any(
    const struct cluster_local_containers *locals, uint64_t pool);

/* Return the next container after a place, which becomes its place; 0 is before the first. */
struct cluster_local_container *cluster_local_containers_after(
    const struct cluster_local_containers *locals, uint32_t *place);

uint32_t cluster_local_containers_count(const struct cluster_local_containers *locals);

#endif
