/* SPDX-License-Identifier: Apache-2.0 */
/* lock: open file description locks: they end with the last copy of the descriptor, so a lock that
 * can be had proves that its holder is gone. */
#ifndef HUB_BASE_LOCK_H
#define HUB_BASE_LOCK_H

#include <stdint.h>

#define HUB_LOCK_HOST (UINT64_C(1) << 40) /* the byte a host locks in its segment file */

/* Takes a write lock on `size` bytes from `start`: 0, or -EAGAIN where another holds it. */
int hub_lock_try(int fd, uint64_t start, uint64_t size);
int hub_lock_drop(int fd, uint64_t start, uint64_t size);

/* Would hub_lock_try succeed? 1, 0, or a failure. */
int hub_lock_free(int fd, uint64_t start, uint64_t size);

#endif
