/* SPDX-License-Identifier: Apache-2.0 */
/* futex: sleeps on a word, with a deadline, and wakes sleepers. */
#ifndef HUB_BASE_FUTEX_H
#define HUB_BASE_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"

/* Sleeps while the word is `value`, until a wake with one of `bits`. Returns 0, -ETIMEDOUT, -EAGAIN
 * if the word has another value, or -EINTR. Works between processes. */
int hub_futex_wait(struct hub_a32 *word, uint32_t value, uint32_t bits, uint64_t deadline_ns);
void hub_futex_wake(struct hub_a32 *word, uint32_t bits); /* all sleepers that share a bit */

/* A word among several to sleep on. */
struct hub_futex_look {
    const struct hub_a32 *word;
    uint32_t value;
    bool between; /* shared between processes */
};

#define HUB_FUTEX_LOOKS_MAX 128

/* Sleeps while each word has its value, until a wake of one of them, whatever its bits. Returns the
 * index of that word, or an error as hub_futex_wait does; -EFAULT if a word is no longer mapped;
 * -ENOSYS before Linux 5.16. */
int hub_futex_wait_any(const struct hub_futex_look *looks, uint32_t count, uint64_t deadline_ns);

/* The same within this process only, which is cheaper. */
int hub_futex_wait_private(struct hub_a32 *word, uint32_t value, uint64_t deadline_ns);
void hub_futex_wake_private(struct hub_a32 *word);     /* all sleepers */
void hub_futex_wake_one_private(struct hub_a32 *word); /* a single sleeper */

#endif
