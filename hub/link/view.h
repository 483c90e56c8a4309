/* SPDX-License-Identifier: Apache-2.0 */
/* view: a payload that is read where its sender wrote it. The sender, and in a shared segment other
 * guests, may change the bytes meanwhile: a decoder reads each byte once. */
#ifndef HUB_LINK_VIEW_H
#define HUB_LINK_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/shm/slot_class.h"

struct hub_descriptor;
struct hub_link;

#define HUB_VIEW_LEAST 4096 /* bytes; fewer are copied faster */

/* Pins its slot until it is released. Zeroed: none. */
struct hub_view {
    const uint8_t *data;
    uint32_t size;
    struct hub_slot_held slot;
    struct hub_link *link; /* NULL: none, or released */
};

/* Says whether this payload may be shown: the link's own check, before the receiver is asked. */
bool hub_view_may(struct hub_link *link, const struct hub_descriptor *descriptor);

/* Checks and pins the payload: RAPAHUB_EPROTOCOL. Under the token. */
int hub_view_take(struct hub_link *link, const struct hub_descriptor *descriptor,
                  struct hub_view *out);

/* Returns the slot. Any thread; a second call is harmless. The link may be closed, but not
 * released. r[impl hub.view.release] */
void hub_view_give_back(struct hub_view *view);

/* The same for a view that exists, after a message that was just published and whose receiver is
 * woken. */
void hub_view_give_back_behind_message(struct hub_view *view);

static inline void hub_view_release(struct hub_view *view)
{
    if (view->link)
        hub_view_give_back(view);
}

#endif
