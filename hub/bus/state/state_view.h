/* SPDX-License-Identifier: Apache-2.0 */
/* state_view: the state of a region of either kind, by private numbers. r[impl region.state] */
#ifndef HUB_BUS_STATE_VIEW_H
#define HUB_BUS_STATE_VIEW_H

#include "hub/bus/state/state_latch.h"
#include "hub/bus/state/state_parity.h"
#include "hub/bus/state/state_shape.h"

struct hub_state_view {
    bool latch; /* else parity */
    struct hub_state_parity of_parity;
    struct hub_state_latch of_latch;
    uint32_t value_bytes;         /* the longest value has them; 0: the region has no value */
    struct hub_a32 *writer_lease; /* + 1; 0: none */
    struct hub_a32 *changed_seq, *changed_flag;
};

/* Makes the view of a state from a shape that was checked. */
struct hub_state_view hub_state_view_at(uint8_t *data, uint32_t body_off,
                                        const struct hub_state_shape *shape);

/* Writes the constants of a new body. */
void hub_state_view_fill(const struct hub_state_view *view, const struct hub_state_shape *shape);

/* Empties it: nothing was written, and no process has a role. The constants stay. */
void hub_state_view_empty(const struct hub_state_view *view);

/* See hub_state_parity_write, hub_state_latch_write. -EMSGSIZE: it is too long, and nothing
 * changed.
 */
int hub_state_view_write(const struct hub_state_view *view, const void *data, size_t size);

/* Reads a whole value. Tries again while it is being written or replaced, 1,024 times:
 * RAPAHUB_EWRITERBUSY then. Else as hub_state_parity_try. r[impl region.state.reader] */
int hub_state_view_read(const struct hub_state_view *view, void *to, size_t room, size_t *size,
                        uint64_t *version);

/* Returns the last version that was written whole; 0: none. */
static inline uint64_t hub_state_view_version(const struct hub_state_view *view)
{
    return view->latch ? hub_state_latch_version(&view->of_latch)
                       : hub_state_parity_version(&view->of_parity);
}

/* Says whether there is no whole value to be read, because a version was begun. */
static inline bool hub_state_view_is_odd(const struct hub_state_view *view)
{
    return !view->latch && hub_state_parity_is_odd(&view->of_parity);
}

#endif
