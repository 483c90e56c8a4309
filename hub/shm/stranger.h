/* SPDX-License-Identifier: Apache-2.0 */
/* stranger: a guest that its host did not start: how it comes into a segment, and what its entry
 * and its lock say about it. What is written here was proven before: by the lock alone, which the
 * kernel frees when the last mapping made through it is gone. */
#ifndef HUB_SHM_STRANGER_H
#define HUB_SHM_STRANGER_H

#include <sys/types.h>

#include "hub/shm/segment.h"

/* Guest: opens the file, checks it, locks the range of an Empty entry, from the first on, and makes
 * it Reserved for itself. RAPAHUB_EFULL where none is Empty, -EACCES where the host takes no such
 * guests, else as hub_segment_attach. r[impl shm.guest.attach] r[impl shm.guest.attach-failure] */
int hub_stranger_enter(const char *path, struct hub_segment **out, struct hub_segment_view *view,
                       uint32_t *peer);

/* What an entry says that the host did not reserve. */
enum hub_stranger {
    HUB_STRANGER_NONE,     /* it is Empty */
    HUB_STRANGER_COMING,   /* one makes it its own, and is not Attached yet */
    HUB_STRANGER_HERE,     /* Attached, or Goodbye already, and its range is locked */
    HUB_STRANGER_UNLOCKED, /* the same without a lock of its own: nothing will ever prove its end */
    HUB_STRANGER_GONE,     /* it was locked, and is not: proven. The range is this host's now */
    HUB_STRANGER_WRONG     /* the state is none that a guest may set */
};

/* Host, for an entry it did not reserve. `pid` is that of a range that is locked, else 0. */
enum hub_stranger hub_stranger_look(const struct hub_segment *segment, uint32_t peer, pid_t *pid);

#endif
