/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/channel/channel_writer.h"

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/channel/channel_state.h"

#define LINE       64
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

/* Returns the largest element of at most `size` bytes that fits into `room` on the wire. */
static size_t fit(size_t size, uint32_t room)
{
    size_t n = room > PREFIX_MAX ? room - PREFIX_MAX : 0;

    if (size < room && size + prefix_of(size) <= room)
        return size;
    while (n + 1 + prefix_of(n + 1) <= room)
        n++;
    return size < n ? size : n;
}

/* Whole lines after the line of their length, if that leaves most of it. */
size_t hub_channel_writer_longest(uint32_t window, size_t piece)
{
    uint32_t part = window / PARTS;

    if (part < PART_LEAST)
        part = PART_LEAST < window ? PART_LEAST : window;
    part = piece < part ? (uint32_t)piece : part;
    return part < PART_LEAST ? fit(SIZE_MAX / 2, part) : (part - LINE) / LINE * LINE;
}

/* Returns the bytes of the next element: parts of one size, of whole lines; or a small rest. */
static size_t cut(const struct hub_channel *channel, size_t size)
{
    size_t longest = channel->longest, parts;

    if (size <= longest || longest == 0)
        return size;
    parts = (size + longest - 1) / longest;
    if (size - (parts - 1) * longest < 2 * LINE)
        return longest;
    parts = (size + parts - 1) / parts;
    return longest % LINE == 0 ? (parts + LINE - 1) / LINE * LINE : parts;
}

/* A wider window allows longer elements. r[impl hub.channel.window] */
static void note_window(struct hub_channel *channel, uint32_t left)
{
    if (left <= channel->window)
        return;
    channel->window = left;
    channel->longest = hub_channel_writer_longest(left, hub_link_piece(channel->set->link));
}

/* Returns the space for the next element; 0: too little now; -1: the receiver wrote an impossible
 * value. On the writing thread. r[impl shm.flow.remaining-credit] r[impl flow.channel.credit-based]
 * r[impl flow.channel.all-transports] */
