/* SPDX-License-Identifier: Apache-2.0 */
/* node_calls: the calls that were handed to the core and have not ended, with what an answer needs
 * to get back to who asked, and what a run needs that the core does not keep: chain, caller,
 * streams. Owner.
 */
#ifndef CLUSTER_NODE_CALLS_NODE_CALLS_H
#define CLUSTER_NODE_CALLS_NODE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/route.h>

#include "cluster/base/ids.h"
#include "hub/base/list.h"

struct cluster_node_call;

/* The maker of calls: a constant table. `answer` comes once, after all of `each`. The answer is
 * good until the function returns. */
struct cluster_node_calls_caller {
    void (*each)(void *user, const struct cluster_node_call *call, uint32_t container,
                 const struct rapahub_raw_answer *answer);
    void (*answer)(void *user, const struct cluster_node_call *call,
                   const struct rapahub_raw_answer *answer);
};

struct cluster_node_call {
    uint64_t number; /* the core's name for it; set when it is added */
    struct cluster_uid uid;
    const struct cluster_node_calls_caller *caller;
    void *user;
    uint64_t key; /* the caller's name for it */
    uint64_t pool;
    uint32_t container; /* CLUSTER_NODE_CALLS_SEVERAL: a range, or all */
    uint64_t method;
    bool own;      /* the node made its uid, and numbers it */
    bool several;  /* it runs in more than one container */
    bool again;    /* it is made by a call that may run again */
    uint64_t root; /* number of the call at the root of its chain, as far as that runs again; set
                      to its own when it is added and not `again`; 0: that has ended */
    struct rapahub_query query;
    uint64_t chain;
    struct rapahub_guest_id from;
    struct rapahub_pool_id from_pool;
    const struct rapahub_raw_stream *streams; /* the host's, until the call is answered */
    uint32_t streams_count;
    bool streams_given; /* to a run that has them, or has moved something of them: no other may */
    uint64_t run;       /* request of the run that has the streams; 0: none */
    int ended;          /* < 0: it has ended so, and is answered when that run lets go of them */
    uint8_t *result;    /* the last one of several stands for all */
    size_t result_size;
    struct hub_list lane; /* own calls to the same containers, the earliest first */
};

#define CLUSTER_NODE_CALLS_SEVERAL UINT32_MAX

struct cluster_node_calls;

/* Makes a table of at most `most` calls. -ENOMEM. */
int cluster_node_calls_create(uint32_t most, uint64_t secret, struct cluster_node_calls **out);
void cluster_node_calls_release(struct cluster_node_calls **calls);

/* The table that a watcher is told by: a constant. */
struct cluster_node_calls_hooks {
    void (*removed)(void *user, const struct cluster_node_call *call); /* just before it is */
};

/* The watcher is told of each call that is removed from now on. */
void cluster_node_calls_watch(struct cluster_node_calls *calls,
                              const struct cluster_node_calls_hooks *hooks, void *user);

/* Adds a copy of a call. Returns it, with its number; NULL with a diagnosis, -EBUSY: there are too
 * many. It stays where it is. */
struct cluster_node_call *cluster_node_calls_add(struct cluster_node_calls *calls,
                                                 const struct cluster_node_call *call);

/* Tells the caller the answer, and removes the call. Or removes it, unheard. */
void cluster_node_calls_end(struct cluster_node_calls *calls, struct cluster_node_call *call,
                            const struct rapahub_raw_answer *answer);
void cluster_node_calls_remove(struct cluster_node_calls *calls, struct cluster_node_call *call);

/* Return an open call, or NULL. */
struct cluster_node_call *cluster_node_calls_find(const struct cluster_node_calls *calls,
                                                  uint64_t number);
struct cluster_node_call *cluster_node_calls_of_uid(const struct cluster_node_calls *calls,
                                                    struct cluster_uid uid);

/* Returns the number below which all calls of the node to the container of this own call have
 * ended; 0: that is not known. Numbers of own calls rise in the order in which they are added. */
uint64_t cluster_node_calls_done_below(struct cluster_node_calls *calls,
                                       const struct cluster_node_call *call);

uint32_t cluster_node_calls_count(const struct cluster_node_calls *calls);

#endif
