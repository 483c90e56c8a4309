/* SPDX-License-Identifier: Apache-2.0 */
/* hostile channels: what a guest may do to streams. The call that asks for it has two: one the host
 * sends, one it receives. */
#include <string.h>

#include "tests/attack/hostile.h"
#include "tests/raw/raw_call.h"
#include "tests/raw/raw_channel.h"
#include "tests/raw/raw_slot.h"
#include "tests/support/pause.h"

#define CALL_MS  10000
#define SIZE     900 /* bytes of an element: more than all the credit there ever is */
#define FLOOD    5000
#define ENTRIES  64
#define TAKE     "take(source) -> u64"
#define TAKE_TWO "take_two(source, source) -> u64"

/* In the ring, not published. */
static void put_data(struct raw_link *link, uint32_t id, uint32_t size)
{
    struct raw_message data = {.type = RAW_DATA, .id = id, .length = size + 2};
    uint8_t descriptor[64], *bytes;

    raw_slot_take(link, &data.slot, &data.generation);
    bytes = raw_slot_bytes(link, data.slot);
    memset(bytes, 7, data.length);
    bytes[0] = (uint8_t)(0x80 | (size & 0x7f));
    bytes[1] = (uint8_t)(size >> 7);
    raw_link_pack(&data, descriptor);
    raw_link_put(link, descriptor);
}

/* An element that no credit covers. With several elements of which the first are covered, all might
 * be valid, because the host may have received the first ones, and granted as much again, before it
 * checks the next. */
static void overrun(struct raw_link *link, const struct hostile_streams *streams)
{
    put_data(link, streams->sink, SIZE);
    raw_link_publish(link);
}

static void data_after_close(struct raw_link *link, const struct hostile_streams *streams)
{
    raw_channel_tell(link, RAW_CLOSE, streams->sink);
    raw_channel_force(link, streams->sink, "x", 1);
}

static void data_the_wrong_way(struct raw_link *link, const struct hostile_streams *streams)
{
    raw_channel_force(link, streams->source, "x", 1);
}

static void close_the_wrong_way(struct raw_link *link, const struct hostile_streams *streams)
{
    raw_channel_tell(link, RAW_CLOSE, streams->source);
}

static void send_bytes(struct raw_link *link, uint32_t id, const void *bytes, uint32_t size)
{
    const struct raw_message data = {.type = RAW_DATA, .id = id, .payload = bytes, .length = size};

    raw_link_send(link, &data, CALL_MS);
}

static void element_too_short(struct raw_link *link, const struct hostile_streams *streams)
{
    send_bytes(link, streams->sink, "\x05xx", 3);
}

static void element_too_long(struct raw_link *link, const struct hostile_streams *streams)
{
    send_bytes(link, streams->sink, "\x01xx", 3);
}

