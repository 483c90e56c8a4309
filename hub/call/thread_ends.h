/* SPDX-License-Identifier: Apache-2.0 */
/* thread_ends: what an owner keeps for each thread that uses it goes when that thread ends, or with
 * the owner, whichever comes first. Both may come at once: a key of pthread is deleted without a
 * wait for a destructor that has begun, which would then use an owner that is gone. So there is one
 * key for all owners, which stays, and a lock under which a thread ends and an owner lets go.
 */
#ifndef HUB_CALL_THREAD_ENDS_H
#define HUB_CALL_THREAD_ENDS_H

#include "hub/base/list.h"

/* Embed it in what is kept for a thread. */
struct hub_thread_end {
    struct hub_list of_thread;
    void (*ended)(struct hub_thread_end *end);
};

/* Calls `ended` on this thread when it ends, unless it was removed. The lock is held meanwhile.
 * -ENOMEM, without a diagnosis. Any thread; the same for the others. */
int hub_thread_ends_add(struct hub_thread_end *end, void (*ended)(struct hub_thread_end *end));

/* An owner that closes removes all that it keeps for threads under this lock, and frees it later.
 * No thread that ends uses the owner after that. */
void hub_thread_ends_lock(void);
void hub_thread_ends_unlock(void);
void hub_thread_ends_remove(struct hub_thread_end *end);

#endif
