/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/channel/window.h"

#define FACTOR      32           /* times the first credit; */
#define WIDEST      (2U << 20)   /* and bytes: never wider */
#define PART        4            /* divisor of the window, if all of them have too much for that */
#define LEAST       (16U << 10)  /* bytes: a host that chose less wants little memory used */
#define EXTRA_MOST  (8U << 20)   /* bytes beyond the first credit, for all that one link receives */
#define PLENTY_MOST (512U << 10) /* bytes: the size of a CPU's own cache */

static uint32_t widest(const struct hub_channels *set)
{
    return set->credit < LEAST || set->credit > WIDEST ? set->credit
           : set->credit > WIDEST / FACTOR             ? WIDEST
                                                       : set->credit * FACTOR;
}

/* More is taken only under the lock; it is given back at any time. */
static bool take_extra(struct hub_channels *set, uint32_t more) REQUIRES(set->lock)
{
    if (hub_observe(&set->extra) > EXTRA_MOST - more)
        return false;
    hub_add(&set->extra, more);
    return true;
}

/* Its reader has emptied it, and before that its sender had used half of the window or more. */
static bool is_narrow(const struct hub_channel *channel) REQUIRES(channel->set->lock)
{
    return hub_fifo_size(&channel->fifo) == 0 &&
           channel->granted - channel->received <= channel->window / 2;
}

/* Widens the window as far as it may go, or a part of that. */
static uint32_t take_most(struct hub_channel *channel) REQUIRES(channel->set->lock)
{
    uint32_t more = widest(channel->set) - channel->window;
    uint32_t less = (PART - 1) * channel->window;

    if (take_extra(channel->set, more))
        return more;
    return less < more && take_extra(channel->set, less) ? less : 0;
}

uint32_t hub_window_widen(struct hub_channel *channel)
{
    struct hub_channels *set = channel->set;
    uint32_t more;

    if (channel->window == widest(set) || !is_narrow(channel) ||
        !hub_link_peer_takes_part(set->link))
        return 0;
    more = take_most(channel);
    channel->window += more;
    if (more > 0)
        hub_window_settle(channel);
    return more;
}

/* For an empty one, into which no thread copies now. */
void hub_window_settle(struct hub_channel *channel)
{
    struct hub_fifo *spare = &channel->set->spare, mine;

    if (spare->capacity <= channel->fifo.capacity || spare->capacity / 2 >= channel->window ||
        channel->filling)
        return;
    mine = channel->fifo;
    channel->fifo = *spare;
    *spare = mine;
    channel->set->spare_used = true;
}

void hub_window_leave(struct hub_channel *channel)
{
    struct hub_fifo *spare = &channel->set->spare;

    if (spare->capacity >= channel->fifo.capacity || channel->fifo.capacity > WIDEST)
        return;
    hub_fifo_fini(spare);
    hub_fifo_pop(&channel->fifo, hub_fifo_size(&channel->fifo));
    hub_fifo_move(spare, &channel->fifo);
    channel->set->spare_used = true;
}

void hub_window_rest(struct hub_channels *set, bool at_once)
{
    hub_mutex_lock(&set->lock);
    if (at_once || !set->spare_used)
        hub_fifo_fini(&set->spare);
    set->spare_used = false;
    hub_mutex_unlock(&set->lock);
}

uint32_t hub_window_plenty(const struct hub_channel *channel)
{
    return channel->window / 2 < PLENTY_MOST ? channel->window / 2 : PLENTY_MOST;
}

void hub_window_close(struct hub_channel *channel)
{
    if (!channel->sends)
        hub_add(&channel->set->extra, channel->set->credit - channel->window);
}
