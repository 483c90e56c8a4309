/* SPDX-License-Identifier: Apache-2.0 */
/* lives: what is asked of the containers of this node: that they begin, or are removed; and how
 * often a begin has failed. Each is asked for one thing at a time.
 */
#ifndef CLUSTER_CORE_OPS_LIVES_H
#define CLUSTER_CORE_OPS_LIVES_H

#include "cluster/core/ops/context.h"

#define CLUSTER_LIVES_ASKED_MAX    64 /* at once */
#define CLUSTER_LIVES_FAILURES_MAX 3  /* begins that may fail, one after another */
#define CLUSTER_LIVES_REMOVALS_MAX 5  /* removals of a container that may fail */
#define CLUSTER_LIVES_TEXT_MAX     160
#define CLUSTER_LIVES_BEGIN_NS     (UINT64_C(30) * 1000000000) /* that a begin may take */
/* A container that has served so long has begun well: what failed before does not count. */
#define CLUSTER_LIVES_PROVED_NS (UINT64_C(60) * 1000000000)

struct cluster_life {
    uint64_t pool;
    uint64_t again_ns; /* not before this time is it asked again */
    uint64_t begun_ns;
    uint64_t epoch;               /* that it was last asked to begin in */
    uint64_t told_epoch, tell_ns; /* see reports.h: what was told, and when it is again */
    uint32_t told_link, tellings;
    uint8_t told;
    uint32_t container;
    uint32_t place;
    int32_t status;   /* the last failure */
    uint8_t asked;    /* the kind of the effect whose event has not come; 0: none */
    uint8_t failures; /* begins, since it has served for a while; or removals */
    bool failed;      /* the last begin */
    bool ends;        /* it is to be removed */
    bool removed;     /* or that failed too often */
    char text[CLUSTER_LIVES_TEXT_MAX + 1]; /* the last failure's */
};

struct cluster_lives;

/* Makes a table of as many containers as a node has. -ENOMEM. */
int cluster_lives_create(const struct cluster_context *context, uint64_t secret,
                         struct cluster_lives **out);
void cluster_lives_release(struct cluster_lives **lives);

/* Return what is known of a container, or NULL; the next after a place, which becomes its place. */
struct cluster_life *cluster_lives_find(const struct cluster_lives *lives, uint64_t pool,
                                        uint32_t container);
struct cluster_life *cluster_lives_after(const struct cluster_lives *lives, uint32_t *place);

/* Asks for a begin of the container of an entry of this node, in the next life of its epoch, unless
 * too much is asked for. False: this epoch has no more lives. */
bool cluster_lives_begin(struct cluster_lives *lives, struct cluster_context *context,
                         const struct cluster_address *address);

/* Says whether the container has had all lives of the epoch that it is in. */
bool cluster_lives_are_spent(const struct cluster_context *context,
                             const struct cluster_address *address);

/* Asks for the removal of a container, unless too much is asked for. */
void cluster_lives_remove(struct cluster_lives *lives, struct cluster_context *context,
                          uint64_t pool, uint32_t container);

/* The answers to these. -ENOENT: nothing was asked for under this id. */
struct cluster_lives_answer {
    uint64_t id, covered;
    int32_t status;
    struct rapahub_string text;
};
int cluster_lives_begun(struct cluster_lives *lives, struct cluster_context *context,
                        const struct cluster_lives_answer *answer);
int cluster_lives_removed(struct cluster_lives *lives, struct cluster_context *context,
                          const struct cluster_lives_answer *answer);

/* The guest of a container is dead. */
void cluster_lives_down(struct cluster_lives *lives, struct cluster_context *context, uint64_t pool,
                        uint32_t container);

/* A container will not be begun here any more, until it is released: it is told as gone. */
void cluster_lives_give_up(struct cluster_lives *lives, struct cluster_context *context,
                           uint64_t pool, uint32_t container);

/* Its failures do not count any more, if a person has released it since they came. */
void cluster_lives_forgive(struct cluster_lives *lives, const struct cluster_address *address);

/* Forgets the containers that have no entry any more. */
void cluster_lives_sweep(struct cluster_lives *lives, const struct cluster_context *context);

/* Returns how many answers are awaited. */
uint32_t cluster_lives_asked(const struct cluster_lives *lives);

#endif
