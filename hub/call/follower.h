/* SPDX-License-Identifier: Apache-2.0 */
/* follower: a caller that waits while another thread receives. */
#ifndef HUB_CALL_FOLLOWER_H
#define HUB_CALL_FOLLOWER_H

#include "hub/call/call_table.h"

/* Says whether its call has ended, or it was told to check. Needs no lock. */
static inline bool hub_follower_has_ended(const struct hub_call_entry *entry)
{
    return hub_observe(&entry->ended) != 0 || hub_observe(&entry->word) == HUB_CALL_TOLD;
}

/* Sleeps until a leader wakes it, with its answer or to lead; or until the deadline. */
void hub_follower_follow(struct hub_calls *calls, struct hub_call_entry *entry,
                         uint64_t deadline_ns);

/* Nothing may be received now, because the peer does not read its answers: sleeps briefly. */
void hub_follower_doze(struct hub_calls *calls, struct hub_call_entry *entry, uint64_t deadline_ns);

#endif
