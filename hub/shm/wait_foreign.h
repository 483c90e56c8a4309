/* SPDX-License-Identifier: Apache-2.0 */
/* wait_foreign: sleeps while the peer does not take part in the wait words: on the doorbell, or on
 * the word of the specification that such a peer wakes. Part of wait.
 *
 * A doorbell is optional, and a peer that has one may still use futexes only. Each side learns it
 * from the peer's behaviour: messages that came without a byte are counted, and a byte resets the
 * count. A wrong guess therefore costs one slice, and no more.
 */
#ifndef HUB_SHM_WAIT_FOREIGN_H
#define HUB_SHM_WAIT_FOREIGN_H

#include "hub/shm/wait_ends.h"

/* After a single one, the byte might just have been on its way. */
#define HUB_WAIT_FOREIGN_UNRUNG 2

/* Sleeps once, for at most 1 ms, or 10 ms if nothing came for a second. */
void hub_wait_foreign_sleep(struct hub_wait_ends *ends, uint64_t now, uint64_t left);

/* The first records that the doorbell rang, the second that a message was found for which it did
 * not. Any thread; counts may be lost. */
static inline void hub_wait_foreign_note_bell(struct hub_wait *wait)
{
    if (hub_load_relaxed(&wait->unrung) != 0)
        hub_store_relaxed(&wait->unrung, 0);
}

static inline void hub_wait_foreign_note_unrung(struct hub_wait *wait)
{
    uint32_t count = hub_load_relaxed(&wait->unrung);

    if (count < HUB_WAIT_FOREIGN_UNRUNG)
        hub_store_relaxed(&wait->unrung, count + 1);
}

/* Says whether the peer wakes by futexes only, as far as this side knows. */
static inline bool hub_wait_foreign_by_futex(const struct hub_wait *wait)
{
    return hub_load_relaxed(&wait->unrung) >= HUB_WAIT_FOREIGN_UNRUNG && !hub_wait_takes_part(wait);
}

/* Says whether a thread of this side sleeps on the words now. */
static inline bool hub_wait_foreign_sleeps(const struct hub_wait *wait)
{
    return (hub_load_relaxed(wait->own) & (HUB_WAIT_RX_FUTEX | HUB_WAIT_TX_FUTEX)) != 0;
}

#endif
