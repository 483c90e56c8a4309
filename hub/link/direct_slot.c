/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/direct_slot.h"

#include "hub/base/check.h"
#include "hub/link/direct.h"
#include "hub/link/giving.h"
#include "hub/link/link_state.h"

bool hub_direct_slot_look(const struct hub_link *link, enum hub_message_type type,
                          const struct hub_descriptor *message)
{
    struct hub_message checked;

    return message->msg_type == type && message->payload_slot != HUB_INLINE &&
           (hub_message_is_large_call(message, &link->limits) ||
            hub_message_check(message, &link->limits, &checked) == 0);
}

/* A refusal, of which nothing has been written, is for the ordinary way to explain. */
static bool may_go(struct hub_link *link, uint8_t type, const struct hub_parts *payload,
                   size_t size)
{
    return payload->loan && !payload->more && !payload->gate && size > HUB_INLINE_SIZE &&
           size <= link->limits.payload_max && hub_ring_may_send(&link->out) &&
           hub_direct_may_send(link, type);
}

/* r[impl shm.payload.slot] */
UNCHECKED bool hub_direct_slot_send(struct hub_link *link, struct hub_descriptor *message,
                                    const struct hub_parts *payload)
{
    struct hub_link_counters *counters = &link->counters;
    size_t size = payload->head.size + payload->tail.size;
    bool sent;

    if (!may_go(link, message->msg_type, payload, size) ||
        hub_loan_place(link, payload, message) < 0)
        return false;
    message->payload_len = (uint32_t)size;
    sent = hub_ring_send(&link->out, message);
    CHECK(sent); /* there was room, and only senders take it */
    hub_count64(&counters->sent, 1);
    hub_count64(&counters->sent_bytes, size);
    hub_count64(&counters->sent_slots, 1);
    return true;
}

bool hub_direct_slot_show(struct hub_link *link, const struct hub_descriptor *message,
                          uint32_t head, struct hub_view *out)
{
    bool good = hub_view_take(link, message, out) == 0;

    if (good)
        (void)hub_direct_take(link, message, head);
    else
        (void)hub_link_violated(link);
    return good;
}

__attribute__((noinline)) bool hub_direct_slot_copy(struct hub_link *link,
                                                    const struct hub_descriptor *message,
                                                    uint32_t head, void *to)
{
    bool good = hub_slots_in_take(&link->slots, message, to) == 0 &&
                hub_giving_back(link, message->payload_slot) == 0;

    if (good)
        (void)hub_direct_take(link, message, head);
    else
        (void)hub_link_violated(link);
    return good;
}
