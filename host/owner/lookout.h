/* SPDX-License-Identifier: Apache-2.0 */
/* lookout: a thread that watches for events which a thread sleeping in the futex of a link cannot
 * see, and wakes that thread.
 *
 * Such events are the end of the guest, for any thread, and for a sleeping owner everything that
 * its loop would have to do: other guests, timers, posted jobs. The lookout only gives hints, and
 * repairs nothing.
 */
#ifndef HOST_OWNER_LOOKOUT_H
#define HOST_OWNER_LOOKOUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/id_map.h"
#include "hub/base/mutex.h"
#include "hub/connection/connection.h"

/* The watch of one life, which owns its memory. */
struct host_post {
    struct hub_connection *connection; /* open */
    uint64_t number;                   /* 0: not watched */
    int pidfd;
};

struct host_lookout {
    int epoll, bell;
    int loop; /* the descriptor of the owner's loop */
    struct hub_mutex lock;
    struct hub_id_map *posts GUARDED_BY(lock); /* by numbers that are never reused */
    uint64_t numbers;                          /* owner */
    /* the link on which the owner naps, or did; written by it, under the lock */
    struct host_post *napper;
    struct hub_a32 listens; /* 1: the next event of the loop will be noticed */
    struct hub_a32 told;    /* counts the ended naps that were elsewhere */
    struct hub_a32 end;     /* the thread shall end */
    pthread_t thread;
    bool open; /* owner */
};

/* Opens and closes the lookout, for at most `posts` lives at once. `loop` is the host's epoll
 * descriptor, and outlives it. The functions below allow one that is not open, and do nothing
 * then. */
int host_lookout_open(struct host_lookout *lookout, int loop, uint32_t posts);

void host_lookout_close(struct host_lookout *lookout);

/* Owner: watches for the end of this life. After host_lookout_forget, neither the post nor its
 * connection is used any more; that function allows a post that is not watched. */
int host_lookout_post(struct host_lookout *lookout, struct host_post *post);
void host_lookout_forget(struct host_lookout *lookout, struct host_post *post);

/* Owner, before it naps in the futex of this link, or elsewhere on `told` (NULL): from now on any
 * event of its loop ends the nap, as hub_calls_stir and hub_link_nudge do, or changes and wakes
 * `told`. No system call if there was no event since the last nap. False if that is not possible:
 * then the owner must not nap for long. */
bool host_lookout_nap(struct host_lookout *lookout, struct host_post *post);

#endif
