/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/direct_slot.h"

#include "hub/link/direct.h"
#include "hub/link/giving.h"
#include "hub/link/link_state.h"

__attribute__((noinline)) bool hub_direct_slot_look(const struct hub_link *link,
                                                    enum hub_message_type type,
                                                    const struct hub_descriptor *message)
{
    struct hub_message checked;

    return message->msg_type == type && message->payload_slot != HUB_INLINE &&
           hub_message_check(message, &link->limits, &checked) == 0;
}

__attribute__((noinline)) bool hub_direct_slot_show(struct hub_link *link,
                                                    const struct hub_descriptor *message,
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