static void element_without_end(struct raw_link *link, const struct hostile_streams *streams)
{
    send_bytes(link, streams->sink, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
}

static void close_with_payload(struct raw_link *link, const struct hostile_streams *streams)
{
    const struct raw_message close = {
        .type = RAW_CLOSE, .id = streams->sink, .payload = (const uint8_t *)"x", .length = 1};

    raw_link_send(link, &close, CALL_MS);
}

static void reset_with_payload(struct raw_link *link, const struct hostile_streams *streams)
{
    const struct raw_message reset = {
        .type = RAW_RESET, .id = streams->sink, .payload = (const uint8_t *)"x", .length = 1};

    raw_link_send(link, &reset, CALL_MS);
}

static void reset_zero(struct raw_link *link, const struct hostile_streams *streams)
{
    (void)streams;
    raw_channel_tell(link, RAW_RESET, 0);
}

static void data_far_beyond(struct raw_link *link, const struct hostile_streams *streams)
{
    (void)streams;
    raw_channel_force(link, 0xffffffff, "x", 1);
}

static void data_other_parity(struct raw_link *link, const struct hostile_streams *streams)
{
    (void)streams;
    raw_channel_force(link, 5, "x", 1); /* a channel of ours, never opened */
}

/* Nothing that comes later shall end the stream before the host has looked at its credit. */
static void grant(struct raw_link *link, const struct hostile_streams *streams, uint32_t total)
{
    raw_channel_set_granted(link, streams->source, total);
    for (;;)
        pause_ms(1000);
}

static void grant_back(struct raw_link *link, const struct hostile_streams *streams)
{
    grant(link, streams, 1);
}

static void grant_far(struct raw_link *link, const struct hostile_streams *streams)
{
    grant(link, streams, 0x80000000u + 5000);
}

static void grant_minus_one(struct raw_link *link, const struct hostile_streams *streams)
{
    grant(link, streams, 0xffffffff);
}

/* ---- names in a Request ---- */

static void name(struct raw_link *link, const char *signature, uint64_t first, uint64_t second)
{
    static const uint8_t target[4] = {0, 3, 0, 0};
    struct raw_postcard payload = {.size = 0};
    struct raw_message request = {
        .type = RAW_REQUEST, .id = 77, .method = raw_call_method(signature)};

    raw_postcard_u64(&payload, 1);
    raw_postcard_string(&payload, "rapahub-to");
    raw_postcard_u64(&payload, 1);
    raw_postcard_bytes(&payload, target, sizeof(target));
    raw_postcard_u64(&payload, first);
    if (second != UINT64_MAX)
        raw_postcard_u64(&payload, second);
    request.payload = payload.bytes;
    request.length = (uint32_t)payload.size;
    raw_link_send(link, &request, CALL_MS);
}

static void name_zero(struct raw_link *link, const struct hostile_streams *streams)
{
    (void)streams;
    name(link, TAKE, 0, UINT64_MAX);
}

static void name_even(struct raw_link *link, const struct hostile_streams *streams)
{
    (void)streams;
    name(link, TAKE, 8, UINT64_MAX);
}

static void name_beyond(struct raw_link *link, const struct hostile_streams *streams)
{
    (void)streams;
    name(link, TAKE, ENTRIES + 1, UINT64_MAX);
}

static void name_far_beyond(struct raw_link *link, const struct hostile_streams *streams)
{
    (void)streams;
    name(link, TAKE, (UINT64_C(1) << 32) + 1, UINT64_MAX);
}

static void name_twice(struct raw_link *link, const struct hostile_streams *streams)
{
    (void)streams;
    name(link, TAKE_TWO, 1, 1);
}

/* ---- harmless ---- */

static void empty_elements(struct raw_link *link, const struct hostile_streams *streams)
{
    struct raw_channel to;

    if (raw_channel_adopt(link, streams->sink, &to) < 0)
        return;
    for (int i = 0; i < FLOOD; i++)
        if (raw_channel_send(&to, "", 0, CALL_MS) < 0)
            return;
}

static void ends_again_and_again(struct raw_link *link, const struct hostile_streams *streams)
{
    for (int i = 0; i < 100; i++) {
        raw_channel_tell(link, RAW_RESET, streams->source);
        raw_channel_tell(link, i % 2 ? RAW_CLOSE : RAW_RESET, streams->sink);
    }
}

/* Writes states and counters of unopened channels, and of the channel we send on. */
static void scribble(struct raw_link *link, const struct hostile_streams *streams)
{
    for (uint32_t i = 0; i < FLOOD; i++) {
        uint32_t id = i % ENTRIES;

        if (id == streams->source || id == streams->sink)
            continue;
        raw_channel_set(link, id, i * 2654435761u);
        raw_channel_set_granted(link, id, i * 2246822519u);
        raw_channel_set(link, streams->sink, i);
    }
}

const struct hostile_on_streams hostile_channels[] = {
    {"overrun", overrun},
    {"data_after_close", data_after_close},
    {"data_the_wrong_way", data_the_wrong_way},
    {"close_the_wrong_way", close_the_wrong_way},
    {"element_too_short", element_too_short},
    {"element_too_long", element_too_long},
    {"element_without_end", element_without_end},
    {"close_with_payload", close_with_payload},
    {"reset_with_payload", reset_with_payload},
    {"reset_zero", reset_zero},
    {"data_far_beyond", data_far_beyond},
    {"data_other_parity", data_other_parity},
    {"grant_back", grant_back},
    {"grant_far", grant_far},
    {"grant_minus_one", grant_minus_one},
    {"name_zero", name_zero},
    {"name_even", name_even},
    {"name_beyond", name_beyond},
    {"name_far_beyond", name_far_beyond},
    {"name_twice", name_twice},
    {"empty_elements", empty_elements},
    {"ends_again_and_again", ends_again_and_again},
    {"scribble", scribble},
    {NULL, NULL},
};
