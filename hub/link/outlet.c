/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/outlet.h"

#include <rapahub/error.h>

#include "hub/base/bytes.h"
#include "hub/base/clock.h"
#include "hub/link/channel_state.h"
#include "hub/wire/postcard.h"

#define PREFIX_MAX 5 /* bytes of an element's length on the wire */
#define SEND_SLICE (100 * HUB_MILLISECOND)
#define LEAST_PART 2 /* a sender waits for this part of the window, or for what it needs */

static uint32_t prefix_of(size_t size)
{
    uint32_t bytes = 1;

    for (; size >= 128; size >>= 7)
        bytes++;
    return bytes;
}

/* The largest element of at most `size` bytes that fits into `room` on the wire. */
static size_t fit(size_t size, uint32_t room)
{
    size_t n = room > PREFIX_MAX ? room - PREFIX_MAX : 0;

    while (n + 1 + prefix_of(n + 1) <= room)
        n++;
    return size < n ? size : n;
}

/* The room for the next element; 0: too little now; -1: the receiver wrote what cannot be.
 * r[impl shm.flow.remaining-credit] r[impl flow.channel.credit-based]
 * r[impl flow.channel.all-transports] */
static int64_t look_at_credit(struct hub_channel *channel, size_t size) REQUIRES(channel->set->lock)
{
    uint32_t granted = hub_channel_table_granted(hub_channel_entry_of(channel));
    uint32_t window = channel->set->credit;
    uint32_t most = hub_link_limits(channel->set->link)->payload_max;
    int64_t left = hub_channel_table_credit(granted, channel->sent);

    if (left < 0 || granted - channel->granted > INT32_MAX)
        return -1;
    channel->granted = granted;
    if (most > window)
        most = window;
    if (size < most && size + prefix_of(size) < most)
        most = (uint32_t)(size + prefix_of(size));
    if (left >= most)
        return most;
    return left >= window / LEAST_PART && left >= 2 ? left : 0;
}

/* What a writer that has no credit looks at; it is in the list of those who wait. */
static bool can_write(void *user)
{
    struct hub_channel *channel = user;
    bool can;

    hub_mutex_lock(&channel->set->lock);
    can = hub_channel_is_over(channel) || look_at_credit(channel, SIZE_MAX / 2) != 0;
    hub_mutex_unlock(&channel->set->lock);
    return can;
}

struct element {
    struct hub_channel *channel;
    const uint8_t *data;
    size_t size;
};

/* r[impl shm.flow.wrap-rule] r[impl hub.violation] */
static int violation(struct hub_channel *channel)
{
    (void)rapahub_fail(RAPAHUB_EPROTOCOL, "shm.flow.wrap-rule",
                       "the credit of channel %u went back or too far", channel->id);
    return hub_link_violated(channel->set->link);
}

/* Cuts the next element off and counts it; from here on it may be on its way. -EAGAIN: no credit.
 * r[impl flow.channel.credit-consume] r[impl flow.channel.zero-credit] r[impl shm.flow.zero-credit]
 */
static int begin_write(struct element *element)
{
    struct hub_channel *channel = element->channel;
    int64_t room;
    int r = 0;

    hub_mutex_lock(&channel->set->lock);
    room = look_at_credit(channel, element->size);
    if (hub_channel_is_over(channel))
        r = hub_channel_explain(channel);
    else if (room > 0)
        element->size = fit(element->size, (uint32_t)room);
    if (r == 0 && room > 0) {
        channel->writing = true;
        channel->sent += (uint32_t)(element->size + prefix_of(element->size));
    } else if (r == 0 && room == 0) {
        r = -EAGAIN;
        channel->told = channel->granted;
        if (hub_list_empty(&channel->waiting))
            hub_list_append(&channel->set->waiting, &channel->waiting);
    }
    hub_mutex_unlock(&channel->set->lock);
    return r == 0 && room < 0 ? violation(channel) : r;
}

static void end_write(struct hub_channel *channel)
{
    hub_mutex_lock(&channel->set->lock);
    channel->writing = false;
    hub_channels_give_back(channel);
    hub_mutex_unlock(&channel->set->lock);
    (void)hub_channels_settle(channel->set);
}

static bool is_over_now(struct hub_channel *channel)
{
    bool over;

    hub_mutex_lock(&channel->set->lock);
    over = hub_channel_is_over(channel);
    hub_mutex_unlock(&channel->set->lock);
    return over;
}

/* Never: for a wait that is only a pause in which others are served. */
static bool never(void *user)
{
    (void)user;
    return false;
}

