/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/shm/wait_foreign.h"

#include <errno.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"

#define SLICE      HUB_MILLISECOND
#define SPAN       HUB_SECOND
#define IDLE       (10 * HUB_MILLISECOND)
#define FUTEX_BITS (HUB_WAIT_RX_FUTEX | HUB_WAIT_TX_FUTEX)

/* Both words are read before the resource is checked. A later message changes the first, and a
 * thread of this side that wakes it changes the second. Before Linux 5.16 a change of the second is
 * noticed at the end of the span. r[impl shm.wakeup.consumer-wait] */
static void sleep_on_words(struct hub_wait_ends *ends, uint64_t until)
{
    struct hub_wait *wait = ends->wait;
    const struct hub_wait_order *order = ends->order;
    uint32_t bits = order->bits & FUTEX_BITS;
    struct hub_futex_look looks[] = {{order->seed_word, 0, true}, {wait->own, 0, true}};

    if (!hub_wait_is_ours(wait))
        return; /* `ready` notices it */
    looks[0].value = hub_observe(order->seed_word);
    looks[1].value = hub_arm(wait->own, bits) | bits;
    hub_fence(wait->own);
    if (!order->ready(order->user) && hub_futex_wait_any(looks, 2, until) == -ENOSYS)
        (void)hub_futex_wait(order->seed_word, looks[0].value, UINT32_MAX, until);
    if (hub_wait_is_ours(wait))
        (void)hub_clear_bits(wait->own, bits);
    hub_wait_ends_poll(ends, 0);
}

/* The head is read before the resource is checked: a later message changes it. */
static void sleep_on_bell(struct hub_wait_ends *ends, uint64_t span_ns)
{
    const struct hub_a32 *head = ends->order->seed_word;
    uint32_t seen = head ? hub_observe(head) : 0;

    ends->told = false;
    hub_wait_ends_sleep(ends, span_ns);
    if (head && !ends->told && hub_observe(head) != seen)
        hub_wait_foreign_note_unrung(ends->wait);
}

/* A peer that does not take part does not see our bits, so this side must check by itself. */
void hub_wait_foreign_sleep(struct hub_wait_ends *ends, uint64_t now, uint64_t left)
{
    const struct hub_wait *wait = ends->wait;
    uint64_t span = now - ends->start_ns < SPAN ? SLICE : IDLE;

    if (left < span)
        span = left;
    if (ends->order->seed_word && (wait->doorbell < 0 || hub_wait_foreign_by_futex(wait)))
        sleep_on_words(ends, now + span);
    else
        sleep_on_bell(ends, span);
}
