/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/slot_return.h"

#include "hub/base/futex.h"
#include "hub/link/link_state.h"
#include "hub/link/send_queue.h"

#define FREED_MOST 4 /* returned slots of which the peer was not told */

/* A peer that does not take part may sleep on the word that changed, or on the one next to it.
 * r[impl hub.wait.foreign] */
static __attribute__((noinline)) void wake_sleeper(struct hub_link *link, uint32_t slot)
{
    struct hub_a32 *words[2];

    hub_slots_in_words(&link->slots, slot, words);
    hub_wait_wake_sleeper(&link->wait, HUB_WAIT_TX, words[0]);
    if (words[1] != words[0] && !hub_wait_takes_part(&link->wait))
        hub_futex_wake(words[1], UINT32_MAX);
}

static void wake_for_slot(struct hub_link *link, uint32_t slot)
{
    if (!hub_wait_is_awake(&link->wait, HUB_WAIT_TX))
        wake_sleeper(link, slot);
}

/* A thread that sleeps for a slot is woken when there are some: for a single one it would do
 * little, and sleep again. */
void hub_slot_return_wake(struct hub_link *link)
{
    if (link->returned.count > 0)
        wake_for_slot(link, link->returned.last);
    link->returned.count = 0;
}

int hub_slot_return_quietly(struct hub_link *link, uint32_t slot)
{
    int r = hub_slots_in_free(&link->slots, slot);

    if (r < 0)
        return r;
    link->returned.last = slot;
    link->returned.count++;
    if (link->returned.count == FREED_MOST || !hub_wait_takes_part(&link->wait))
        hub_slot_return_wake(link);
    return 0;
}

int hub_slot_return_held_behind_message(struct hub_link *link, const struct hub_slot_held *slot)
{
    int r = hub_slots_in_give_back(&link->slots, slot);

    if (hub_wait_is_awake(&link->wait, HUB_WAIT_RX | HUB_WAIT_TX))
        return r;
    hub_send_queue_wake(link);
    if (r == 0)
        wake_for_slot(link, slot->slot);
    return r;
}

int hub_slot_return_held_back(struct hub_link *link, const struct hub_slot_held *slot)
{
    int r = hub_slots_in_give_back(&link->slots, slot);

    if (r == 0)
        wake_for_slot(link, slot->slot);
    return r;
}

int hub_slot_return_back(struct hub_link *link, uint32_t slot)
{
    int r = hub_slots_in_free(&link->slots, slot);

    if (r == 0)
        wake_for_slot(link, slot);
    return r;
}

/* A guest without free slots rings the doorbell, so a check at each sweep is enough, and in waits
 * for a slot. */
bool hub_slot_return_attend(struct hub_link *link)
{
    if (link->options.role != HUB_ROLE_HOST ||
        hub_slots_attend(link->options.pool, link->options.peer) == 0)
        return false;
    hub_wait_wake(&link->wait, HUB_WAIT_TX, NULL);
    return true;
}