static int64_t look_at_credit(struct hub_channel *channel, size_t size)
{
    uint32_t granted = hub_channel_table_granted(hub_channel_entry_of(channel));
    uint32_t most;
    int64_t left = hub_channel_table_credit(granted, channel->sent);

    if (left < 0 || granted - channel->granted > INT32_MAX)
        return -1;
    channel->granted = granted;
    note_window(channel, (uint32_t)left);
    most = channel->window;
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

/* The condition of a writer without credit, which is in the list of waiting ones. */
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

/* Nothing can be sent any more once the last message is out. */
static void end_last_word(struct hub_channel *channel)
{
    hub_mutex_lock(&channel->set->lock);
    channel->writing = false;
    hub_channel_give_back(channel);
    hub_mutex_unlock(&channel->set->lock);
    (void)hub_channel_settle(channel->set);
}

/* Never true: for a wait that is only a pause in which others are served. */
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

/* Says whether a message of it may still be sent, by that deadline. */
static bool may_wait(const struct hub_channel *channel, enum hub_message_type type,
                     uint64_t deadline)
{
    bool over = type == HUB_CLOSE ? hub_observe(&channel->stopped) != 0 : is_over_now(channel);

    return !over && hub_clock_left(deadline) > 0;
}

/* Waits for space in slices, because the stream may be stopped meanwhile: then -EAGAIN. A link that
 * ended has ended the stream: RAPAHUB_ESTALE would cause the call to be repeated. */
static int send(struct hub_channel *channel, const struct hub_message *message,
                const struct hub_parts *parts, uint64_t deadline)
{
    int r = hub_link_send(channel->set->link, message, parts, 0);

    while ((r == -EAGAIN || r == -ETIMEDOUT) && may_wait(channel, message->type, deadline))
        r = try_send(channel->set, message, parts);
    if (r == RAPAHUB_ESTALE)
        return rapahub_fail(hub_link_fate(channel->set->link), "",
                            "the stream ended with its link");
    return r == -ETIMEDOUT || r == RAPAHUB_ECANCELED ? -EAGAIN : r;
}

/* Sends an element; -EAGAIN if the stream is over, or there was no space by the deadline. `more`
 * follows. After the end of the stream, under the same lock of the link, the gate is shut: no Data
 * follows its last message, nor the Request that reuses the id.
 * r[impl flow.channel.credit-consume] */
static int write_element(struct hub_channel *channel, struct rapahub_bytes bytes, bool more,
                         uint64_t deadline)
{
    const struct hub_message message = {HUB_DATA, channel->id, 0};
    struct hub_parts parts = {.tail = bytes, .more = more, .gate = &channel->shut};
    uint8_t prefix[PREFIX_MAX];
    uint32_t length = 0;
    int r;

    for (size_t left = bytes.size; left >= 128; left >>= 7)
        prefix[length++] = (uint8_t)(left | 0x80);
    prefix[length] = (uint8_t)(bytes.size >> 7 * length);
    parts.head = (struct rapahub_bytes){prefix, length + 1};
    r = send(channel, &message, &parts, deadline);
    if (r == 0)
        channel->sent += (uint32_t)bytes.size + length + 1;
    return r;
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

/* Returns how many of the bytes were written; less than 0: why none. */
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
    r = write_element(channel, (struct rapahub_bytes){data, next}, channel->corked, HUB_NEVER);
    return r == 0 ? (ssize_t)next : r == -EAGAIN ? 0 : r; /* over: the next check tells why */
}

/* ---- small ones, corked ---- */

/* Sends the batch that this thread claimed; it stays if there is no space by the deadline. */
static int send_batch(struct hub_channel *channel, bool more, uint64_t deadline)
{
    struct hub_batch *batch = &channel->batch;
    int r;

    if (batch->size == 0)
        return 0;
    r = write_element(channel, (struct rapahub_bytes){batch->data, batch->size}, more, deadline);
    if (r != -EAGAIN || is_over_now(channel))
        hub_batch_empty(batch);
    return r;
}

static int claim_and_send(struct hub_channel *channel, bool more)
{
    int r;

    if (!channel->batch.data)
        return 0;
    hub_batch_claim(&channel->batch);
    r = send_batch(channel, more, HUB_NEVER);
    hub_batch_release(&channel->batch);
    return r;
}

/* Like a write: -EAGAIN becomes the reason for which the stream ended. */
static int flush(struct hub_channel *channel, bool more)
{
    int r = claim_and_send(channel, more);

    return r == -EAGAIN ? explain(channel) : r;
}

/* An ended stream is no failure here, and the diagnosis must stay the method's. */
void hub_channel_writer_flush(struct hub_channel *channel)
{
    if (channel->sends)
        (void)claim_and_send(channel, false);
}

/* Returns the next channel with a batch of the calling thread, claimed and held. */
static struct hub_channel *find_own(struct hub_channels *set)
{
    struct hub_channel *found = NULL;

    hub_mutex_lock(&set->lock);
    HUB_LIST_EACH (&set->joining, link) {
        struct hub_channel *channel = HUB_LIST_ITEM(link, struct hub_channel, joining);
        struct hub_batch *batch = &channel->batch;

        if (hub_load_relaxed64(&batch->writer) != hub_batch_self() || !hub_batch_try(batch))
            continue;
        if (batch->size > 0) {
            found = hub_channel_hold(channel);
            break;
        }
        hub_batch_release(batch);
    }
    hub_mutex_unlock(&set->lock);
    return found;
}

/* r[impl hub.ring.cork] */
void hub_channel_writer_push(struct hub_channels *set, uint64_t deadline_ns)
{
    struct hub_channel *channel;
    int r = 0;

    while (r != -EAGAIN && (channel = find_own(set))) {
        r = send_batch(channel, false, deadline_ns);
        hub_batch_release(&channel->batch);
        hub_channel_release(&channel);
    }
}

/* Adds it to the list, so that it is found before its writer waits. False if it is over. */
static bool enlist(struct hub_channel *channel)
{
    bool open;

    hub_mutex_lock(&channel->set->lock);
    open = !hub_channel_is_over(channel);
    if (open && hub_list_empty(&channel->joining)) {
        hub_list_append(&channel->set->joining, &channel->joining);
        hub_link_cork(channel->set->link, true);
    }
    hub_mutex_unlock(&channel->set->lock);
    return open;
}

/* Returns the byte limit of a batch, which is sent without waiting for credit. */
static uint32_t room_of(struct hub_channel *channel, size_t size)
{
    uint32_t room = HUB_BATCH_BYTES, credit;

    if (look_at_credit(channel, size) <= 0)
        return 0;
    credit = channel->granted - channel->sent;
    if (credit < room + 2)
        room = credit > 2 ? credit - 2 : 0;
    return room < channel->set->longest ? room : (uint32_t)channel->set->longest;
}

/* Adds the first element of a batch: false if it must be sent like any other. */
static bool begin_batch(struct hub_channel *channel, const void *from, size_t size)
{
    struct hub_batch *batch = &channel->batch;
    bool known = batch->data != NULL;
    uint32_t room = is_over_now(channel) ? 0 : room_of(channel, size);

    if (room < 2 * size || !hub_batch_reserve(batch) || (!known && !enlist(channel)))
        return false;
    hub_batch_claim(batch);
    batch->left = room;
    hub_batch_add(batch, from, size);
    hub_batch_release(batch);
    return true;
}

/* Returns 1 if it joined, 0 if not, or why it cannot. Claims the batch during the copy. */
static inline int join(struct hub_channel *channel, const void *from, size_t size)
{
    struct hub_batch *batch = &channel->batch;
    bool joins, full;
    int r;

    if (is_over_now(channel) || !hub_batch_try(batch))
        return 0;
    joins = size <= batch->left;
    if (joins)
        hub_batch_add(batch, from, size);
    full = joins && hub_batch_is_full(batch, size);
    hub_batch_release(batch);
    r = full ? flush(channel, false) : 0;
    return r < 0 ? r : joins;
}

static int write_all(struct hub_channel *channel, const uint8_t *data, size_t size)
{
    if (channel->set->credit < 2)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "a window of %u bytes carries no element",
                            channel->set->credit);
    while (size > 0) {
        ssize_t n = write_some(channel, data, size);

        if (n < 0)
            return (int)n;
        data += n;
        size -= (size_t)n;
        if (n > 0)
            hub_stream_part(&channel->sink);
    }
    return 0;
}

