/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/channel/channel_reader.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/bytes.h"
#include "hub/channel/channel_state.h"
#include "hub/channel/window.h"
#include "hub/wire/postcard.h"

#define PREFIX_MOST 10 /* bytes of a length */

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

/* Returns the bytes of an element's length, or 0 if exactly that many bytes do not follow. The
 * length may be encoded longer than necessary. r[impl channeling.data]
 * r[impl channeling.data.invalid] */
static uint32_t prefix_of(const uint8_t *payload, uint32_t there, uint32_t size)
{
    struct hub_reader reader;
    uint64_t length;
    uint32_t prefix;

    if (size > 0 && payload[0] < 0x80)
        return payload[0] == size - 1 ? 1 : 0;
    hub_reader_init(&reader, payload, there);
    length = hub_postcard_read_unsigned(&reader, 64);
    prefix = (uint32_t)(reader.at - payload);
    return reader.failure == 0 && length == size - prefix ? prefix : 0;
}

/* The other side has sent its last message: the allocator of the id may reuse it.
 * r[impl channeling.lifecycle.caller-closes-pushes] */
static void free_entry(struct hub_channel *channel)
{
    if (channel->ours)
        return; /* freed with the Response */
    hub_channel_table_free(hub_channel_entry_to_write(channel));
    hub_link_wake_peer(channel->set->link, HUB_WAIT_TX, &hub_channel_entry_of(channel)->state);
}

/* Refuses Data that was not copied, for a channel that this side receives. */
static int refuse_data(const struct hub_channel *channel, const struct hub_message *message,
                       uint32_t size) REQUIRES(channel->set->lock)
{
    if (channel->stage == HUB_CHANNEL_DRAINS)
        return 0;
    if (!is_covered(channel, size))
        return refuse("flow.channel.credit-overrun", message);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u bytes of a stream", size);
}

/* The sender's end, or its last message after our Reset. r[impl channeling.close]
 * r[impl channeling.reset] r[impl channeling.reset.effect] */
static void accept_end(struct hub_channel *channel, enum hub_channel_stage stage)
    REQUIRES(channel->set->lock)
{
    bool drained = channel->stage == HUB_CHANNEL_DRAINS;

    free_entry(channel);
    hub_channel_close(channel, drained ? HUB_CHANNEL_RESET : stage);
    hub_channel_give_back(channel);
}

/* The receiver wants no more. The answer to it marks the end of the data sent before; a callee's
 * Response does that for a channel of its caller. r[impl channeling.reset.credit]
 * r[impl shm.flow.reset] */
static void accept_reset(struct hub_channel *channel) REQUIRES(channel->set->lock)
{
    hub_channel_table_close(hub_channel_entry_to_write(channel));
    if (channel->on_stop)
        channel->on_stop(channel->user);
    if (channel->ours)
        hub_channel_owe_reset(channel);
    hub_channel_close(channel, HUB_CHANNEL_RESET);
}

