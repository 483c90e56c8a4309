/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/outlet.h"

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/link/channel_state.h"

#define PREFIX_MAX 5 /* bytes of an element's length on the wire */
#define SEND_SLICE (100 * HUB_MILLISECOND)
#define PARTS      4    /* elements in a window */
#define PART_LEAST 4096 /* bytes; smaller ones are not cut off for that */
#define LEAST_PART 2    /* a sender waits for this part of the window, or for what it needs */

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

    if (size < room && size + prefix_of(size) <= room)
        return size;
    while (n + 1 + prefix_of(n + 1) <= room)
        n++;
    return size < n ? size : n;
}

size_t hub_outlet_longest(uint32_t window, size_t piece)
{
    uint32_t part = window / PARTS;

    if (part < PART_LEAST)
        part = PART_LEAST < window ? PART_LEAST : window;
    return fit(SIZE_MAX / 2, piece < part ? (uint32_t)piece : part);
}

/* The next element of so many bytes: in parts of one size, so that no small one is left. */
static size_t cut(const struct hub_channel *channel, size_t size)
{
    size_t longest = channel->set->longest, parts;

    if (size <= longest || longest == 0)
        return size;
    parts = (size + longest - 1) / longest;
    return (size + parts - 1) / parts;
}

/* The room for the next element; 0: too little now; -1: the receiver wrote what cannot be. By the
 * thread that writes. r[impl shm.flow.remaining-credit] r[impl flow.channel.credit-based]
 * r[impl flow.channel.all-transports] */
static int64_t look_at_credit(struct hub_channel *channel, size_t size)
{
    uint32_t granted = hub_channel_table_granted(hub_channel_entry_of(channel));
    uint32_t most = channel->set->credit;
    int64_t left = hub_channel_table_credit(granted, channel->sent);

    if (left < 0 || granted - channel->granted > INT32_MAX)
        return -1;
    channel->granted = granted;
    if (size < most && size + prefix_of(size) < most)
        most = (uint32_t)(size + prefix_of(size));
    if (left >= most)
        return most;
    return left >= channel->set->credit / LEAST_PART && left >= 2 ? left : 0;
}

static bool is_over_now(const struct hub_channel *channel)
{
    return hub_observe(&channel->shut) != 0 || hub_observe(&channel->stopped) != 0;
}

static int explain(struct hub_channel *channel)
{
    int r;

    hub_mutex_lock(&channel->set->lock);
    r = hub_channel_explain(channel);
    hub_mutex_unlock(&channel->set->lock);
    return r;
}

/* What a writer that has no credit looks at; it is in the list of those who wait. */
struct need {
    struct hub_channel *channel;
    size_t size;
};

static bool can_write(void *user)
{
    const struct need *need = user;

    return is_over_now(need->channel) || look_at_credit(need->channel, need->size) != 0;
}

/* r[impl shm.flow.wrap-rule] r[impl hub.violation] */
static int violation(struct hub_channel *channel)
{
    (void)rapahub_fail(RAPAHUB_EPROTOCOL, "shm.flow.wrap-rule",
                       "the credit of channel %u went back or too far", channel->id);
    return hub_link_violated(channel->set->link);
}

