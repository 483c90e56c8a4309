/* SPDX-License-Identifier: Apache-2.0 */
/* barrier: a fence that the side which rarely waits pays for both, by membarrier.
 *
 * Each process that takes part joins once. Then hub_fence_light of one side, which costs nothing,
 * and hub_barrier_heavy of the other order like two full fences: the kernel lets every CPU that
 * runs a joined process pass a fence before the call returns. Any thread.
 */
#ifndef HUB_BASE_BARRIER_H
#define HUB_BASE_BARRIER_H

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hub/base/atomic.h"

/* Joins this process; may be repeated. Returns 0, or -errno where the system does not have it. */
static inline int hub_barrier_join(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 ? 0
                                                                                        : -errno;
}

/* The heavy half, some 3 us. `word` is that of the condition, for ThreadSanitizer. */
static inline void hub_barrier_heavy(struct hub_a32 *word)
{
    hub_fence(word);
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    hub_fence(word);
}

#endif
