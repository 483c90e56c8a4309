/* SPDX-License-Identifier: Apache-2.0 */
/* channel_stream: a channel as a source or a sink, and its reader's access to received data. */
#include "hub/channel/channel_stream.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/channel/channel_state.h"
#include "hub/channel/channel_writer.h"
#include "hub/channel/window.h"

/* ---- stream interfaces ---- */

static struct hub_channel *of_source(struct rapahub_source *source)
{
    return HUB_LIST_ITEM(source, struct hub_channel, source);
}

static struct hub_channel *of_sink(struct rapahub_sink *sink)
{
    return HUB_LIST_ITEM(sink, struct hub_channel, sink);
}

static ssize_t read_face(struct rapahub_source *source, void *to, size_t size)
{
    return hub_channel_stream_read(of_source(source), to, size);
}

static ssize_t lend_face(struct rapahub_source *source, const void **data)
{
    return hub_channel_stream_lend(of_source(source), data);
}

static void take_face(struct rapahub_source *source, size_t size)
{
    hub_channel_stream_take(of_source(source), size);
}

static void stop_source(struct rapahub_source *source, bool stopped)
{
    hub_channel_stop(of_source(source), stopped);
}

static void leave_source(struct rapahub_source *source)
{
    hub_channel_reset(of_source(source));
}

static int write_face(struct rapahub_sink *sink, const void *from, size_t size)
{
    return hub_channel_writer_write(of_sink(sink), from, size);
}

static int cork_face(struct rapahub_sink *sink, bool corked)
{
    return hub_channel_writer_cork(of_sink(sink), corked);
}

static int end_face(struct rapahub_sink *sink)
{
    return hub_channel_writer_end(of_sink(sink));
}

static void stop_sink(struct rapahub_sink *sink, bool stopped)
{
    hub_channel_stop(of_sink(sink), stopped);
}

static void leave_sink(struct rapahub_sink *sink)
{
    hub_channel_reset(of_sink(sink));
}

/* r[impl flow.channel.initial-credit] */
struct hub_channel *hub_channel_stream_create(struct hub_channels *set, bool sends, bool ours)
{
    struct hub_channel *channel = calloc(1, sizeof *channel);

    if (!channel) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a channel");
        return NULL;
    }
    channel->set = set;
    channel->sends = sends;
    channel->ours = ours;
    channel->granted = channel->told = channel->window = set->credit;
    channel->longest = set->longest;
    channel->source = (struct rapahub_source){.read = read_face,
                                              .lend = lend_face,
                                              .take = take_face,
                                              .stop = stop_source,
                                              .leave = leave_source};
    channel->sink = (struct rapahub_sink){.write = write_face,
                                          .cork = cork_face,
                                          .end = end_face,
                                          .stop = stop_sink,
                                          .leave = leave_sink};
    hub_list_init(&channel->owing);
    hub_list_init(&channel->waiting);
    hub_list_init(&channel->joining);
    hub_store_relaxed(&channel->users, 1);
    return channel;
}

/* ---- receiving ---- */

static bool can_read(void *user)
{
    struct hub_channel *channel = user;
    bool can;

    hub_mutex_lock(&channel->set->lock);
    can =
        hub_fifo_size(&channel->fifo) > 0 || channel->overhead > 0 || hub_channel_is_over(channel);
    hub_mutex_unlock(&channel->set->lock);
    return can;
}

/* Grants at half of the window, at once for a peer that does not take part, and always when
 * everything was read; otherwise a sender whose next element is larger than the rest would wait
 * forever.
 *
 * r[impl hub.channel.grant] r[impl flow.channel.credit-grant] r[impl flow.channel.credit-additive]
 * r[impl flow.channel.credit-prompt]
 */
static bool grant(struct hub_channel *channel) REQUIRES(channel->set->lock)
{
    uint32_t half = channel->window / 2;

    if (channel->stage != HUB_CHANNEL_OPEN || channel->taken == 0 ||
        (channel->taken < half && hub_fifo_size(&channel->fifo) > 0 &&
         hub_link_peer_takes_part(channel->set->link)))
        return false;
    channel->granted += channel->taken + hub_window_widen(channel);
    channel->taken = 0;
    hub_channel_table_grant(hub_channel_entry_to_write(channel), channel->granted);
    return true;
}

/* `size` bytes are used up, and with them their part of the lengths; with the last ones all
 * lengths. */
static bool take(struct hub_channel *channel, uint32_t size) REQUIRES(channel->set->lock)
{
    uint32_t there = hub_fifo_size(&channel->fifo);
    uint32_t part =
        size < there ? (uint32_t)((uint64_t)channel->overhead * size / there) : channel->overhead;

    hub_fifo_pop(&channel->fifo, size);
    channel->overhead -= part;
    channel->taken += size + part;
    channel->called = 0;
    if (channel->dropped)
        hub_channel_drop_queue(channel);
    return grant(channel);
}

/* r[impl shm.wakeup.credit-wait] */
static void wake_writer(struct hub_channel *channel)
{
    hub_link_wake_peer(channel->set->link, HUB_WAIT_TX,
                       &hub_channel_entry_of(channel)->granted_total);
}

/* Returns a number of bytes; 0 at the end; -EAGAIN; or why none will come. */
static ssize_t try_lend(struct hub_channel *channel, const void **data)
{
    bool granted = false;
    ssize_t n = -EAGAIN;
    uint32_t size = 0;

    hub_mutex_lock(&channel->set->lock);
    if (!hub_channel_is_stopped(channel))
        *data = hub_fifo_lend(&channel->fifo, &size);
    if (size > 0)
        n = size;
    else if (channel->stage == HUB_CHANNEL_ENDED && !hub_channel_is_stopped(channel))
        n = 0;
    else if (hub_channel_is_over(channel))
        n = hub_channel_explain(channel);
    else
        granted = take(channel, 0); /* lengths of empty elements */
    hub_mutex_unlock(&channel->set->lock);
    if (granted)
        wake_writer(channel);
    return n;
}

ssize_t hub_channel_stream_lend(struct hub_channel *channel, const void **data)
{
    ssize_t n;

    while ((n = try_lend(channel, data)) == -EAGAIN)
        hub_channel_wait(channel, can_read, channel, false);
    return n;
}

void hub_channel_stream_take(struct hub_channel *channel, size_t size)
{
    bool granted;

    hub_mutex_lock(&channel->set->lock);
    granted = take(channel, (uint32_t)size);
    hub_mutex_unlock(&channel->set->lock);
    if (granted)
        wake_writer(channel);
}

ssize_t hub_channel_stream_read(struct hub_channel *channel, void *to, size_t size)
{
    const void *data;
    ssize_t n = size > 0 ? hub_channel_stream_lend(channel, &data) : 0;
    size_t done = 0;

    while (n > 0) {
        size_t piece = (size_t)n < size - done ? (size_t)n : size - done;

        memcpy((uint8_t *)to + done, data, piece);
        hub_channel_stream_take(channel, piece);
        done += piece;
        n = done < size ? try_lend(channel, &data) : 0;
    }
    return done > 0 ? (ssize_t)done : n;
}
