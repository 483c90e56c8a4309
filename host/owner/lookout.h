/* SPDX-License-Identifier: Apache-2.0 */
/* lookout: sees what a thread that sleeps in the futex of a link cannot see, and wakes it.
 *
 * That is the end of the guest, for any thread; and for an owner that naps, whatever its loop would
 * have to do: other guests, timers, posted jobs. A thread of its own looks out; it only hints, and
 * repairs nothing. */
#ifndef HOST_OWNER_LOOKOUT_H
#define HOST_OWNER_LOOKOUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/id_map.h"
#include "hub/base/mutex.h"
#include "hub/connection/connection.h"

/* Of one life; its memory is the life's. */
struct host_post {
    struct hub_connection *connection; /* open */
    uint64_t number;                   /* 0: it is not looked out for */
    int pidfd;
};

struct host_lookout {
    int epoll, bell;
    int loop; /* the descriptor of the owner's loop */
    struct hub_mutex lock;
    struct hub_id_map *posts GUARDED_BY(lock); /* by numbers that are never used again */
    uint64_t numbers;                          /* owner */
    struct host_post *napper; /* where the owner naps, or did; written by it, under the lock */
    struct hub_a32 listens;   /* 1: the next event of the loop is heard */
    struct hub_a32 told;      /* counts naps elsewhere that were ended */
    struct hub_a32 end;       /* the thread is to end */
    pthread_t thread;
    bool open; /* owner */
};

/* At most `posts` lives at once; `loop` is the host's epoll descriptor, and outlives this. The
 * functions below accept one that is not open, and do nothing then. */
int host_lookout_open(struct host_lookout *lookout, int loop, uint32_t posts);

void host_lookout_close(struct host_lookout *lookout);

/* Owner: the end of this life is looked out for. Behind host_lookout_forget nobody touches the post
 * nor its connection any more; it accepts a post that is not looked out for. */
int host_lookout_post(struct host_lookout *lookout, struct host_post *post);
void host_lookout_forget(struct host_lookout *lookout, struct host_post *post);

/* Owner, before it naps in the futex of this link, or elsewhere with `told` (NULL): from now on
 * whatever comes in its loop ends the nap, as hub_calls_stir and hub_link_nudge do, or changes
 * and wakes `told`. No system call where it naps again and nothing came
 * meanwhile. False where nobody can: then it must not nap for long. */
bool host_lookout_nap(struct host_lookout *lookout, struct host_post *post);

#endif
