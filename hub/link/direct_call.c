/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/direct_call.h"

#include "hub/base/clock.h"
#include "hub/link/call_table.h"
#include "hub/link/direct.h"
#include "hub/link/receiver.h"

/* The token is ours: nobody can meet the answer before the entry is an open one. */
static struct hub_call_entry *send(struct hub_calls *calls, struct hub_descriptor *message)
{
    struct hub_call_entry *entry = NULL;

    hub_mutex_lock(calls->lock);
    if (calls->refusal == 0)
        entry = hub_call_table_reserve(calls);
    if (entry) {
        message->id = entry->id;
        if (!hub_direct_send(calls->link, message)) {
            hub_publish(&entry->taken, 1);
            entry = NULL;
        }
    }
    hub_mutex_unlock(calls->lock);
    if (entry)
        hub_link_wake_receiver(calls->link);
    return entry;
}

/* r[impl call.complete] */
static bool is_answered(struct hub_calls *calls, const struct hub_call_entry *entry,
                        struct hub_descriptor *message)
{
    uint32_t head;

    if (!hub_direct_look(calls->link, HUB_RESPONSE, message, &head) || message->id != entry->id)
        return false;
    hub_direct_take(calls->link, message, head);
    hub_note64(&calls->answered, hub_peek64(&calls->answered) + 1); /* as all do with the token */
    return true;
}

/* From here on it is a call as any other. The link may have closed meanwhile. */
static uint64_t go_on(struct hub_calls *calls, struct hub_call_entry *entry,
                      const struct hub_direct_order *order)
{
    const struct hub_call open = {.deadline_ns = hub_clock_after(order->timeout_ns),
                                  .answer = order->answer};
    uint64_t number = hub_peek64(&entry->number);

    hub_mutex_lock(calls->lock);
    hub_call_table_open(calls, entry, &open);
    if (calls->refusal != 0) {
        hub_add64(&calls->lost, 1); /* as of those that were open ones then */
        hub_call_table_end(calls, entry, calls->refusal);
    }
    hub_mutex_unlock(calls->lock);
    return number;
}

enum hub_direct_outcome hub_direct_call(struct hub_calls *calls, struct hub_descriptor *message,
                                        const struct hub_direct_order *order, uint64_t *number)
{
    enum hub_direct_outcome outcome = HUB_DIRECT_REFUSED;
    struct hub_call_entry *entry;

    if (hub_peek(&calls->following) != 0 || !hub_direct_begin(calls->link))
        return HUB_DIRECT_REFUSED;
    message->msg_type = HUB_REQUEST;
    entry = send(calls, message);
    if (entry && is_answered(calls, entry, message)) {
        hub_publish(&entry->taken, 1);
        outcome = HUB_DIRECT_ANSWERED;
    } else if (entry) {
        *number = go_on(calls, entry, order);
        outcome = HUB_DIRECT_SENT;
    }
    hub_direct_end(calls->link, order->looks_soon);
    return outcome;
}
