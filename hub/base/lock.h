/* SPDX-License-Identifier: Apache-2.0 */
/* lock: open file description locks. They end with the last copy of the descriptor and with the
 * last mapping made through it, so a lock that can be acquired proves that its holder is gone.
 *
 * They lie after the data of a segment file. Byte 2^40 is the host's. The range from 2^40 + P *
 * 2^32 on belongs to guest P if it came without a ticket; 1 + its pid bytes of it are locked, so
 * that a query of the lock reveals the pid. r[impl hub.file.lock]
 */
#ifndef HUB_BASE_LOCK_H
#define HUB_BASE_LOCK_H

#include <stdint.h>
#include <sys/types.h>

#define HUB_LOCK_HOST (UINT64_C(1) << 40) /* the byte that a host locks in its segment file */
#define HUB_LOCK_SPAN (UINT64_C(1) << 32) /* from one guest's range to the next */

/* Acquires a write lock on `size` bytes from `start`. Returns 0, or -EAGAIN if another holds it. */
int hub_lock_try(int fd, uint64_t start, uint64_t size);
int hub_lock_drop(int fd, uint64_t start, uint64_t size);

/* Acquires a read lock, which any number of descriptions hold at once, and which a write lock of
 * another one keeps out. The descriptor must be readable. Returns 0, or -EAGAIN. */
int hub_lock_share(int fd, uint64_t start, uint64_t size);

/* Says whether hub_lock_try would succeed: 1, 0, or a failure. */
int hub_lock_free(int fd, uint64_t start, uint64_t size);

/* Guest: locks the range of `peer`, with its pid as the length. -EAGAIN if it is locked, -EACCES if
 * a host that admits no guests without a ticket holds it. */
int hub_lock_acquire_peer(int fd, uint32_t peer, pid_t pid);
int hub_lock_drop_peer(int fd, uint32_t peer); /* either side */

/* Host: returns 1 if a guest holds the range of `peer`, with the pid that it gave or 0 if it gave
 * none; 0 if the range is free; or a failure. */
int hub_lock_test_peer(int fd, uint32_t peer, pid_t *pid);

/* Host: locks the range of `peer` for good, which proves that no guest holds it. Returns 0, also if
 * it was already locked here, or -EAGAIN. */
int hub_lock_seize_peer(int fd, uint32_t peer);

/* Host: locks all ranges for good, to admit no guests without a ticket. */
int hub_lock_refuse_peers(int fd);

#endif
