/* SPDX-License-Identifier: Apache-2.0 */
/* futexes: sleeps where guests wake that ring no doorbell, and wakes the owner's loop.
 *
 * A guest of another make may use the futexes of the specification only, also where it has a
 * doorbell. No loop of descriptors can sleep on a futex: a thread does, on the words of all such
 * guests at once. It starts with the first of them; it only hints, and receives nothing. Where
 * there is no such thread, or no place, such a guest is looked at by time. */
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

/* Of one life; its memory is the life's. */
struct host_futex {
    struct hub_link *link;  /* open */
    uint32_t seen;          /* its head */
    struct hub_flood flood; /* of wakes that no messages explain */
    bool watched;           /* owner */
};

struct host_futexes {
    struct hub_mutex lock;
    struct host_futex *all[HOST_FUTEXES_MAX] GUARDED_BY(lock);
    uint32_t count GUARDED_BY(lock);
    struct hub_a32 changes; /* counts those of the list; the thread sleeps on it, too */
    struct hub_a32 end;     /* the thread is to end */
    pthread_t thread;
    bool open, refused;          /* owner: the thread runs; it cannot be had */
    const struct hub_a32 *woken; /* owner: what ended its own last sleep; see nap.h */
};

void host_futexes_init(struct host_futexes *futexes);

/* Owner: from now on `futex` is looked at whenever its guest wakes its head: true; false where
 * nobody can. Behind host_futexes_forget nobody touches it any more; that accepts one that is not
 * watched. r[impl shm.wakeup.consumer-wait] */
bool host_futexes_watch(struct host_futexes *futexes, struct host_futex *futex);
void host_futexes_forget(struct host_futexes *futexes, struct host_futex *futex);

/* Where this guest wakes, and what stands there now; `woken`: the word that ended the last sleep,
 * or NULL. Till when it is left alone: a time gone by where it is not. By the thread, or by the
 * owner of one that is not watched. */
uint64_t host_futexes_look(struct host_futex *futex, const struct hub_a32 *woken, uint64_t now,
                           struct hub_futex_look *out);

/* Owner: ends the thread. */
void host_futexes_close(struct host_futexes *futexes);

#endif
