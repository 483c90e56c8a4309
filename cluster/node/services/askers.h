/* SPDX-License-Identifier: Apache-2.0 */
/* askers: open questions to the services of this node. Each has a number, and is answered once, or
 * is given up before. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_ASKERS_H
#define CLUSTER_NODE_SERVICES_ASKERS_H

#include <stdint.h>

#include <rapahub/control.h>
#include <rapahub/route.h>

/* Where an answer goes: a constant table of those who hand questions in. */
struct cluster_askers_way {
    void (*answer)(void *user, uint64_t key, const struct rapahub_raw_answer *answer);
};

struct cluster_asker {
    const struct cluster_askers_way *way;
    void *user;
    uint64_t key; /* the way's name for it */
    enum rapahub_control_role role;
    uint64_t number;      /* set when it is added */
    uint64_t deadline_ns; /* HUB_NEVER: its way has one */
    uint64_t operation;   /* that it waits for; 0: none */
    void *memory;         /* freed with the question */
};

struct cluster_askers;

int cluster_askers_create(uint32_t most, struct cluster_askers **out);
void cluster_askers_release(struct cluster_askers **askers);

/* Adds a copy. NULL with a diagnosis, -EBUSY: there are too many. It stays where it is. */
struct cluster_asker *cluster_askers_add(struct cluster_askers *askers,
                                         const struct cluster_asker *asker);
struct cluster_asker *cluster_askers_find(const struct cluster_askers *askers, uint64_t number);

/* Returns the asker with this key of a way's user, or NULL. */
struct cluster_asker *cluster_askers_of_key(const struct cluster_askers *askers, const void *user,
                                            uint64_t key);
void cluster_askers_remove(struct cluster_askers *askers, struct cluster_asker *asker);

/* Answer an asker, and remove it: with a result in POSTCARD, a number, a text; or with the failure
 * that the thread's diagnosis describes. */
void cluster_askers_answer(struct cluster_askers *askers, struct cluster_asker *asker,
                           struct rapahub_bytes result);
void cluster_askers_answer_number(struct cluster_askers *askers, struct cluster_asker *asker,
                                  uint64_t number);
void cluster_askers_answer_flag(struct cluster_askers *askers, struct cluster_asker *asker,
                                bool flag);
void cluster_askers_answer_text(struct cluster_askers *askers, struct cluster_asker *asker,
                                const char *text);
void cluster_askers_fail(struct cluster_askers *askers, struct cluster_asker *asker, int status,
                         const char *text);

/* Returns an asker whose time is up; NULL: none, and *next is the least deadline, if it is less. */
struct cluster_asker *cluster_askers_due(const struct cluster_askers *askers, uint64_t now_ns,
                                         uint64_t *next);

#endif
