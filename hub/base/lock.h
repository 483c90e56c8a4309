/* SPDX-License-Identifier: Apache-2.0 */
/* lock: open file description locks: they end with the last copy of the descriptor and the last
 * mapping made through it, so a lock that can be had proves that its holder is gone.
 *
 * They lie behind the data of a segment file. Byte 2^40 is its host's; the range from 2^40 + P *
 * 2^32 on is that of the guest P that came without a ticket, and 1 + its pid bytes of it are
 * locked, so that who asks for the lock learns the pid. r[impl hub.file.lock] */
#ifndef HUB_BASE_LOCK_H
#define HUB_BASE_LOCK_H

#include <stdint.h>
#include <sys/types.h>

#define HUB_LOCK_HOST (UINT64_C(1) << 40) /* the byte a host locks in its segment file */
#define HUB_LOCK_SPAN (UINT64_C(1) << 32) /* from one guest's range to the next */

/* Takes a write lock on `size` bytes from `start`: 0, or -EAGAIN where another holds it. */
int hub_lock_try(int fd, uint64_t start, uint64_t size);
int hub_lock_drop(int fd, uint64_t start, uint64_t size);

/* Would hub_lock_try succeed? 1, 0, or a failure. */
int hub_lock_free(int fd, uint64_t start, uint64_t size);

/* Guest: locks the range of `peer` with its pid: 0; -EAGAIN where somebody has it; -EACCES where it
 * is a host that takes no guests without a ticket. */
int hub_lock_take_peer(int fd, uint32_t peer, pid_t pid);
int hub_lock_drop_peer(int fd, uint32_t peer); /* either side */

/* Host: 1 where a guest has the range of `peer`, and the pid it gave, 0 if it gave none; 0 where
 * nobody has it; or a failure. */
int hub_lock_ask_peer(int fd, uint32_t peer, pid_t *pid);

/* Host: takes the range of `peer`, which proves that no guest has it: 0, also where it was taken
 * before, or -EAGAIN. From then on no guest gets it. */
int hub_lock_seize_peer(int fd, uint32_t peer);

/* Host: takes all of them for good: it wants no guests without a ticket. */
int hub_lock_refuse_peers(int fd);

#endif
