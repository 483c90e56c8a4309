/* SPDX-License-Identifier: Apache-2.0 */
/* futex: sleeps on a word with a deadline, and wakes. */
#ifndef HUB_BASE_FUTEX_H
#define HUB_BASE_FUTEX_H

#include <stdint.h>

#include "hub/base/atomic.h"

/* Sleeps while the word is `value`, until a wake whose bits meet `bits`: 0, or -ETIMEDOUT, -EAGAIN
 * (the word was another), -EINTR. Between processes. */
int hub_futex_wait(struct hub_a32 *word, uint32_t value, uint32_t bits, uint64_t deadline_ns);
void hub_futex_wake(struct hub_a32 *word, uint32_t bits); /* all whose bits meet */

/* Within this process only; cheaper. */
int hub_futex_wait_private(struct hub_a32 *word, uint32_t value, uint64_t deadline_ns);
void hub_futex_wake_private(struct hub_a32 *word);     /* all */
void hub_futex_wake_one_private(struct hub_a32 *word); /* one of them */

#endif
