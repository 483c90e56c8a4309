/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/view.h"

#include <rapahub/error.h>

#include "hub/link/giving.h"
#include "hub/link/link_state.h"
#include "hub/link/post.h"
#include "hub/link/send_queue.h"

bool hub_view_may(struct hub_link *link, const struct hub_descriptor *descriptor)
{
    return descriptor->payload_slot != HUB_INLINE && descriptor->payload_len > HUB_VIEW_LEAST &&
           hub_wait_takes_part(&link->wait) &&
           hub_slots_in_may_hold(&link->slots, descriptor->payload_slot);
}

int hub_view_take(struct hub_link *link, const struct hub_descriptor *descriptor,
                  struct hub_view *out)
{
    int r = 0;
    const uint8_t *data = hub_slots_in_show(&link->slots, descriptor, &r);

    if (!data)
        return r;
    *out = (struct hub_view){.data = data,
                             .size = descriptor->payload_len,
                             .slot = descriptor->payload_slot,
                             .link = link};
    return 0;
}

static struct hub_link *hide(struct hub_view *view, uint32_t *slot)
{
    struct hub_link *link = view->link;

    *slot = view->slot;
    view->link = NULL;
    hub_slots_in_hide(&link->slots, *slot);
    return link;
}

/* For an entry that is no longer ours nothing is written. */
void hub_view_give_back(struct hub_view *view)
{
    uint32_t slot;
    struct hub_link *link = hide(view, &slot);

    if (hub_link_state_may_send(link) && hub_giving_back(link, slot) < 0)
        (void)hub_post_violated(link);
}

void hub_view_give_back_behind_message(struct hub_view *view)
{
    uint32_t slot;
    struct hub_link *link = hide(view, &slot);

    if (!hub_link_state_may_send(link))
        hub_send_queue_wake(link);
    else if (hub_giving_behind_message(link, slot) < 0)
        (void)hub_post_violated(link);
}
