/* SPDX-License-Identifier: Apache-2.0 */
/* futexes: sleeps on the futexes of guests that ring no doorbell, and wakes the owner's loop.
 *
 * A foreign guest may use only the futexes of the specification, even if it has a doorbell. A loop
 * of descriptors cannot sleep on a futex, so a thread does, on the words of all such guests at
 * once. It starts with the first of them; it only gives hints, and receives nothing. If the thread
 * or a place in its list is missing, such a guest is polled by time.
 */
#ifndef HOST_OWNER_FUTEXES_H
#define HOST_OWNER_FUTEXES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/futex.h"
#include "hub/base/mutex.h"
#include "hub/link/link.h"

#define HOST_FUTEXES_MAX (HUB_FUTEX_LOOKS_MAX - 1) /* one word is our own */

/* The watch of one life, which owns its memory. */
struct host_futex {
    struct hub_link *link;  /* open */
    uint32_t seen;          /* its head */
    struct hub_flood flood; /* wake-ups that no messages explain */
    bool watched;           /* owner */
};

struct host_futexes {
    struct hub_mutex lock;
    struct host_futex *all[HOST_FUTEXES_MAX] GUARDED_BY(lock);
    uint32_t count GUARDED_BY(lock);
    struct hub_a32 changes; /* counts changes of the list; the thread sleeps on it too */
    struct hub_a32 end;     /* the thread shall end */
    pthread_t thread;
    bool open, refused;          /* owner: the thread runs; it cannot be made */
    const struct hub_a32 *woken; /* owner: the word that ended its own last sleep; see nap.h */
};

void host_futexes_init(struct host_futexes *futexes);

/* Owner: `futex` is checked from now on whenever its guest wakes its head. False if that is not
 * possible. After host_futexes_forget it is no longer used; that function allows one that is not
 * watched. r[impl shm.wakeup.consumer-wait] */
bool host_futexes_watch(struct host_futexes *futexes, struct host_futex *futex);
void host_futexes_forget(struct host_futexes *futexes, struct host_futex *futex);

/* Returns in *out the word on which this guest wakes, with its present value, and as the result
 * the time until which the guest is ignored, a time in the past if it is not. `woken` is the word
 * that ended the last sleep, or NULL. Called by the thread, or by the owner for one that is not
 * watched. */
uint64_t host_futexes_look(struct host_futex *futex, const struct hub_a32 *woken, uint64_t now,
                           struct hub_futex_look *out);

/* Owner: ends the thread. */
void host_futexes_close(struct host_futexes *futexes);

#endif
