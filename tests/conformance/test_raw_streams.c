/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest program, with the module flow, under a host that was written from the numbers of the
 * specification: streams in both directions, credit, and how they end. */
#include "tests/conformance/raw_streaming.h"

#define LENGTH (10 * WINDOW)

static void open_narrow(struct raw_hosting *on)
{
    memset(on, 0, sizeof(*on));
    raw_hosting_open_module(on, &(struct raw_config)RAW_HOST_NARROW, RAW_BELL_STREAM, FLOW_MODULE);
}

static void drain(struct raw_hosting *on, uint32_t id, uint64_t length)
{
    struct raw_reply reply = {.id = 0};
    struct raw_channel to;

    assert_int_equal(raw_channel_open(&on->link, id, &to), 0);
    raw_request(on, &reply, DRAIN, &(uint64_t){id}, 1);
    raw_stream(&to, length);
    assert_true(to.sent - (uint32_t)length < length); /* prefixes count too */
    assert_int_equal(raw_channel_close(&to), 0);
    raw_finish(on, &reply);
    assert_int_equal(reply.outcome, 0);
    assert_int_equal(reply.value, length);
    raw_until_free(on, id);
}

static void fill(struct raw_hosting *on, uint32_t id, uint64_t length)
{
    const uint64_t arguments[] = {id, length};
    struct raw_reply reply = {.grants = true};
    struct raw_channel from;

    assert_int_equal(raw_channel_open(&on->link, id, &from), 0);
    reply.from = &from;
    raw_request(on, &reply, FILL, arguments, 2);
    raw_finish(on, &reply);
    assert_int_equal(reply.outcome, 0);
    assert_int_equal(reply.bytes, length);
    assert_int_equal(raw_channel_look(&on->link, id), RAW_CHANNEL_CLOSED);
    raw_channel_free(&on->link, id);
}

/* r[verify shm.flow.channel-table] r[verify shm.flow.channel-table-location]
 * r[verify shm.flow.channel-activate] r[verify shm.flow.counter-per-channel]
 * r[verify shm.flow.channel-id-reuse] */
static void ten_windows_cross_each_way(void **state)
{
    struct raw_hosting on;

    (void)state;
    open_narrow(&on);
    for (uint32_t id = 2; id < 16; id += 2) {
        drain(&on, id, LENGTH);
        fill(&on, id, LENGTH);
    }
    raw_hosting_close(&on, 0);
}

/* Data without a grant does not come. r[verify shm.flow.zero-credit] r[verify shm.flow.initial]
 * r[verify shm.flow.remaining-credit] */
static void without_credit_nothing_is_sent(void **state)
{
    const uint64_t arguments[] = {2, LENGTH};
    struct raw_reply reply = {.id = 0};
    struct raw_channel from;
    struct raw_hosting on;

    (void)state;
    open_narrow(&on);
    assert_int_equal(raw_channel_open(&on.link, 2, &from), 0);
    reply.from = &from;
    raw_request(&on, &reply, FILL, arguments, 2);
    while (!reply.answered) {
        int r = raw_take(&on, &reply, 50);

        assert_true(r == 0 || r == -ETIMEDOUT);
        assert_in_range(from.received, 1, from.granted);
        if (r == -ETIMEDOUT) {
            assert_in_range(from.granted - from.received, 0, WINDOW / 2 - 1); /* it was used */
            raw_channel_grant(&from, WINDOW);
        }
    }
    assert_int_equal(reply.bytes, LENGTH);
    raw_hosting_close(&on, 0);
}

