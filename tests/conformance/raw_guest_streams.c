/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/raw_guest_streams.h"

#include <errno.h>
#include <string.h>

#include "tests/raw/raw_call.h"
#include "tests/raw/raw_channel.h"

#define CALL_MS 10000
#define LOOK_MS 20
#define PIECE   900

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 31 + at / 251);
}

/* The state of a call with streams. */
struct flow {
    struct raw_link *link;
    struct raw_channel from, to;
    uint64_t received, sent;
    uint32_t due; /* received and not granted anew */
    bool ended, stopped;
    uint8_t kept[PIECE * 80]; /* bytes for copy: more than a window */
};

static int take_data(struct flow *flow, const struct raw_message *message)
{
    const uint8_t *at;
    size_t size;
    int r = raw_channel_take(&flow->from, message, &at, &size);

    for (size_t i = 0; r == 0 && i < size; i++, flow->received++) {
        if (at[i] != pattern(flow->received))
            r = -EPROTO;
        flow->kept[flow->received % sizeof(flow->kept)] = at[i];
    }
    return r;
}

/* Receives a message. The user of Data grants it anew. */
static int take(struct flow *flow, int timeout_ms, uint32_t *granted)
{
    struct raw_message message;
    int r = raw_link_receive(flow->link, timeout_ms, &message);

    *granted = 0;
    if (r < 0)
        return r;
    if (message.type == RAW_DATA && message.id == flow->from.id) {
        *granted = message.length;
        return take_data(flow, &message);
    }
    if ((message.type == RAW_CLOSE || message.type == RAW_RESET) && message.id == flow->from.id) {
        flow->ended = true;
        flow->stopped = flow->stopped || message.type == RAW_RESET;
        raw_channel_free(flow->link, message.id);
    }
    if (message.type == RAW_RESET && message.id == flow->to.id)
        flow->stopped = true;
    return 0;
}

static int finish(struct flow *flow, uint32_t id, const struct raw_postcard *result)
{
    if (flow->to.id != 0)
        raw_channel_set(flow->link, flow->to.id, RAW_CHANNEL_CLOSED);
    return flow->stopped ? raw_call_fail(flow->link, id, RAW_CANCELLED, CALL_MS)
                         : raw_call_answer(flow->link, id, result, CALL_MS);
}

/* How many bytes of the pattern came. */
static int serve_drain(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    struct raw_postcard count = {.size = 0};
    struct flow flow = {.link = link};
    uint32_t id = request->id, granted;
    int r;

    (void)user;
    r = raw_channel_adopt(link, (uint32_t)raw_postcard_take_u64(&arguments), &flow.from);
    while (r == 0 && !flow.ended) {
        r = take(&flow, CALL_MS, &granted);
        if (r == 0 && granted > 0)
            raw_channel_grant(&flow.from, granted);
    }
    if (r < 0)
        return r;
    raw_postcard_u64(&count, flow.received);
    return finish(&flow, id, &count);
}

/* The next piece if there is credit for it: 0, 1 if there is none. */
static int send_piece(struct flow *flow, const uint8_t *bytes, size_t size)
{
    int r;

    if (raw_channel_credit(&flow->to) < (int32_t)size + 2)
        return 1;
    r = raw_channel_send(&flow->to, bytes, size, CALL_MS);
    if (r == 0)
        flow->sent += size;
    return r;
}

/* So many bytes of it. */
static int serve_fill(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint32_t channel = (uint32_t)raw_postcard_take_u64(&arguments), id = request->id, granted;
    uint64_t count = raw_postcard_take_u64(&arguments);
    struct flow flow = {.link = link};
    uint8_t bytes[PIECE];
    int r;

    (void)user;
    r = raw_channel_adopt(link, channel, &flow.to);
    while (r >= 0 && flow.sent < count && !flow.stopped) {
        size_t size = count - flow.sent < PIECE ? (size_t)(count - flow.sent) : PIECE;

        for (size_t i = 0; i < size; i++)
            bytes[i] = pattern(flow.sent + i);
        r = raw_channel_send(&flow.to, bytes, size, LOOK_MS);
        flow.sent += r == 0 ? size : 0;
        if (raw_link_ready(link) > 0)
            r = take(&flow, 0, &granted);
        r = r == -ETIMEDOUT ? 0 : r;
    }
    return r < 0 ? r : finish(&flow, id, NULL);
}

/* Received data is sent on, and granted anew after that. */
static int copy_some(struct flow *flow)
{
    size_t at = flow->sent % sizeof(flow->kept), size = (size_t)(flow->received - flow->sent);
    uint32_t granted = 0;
    int r = 1;

    size = size < PIECE ? size : PIECE;
    size = size < sizeof(flow->kept) - at ? size : sizeof(flow->kept) - at;
    if (size > 0)
        r = send_piece(flow, flow->kept + at, size);
    if (r == 0 && flow->sent == flow->received) {
        raw_channel_grant(&flow->from, flow->due);
        flow->due = 0;
    }
    if (r <= 0 || flow->ended)
        return r < 0 ? r : 0;
    r = take(flow, LOOK_MS, &granted);
    flow->due += granted;
    return r == -ETIMEDOUT ? 0 : r;
}

static int serve_copy(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint32_t id = request->id, from = (uint32_t)raw_postcard_take_u64(&arguments);
    uint32_t to = (uint32_t)raw_postcard_take_u64(&arguments);
    struct raw_postcard count = {.size = 0};
    struct flow flow = {.link = link};
    int r;

    (void)user;
    r = raw_channel_adopt(link, from, &flow.from);
    if (r == 0)
        r = raw_channel_adopt(link, to, &flow.to);
    while (r == 0 && !flow.stopped && (!flow.ended || flow.sent < flow.received))
        r = copy_some(&flow);
    if (r < 0)
        return r;
    raw_postcard_u64(&count, flow.received);
    return finish(&flow, id, &count);
}

/* Answers Cancelled, once it is told to. */
static int serve_hang(struct raw_link *link, const struct raw_message *request, void *user)
{
    uint32_t id = request->id;
    struct raw_message message;
    int r;

    (void)user;
    do
        r = raw_link_receive(link, CALL_MS, &message);
    while (r == 0 && (message.type != RAW_CANCEL || message.id != id));
    return r < 0 ? r : raw_call_fail(link, id, RAW_CANCELLED, CALL_MS);
}

const struct raw_method raw_guest_streams[] = {
    {"drain(source) -> u64", serve_drain},
    {"fill(sink, u64) -> void", serve_fill},
    {"copy(source, sink) -> u64", serve_copy},
    {"hang() -> void", serve_hang},
    {NULL, NULL},
};
