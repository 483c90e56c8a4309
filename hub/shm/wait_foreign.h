/* SPDX-License-Identifier: Apache-2.0 */
/* wait_foreign: a sleep for a peer that takes no part in our wait words: on the doorbell, or on the
 * word of the specification that it wakes. Part of wait.
 *
 * A doorbell is optional, also where there is one: a peer may use futexes only. Each side finds out
 * by what the peer does: messages that came without a bell are counted, and a bell sets the count
 * to 0 again. So a mistake costs a slice, and no longer. */
#ifndef HUB_SHM_WAIT_FOREIGN_H
#define HUB_SHM_WAIT_FOREIGN_H

#include "hub/shm/wait_ends.h"

/* With one alone the bell might just have been on its way. */
#define HUB_WAIT_FOREIGN_UNRUNG 2

/* One sleep, of at most 1 ms, or 10 ms where nothing came for a second. */
void hub_wait_foreign_sleep(struct hub_wait_ends *ends, uint64_t now, uint64_t left);

/* The doorbell rang; or a message was found that it did not tell of. Any thread; counts may be
 * lost. */
static inline void hub_wait_foreign_note_bell(struct hub_wait *wait)
{
    if (hub_peek(&wait->unrung) != 0)
        hub_note(&wait->unrung, 0);
}

static inline void hub_wait_foreign_note_unrung(struct hub_wait *wait)
{
    uint32_t count = hub_peek(&wait->unrung);

    if (count < HUB_WAIT_FOREIGN_UNRUNG)
        hub_note(&wait->unrung, count + 1);
}

/* Does the peer wake by futexes only, as far as this side knows? */
static inline bool hub_wait_foreign_by_futex(const struct hub_wait *wait)
{
    return hub_peek(&wait->unrung) >= HUB_WAIT_FOREIGN_UNRUNG && !hub_wait_takes_part(wait);
}

/* Does a thread of this side sleep on the words now? */
static inline bool hub_wait_foreign_sleeps(const struct hub_wait *wait)
{
    return (hub_peek(wait->own) & (HUB_WAIT_RX_FUTEX | HUB_WAIT_TX_FUTEX)) != 0;
}

#endif
