/* SPDX-License-Identifier: Apache-2.0 */
/* call_small: both ends in one thread, step by step. */
#include <errno.h>

#include "hub/call/call_ends.h"
#include "hub/call/call_small.h"
#include "hub/call/responses.h"
#include "tests/unit/link/pair.h"

#define RING 8

struct ends {
    int told, code;
    struct hub_answer answer, given;
};

static void note_end(void *user, int code, struct hub_answer *answer)
{
    struct ends *ends = user;

    ends->told++;
    ends->code = code;
    ends->given = *answer;
}

static int begin(struct pair *pair, struct ends *ends, uint8_t fill, bool more)
{
    struct hub_descriptor message = {.method_id = 1, .payload_len = 2, .inline_payload = {0, fill}};
    const struct hub_call_small call = {hub_clock_after(SOON), &ends->answer, note_end, ends, more};
    uint64_t number = 0;
    int r = hub_call_small_begin(pair->host.connection.calls, &message, &call, &number);

    assert_true(r != 0 || number != 0);
    return r;
}

/* Each request with its own arguments; how many. */
static int answer_all(struct end *end)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_request *request;
    int count = 0;

    (void)hub_link_sweep(end->connection.link, 64);
    for (; (request = hub_inbound_calls_next(end->connection.served, NULL, NULL)); count++)
        assert_int_equal(
            hub_inbound_calls_answer(end->connection.served, request, &ok, request->arguments), 0);
    return count;
}

static uint32_t deliver(struct pair *pair)
{
    (void)hub_link_sweep(pair->host.connection.link, 64);
    return hub_call_ends_deliver(pair->host.connection.calls);
}

/* r[verify hub.ring.cork] r[verify hub.call.once] */
static void several_are_shown_together_and_each_is_told_once(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct ends ends[4] = {{0}};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0xfffffffe);
    for (uint8_t i = 0; i < 4; i++) {
        assert_int_equal(answer_all(&pair.guest), 0);
        assert_int_equal(begin(&pair, &ends[i], i, i < 3), 0);
    }
    assert_int_equal(answer_all(&pair.guest), 4);
    assert_int_equal(deliver(&pair), 4);
    assert_int_equal(deliver(&pair), 0);
    for (uint8_t i = 0; i < 4; i++) {
        assert_int_equal(ends[i].told, 1);
        assert_int_equal(ends[i].code, 0);
        assert_int_equal(ends[i].answer.size, 3); /* metadata, Ok, the byte */
        assert_int_equal(ends[i].answer.data[2], i);
        assert_null(ends[i].given.data); /* it has an own one */
        hub_responses_fini(&ends[i].answer);
    }
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    pair_close(&pair);
}

/* r[verify hub.ring.no-drop] */
static void one_without_room_leaves_nothing(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct ends ends[RING] = {{0}};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    for (uint8_t i = 0; i < RING - 1; i++)
        assert_int_equal(begin(&pair, &ends[i], i, false), 0);
    assert_int_equal(begin(&pair, &ends[RING - 1], 7, false), -EAGAIN);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), RING - 1);
    assert_int_equal(answer_all(&pair.guest), RING - 1);
    assert_int_equal(deliver(&pair), RING - 1);
    assert_int_equal(ends[RING - 1].told, 0);
    assert_int_equal(begin(&pair, &ends[RING - 1], 7, true), 0); /* this looks for space again */
    hub_link_push(pair.host.connection.link);
    assert_int_equal(answer_all(&pair.guest), 1);
    assert_int_equal(deliver(&pair), 1);
    for (uint8_t i = 0; i < RING; i++) {
        assert_int_equal(ends[i].told, 1);
        assert_int_equal(ends[i].answer.data[2], i);
        hub_responses_fini(&ends[i].answer);
    }
    pair_close(&pair);
}

/* Held-back calls, too. */
static void a_death_ends_each_once_and_no_other_begins(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct ends ends[3] = {{0}};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(begin(&pair, &ends[0], 0, false), 0);
    assert_int_equal(begin(&pair, &ends[1], 1, true), 0);
    hub_link_dead(pair.host.connection.link);
    assert_int_equal(begin(&pair, &ends[2], 2, false), -EAGAIN);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ends[i].told, 1);
        assert_int_equal(ends[i].code, RAPAHUB_EDIED);
    }
    assert_int_equal(ends[2].told, 0);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    pair_close(&pair);
}

/* As after a goodbye: the link is still open. */
static void none_begins_where_calls_are_refused(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct ends ends = {0};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    hub_calls_end_all(pair.host.connection.calls, RAPAHUB_ECLOSED);
    assert_int_equal(begin(&pair, &ends, 1, false), -EAGAIN);
    assert_int_equal(answer_all(&pair.guest), 0);
    assert_int_equal(ends.told, 0);
    pair_close(&pair);
}

static void a_full_table_takes_none(void **state)
{
    struct hub_limits limits = pair_limits();
    static struct ends ends;
    struct pair pair;

    (void)state;
    limits.ring_size = 2048;
    pair_open(&pair, &limits, 0);
    for (int i = 0; i < HUB_CALLS_MAX; i++)
        assert_int_equal(begin(&pair, &ends, 1, true), 0);
    assert_int_equal(begin(&pair, &ends, 1, false), -EAGAIN);
    hub_link_dead(pair.host.connection.link);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), HUB_CALLS_MAX);
    pair_close(&pair);
}

static void one_that_nobody_answers_ends_at_its_deadline(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_descriptor message = {.method_id = 1, .payload_len = 1};
    struct ends ends = {0};
    const struct hub_call_small call = {hub_clock_now(), &ends.answer, note_end, &ends, false};
    struct pair pair;
    uint64_t number;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(hub_call_small_begin(pair.host.connection.calls, &message, &call, &number), 0);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 1);
    assert_int_equal(ends.code, -ETIMEDOUT);
    assert_int_equal(answer_all(&pair.guest), 0); /* its Cancel came with it */
    assert_int_equal(deliver(&pair), 0);
    assert_int_equal(ends.told, 1);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_are_shown_together_and_each_is_told_once),
        cmocka_unit_test(one_without_room_leaves_nothing),
        cmocka_unit_test(a_death_ends_each_once_and_no_other_begins),
        cmocka_unit_test(none_begins_where_calls_are_refused),
        cmocka_unit_test(a_full_table_takes_none),
        cmocka_unit_test(one_that_nobody_answers_ends_at_its_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
