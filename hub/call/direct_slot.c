/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/direct_slot.h"

#include "hub/call/direct.h"
#include "hub/link/link_state.h"
#include "hub/link/slot_return.h"

#define PAYLOAD 4 /* the word of a descriptor in which an inline payload begins */

bool hub_direct_slot_look(const struct hub_link *link, enum hub_message_type type,
                          const struct hub_descriptor *message)
{
    struct hub_message checked;

    return message->msg_type == type && message->payload_slot != HUB_INLINE &&
           (hub_message_is_large_call(message, &link->limits) ||
            hub_message_check(message, &link->limits, &checked) == 0);
}

/* A refusal has written nothing, and is left for the ordinary way to explain. */
static bool may_go(struct hub_link *link, uint8_t type, size_t size)
{
    return size > HUB_INLINE_SIZE && size <= link->limits.payload_max &&
           hub_ring_may_send(&link->out) && hub_direct_may_send(link, type);
}

/* Writes the message where the peer reads it, and publishes it. There is space. */
static UNCHECKED void send(struct hub_link *link, const struct hub_message *message,
                           const struct hub_descriptor *place, size_t size)
{
    struct hub_link_counters *counters = &link->counters;
    struct hub_ring_cell *cell = hub_ring_cell_to_fill(&link->out);

    hub_store_relaxed64(&cell->words[0], message->type | (uint64_t)message->id << 32);
    hub_store_relaxed64(&cell->words[1], message->method_id);
    hub_store_relaxed64(&cell->words[2],
                        place->payload_slot | (uint64_t)place->payload_generation << 32);
    hub_store_relaxed64(&cell->words[3], place->payload_offset | (uint64_t)size << 32);
#pragma GCC unroll 4
    for (size_t i = PAYLOAD; i < HUB_DESCRIPTOR_WORDS; i++)
        hub_store_relaxed64(&cell->words[i], 0);
    hub_ring_show_filled(&link->out);
    hub_count64(&counters->sent, 1);
    hub_count64(&counters->sent_bytes, size);
    hub_count64(&counters->sent_slots, 1);
}

/* r[impl shm.payload.slot] */
UNCHECKED bool hub_direct_slot_send(struct hub_link *link, const struct hub_message *message,
                                    const struct hub_parts *payload)
{
    size_t size = payload->head.size + payload->tail.size;
    struct hub_descriptor place;

    if (!payload->loan || payload->more || payload->gate ||
        !may_go(link, (uint8_t)message->type, size) || hub_loan_place(link, payload, &place) < 0)
        return false;
    send(link, message, &place, size);
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
                hub_slot_return_back(link, message->payload_slot) == 0;

    if (good)
        (void)hub_direct_take(link, message, head);
    else
        (void)hub_link_violated(link);
    return good;
}