/* Request, Data and Close are published at once. r[verify hub.channel.register] */
static void data_right_behind_the_request_is_taken(void **state)
{
    static const uint8_t element[4] = {3, 0, 31, 62};
    struct raw_reply reply = {.id = 1000};
    uint8_t descriptor[64], request[2] = {0, 2}; /* no metadata, channel 2 */
    struct raw_channel to;
    struct raw_hosting on;
    struct raw_message messages[] = {{.type = RAW_REQUEST,
                                      .id = 1000,
                                      .method = raw_call_method(DRAIN),
                                      .slot = RAW_INLINE,
                                      .payload = request,
                                      .length = 2},
                                     {.type = RAW_DATA,
                                      .id = 2,
                                      .slot = RAW_INLINE,
                                      .payload = element,
                                      .length = sizeof(element)},
                                     {.type = RAW_CLOSE, .id = 2, .slot = RAW_INLINE}};

    (void)state;
    open_narrow(&on);
    assert_int_equal(raw_channel_open(&on.link, 2, &to), 0);
    for (size_t i = 0; i < 3; i++) {
        raw_link_pack(&messages[i], descriptor);
        assert_int_equal(raw_link_put(&on.link, descriptor), 0);
    }
    raw_channel_set(&on.link, 2, RAW_CHANNEL_CLOSED);
    raw_link_publish(&on.link);
    raw_finish(&on, &reply);
    assert_int_equal(reply.outcome, 0);
    assert_int_equal(reply.value, 3);
    raw_until_free(&on, 2);
    raw_hosting_close(&on, 0);
}

/* ---- ends ---- */

/* r[verify channeling.reset] r[verify channeling.reset.effect] */
static void a_sender_that_aborts_ends_the_callee(void **state)
{
    struct raw_reply reply = {.id = 0};
    struct raw_channel to;
    struct raw_hosting on;

    (void)state;
    open_narrow(&on);
    assert_int_equal(raw_channel_open(&on.link, 2, &to), 0);
    raw_request(&on, &reply, DRAIN, &(uint64_t){2}, 1);
    raw_piece(&to, 0, PIECE);
    assert_int_equal(raw_channel_abort(&to), 0);
    raw_finish(&on, &reply);
    assert_int_equal(reply.outcome, 1 + RAW_USER);
    raw_until_free(&on, 2);
    drain(&on, 2, LENGTH);
    raw_hosting_close(&on, 0);
}

/* The callee has enough: its Reset crosses more Data, which is ignored, and our last word: Reset or
 * Close. r[verify channeling.reset] r[verify shm.flow.reset] r[verify channeling.reset.credit] */
static void a_receiver_that_has_enough_resets(void **state)
{
    struct raw_hosting on;

    (void)state;
    open_narrow(&on);
    for (int with_close = 0; with_close < 2; with_close++) {
        struct raw_reply reply = {.id = 0};
        struct raw_channel to;

        assert_int_equal(raw_channel_open(&on.link, 2, &to), 0);
        raw_request(&on, &reply, PEEK, &(uint64_t){2}, 1);
        raw_piece(&to, 0, 10);
        while (reply.resets == 0 || !reply.answered)
            assert_int_equal(raw_take(&on, &reply, CALL_MS), 0);
        assert_int_equal(reply.outcome, 0);
        raw_piece(&to, 10, 10);
        assert_int_equal(raw_channel_look(&on.link, 2), RAW_CHANNEL_ACTIVE);
        assert_int_equal(with_close ? raw_channel_close(&to) : raw_channel_abort(&to), 0);
        raw_until_free(&on, 2);
        assert_int_equal(raw_channel_tell(&on.link, RAW_RESET, 2), 0); /* too late: ignored */
        assert_int_equal(raw_channel_force(&on.link, 2, "late", 4), 0);
    }
    drain(&on, 4, 100);
    raw_hosting_close(&on, 0);
}

/* Our Close and its Reset are under way at the same time. */
static void close_and_reset_may_cross(void **state)
{
    struct raw_hosting on;

    (void)state;
    open_narrow(&on);
    for (int i = 0; i < 50; i++) {
        struct raw_reply reply = {.id = 0};
        struct raw_channel to;

        assert_int_equal(raw_channel_open(&on.link, 2, &to), 0);
        raw_request(&on, &reply, PEEK, &(uint64_t){2}, 1);
        raw_piece(&to, 0, 10);
        assert_int_equal(raw_channel_close(&to), 0);
        raw_finish(&on, &reply);
        assert_int_equal(reply.outcome, 0);
        raw_until_free(&on, 2);
    }
    raw_hosting_close(&on, 0);
}

/* The callee sends: our Reset stops it; its Response is the last word.
 * r[verify channeling.lifecycle.response-closes-pulls] */
