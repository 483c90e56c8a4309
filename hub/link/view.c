/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/view.h"

#include <rapahub/error.h>

#include "hub/link/link_state.h"
#include "hub/link/post.h"
#include "hub/link/send_queue.h"
#include "hub/link/slot_return.h"

bool hub_view_may(struct hub_link *link, const struct hub_descriptor *descriptor)
{
    return descriptor->payload_slot != HUB_INLINE && descriptor->payload_len > HUB_VIEW_LEAST &&
           hub_wait_takes_part(&link->wait) &&
           hub_slots_in_may_hold(&link->slots, descriptor->payload_slot);
}

int hub_view_take(struct hub_link *link, const struct hub_descriptor *descriptor,
                  struct hub_view *out)
{
    int r = hub_slots_in_show(&link->slots, descriptor, &out->slot, &out->data);

    if (r < 0)
        return r;
    out->size = descriptor->payload_len;
    out->link = link;
    return 0;
}

static struct hub_link *hide(struct hub_view *view)
{
    struct hub_link *link = view->link;

    view->link = NULL;
    hub_slots_in_hide(&link->slots, view->slot.slot);
    return link;
}

/* For an entry that is no longer ours nothing is written. */
void hub_view_give_back(struct hub_view *view)
{
    struct hub_link *link = hide(view);

    if (hub_link_state_may_send(link) && hub_slot_return_held_back(link, &view->slot) < 0)
        (void)hub_post_violated(link);
}

void hub_view_give_back_behind_message(struct hub_view *view)
{
    struct hub_link *link = hide(view);

    if (!hub_link_state_may_send(link))
        hub_send_queue_wake(link);
    else if (hub_slot_return_held_behind_message(link, &view->slot) < 0)
        (void)hub_post_violated(link);
}
