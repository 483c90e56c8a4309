/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat: shows the host that the serving loop makes progress, and not just that a thread lives.
 *
 * A thread of its own writes a beat every half of the host's interval, but only while one of these
 * reasons says that the loop is healthy:
 *   - the loop made a step since the last check;
 *   - it waits, and no message has lain in its ring since the last check;
 *   - it runs a method whose result is still wanted: the call was not cancelled (a host cancels
 * when the deadline passes), or was cancelled no more than ten intervals ago;
 *   - it loads the module, or the host does not receive an answer: other checks cover these.
 *
 * Otherwise it stays silent, and the host treats the guest as one without a heartbeat. If the
 * serving thread ends without hub_heartbeat_stop, even by the bare system call, the beat thread
 * reports that at once.
 */
#ifndef HUB_CONNECTION_HEARTBEAT_H
#define HUB_CONNECTION_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>

#include "hub/base/atomic.h"
#include "hub/call/inbound_calls.h"
#include "hub/shm/layout.h"

#define HUB_HEARTBEAT_PATIENCE 10 /* intervals that a cancelled method may run on */

/* The activity of the serving loop. */
enum hub_heartbeat_stage {
    HUB_HEARTBEAT_EXCUSED, /* loads, or waits for a host that does not read */
    HUB_HEARTBEAT_WAITS,   /* waits for messages */
    HUB_HEARTBEAT_WORKS,   /* runs its own code */
    HUB_HEARTBEAT_RUNS     /* runs a method */
};

#define HUB_HEARTBEAT_STAGES UINT64_C(3) /* the bits of a stage */

struct hub_heartbeat {
    pthread_t thread;
    bool runs;
    pthread_mutex_t serving; /* held by the serving thread; the kernel reports its end */
    void (*on_end)(void *user);
    void *user;
    struct hub_peer_entry *entry;
    struct hub_link *link; /* NULL: none */
    struct hub_inbound_calls *served;
    uint32_t epoch;
    uint64_t interval_ns;

    /* written by the serving thread: its number of steps, and its stage in the lowest bits */
    struct hub_a64 pulse;
    struct hub_a32 running; /* id of the running request; valid while the stage is RUNS */

    uint64_t seen;         /* the pulse at the last check; from here on all is the beat thread's */
    bool unread;           /* there was an unread message at the last check */
    uint64_t cancelled_ns; /* when the running call was found cancelled; 0: it is not */
};

/* The guest that the beat belongs to. */
struct hub_heartbeat_order {
    struct hub_peer_entry *entry;
    uint32_t epoch;
    struct hub_link *link; /* received from while a method runs, so that a Cancel is seen */
    struct hub_inbound_calls
        *served;          /* says which requests were cancelled; not NULL if the link is not */
    uint64_t interval_ns; /* 0: the host wants no beat */
    void (*on_end)(
        void *user); /* called on the beat thread if the serving thread has ended; NULL: no call */
    void *user;
};

/* Start and stop the beat thread; the loop begins in the stage EXCUSED. Serving thread. -errno if
 * no thread can be made.
 * r[impl shm.crash.heartbeat] r[impl shm.crash.heartbeat-clock] */
int hub_heartbeat_start(struct hub_heartbeat *heartbeat, const struct hub_heartbeat_order *order);
void hub_heartbeat_stop(struct hub_heartbeat *heartbeat);

/* Enters another stage, which counts as a step, and returns the previous one. Harmless without a
 * beat thread. Serving thread. */
static inline enum hub_heartbeat_stage hub_heartbeat_enter(struct hub_heartbeat *heartbeat,
                                                           enum hub_heartbeat_stage stage)
{
    uint64_t before = hub_load_relaxed64(&heartbeat->pulse);

    hub_publish64(&heartbeat->pulse, (before | HUB_HEARTBEAT_STAGES) + 1 + stage);
    return (enum hub_heartbeat_stage)(before & HUB_HEARTBEAT_STAGES);
}

/* Records the id of the request that will run. Call it before entering that stage, and for the
 * outer request after a request that ran inside it has been answered.
 *
 * The beat thread asks the table of served requests whether this id was cancelled. It may ask late,
 * when the id belongs to another request. That can happen only after an answer, hence after a step,
 * and at the first check after a step all that is known about the call is forgotten.
 */
static inline void hub_heartbeat_run(struct hub_heartbeat *heartbeat, uint32_t id)
{
    hub_store_relaxed(&heartbeat->running, id);
}

#endif
