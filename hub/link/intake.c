/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/intake.h"

#include <rapahub/error.h>

#include "hub/base/bytes.h"
#include "hub/link/channel_state.h"
#include "hub/wire/postcard.h"

static int refuse(const char *rule, const struct hub_message *message)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, rule, "message of type %d for channel %u breaks %s",
                        (int)message->type, message->id, rule);
}

/* The sender cannot have been allowed more. r[impl flow.channel.credit-overrun]
 * r[impl flow.channel.byte-accounting] r[impl shm.bytes.what-counts] */
static bool is_covered(const struct hub_channel *channel, uint32_t size)
{
    uint32_t left = channel->granted - channel->received;

    return left <= INT32_MAX && size <= left;
}

void *hub_intake_place(struct hub_channels *set, const struct hub_message *message, uint32_t size)
{
    struct hub_channel *channel;
    void *to = NULL;

    if (message->type != HUB_DATA)
        return NULL;
    hub_mutex_lock(&set->lock);
    channel = set->open[message->id];
    if (channel && !channel->sends && channel->stage == HUB_CHANNEL_OPEN && set->code == 0 &&
        is_covered(channel, size))
        to = hub_fifo_reserve(&channel->fifo, size);
    if (to) {
        channel->filling = true;
        set->filled = hub_channel_hold(channel);
    }
    hub_mutex_unlock(&set->lock);
    return to;
}

/* The one that was copied into, still held; NULL: none was. */
static struct hub_channel *take_filled(struct hub_channels *set)
{
    struct hub_channel *filled;

    hub_mutex_lock(&set->lock);
    filled = set->filled;
    set->filled = NULL;
    if (filled)
        filled->filling = false;
    hub_mutex_unlock(&set->lock);
    return filled;
}

/* One value of bytes, and nothing behind it. r[impl channeling.data]
 * r[impl channeling.data.invalid] */
static bool is_element(const void *payload, uint32_t size)
{
    struct hub_reader reader;

    hub_reader_init(&reader, payload, size);
    (void)hub_postcard_take_bytes(&reader);
    return hub_postcard_end(&reader) == 0;
}

/* The other side has sent its last word: whoever allocated the id may use it again.
 * r[impl channeling.lifecycle.caller-closes-pushes] */
static void free_entry(struct hub_channel *channel)
{
    if (channel->ours)
        return; /* freed with the Response */
    hub_channel_table_free(hub_channel_entry_of(channel));
    hub_link_wake_peer(channel->set->link, HUB_WAIT_TX, &hub_channel_entry_of(channel)->state);
}

static int accept_data(struct hub_channel *channel, const struct hub_message *message,
                       const void *payload, uint32_t size) REQUIRES(channel->set->lock)
{
    if (channel->stage == HUB_CHANNEL_DRAINS) {
        hub_fifo_fini(&channel->fifo);
        return 0;
    }
    if (!is_covered(channel, size))
        return refuse("flow.channel.credit-overrun", message);
    if (!payload)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u bytes of a stream", size);
    if (!is_element(payload, size))
        return refuse("channeling.data.invalid", message);
    channel->received += size;
    hub_fifo_commit(&channel->fifo, size);
    return 0;
}

/* The sender's end, or its last word behind our Reset. r[impl channeling.close]
 * r[impl channeling.reset] r[impl channeling.reset.effect] */
static void accept_end(struct hub_channel *channel, enum hub_channel_stage stage)
    REQUIRES(channel->set->lock)
{
    bool drained = channel->stage == HUB_CHANNEL_DRAINS;

    free_entry(channel);
    hub_channels_close(channel, drained ? HUB_CHANNEL_RESET : stage);
    hub_channels_give_back(channel);
}

/* The receiver wants no more. The answer to it marks the end of what was sent before; a callee's
 * Response does that for a channel of its caller. r[impl channeling.reset.credit]
 * r[impl shm.flow.reset] */
static void accept_reset(struct hub_channel *channel) REQUIRES(channel->set->lock)
{
    hub_channel_table_close(hub_channel_entry_of(channel));
    if (channel->on_stop)
        channel->on_stop(channel->user);
    if (channel->ours)
        hub_channel_owe_reset(channel);
    hub_channels_close(channel, HUB_CHANNEL_RESET);
}

/* r[impl channeling.holder-semantics] */
static int accept_known(struct hub_channel *channel, const struct hub_message *message,
                        const void *payload, uint32_t size) REQUIRES(channel->set->lock)
{
    if (channel->sends && message->type != HUB_RESET)
        return refuse("channeling.holder-semantics", message);
    if (message->type == HUB_DATA)
        return accept_data(channel, message, payload, size);
    if (channel->sends)
        accept_reset(channel);
    else
        accept_end(channel, message->type == HUB_CLOSE ? HUB_CHANNEL_ENDED : HUB_CHANNEL_RESET);
    return 0;
}

/* r[impl channeling.unknown] r[impl channeling.data-after-close] r[impl hub.channel.orphan] */
static int accept_unknown(struct hub_channels *set, const struct hub_message *message)
    REQUIRES(set->lock)
{
    bool theirs = message->id % 2 != (set->role == HUB_ROLE_HOST ? 0 : 1);
    enum hub_channel_past past = (enum hub_channel_past)set->past[message->id];

    if (past == HUB_PAST_RESET || (past == HUB_PAST_SENT && message->type == HUB_RESET) ||
        (past == HUB_PAST_ENDED && message->type != HUB_DATA))
        return 0;
    if (set->refused && theirs) {
        hub_add64(&set->orphans, 1);
        return 0;
    }
    return refuse(past == HUB_PAST_ENDED ? "channeling.data-after-close" : "channeling.unknown",
                  message);
}

/* Held: what ends a channel may be the last to know it. */
static struct hub_channel *find(struct hub_channels *set, uint32_t id)
{
    struct hub_channel *channel;

    hub_mutex_lock(&set->lock);
    channel = set->open[id] ? hub_channel_hold(set->open[id]) : NULL;
    hub_mutex_unlock(&set->lock);
    return channel;
}

static int accept_for_nobody(struct hub_channels *set, const struct hub_message *message)
{
    int r;

    hub_mutex_lock(&set->lock);
    r = set->code == 0 ? accept_unknown(set, message) : 0;
    hub_mutex_unlock(&set->lock);
    return r;
}

/* Another thread of this side may have broken it off since the look: then it is known no more. */
static int accept_for(struct hub_channel *channel, const struct hub_message *message,
                      const void *payload, uint32_t size)
{
    int r = 0;
    bool known;

    hub_mutex_lock(&channel->set->lock);
    known = channel->set->open[message->id] == channel;
    if (known && channel->set->code == 0)
        r = accept_known(channel, message, payload, size);
    hub_mutex_unlock(&channel->set->lock);
    return known ? r : accept_for_nobody(channel->set, message);
}

int hub_intake_accept(struct hub_channels *set, const struct hub_message *message,
                      const void *payload, uint32_t size)
{
    struct hub_channel *filled = take_filled(set), *channel = find(set, message->id);
    int r = 0;

    if (!filled || filled == channel) /* else it ended meanwhile */
        r = channel ? accept_for(channel, message, payload, size) : accept_for_nobody(set, message);
    hub_channel_release(&filled);
    hub_channel_release(&channel);
    (void)hub_channels_settle(set);
    hub_link_tell(set->link);
    return r;
}

void hub_intake_drop(struct hub_channels *set)
{
    struct hub_channel *filled = take_filled(set);

    hub_channel_release(&filled);
}
