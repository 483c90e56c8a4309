/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/follower.h"

#include <sched.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"

/* the longest sleep of a thread that waits for another one */
#define SLICE      (100 * HUB_MILLISECOND)
#define FULL_SLICE HUB_MILLISECOND /* for one that may not receive yet */

/* Another thread receives: sleeps until that one wakes this one, with its answer or to lead. Once
 * the entry is in the list the token is checked again, because a thread that released it before
 * could not see us. */
void hub_follower_follow(struct hub_calls *calls, struct hub_call_entry *entry,
                         uint64_t deadline_ns)
{
    uint64_t slice = hub_clock_after(SLICE);
    bool asleep;

    sched_yield();
    if (hub_follower_has_ended(entry))
        return;
    asleep = hub_claim(&entry->word, HUB_CALL_AWAKE, HUB_CALL_ASLEEP);
    hub_mutex_lock(calls->lock);
    if (entry->state == HUB_CALL_OPEN)
        hub_list_append(&calls->followers, &entry->link);
    hub_link_hinder(calls->link, true);
    hub_add(&calls->following, 1);
    hub_mutex_unlock(calls->lock);
    /* after it, a thread that releases the token sees us, or we see the token free */
    hub_fence(&calls->following);
    if (asleep && hub_link_receiving(calls->link) && !hub_follower_has_ended(entry))
        hub_futex_wait_private(&entry->word, HUB_CALL_ASLEEP,
                               deadline_ns < slice ? deadline_ns : slice);
    (void)hub_claim(&entry->word, HUB_CALL_ASLEEP, HUB_CALL_AWAKE);
    hub_mutex_lock(calls->lock);
    hub_list_remove(&entry->link);
    hub_add(&calls->following, UINT32_MAX);
    hub_link_hinder(calls->link, false);
    hub_mutex_unlock(calls->lock);
}

/* Nothing may be received now, because the peer does not read its answers. */
void hub_follower_doze(struct hub_calls *calls, struct hub_call_entry *entry, uint64_t deadline_ns)
{
    uint64_t slice = hub_clock_after(FULL_SLICE);
    struct hub_a32 *word = &entry->word;
    bool asleep = hub_claim(word, HUB_CALL_AWAKE, HUB_CALL_ASLEEP);

    if (asleep && !hub_follower_has_ended(entry) && !hub_link_closed(calls->link))
        hub_futex_wait_private(word, HUB_CALL_ASLEEP, deadline_ns < slice ? deadline_ns : slice);
    (void)hub_claim(word, HUB_CALL_ASLEEP, HUB_CALL_AWAKE);
}
