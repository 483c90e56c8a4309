/* SPDX-License-Identifier: Apache-2.0 */
/* channel: the state of a channel, and the operations on it by its writer, its reader and the
 * receiver. It calls none of them. */
#include "hub/channel/channel.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/channel/channel_state.h"
#include "hub/channel/window.h"

/* ---- a channel ---- */

struct hub_channel *hub_channel_hold(struct hub_channel *channel)
{
    hub_add(&channel->users, 1);
    return channel;
}

void hub_channel_release(struct hub_channel **pointer)
{
    struct hub_channel *channel = *pointer;

    *pointer = NULL;
    if (!channel || hub_add(&channel->users, UINT32_MAX) != 1)
        return;
    hub_window_close(channel);
    hub_fifo_fini(&channel->fifo);
    hub_batch_fini(&channel->batch);
    free(channel);
}

bool hub_channel_is_stopped(const struct hub_channel *channel)
{
    return hub_observe(&channel->stopped) != 0;
}

int hub_channel_explain(const struct hub_channel *channel)
{
    if (hub_channel_is_stopped(channel))
        return rapahub_fail(RAPAHUB_ECANCELED, "", "the stream was stopped");
    if (channel->stage != HUB_CHANNEL_OPEN)
        return rapahub_fail(RAPAHUB_ERESET, "", "the stream was broken off");
    return rapahub_fail(channel->set->code, "", "the stream ended with its link");
}

bool hub_channel_is_over(const struct hub_channel *channel)
{
    return channel->stage != HUB_CHANNEL_OPEN || channel->set->code != 0 ||
           hub_channel_is_stopped(channel);
}

void hub_channel_owe_reset(struct hub_channel *channel)
{
    (void)hub_channel_hold(channel);
    hub_list_append(&channel->set->owing, &channel->owing);
    hub_link_hinder(channel->set->link, true);
    hub_add(&channel->set->owes, 1);
}

void hub_channel_shut(struct hub_channel *channel)
{
    hub_publish(&channel->shut, 1);
    if (channel->on_stop)
        channel->on_stop(channel->user);
}

void hub_channel_unlist(struct hub_channel *channel)
{
    hub_list_remove(&channel->waiting);
    if (!hub_list_empty(&channel->joining))
        hub_link_cork(channel->set->link, false);
    hub_list_remove(&channel->joining);
}

void hub_channel_drop_queue(struct hub_channel *channel)
{
    channel->dropped = channel->filling || channel->fifo.lent;
    if (channel->dropped)
        return;
    hub_window_leave(channel);
    hub_fifo_fini(&channel->fifo);
    channel->overhead = 0;
}

uint32_t hub_channel_id(const struct hub_channel *channel)
{
    return channel->id;
}

struct rapahub_source *hub_channel_source(struct hub_channel *channel)
{
    return &channel->source;
}

struct rapahub_sink *hub_channel_sink(struct hub_channel *channel)
{
    return &channel->sink;
}

void hub_channel_on_stop(struct hub_channel *channel, void (*on_stop)(void *user), void *user)
{
    hub_mutex_lock(&channel->set->lock);
    channel->on_stop = on_stop;
    channel->user = user;
    hub_mutex_unlock(&channel->set->lock);
}

void hub_channel_set_led(struct hub_channel *channel)
{
    channel->led = true;
}

void hub_channel_stop(struct hub_channel *channel, bool stopped)
{
    hub_publish(&channel->stopped, stopped);
    if (!stopped)
        return;
    hub_link_tell(channel->set->link);
    hub_link_nudge(channel->set->link);
}

/* ---- its id ---- */

void hub_channel_give_back(struct hub_channel *channel)
{
    struct hub_channels *set = channel->set;
    bool over = channel->stage != HUB_CHANNEL_OPEN && channel->stage != HUB_CHANNEL_DRAINS;

    if (!over || channel->writing || !hub_list_empty(&channel->owing) || channel->given_back)
        return;
    if (!channel->ours || (!channel->sends && !channel->answered))
        return;
    channel->given_back = true;
    if (channel->frees)
        hub_channel_table_free(hub_channel_entry_to_write(channel));
    set->free[(set->free_at + set->free_count++) % set->own] = channel->id;
    if (set->seekers > 0)
        hub_link_tell(set->link);
}

static enum hub_channel_past past_of(const struct hub_channel *channel)
{
    if (channel->sends)
        return HUB_PAST_SENT;
    return channel->stage == HUB_CHANNEL_ENDED ? HUB_PAST_ENDED : HUB_PAST_RESET;
}

