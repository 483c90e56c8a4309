/* SPDX-License-Identifier: Apache-2.0 */
/* anonymous: a guest without a ticket, which its host did not start: how it attaches to a segment,
 * and the meaning of its entry and lock. Its death is proven by the lock alone, which the kernel
 * releases when the last mapping made through it is gone. */
#ifndef HUB_SHM_ANONYMOUS_H
#define HUB_SHM_ANONYMOUS_H

#include <sys/types.h>

#include "hub/shm/segment.h"

/* Guest: opens and checks the file, locks the range of the first Empty entry that it can, and makes
 * the entry Reserved for itself. RAPAHUB_EFULL if none is Empty, -EACCES if the host admits no such
 * guests, else the errors of hub_segment_attach. r[impl shm.guest.attach]
 * r[impl shm.guest.attach-failure] */
int hub_anonymous_enter(const char *path, struct hub_segment **out, struct hub_segment_view *view,
                        uint32_t *peer);

/* The meaning of an entry that the host did not reserve. */
enum hub_anonymous {
    HUB_ANONYMOUS_NONE,   /* it is Empty */
    HUB_ANONYMOUS_COMING, /* a guest is claiming it, and is not Attached yet */
    HUB_ANONYMOUS_HERE,   /* Attached, or already Goodbye, and its range is locked */
    /* the same without a lock of its own: nothing will ever prove its death */
    HUB_ANONYMOUS_UNLOCKED,
    /* its range was locked and is not: proven dead. The host has the range locked now */
    HUB_ANONYMOUS_GONE,
    HUB_ANONYMOUS_WRONG /* the state is none that a guest may set */
};

/* Host: examines an entry that it did not reserve. `pid` is that of the locked range, or 0. */
enum hub_anonymous hub_anonymous_look(const struct hub_segment *segment, uint32_t peer, pid_t *pid);

#endif
