/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat: shows the host that the serving loop makes progress, not only that a thread lives.
 *
 * A thread of its own writes the beat, every half of the host's interval, and only as long as it
 * can say why the loop is well:
 *   - it took a step since the last look;
 *   - it waits, and nothing has lain in its ring since the last look;
 *   - it runs a method, and somebody waits for what that does: the call was not cancelled, as the
 *     host does when its deadline passes, or not for longer than ten intervals;
 *   - the module is being loaded, or the host does not take an answer: others judge that.
 * Else it stays silent, and the host does what it does with a guest that has no heartbeat. */
#ifndef GUEST_SDK_HEARTBEAT_H
#define GUEST_SDK_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>

#include "hub/base/mutex.h"
#include "hub/link/served.h"
#include "hub/shm/layout.h"

#define GUEST_HEARTBEAT_PATIENCE 10 /* intervals that a cancelled method may go on */

/* What the serving loop does. */
enum guest_heartbeat_stage {
    GUEST_HEARTBEAT_EXCUSED, /* it loads, or waits for a host that does not read */
    GUEST_HEARTBEAT_WAITS,   /* for messages */
    GUEST_HEARTBEAT_WORKS,   /* its own code */
    GUEST_HEARTBEAT_RUNS     /* a method's */
};

struct guest_heartbeat {
    pthread_t thread;
    bool runs;
    struct hub_a32 stop;
    struct hub_peer_entry *entry;
    struct hub_link *link; /* NULL: none */
    uint32_t epoch;
    uint64_t interval_ns;

    struct hub_a32 stage; /* the serving thread's */
    struct hub_a64 steps;
    struct hub_mutex lock; /* order: taken alone */
    struct hub_request *running GUARDED_BY(lock);

    uint64_t seen;         /* steps at the last look; the rest is the beat thread's */
    bool unread;           /* something lay in the ring then */
    uint64_t cancelled_ns; /* when the running call was found cancelled; 0: it is not */
};

/* Whose heart it is. */
struct guest_heartbeat_order {
    struct hub_peer_entry *entry;
    uint32_t epoch;
    struct hub_link *link; /* received from while a method runs, so that a Cancel is seen */
    uint64_t interval_ns;  /* 0: the host wants none */
};

/* Begins, with the loop excused. -errno where there can be no thread.
 * r[impl shm.crash.heartbeat] r[impl shm.crash.heartbeat-clock] */
int guest_heartbeat_start(struct guest_heartbeat *heartbeat,
                          const struct guest_heartbeat_order *order);
void guest_heartbeat_stop(struct guest_heartbeat *heartbeat);

/* The serving thread goes on to something else, which is a step: what it did before. Harmless where
 * there is no thread. */
enum guest_heartbeat_stage guest_heartbeat_enter(struct guest_heartbeat *heartbeat,
                                                 enum guest_heartbeat_stage stage);

/* It runs this request, NULL: none; what it ran before. Before the request is answered it is taken
 * away again. */
struct hub_request *guest_heartbeat_run(struct guest_heartbeat *heartbeat,
                                        struct hub_request *request);

#endif
