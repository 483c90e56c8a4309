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
 * Else it stays silent, and the host does what it does with a guest that has no heartbeat. When the
 * serving thread ends without a stop, be it by the bare system call, it says so at once. */
#ifndef GUEST_SDK_HEARTBEAT_H
#define GUEST_SDK_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>

#include "hub/base/atomic.h"
#include "hub/call/served.h"
#include "hub/shm/layout.h"

#define GUEST_HEARTBEAT_PATIENCE 10 /* intervals that a cancelled method may go on */

/* What the serving loop does. */
enum guest_heartbeat_stage {
    GUEST_HEARTBEAT_EXCUSED, /* it loads, or waits for a host that does not read */
    GUEST_HEARTBEAT_WAITS,   /* for messages */
    GUEST_HEARTBEAT_WORKS,   /* its own code */
    GUEST_HEARTBEAT_RUNS     /* a method's */
};

#define GUEST_HEARTBEAT_STAGES UINT64_C(3) /* the bits of a stage */

struct guest_heartbeat {
    pthread_t thread;
    bool runs;
    pthread_mutex_t serving; /* the serving thread has it; the kernel says so when it ends */
    void (*on_end)(void *user);
    void *user;
    struct hub_peer_entry *entry;
    struct hub_link *link; /* NULL: none */
    struct hub_served *served;
    uint32_t epoch;
    uint64_t interval_ns;

    struct hub_a64 pulse;   /* the serving thread's: its steps, and in the lowest bits its stage */
    struct hub_a32 running; /* the id of the request it runs; of use while the stage is RUNS */

    uint64_t seen;         /* the pulse at the last look; the rest is the beat thread's */
    bool unread;           /* something lay in the ring then */
    uint64_t cancelled_ns; /* when the running call was found cancelled; 0: it is not */
};

/* Whose heart it is. */
struct guest_heartbeat_order {
    struct hub_peer_entry *entry;
    uint32_t epoch;
    struct hub_link *link;     /* received from while a method runs, so that a Cancel is seen */
    struct hub_served *served; /* knows what was cancelled; not NULL if the link is not */
    uint64_t interval_ns;      /* 0: the host wants none */
    void (*on_end)(
        void *user); /* on the beat thread: the serving thread has ended; NULL: nothing */
    void *user;
};

/* Begins, with the loop excused; start and stop are for the serving thread. -errno where there can
 * be no thread.
 * r[impl shm.crash.heartbeat] r[impl shm.crash.heartbeat-clock] */
int guest_heartbeat_start(struct guest_heartbeat *heartbeat,
                          const struct guest_heartbeat_order *order);
void guest_heartbeat_stop(struct guest_heartbeat *heartbeat);

/* The serving thread goes on to something else, which is a step: what it did before. Harmless where
 * there is no thread. */
static inline enum guest_heartbeat_stage guest_heartbeat_enter(struct guest_heartbeat *heartbeat,
                                                               enum guest_heartbeat_stage stage)
{
    uint64_t before = hub_peek64(&heartbeat->pulse);

    hub_publish64(&heartbeat->pulse, (before | GUEST_HEARTBEAT_STAGES) + 1 + stage);
    return (enum guest_heartbeat_stage)(before & GUEST_HEARTBEAT_STAGES);
}

/* It will run the request `id`: to be said before it enters that stage, and again of the outer one
 * when one that was run inside of it has been answered.
 *
 * The beat thread asks the table of what is served whether that one was cancelled. It may come
 * late, and the id be another request's by then: only after an answer, hence behind a step, and
 * what is known of a call is forgotten at the first look behind a step. */
static inline void guest_heartbeat_run(struct guest_heartbeat *heartbeat, uint32_t id)
{
    hub_note(&heartbeat->running, id);
}

#endif
