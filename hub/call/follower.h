/* SPDX-License-Identifier: Apache-2.0 */
/* follower: a caller that waits while another thread receives. */
#ifndef HUB_CALL_FOLLOWER_H
#define HUB_CALL_FOLLOWER_H

#include "hub/call/call_table.h"

/* Has its call ended, or was it told to look? Needs no lock. */
static inline bool hub_follower_has_ended(const struct hub_call_entry *entry)
{
    return hub_observe(&entry->ended) != 0 || hub_observe(&entry->word) == HUB_CALL_TOLD;
}

/* Sleeps until a leader wakes it, with its answer or to lead; or until then. */
void hub_follower_follow(struct hub_calls *calls, struct hub_call_entry *entry,
                         uint64_t deadline_ns);

/* Nothing may be received now, for the peer does not read what it is owed: sleeps a moment. */
void hub_follower_doze(struct hub_calls *calls, struct hub_call_entry *entry, uint64_t deadline_ns);

#endif
