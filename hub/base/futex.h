/* SPDX-License-Identifier: Apache-2.0 */
/* futex: sleeps on a word with a deadline, and wakes. */
#ifndef HUB_BASE_FUTEX_H
#define HUB_BASE_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"

/* Sleeps while the word is `value`, until a wake whose bits meet `bits`: 0, or -ETIMEDOUT, -EAGAIN
 * (the word was another), -EINTR. Between processes. */
int hub_futex_wait(struct hub_a32 *word, uint32_t value, uint32_t bits, uint64_t deadline_ns);
void hub_futex_wake(struct hub_a32 *word, uint32_t bits); /* all whose bits meet */

/* A word among several. */
struct hub_futex_look {
    const struct hub_a32 *word;
    uint32_t value;
    bool between; /* processes */
};

#define HUB_FUTEX_LOOKS_MAX 128

/* Sleeps while each word is its value, until a wake of one of them, whatever its bits: the place of
 * that one, or as hub_futex_wait; -EFAULT where a word is unmapped by now; -ENOSYS before Linux
 * 5.16. */
int hub_futex_wait_any(const struct hub_futex_look *looks, uint32_t count, uint64_t deadline_ns);

/* Within this process only; cheaper. */
int hub_futex_wait_private(struct hub_a32 *word, uint32_t value, uint64_t deadline_ns);
void hub_futex_wake_private(struct hub_a32 *word);     /* all */
void hub_futex_wake_one_private(struct hub_a32 *word); /* one of them */

#endif