static void a_callee_that_sends_is_stopped_by_a_reset(void **state)
{
    const uint64_t arguments[] = {2, LENGTH};
    struct raw_reply reply = {.id = 0};
    struct raw_channel from;
    struct raw_hosting on;

    (void)state;
    open_narrow(&on);
    assert_int_equal(raw_channel_open(&on.link, 2, &from), 0);
    reply.from = &from;
    raw_request(&on, &reply, FILL, arguments, 2);
    while (reply.bytes < PIECE)
        assert_int_equal(raw_take(&on, &reply, CALL_MS), 0);
    assert_int_equal(raw_channel_tell(&on.link, RAW_RESET, 2), 0);
    raw_finish(&on, &reply);
    assert_int_equal(reply.outcome, 1 + RAW_USER);
    assert_int_equal(raw_channel_look(&on.link, 2), RAW_CHANNEL_CLOSED);
    raw_channel_free(&on.link, 2);
    fill(&on, 2, LENGTH);
    raw_hosting_close(&on, 0);
}

/* In and out at once: one element is sent when there is credit, else one message is taken. */
static void both_directions_at_once(void **state)
{
    const uint64_t arguments[] = {2, 4};
    struct raw_reply reply = {.grants = true};
    struct raw_channel to, from;
    struct raw_hosting on;
    uint64_t at = 0;

    (void)state;
    open_narrow(&on);
    assert_int_equal(raw_channel_open(&on.link, 2, &to), 0);
    assert_int_equal(raw_channel_open(&on.link, 4, &from), 0);
    reply.from = &from;
    raw_request(&on, &reply, COPY, arguments, 2);
    while (at < LENGTH) {
        if (raw_channel_credit(&to) >= PIECE + 2 && raw_link_ready(&on.link) == 0) {
            raw_piece(&to, at, LENGTH - at < PIECE ? LENGTH - at : PIECE);
            at += LENGTH - at < PIECE ? LENGTH - at : PIECE;
        } else {
            int r = raw_take(&on, &reply, 10);

            assert_true(r == 0 || r == -ETIMEDOUT);
        }
    }
    assert_int_equal(raw_channel_close(&to), 0);
    raw_finish(&on, &reply);
    assert_int_equal(reply.value, LENGTH);
    assert_int_equal(reply.bytes, LENGTH);
    raw_hosting_close(&on, 0);
}

/* ---- calls that were refused ---- */

/* The channels of an unknown method are unknown, too: data sent for them is ignored.
 * r[verify hub.channel.orphan] */
static void data_of_a_refused_call_is_ignored(void **state)
{
    struct raw_hosting on;

    (void)state;
    open_narrow(&on);
    for (uint32_t i = 0; i < 20; i++) {
        struct raw_reply reply = {.id = 0};
        struct raw_channel to;

        assert_int_equal(raw_channel_open(&on.link, 2 + i % 7 * 2, &to), 0);
        raw_request(&on, &reply, "no_such(source) -> void", &(uint64_t){to.id}, 1);
        if (i == 0) /* the first refusal is on its way before there is an orphan */
            raw_finish(&on, &reply);
        raw_piece(&to, 0, PIECE);
        assert_int_equal(raw_channel_abort(&to), 0);
        raw_finish(&on, &reply);
        assert_int_equal(reply.outcome, 1 + RAW_UNKNOWN_METHOD);
        raw_channel_free(&on.link, to.id);
    }
    drain(&on, 2, LENGTH);
    raw_hosting_close(&on, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_windows_cross_each_way),
        cmocka_unit_test(without_credit_nothing_is_sent),
        cmocka_unit_test(data_right_behind_the_request_is_taken),
        cmocka_unit_test(a_sender_that_aborts_ends_the_callee),
        cmocka_unit_test(a_receiver_that_has_enough_resets),
        cmocka_unit_test(close_and_reset_may_cross),
        cmocka_unit_test(a_callee_that_sends_is_stopped_by_a_reset),
        cmocka_unit_test(both_directions_at_once),
        cmocka_unit_test(data_of_a_refused_call_is_ignored),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