/* Elements that are held back go before it. */
static __attribute__((noinline)) int write_any(struct hub_channel *channel, const void *from,
                                               size_t size)
{
    int r = flush(channel, channel->corked);

    if (r < 0)
        return r;
    if (channel->corked && size - 1 < HUB_BATCH_SMALL && begin_batch(channel, from, size))
        return 0;
    return write_all(channel, from, size);
}

int hub_channel_writer_write(struct hub_channel *channel, const void *from, size_t size)
{
    int r = channel->corked && size - 1 < HUB_BATCH_SMALL ? join(channel, from, size) : 0;

    if (r == 0)
        return write_any(channel, from, size);
    return r < 0 ? r : 0;
}

/* The end publishes everything that was written: uncorking after it is no failure.
 * r[impl hub.ring.cork] */
int hub_channel_writer_cork(struct hub_channel *channel, bool corked)
{
    bool shows = !corked && channel->batch.size > 0; /* and with it all that was put before */
    int r = 0, sent = shows ? flush(channel, false) : 0;

    channel->corked = corked;
    if (!corked && !shows)
        hub_link_push(channel->set->link);
    if (sent < 0 || !is_over_now(channel))
        return sent;
    hub_mutex_lock(&channel->set->lock);
    if (hub_channel_is_over(channel) && channel->stage != HUB_CHANNEL_ENDED)
        r = hub_channel_explain(channel);
    hub_mutex_unlock(&channel->set->lock);
    return r;
}

/* A last message without space in time becomes a Reset, which waits for space by itself. */
static void end_end(struct hub_channel *channel, bool sent)
{
    hub_mutex_lock(&channel->set->lock);
    if (!sent)
        hub_channel_owe_reset(channel);
    hub_mutex_unlock(&channel->set->lock);
    end_last_word(channel);
}

/* 1 if a Close must be sent. r[impl flow.channel.close-exempt] */
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
        hub_channel_table_close(hub_channel_entry_to_write(channel));
        hub_channel_close(channel, HUB_CHANNEL_ENDED);
    }
    hub_mutex_unlock(&channel->set->lock);
    return r;
}

int hub_channel_writer_end(struct hub_channel *channel)
{
    const struct hub_message close = {HUB_CLOSE, channel->id, 0};
    const struct hub_parts nothing = {.loan = NULL};
    int r = flush(channel, true);

    if (r == 0)
        r = begin_end(channel);
    if (r != 1)
        return r;
    r = send(channel, &close, &nothing, HUB_NEVER);
    end_end(channel, r != -EAGAIN);
    return r == -EAGAIN ? rapahub_fail(RAPAHUB_ECANCELED, "", "the stream was stopped") : r;
}