void hub_channel_close(struct hub_channel *channel, enum hub_channel_stage stage)
{
    struct hub_channels *set = channel->set;
    struct hub_channel *held = set->open[channel->id];

    channel->stage = stage;
    hub_publish(&channel->shut, 1);
    hub_channel_unlist(channel);
    if (held != channel)
        return;
    set->open[channel->id] = NULL;
    set->past[channel->id] = (uint8_t)past_of(channel);
    set->count--;
    hub_channel_release(&held);
}

/* ---- Resets that found no space ---- */

struct hub_channel *hub_channel_forgive(struct hub_channel *channel)
{
    if (hub_list_empty(&channel->owing))
        return NULL;
    hub_list_remove(&channel->owing);
    hub_add(&channel->set->owes, UINT32_MAX);
    hub_link_hinder(channel->set->link, false);
    return channel;
}

/* Returns the next channel that owes its last message, and sends nothing else now. It stays
 * held. */
static struct hub_channel *next_owing(struct hub_channels *set)
{
    struct hub_channel *found = NULL;

    hub_mutex_lock(&set->lock);
    HUB_LIST_EACH (&set->owing, link) {
        struct hub_channel *channel = HUB_LIST_ITEM(link, struct hub_channel, owing);

        if (channel->writing)
            continue;
        channel->writing = true;
        found = hub_channel_hold(channel);
        break;
    }
    hub_mutex_unlock(&set->lock);
    return found;
}

/* The last message was sent, or is of no use any more: removes the channel from the list and
 * releases the list's reference. */
static void settle_one(struct hub_channel *channel, bool done)
{
    struct hub_channel *of_list = NULL;

    hub_mutex_lock(&channel->set->lock);
    channel->writing = false;
    if (done)
        of_list = hub_channel_forgive(channel);
    hub_channel_give_back(channel);
    hub_mutex_unlock(&channel->set->lock);
    hub_channel_release(&of_list);
    hub_channel_release(&channel);
}

bool hub_channel_settle(struct hub_channels *set)
{
    const struct hub_parts nothing = {.loan = NULL};
    struct hub_channel *channel;

    while (hub_channel_owes(set) && (channel = next_owing(set))) {
        const struct hub_message reset = {HUB_RESET, channel->id, 0};
        int r = hub_link_send(set->link, &reset, &nothing, 0);

        settle_one(channel, r != -EAGAIN);
        if (r == -EAGAIN)
            return true;
    }
    return hub_channel_owes(set);
}

bool hub_channel_owes(const struct hub_channels *set)
{
    return hub_observe(&set->owes) != 0;
}

/* r[impl message.goodbye.receive] */
UNCHECKED void hub_channel_end_all(struct hub_channels *set, int code)
{
    hub_mutex_lock(&set->lock);
    if (set->code == 0)
        set->code = code;
    for (uint32_t id = 0; id < set->limit; id++)
        if (set->open[id])
            hub_channel_shut(set->open[id]);
    hub_mutex_unlock(&set->lock);
    hub_link_tell(set->link);
}

void hub_channel_wait(struct hub_channel *channel, bool (*done)(void *user), void *user, bool space)
{
    struct hub_channels *set = channel->set;
    const struct hub_link_until until = {.done = done,
                                         .user = user,
                                         .stage = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(HUB_SECOND),
                                         .space = space,
                                         .follows = channel->led && !space,
                                         .gathers = !space};

    if (hub_channels_is_busy(set))
        (void)set->manner.wait(set->manner.user, set->link, &until);
    else
        (void)hub_link_wait(set->link, &until);
    if (!hub_link_ours(set->link)) /* nothing comes any more, and no thread closes the link */
        hub_channel_end_all(set, RAPAHUB_ECLOSED);
}

void hub_channel_reset(struct hub_channel *channel)
{
    hub_mutex_lock(&channel->set->lock);
    if (channel->stage == HUB_CHANNEL_OPEN && channel->set->open[channel->id] == channel) {
        hub_channel_owe_reset(channel);
        if (channel->sends) {
            hub_channel_table_close(hub_channel_entry_to_write(channel));
            hub_channel_close(channel, HUB_CHANNEL_RESET);
        } else {
            channel->stage = HUB_CHANNEL_DRAINS;
        }
    }
    if (!channel->sends)
        hub_channel_drop_queue(channel);
    hub_mutex_unlock(&channel->set->lock);
    (void)hub_channel_settle(channel->set);
}