/* One try, as long as a slice; a thread that has more to do serves others meanwhile. */
static int try_send(struct hub_channels *set, const struct hub_message *message,
                    const struct hub_parts *parts)
{
    bool busy = hub_channels_is_busy(set);
    int r = hub_link_send(set->link, message, parts, busy ? 0 : hub_clock_after(SEND_SLICE));

    if (r == -EAGAIN) {
        const struct hub_link_until pause = {.done = never,
                                             .stage = HUB_WAIT_SLEEP,
                                             .deadline_ns = hub_clock_after(HUB_MILLISECOND)};

        (void)set->manner.wait(set->manner.user, set->link, &pause);
    }
    return r;
}

/* Waits for space in the ring in slices, for the stream may end meanwhile: then -EAGAIN. Where the
 * link has ended the stream has: RAPAHUB_ESTALE says of a call that it was not executed, and would
 * have the one made again whose argument this stream is. */
static int send(struct hub_channel *channel, const struct hub_message *message,
                const struct hub_parts *parts)
{
    int r;

    do
        r = try_send(channel->set, message, parts);
    while (
        (r == -EAGAIN || r == -ETIMEDOUT) &&
        !(message->type == HUB_CLOSE ? hub_observe(&channel->stopped) != 0 : is_over_now(channel)));
    if (r == RAPAHUB_ESTALE)
        return rapahub_fail(hub_link_fate(channel->set->link), "",
                            "the stream ended with its link");
    return r == -ETIMEDOUT ? -EAGAIN : r;
}

static int write_element(const struct element *element)
{
    const struct hub_message data = {HUB_DATA, element->channel->id, 0};
    uint8_t prefix[PREFIX_MAX];
    struct hub_parts parts = {.tail = {element->data, element->size},
                              .more = element->channel->corked};
    struct hub_writer writer;
    int r;

    hub_writer_init(&writer, prefix, sizeof prefix);
    hub_postcard_put_unsigned(&writer, element->size);
    parts.head = (struct rapahub_bytes){prefix, writer.size};
    r = send(element->channel, &data, &parts);
    end_write(element->channel);
    return r;
}

static void wait_for_credit(struct hub_channel *channel)
{
    hub_add64(&channel->set->waits, 1);
    hub_channel_wait(channel, can_write, true);
    hub_mutex_lock(&channel->set->lock);
    hub_list_remove(&channel->waiting);
    hub_mutex_unlock(&channel->set->lock);
}

int hub_outlet_write(struct hub_channel *channel, const void *from, size_t size)
{
    const uint8_t *data = from;

    if (channel->set->credit < 2)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "a window of %u bytes carries no element",
                            channel->set->credit);
    while (size > 0) {
        struct element element = {channel, data, size};
        int r = begin_write(&element);

        if (r == -EAGAIN) {
            wait_for_credit(channel);
            continue;
        }
        if (r == 0)
            r = write_element(&element);
        if (r == -EAGAIN)
            continue; /* it is over: the next look tells why */
        if (r < 0)
            return r;
        data += element.size;
        size -= element.size;
    }
    return 0;
}

/* The end shows all that was written: to uncork behind it is no failure. r[impl hub.ring.cork] */
int hub_outlet_cork(struct hub_channel *channel, bool corked)
{
    int r = 0;

    channel->corked = corked;
    if (!corked)
        hub_link_push(channel->set->link);
    hub_mutex_lock(&channel->set->lock);
    if (hub_channel_is_over(channel) && channel->stage != HUB_CHANNEL_ENDED)
        r = hub_channel_explain(channel);
    hub_mutex_unlock(&channel->set->lock);
    return r;
}

/* The last word that found no space in time becomes a Reset, which waits for space by itself. */
static void end_end(struct hub_channel *channel, bool sent)
{
    hub_mutex_lock(&channel->set->lock);
    if (!sent)
        hub_channel_owe_reset(channel);
    hub_mutex_unlock(&channel->set->lock);
    end_write(channel);
}

/* 1 where a Close is to be sent. r[impl flow.channel.close-exempt] */
static int begin_end(struct hub_channel *channel)
{
    int r = 1;

    hub_mutex_lock(&channel->set->lock);
    if (channel->stage == HUB_CHANNEL_ENDED) {
        r = 0;
    } else if (hub_channel_is_over(channel)) {
        r = hub_channel_explain(channel);
    } else {
        channel->writing = true;
        hub_channel_table_close(hub_channel_entry_of(channel));
        hub_channels_close(channel, HUB_CHANNEL_ENDED);
    }
    hub_mutex_unlock(&channel->set->lock);
    return r;
}

int hub_outlet_end(struct hub_channel *channel)
{
    const struct hub_message close = {HUB_CLOSE, channel->id, 0};
    const struct hub_parts nothing = {.loan = NULL};
    int r = begin_end(channel);

    if (r != 1)
        return r;
    r = send(channel, &close, &nothing);
    end_end(channel, r != -EAGAIN);
    return r == -EAGAIN ? rapahub_fail(RAPAHUB_ECANCELED, "", "the stream was stopped") : r;
}
