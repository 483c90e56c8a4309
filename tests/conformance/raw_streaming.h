/* SPDX-License-Identifier: Apache-2.0 */
/* raw streaming: a raw host that calls methods with streams of our guest, module flow. */
#ifndef TESTS_CONFORMANCE_RAW_STREAMING_H
#define TESTS_CONFORMANCE_RAW_STREAMING_H

#include "tests/conformance/raw_hosting.h"
#include "tests/raw/raw_call.h"
#include "tests/raw/raw_channel.h"
#include "tests/support/pause.h"

#define SOME __attribute__((unused)) static

#define DRAIN "drain(source) -> u64"
#define FILL  "fill(sink, u64) -> void"
#define COPY  "copy(source, sink) -> u64"
#define PEEK  "peek(source) -> u64"

#define WINDOW 4096
#define PIECE  1000 /* bytes of an element */

/* Small enough that every limit is met. */
#define RAW_HOST_NARROW                                                                  \
    {                                                                                    \
        .max_payload = 4000, .initial_credit = WINDOW, .max_guests = 1, .ring_size = 16, \
        .slot_size = 4096, .slot_count = 2, .max_channels = 16                           \
    }

/* The outcome of call `id`. */
struct raw_reply {
    uint32_t id;
    struct raw_channel *from; /* Data of this channel is checked and counted; or NULL */
    bool grants;              /* and granted anew at once */
    uint64_t bytes;           /* bytes of the pattern so far */
    uint32_t closes, resets;  /* for any channel */
    bool answered;
    int outcome; /* the result of raw_call_result */
    uint64_t value;
};

SOME uint8_t raw_pattern(uint64_t at)
{
    return (uint8_t)(at * 31 + at / 251);
}

SOME void raw_request(struct raw_hosting *on, struct raw_reply *reply, const char *method,
                      const uint64_t *numbers, size_t count)
{
    struct raw_postcard arguments = {.size = 0};

    reply->id = ++on->id;
    for (size_t i = 0; i < count; i++)
        raw_postcard_u64(&arguments, numbers[i]);
    assert_int_equal(
        raw_call_request(&on->link, reply->id, raw_call_method(method), &arguments, CALL_MS), 0);
}

SOME void raw_take_data(struct raw_reply *reply, const struct raw_message *data)
{
    const uint8_t *at;
    size_t size;

    assert_non_null(reply->from);
    assert_int_equal(data->id, reply->from->id);
    assert_int_equal(raw_channel_take(reply->from, data, &at, &size), 0);
    for (size_t i = 0; i < size; i++, reply->bytes++)
        assert_int_equal(at[i], raw_pattern(reply->bytes));
    if (reply->grants)
        raw_channel_grant(reply->from, data->length);
}

SOME void raw_take_answer(struct raw_reply *reply, const struct raw_message *response)
{
    struct raw_postcard_rest rest;

    reply->answered = true;
    reply->outcome = raw_call_result(response, &rest);
    if (reply->outcome == 0 && rest.left > 0)
        reply->value = raw_postcard_take_u64(&rest);
}

/* Receives a message: 0, or the error of the link. */
SOME int raw_take(struct raw_hosting *on, struct raw_reply *reply, int timeout_ms)
{
    struct raw_message message;
    int r = raw_link_receive(&on->link, timeout_ms, &message);

    if (r < 0)
        return r;
    if (message.type == RAW_DATA)
        raw_take_data(reply, &message);
    reply->closes += message.type == RAW_CLOSE;
    reply->resets += message.type == RAW_RESET;
    if (message.type == RAW_RESPONSE && message.id == reply->id)
        raw_take_answer(reply, &message);
    return 0;
}

SOME void raw_finish(struct raw_hosting *on, struct raw_reply *reply)
{
    while (!reply->answered)
        assert_int_equal(raw_take(on, reply, CALL_MS), 0);
}

/* An element of the pattern from `at` on. */
SOME void raw_piece(struct raw_channel *to, uint64_t at, size_t size)
{
    uint8_t bytes[PIECE];

    for (size_t i = 0; i < size; i++)
        bytes[i] = raw_pattern(at + i);
    assert_int_equal(raw_channel_send(to, bytes, size, CALL_MS), 0);
}

SOME void raw_stream(struct raw_channel *to, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += PIECE)
        raw_piece(to, at, size - at < PIECE ? (size_t)(size - at) : PIECE);
}

/* The entry becomes Free soon. */
SOME void raw_until_free(struct raw_hosting *on, uint32_t id)
{
    for (int i = 0; i < CALL_MS && raw_channel_look(&on->link, id) != RAW_CHANNEL_FREE; i++)
        pause_ms(1);
    assert_int_equal(raw_channel_look(&on->link, id), RAW_CHANNEL_FREE);
}

#endif
