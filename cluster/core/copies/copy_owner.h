/* SPDX-License-Identifier: Apache-2.0 */
/* copy_owner: when the state of each container that is durable by copies is copied. A container has
 * one copy at a time under way.
 *
 * Where an answer may leave only after a copy covers its call, a copy has exactly the calls that
 * are noted beside it: new calls wait until none runs, then the state is taken, then they go on
 * while it goes to the disk. So it is with each whole state. Else changes are taken at any moment.
 */
#ifndef CLUSTER_CORE_COPIES_COPY_OWNER_H
#define CLUSTER_CORE_COPIES_COPY_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/effects.h"
#include "cluster/core/base/pending.h"
#include "hub/base/states.h"

enum cluster_copy_owner_state {
    CLUSTER_COPY_IDLE,
    CLUSTER_COPY_DRAINING, /* new calls wait until none runs */
    CLUSTER_COPY_SAVING,   /* the copy is asked for; the state is taken */
    CLUSTER_COPY_STORING,  /* it is taken, and goes to the disk */
    CLUSTER_COPY_STATES
};

extern const struct hub_states cluster_copy_owner_states;

#define CLUSTER_COPY_INTERVAL_NS \
    (UINT64_C(5) * 1000000000) /* between copies for which no answer waits */
#define CLUSTER_COPY_DRAIN_NS (UINT64_C(1) * 1000000000)
#define CLUSTER_COPY_SAVE_NS  (UINT64_C(30) * 1000000000) /* until COPIED */
#define CLUSTER_COPY_FIRST_NS (UINT64_C(100) * 1000000)   /* delay after a failure; it doubles */
#define CLUSTER_COPY_MOST_NS  (UINT64_C(5) * 1000000000)

struct cluster_copy_owner;

/* The calls of a container are told of its copies. */
struct cluster_copy_owner_hooks {
    /* Returns how many calls run. */
    uint32_t (*running)(void *user, uint64_t pool, uint32_t container);
    /* New calls wait; or go on. */
    void (*hold)(void *user, uint64_t pool, uint32_t container);
    void (*release)(void *user, uint64_t pool, uint32_t container);
    uint64_t (*last_end)(void *user); /* the number of the last end of a call */
    /* All ends up to this number are in a copy that is durable. */
    void (*covered)(void *user, uint64_t pool, uint32_t container, uint64_t last_end);
};

/* All live longer. */
struct cluster_copy_owner_parts {
    struct cluster_effects_queue *effects;
    struct cluster_pending *pending;
    const struct cluster_copy_owner_hooks *hooks;
    void *user;
};

/* Makes space for at most `max` containers. -ENOMEM. */
int cluster_copy_owner_create(uint32_t max, uint64_t secret,
                              const struct cluster_copy_owner_parts *parts,
                              struct cluster_copy_owner **out);
void cluster_copy_owner_release(struct cluster_copy_owner **owner);

struct cluster_copy_owner_life {
    uint64_t pool, token;
    uint32_t container;
    bool acked; /* answers wait for copies */
};

/* A life of a container begins, which is to be copied. RAPAHUB_EFULL: there are too many. */
int cluster_copy_owner_begin(struct cluster_copy_owner *owner,
                             const struct cluster_copy_owner_life *life, uint64_t now_ns);

/* The life of a container has ended, if it has one here. A copy that is under way is answered yet,
 * before a new life makes one. */
void cluster_copy_owner_down(struct cluster_copy_owner *owner, uint64_t pool, uint32_t container);

/* A container is gone, with its copies. */
void cluster_copy_owner_remove(struct cluster_copy_owner *owner, uint64_t pool, uint32_t container);

/* A call of a container has ended: its state may be another one. */
void cluster_copy_owner_used(struct cluster_copy_owner *owner, uint64_t pool, uint32_t container,
                             uint64_t now_ns);

/* Another node is to have a copy: the next one is a whole state, and due at once. */
void cluster_copy_owner_want_whole(struct cluster_copy_owner *owner, uint64_t pool,
                                   uint32_t container, uint64_t now_ns);

/* The node ends in order: no copy waits for its interval from now on. `due` counts the containers
 * that have one under way, or yet to begin; those of which the last one failed do not count. */
void cluster_copy_owner_stop(struct cluster_copy_owner *owner, uint64_t now_ns);
uint32_t cluster_copy_owner_due(const struct cluster_copy_owner *owner);

/* The state that a copy was to have was taken. False: no such state is being taken. */
bool cluster_copy_owner_saved(struct cluster_copy_owner *owner, uint64_t id);

struct cluster_copy_owner_copied {
    uint64_t id;
    int32_t status;                    /* < 0: there is no such copy */
    bool whole;                        /* the module saves whole states only */
    uint64_t state_size, changes_size; /* bytes of the whole state, and of all changes since */
};

/* A copy is durable, or has failed. False: none was asked for with this id. */
bool cluster_copy_owner_copied(struct cluster_copy_owner *owner,
                               const struct cluster_copy_owner_copied *copied, uint64_t now_ns);

struct cluster_copy_owner_span {
    uint64_t pool;
    uint32_t container;
    uint64_t after, until; /* ends; after: those in the copy that the changes are based on */
};

/* Finds the ends that a copy covers which is under way. False: there is none with this id. */
bool cluster_copy_owner_span(const struct cluster_copy_owner *owner, uint64_t id,
                             struct cluster_copy_owner_span *out);

/* Does what is due. */
void cluster_copy_owner_tick(struct cluster_copy_owner *owner, uint64_t now_ns);

/* Returns when something is due, or CLUSTER_TIMERS_NEVER. */
uint64_t cluster_copy_owner_next(const struct cluster_copy_owner *owner);

/* Figures of a container, for people and alarms. */
struct cluster_copy_owner_figures {
    uint64_t token, seq;  /* the last copy that was asked for; seq 0: none in this life */
    uint64_t durable_seq; /* the last durable one; 0: none in this life */
    uint64_t durable_ns;  /* when it was so */
    uint64_t state_size, changes_size;
    uint32_t failures; /* since the last durable copy */
    uint32_t late;     /* failures because calls did not end in time */
    uint32_t state;
};

/* False: the container is not copied here. */
bool cluster_copy_owner_figures(const struct cluster_copy_owner *owner, uint64_t pool,
                                uint32_t container, struct cluster_copy_owner_figures *out);

#endif