/* r[impl channeling.holder-semantics] */
static int accept_known(struct hub_channel *channel, const struct hub_message *message,
                        uint32_t size) REQUIRES(channel->set->lock)
{
    if (channel->sends && message->type != HUB_RESET)
        return refuse("channeling.holder-semantics", message);
    if (message->type == HUB_DATA)
        return refuse_data(channel, message, size);
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

/* Holds it, because the message that ends a channel may release the last other reference. */
static struct hub_channel *find(struct hub_channels *set, uint32_t id) REQUIRES(set->lock)
{
    return set->open[id] ? hub_channel_hold(set->open[id]) : NULL;
}

/* Handles messages that are not received in place: an end, or Data without a receiver. */
UNCHECKED static int accept(struct hub_channels *set, const struct hub_message *message,
                            uint32_t size)
{
    struct hub_channel *channel;
    int r = 0;

    hub_mutex_lock(&set->lock);
    channel = find(set, message->id);
    if (set->code == 0 && channel)
        r = accept_known(channel, message, size);
    else if (set->code == 0)
        r = accept_unknown(set, message);
    hub_mutex_unlock(&set->lock);
    hub_channel_release(&channel);
    return r;
}

int hub_channel_reader_accept(struct hub_channels *set, const struct hub_message *message)
{
    int r = accept(set, message, 0);

    (void)hub_channel_settle(set);
    hub_link_tell(set->link);
    return r;
}

/* ---- data ---- */

/* Returns the channel, if this side still receives on it. */
static struct hub_channel *receiver_of(const struct hub_channels *set, uint32_t id)
    REQUIRES(set->lock)
{
    struct hub_channel *channel = set->open[id];

    return channel && !channel->sends && channel->stage == HUB_CHANNEL_OPEN && set->code == 0
               ? channel
               : NULL;
}

/* Repeats while its reader does not come: the reader may wait for this thread's CPU. */
static enum hub_receive_batch_news news_of(struct hub_channel *channel) REQUIRES(channel->set->lock)
{
    if (hub_fifo_size(&channel->fifo) - channel->called < hub_window_plenty(channel))
        return HUB_RECEIVE_BATCH_SOON;
    channel->called = hub_fifo_size(&channel->fifo);
    return HUB_RECEIVE_BATCH_NOW;
}

static void commit(struct hub_channel *channel, uint32_t size, uint32_t prefix)
    REQUIRES(channel->set->lock)
{
    channel->received += size;
    channel->overhead += prefix;
    hub_fifo_commit(&channel->fifo, size - prefix);
}

static void copy_in(struct hub_fifo *fifo, const uint8_t *from, uint32_t size)
{
    for (uint32_t at = 0, run; at < size; at += run) {
        uint8_t *to = hub_fifo_room(fifo, at, &run);

        run = run < size - at ? run : size - at;
        memcpy(to, from + at, run);
    }
}

/* Receives an element whose bytes are in its descriptor. */
static int take_small(struct hub_channel *channel, const struct hub_message *message,
                      const struct hub_descriptor *descriptor) REQUIRES(channel->set->lock)
{
    uint32_t size = descriptor->payload_len;
    uint32_t prefix = prefix_of(descriptor->inline_payload, size, size);

    if (!is_covered(channel, size))
        return refuse("flow.channel.credit-overrun", message);
    if (prefix == 0)
        return refuse("channeling.data.invalid", message);
    if (!hub_fifo_reserve(&channel->fifo, size - prefix))
        return refuse_data(channel, message, size);
    copy_in(&channel->fifo, descriptor->inline_payload + prefix, size - prefix);
    commit(channel, size, prefix);
    return 0;
}

/* Nothing else of this link is received between two of them, so one lock is enough for all. */
UNCHECKED static int take_all(struct hub_channels *set, const struct hub_message *message,
                              const struct hub_receive_batch *arrival)
{
    enum hub_receive_batch_news news = HUB_RECEIVE_BATCH_SILENT;
    struct hub_channel *channel;
    uint32_t i = 0;
    int r = 0;

    hub_mutex_lock(&set->lock);
    channel = receiver_of(set, message->id);
    for (; channel && r == 0 && i < arrival->count; i++)
        r = take_small(channel, message, &arrival->list[i]);
    if (channel && r == 0)
        news = news_of(channel);
    hub_mutex_unlock(&set->lock);
    for (; r == 0 && i < arrival->count; i++)
        r = accept(set, message, arrival->list[i].payload_len);
    return r < 0 ? r : (int)news;
}

struct hub_channel *hub_channel_reader_begin_fill(struct hub_channels *set, uint32_t id,
                                                  uint32_t size)
{
    struct hub_channel *channel;

    hub_mutex_lock(&set->lock);
    channel = receiver_of(set, id);
    if (channel && is_covered(channel, size) && hub_fifo_reserve(&channel->fifo, size)) {
        channel->filling = true;
        channel = hub_channel_hold(channel);
    } else {
        channel = NULL;
    }
    hub_mutex_unlock(&set->lock);
    return channel;
}

/* Without the lock. Copies the length first, since only it says where the bytes begin; returns its
 * bytes, 0 if it is invalid, or a failure. Nothing else of this first copy is used, so the bytes
 * are copied from their start, which is a line. */
static int fill(const struct hub_fifo *fifo, const struct hub_receive_batch *arrival)
{
    uint32_t size = arrival->list[0].payload_len, prefix, length;
    uint8_t head[PREFIX_MOST];
    int r;

    length = size < sizeof head ? size : (uint32_t)sizeof head;
    r = hub_receive_batch_copy(arrival, 0, length, head);
    prefix = r == 0 ? prefix_of(head, length, size) : 0;
    for (uint32_t at = prefix, run; r == 0 && prefix > 0 && at < size; at += run) {
        uint8_t *to = hub_fifo_room(fifo, at - prefix, &run);

        run = run < size - at ? run : size - at;
        r = hub_receive_batch_copy(arrival, at, run, to);
    }
    return r < 0 ? r : (int)prefix;
}

/* Another thread of this side may have broken it off or ended it meanwhile: then the data is
 * unwanted. */
UNCHECKED int hub_channel_reader_end_fill(struct hub_channel *channel,
                                          const struct hub_message *message, uint32_t size,
                                          int prefix)
{
    struct hub_channels *set = channel->set;
    int r = prefix < 0 ? prefix : HUB_RECEIVE_BATCH_SILENT;

    hub_mutex_lock(&set->lock);
    channel->filling = false;
    if (receiver_of(set, message->id) == channel && prefix == 0) {
        r = refuse("channeling.data.invalid", message);
    } else if (receiver_of(set, message->id) == channel && prefix > 0) {
        commit(channel, size, (uint32_t)prefix);
        r = (int)news_of(channel);
    }
    if (channel->dropped)
        hub_channel_drop_queue(channel);
    hub_mutex_unlock(&set->lock);
    hub_channel_release(&channel);
    return r;
}

int hub_channel_reader_data(struct hub_channels *set, const struct hub_message *message,
                            const struct hub_receive_batch *arrival)
{
    uint32_t size = arrival->list[0].payload_len;
    struct hub_channel *channel;

    if (arrival->list[0].payload_slot == HUB_INLINE)
        return take_all(set, message, arrival);
    channel = hub_channel_reader_begin_fill(set, message->id, size);
    if (!channel)
        return accept(set, message, size);
    return hub_channel_reader_end_fill(channel, message, size, fill(&channel->fifo, arrival));
}