/* Nothing can be sent any more once the last word is out. */
static void end_last_word(struct hub_channel *channel)
{
    hub_mutex_lock(&channel->set->lock);
    channel->writing = false;
    hub_channels_give_back(channel);
    hub_mutex_unlock(&channel->set->lock);
    (void)hub_channels_settle(channel->set);
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

/* Waits for space in the ring in slices, for the stream may be stopped meanwhile: then -EAGAIN.
 * Where the link has ended the stream has: RAPAHUB_ESTALE says of a call that it was not executed,
 * and would have the one made again whose argument this stream is. */
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

/* One element; -EAGAIN where the stream is over. What is sent behind the end of the stream, under
 * the same lock of the link, finds the gate shut: so no Data follows its last word, nor the Request
 * that uses the id again. r[impl flow.channel.credit-consume] */
static int write_element(struct hub_channel *channel, const uint8_t *data, size_t size)
{
    const struct hub_message message = {HUB_DATA, channel->id, 0};
    struct hub_parts parts = {.tail = {data, size},
                              .more = channel->corked,
                              .batch = channel->corked ? &channel->batch : NULL,
                              .gate = &channel->shut};
    uint8_t prefix[PREFIX_MAX];
    uint32_t length = 0;
    int r;

    for (size_t left = size; left >= 128; left >>= 7)
        prefix[length++] = (uint8_t)(left | 0x80);
    prefix[length] = (uint8_t)(size >> 7 * length);
    parts.head = (struct rapahub_bytes){prefix, length + 1};
    r = hub_link_send(channel->set->link, &message, &parts, 0);
    if (r != 0)
        r = send(channel, &message, &parts);
    if (r == 0 && parts.batch && channel->batch.joined > 0)
        channel->sent += channel->batch.joined;
    else if (r == 0)
        channel->sent += (uint32_t)size + length + 1;
    return r == RAPAHUB_ECANCELED ? -EAGAIN : r;
}

static bool join_waiting(struct hub_channel *channel)
{
    bool joined = false;

    hub_mutex_lock(&channel->set->lock);
    if (!hub_channel_is_over(channel)) {
        channel->told = channel->granted;
        hub_list_append(&channel->set->waiting, &channel->waiting);
        joined = true;
    }
    hub_mutex_unlock(&channel->set->lock);
    return joined;
}

/* r[impl flow.channel.zero-credit] r[impl shm.flow.zero-credit] */
static void wait_for_credit(struct hub_channel *channel, size_t size)
{
    struct need need = {channel, size};

    if (!join_waiting(channel))
        return;
    hub_add64(&channel->set->waits, 1);
    hub_channel_wait(channel, can_write, &need, true);
    hub_mutex_lock(&channel->set->lock);
    hub_list_remove(&channel->waiting);
    hub_mutex_unlock(&channel->set->lock);
}

/* How many bytes of them were written; less than 0: why none. */
static ssize_t write_some(struct hub_channel *channel, const uint8_t *data, size_t size)
{
    size_t next = cut(channel, size);
    int64_t room;
    int r;

    if (is_over_now(channel))
        return explain(channel);
    room = look_at_credit(channel, next);
    if (room < 0)
        return violation(channel);
    if (room == 0) {
        wait_for_credit(channel, next);
        return 0;
    }
    next = fit(next, (uint32_t)room);
    r = write_element(channel, data, next);
    return r == 0 ? (ssize_t)next : r == -EAGAIN ? 0 : r; /* over: the next look tells why */
}

/* A small one joins what is held back, if there is credit for it as it was seen last. */
static bool join(struct hub_channel *channel, const void *data, size_t size)
{
    uint32_t left = channel->granted - channel->sent, joined;

    if (!channel->batch.data || left > INT32_MAX || left < size + PREFIX_MAX ||
        hub_observe(&channel->stopped) != 0)
        return false;
    joined = hub_batch_append(channel->set->link, &channel->batch,
                              (struct rapahub_bytes){data, size}, &channel->shut);
    channel->sent += joined;
    return joined > 0;
}

int hub_outlet_write(struct hub_channel *channel, const void *from, size_t size)
{
    const uint8_t *data = from;

    if (channel->corked && size > 0 && size < HUB_BATCH_BYTES && join(channel, from, size))
        return 0;
    if (channel->set->credit < 2)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "a window of %u bytes carries no element",
                            channel->set->credit);
    while (size > 0) {
        ssize_t n = write_some(channel, data, size);

        if (n < 0)
            return (int)n;
        data += n;
        size -= (size_t)n;
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
    end_last_word(channel);
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
