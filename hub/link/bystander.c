/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/bystander.h"

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/link/link_state.h"

/* the longest sleep of a thread that waits for the leader */
#define SLICE       (100 * HUB_MILLISECOND)
#define SPACE_SLICE (10 * HUB_MILLISECOND) /* if a slot may come without a wake-up */
/* after it the thread checks whether another one receives */
#define LED_SLICE  (10 * HUB_MILLISECOND)
#define FULL_SLICE HUB_MILLISECOND /* if no thread may receive before an answer is sent */

/* Makes a leader that sleeps only for messages sleep for space too. */
static void ask_for_space(struct hub_link *link)
{
    hub_fence(&link->armed);
    if (hub_observe(&link->armed) & HUB_WAIT_TX)
        return;
    hub_publish(&link->rearm, 1);
    hub_wait_wake_own(&link->wait);
}

static uint64_t end_of_slice(const struct hub_link_until *until, uint64_t slice)
{
    uint64_t end = hub_clock_after(slice);

    return until->deadline_ns < end ? until->deadline_ns : end;
}

static void join(struct hub_link *link)
{
    hub_link_state_hinder(link, true);
    hub_add(&link->crowd, 1);
}

static void leave(struct hub_link *link)
{
    hub_add(&link->crowd, UINT32_MAX);
    hub_link_state_hinder(link, false);
}

/* Sleeps until the leader tells this thread, or releases the token. */
void hub_bystander_follow(struct hub_link *link, const struct hub_link_until *until)
{
    uint32_t seen;

    if (until->space)
        ask_for_space(link);
    join(link);
    seen = hub_observe(&link->news);
    /* a thread that releases the token or tells afterwards sees us, or we see its effect */
    hub_fence(&link->crowd);
    if (hub_link_state_receiving(link) && !until->done(until->user))
        hub_futex_wait_private(&link->news, seen,
                               end_of_slice(until, until->space ? SPACE_SLICE : SLICE));
    leave(link);
}

/* Nothing may be received now, because the peer does not read its answers; or another thread
 * receives. */
void hub_bystander_doze(struct hub_link *link, const struct hub_link_until *until)
{
    uint32_t seen;

    join(link);
    seen = hub_observe(&link->news);
    hub_fence(&link->crowd);
    if (!hub_link_state_closed(link) && !until->done(until->user))
        hub_futex_wait_private(&link->news, seen,
                               end_of_slice(until, until->follows ? LED_SLICE : FULL_SLICE));
    leave(link);
}

/* Sleeps until the receiving thread tells this one: true if it was told. */
bool hub_bystander_is_told(struct hub_link *link, const struct hub_link_until *until)
{
    uint32_t seen = hub_observe(&link->news);

    hub_bystander_doze(link, until);
    return hub_observe(&link->news) != seen;
}
