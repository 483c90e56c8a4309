/* SPDX-License-Identifier: Apache-2.0 */
/* entry: the record that says who owns a container, and what may become of it. Only the leader
 * writes entries, each by a transaction that compares the one before; so one owner follows another.
 */
#ifndef CLUSTER_BASE_ENTRY_H
#define CLUSTER_BASE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/base/states.h"

enum cluster_entry_state {
    CLUSTER_ENTRY_NONE, /* there is no such entry */
    CLUSTER_ENTRY_STARTING,
    CLUSTER_ENTRY_ACTIVE,
    CLUSTER_ENTRY_MIGRATING,
    CLUSTER_ENTRY_RECOVERING,
    CLUSTER_ENTRY_RESTARTING,
    CLUSTER_ENTRY_PASSIVE,
    CLUSTER_ENTRY_QUARANTINED,
    CLUSTER_ENTRY_STATES
};

struct cluster_entry {
    uint64_t session;     /* the owner's */
    uint64_t epoch;       /* rises with each owner, and with each begin of the container anew */
    uint64_t lineage;     /* where its history of calls began, see ids.h */
    uint64_t op;          /* the operation that moves it, or, where it recovers on another node, the
                             session that was lost, until it is ACTIVE there; 0: none */
    uint32_t owner;       /* node; 0 in the states PASSIVE and QUARANTINED */
    uint32_t destination; /* node, to which it moves in the state MIGRATING; where it begins when it
                             is released from QUARANTINED, 0: at the leader; else 0 */
    uint32_t module;      /* which of the module versions of its pool it runs, from 0 */
    uint8_t state;        /* enum cluster_entry_state */
};

/* The names of the states, and which may follow. */
extern const struct hub_states cluster_entry_states;

/* The owner after a transition. */
enum cluster_entry_owner {
    CLUSTER_ENTRY_SAME,      /* the owner of before, in the same session */
    CLUSTER_ENTRY_SAME_NODE, /* the owner of before, in this or another session */
    CLUSTER_ENTRY_ANY,       /* any node */
    CLUSTER_ENTRY_ARRIVED,   /* the destination of before */
    CLUSTER_ENTRY_NOBODY
};

struct cluster_entry_transition {
    const char *when;
    uint32_t from, to; /* HUB_TO of each state; `to` has none where the state stays */
    enum cluster_entry_owner owner;
    bool raises; /* the epoch, by 1; else it stays */
};

/* The transitions, all that there are; the last one has no `when`. */
extern const struct cluster_entry_transition cluster_entry_transitions[];

/* Says whether the members fit each other: an owner where the state has one, a destination where
 * the container moves, an epoch from 1, a lineage not after it. */
bool cluster_entry_is_sound(const struct cluster_entry *entry);

/* Returns the node that has what the container keeps on a disk: its owner, or that of before it was
 * put aside; 0: it has none. */
uint32_t cluster_entry_holder(const struct cluster_entry *entry);

/* Returns the transition that leads from `before` to `after`, which are sound, or NULL if none
 * does. An entry that is not there is NULL. */
const struct cluster_entry_transition *cluster_entry_transition(const struct cluster_entry *before,
                                                                const struct cluster_entry *after);

#endif
