/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/bystander.h"

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/link/link_state.h"

#define SLICE       (100 * HUB_MILLISECOND) /* the longest sleep of who waits for the leader */
#define SPACE_SLICE (10 * HUB_MILLISECOND)  /* where a slot may come without a wake-up */
#define LED_SLICE   (10 * HUB_MILLISECOND)  /* behind which it looks whether somebody receives */
#define FULL_SLICE  HUB_MILLISECOND         /* where nobody may receive before an answer is sent */

/* A leader that sleeps for messages only is made to sleep for space too. */
static void ask_for_space(struct hub_link *link)
{
    hub_settle(&link->armed);
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

/* Sleeps until the leader tells, or lets go. */
void hub_bystander_follow(struct hub_link *link, const struct hub_link_until *until)
{
    uint32_t seen;

    if (until->space)
        ask_for_space(link);
    join(link);
    seen = hub_observe(&link->news);
    hub_settle(&link->crowd); /* who lets go or tells behind it sees us, or we see what it did */
    if (hub_link_state_receiving(link) && !until->done(until->user))
        hub_futex_wait_private(&link->news, seen,
                               end_of_slice(until, until->space ? SPACE_SLICE : SLICE));
    leave(link);
}

/* Nothing may be received now, for the peer does not read what it is owed; or by another thread. */
void hub_bystander_doze(struct hub_link *link, const struct hub_link_until *until)
{
    uint32_t seen;

    join(link);
    seen = hub_observe(&link->news);
    hub_settle(&link->crowd);
    if (!hub_link_state_closed(link) && !until->done(until->user))
        hub_futex_wait_private(&link->news, seen,
                               end_of_slice(until, until->follows ? LED_SLICE : FULL_SLICE));
    leave(link);
}

/* Sleeps until it is told, by whoever receives: true where it was. */
bool hub_bystander_is_told(struct hub_link *link, const struct hub_link_until *until)
{
    uint32_t seen = hub_observe(&link->news);

    hub_bystander_doze(link, until);
    return hub_observe(&link->news) != seen;
}
