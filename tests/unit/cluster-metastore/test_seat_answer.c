/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the seat, and a seat that says what it should not. */
#include "tests/unit/cluster-metastore/seat_client_stage.h"

static void refuses(struct test *test, struct cluster_seat_reply reply)
{
    assert_int_equal(seat_tap_send_reply(take, test->store, &reply), RAPAHUB_EPROTOCOL);
    step(test, 0);
    assert_open(test, 0);
    assert_open(test, 1);
}

/* The call remains open: the link is about to end. r[verify cluster.store.seat.answer] */
static void a_reply_that_does_not_fit_is_refused(void **state)
{
    static const struct cluster_pair three[] = {{{"/c/b", 4}, {"2", 1}, 3, 4, 2},
                                                {{"/c/a", 4}, {"2", 1}, 3, 4, 2},
                                                {{"/c/b", 4}, {"2", 1}, 3, 4, 2}},
                                     outside = {{"/d", 2}, {"2", 1}, 3, 4, 2},
                                     absent = {{"/c/a", 4}, {0}, 0, 0, 0};
    struct test *test = *state;
    struct cluster_seat_reply reply;

    submit(test, 0);
    range(test, 1, 7, 1);
    range(test, 2, 0, 5);
    reply = reply_to(test, 0);
    reply.number = 99;
    refuses(test, reply);
    reply = reply_to(test, 0);
    reply.pairs.count = 0;
    refuses(test, reply);
    reply.status = CLUSTER_TXN_CONFLICT;
    reply.pairs.count = 1;
    refuses(test, reply);
    reply.status = CLUSTER_TXN_NO_SPACE;
    refuses(test, reply);
    reply.pairs.count = 0;
    reply.status = CLUSTER_TXN_CLOSED;
    refuses(test, reply);
    reply.status = CLUSTER_TXN_CORRUPT;
    refuses(test, reply);
    reply = reply_to(test, 1);
    refuses(test, reply); /* of another revision */
    reply.rev = 7;
    reply.pairs = (struct cluster_list){.of = &three[1], .count = 2};
    refuses(test, reply); /* more than were asked for */
    reply.pairs = (struct cluster_list){.of = &outside, .count = 1};
    refuses(test, reply);
    reply.pairs = (struct cluster_list){.of = &absent, .count = 1};
    refuses(test, reply);
    reply.pairs.count = 0;
    reply.more = true;
    refuses(test, reply);
    reply = reply_to(test, 2);
    reply.pairs = (struct cluster_list){.of = three, .count = 2};
    refuses(test, reply); /* out of order */
    assert_int_equal(answer(test, 0), 0);
    assert_int_equal(answer(test, 2), 0);
    assert_int_equal(answer(test, 0), RAPAHUB_EPROTOCOL); /* twice */
}

/* r[verify cluster.store.seat.answer] */
static void an_event_that_does_not_fit_is_refused(void **state)
{
    struct test *test = *state;
    uint64_t number = watch(test, 5);
    struct cluster_change changes[] = {change_at(7, "/c/b"), change_at(7, "/c/a"),
                                       change_at(8, "/c/c")};
    struct cluster_seat_event event = {
        .watch = number, .rev = 7, .changes = {.of = changes, .count = 2}};

    assert_int_equal(tell(test, number + 1, 7, "/c/a"), RAPAHUB_EPROTOCOL);
    assert_int_equal(tell(test, number, 5, "/c/a"), RAPAHUB_EPROTOCOL);
    assert_int_equal(tell(test, number, 4, NULL), RAPAHUB_EPROTOCOL);
    assert_int_equal(tell(test, number, 7, "/b"), RAPAHUB_EPROTOCOL);
    assert_int_equal(tell(test, number, 7, "/d"), RAPAHUB_EPROTOCOL);
    assert_int_equal(seat_tap_send_event(take, test->store, &event), RAPAHUB_EPROTOCOL);
    event.changes.of = &changes[1];
    assert_int_equal(seat_tap_send_event(take, test->store, &event), RAPAHUB_EPROTOCOL);
    event.changes.count = 1;
    assert_int_equal(seat_tap_send_event(take, test->store, &event), 0);
    assert_int_equal(seat_tap_send_event(take, test->store, &event), RAPAHUB_EPROTOCOL); /* again */
    event = (struct cluster_seat_event){.watch = number, .status = CLUSTER_TXN_CLOSED};
    assert_int_equal(seat_tap_send_event(take, test->store, &event), RAPAHUB_EPROTOCOL);
    step(test, 0);
    assert_int_equal(test->changes, 1);
}

/* r[verify cluster.store.seat.message] */
static void pieces_that_do_not_follow_each_other_are_refused(void **state)
{
    static const char bytes[CLUSTER_BODY_PIECE_MAX];
    const struct cluster_body more = {.piece = {true, {bytes, sizeof bytes}}};
    struct test *test = *state;
    size_t most = CLUSTER_SEAT_ANSWER_MAX / sizeof bytes;

    assert_int_equal(take(test->store, CLUSTER_FRAME_STORE_REPLY, &more), 0);
    assert_int_equal(take(test->store, CLUSTER_FRAME_STORE_EVENT, &more), RAPAHUB_EPROTOCOL);
    assert_int_equal(take(test->store, CLUSTER_FRAME_STORE_REQUEST, &more), RAPAHUB_EPROTOCOL);
    for (size_t i = 1; i < most; i++)
        assert_int_equal(take(test->store, CLUSTER_FRAME_STORE_REPLY, &more), 0);
    assert_int_equal(take(test->store, CLUSTER_FRAME_STORE_REPLY, &more), RAPAHUB_EPROTOCOL);
    cluster_seat_client_link_down(test->store);
    assert_int_equal(take(test->store, CLUSTER_FRAME_STORE_REPLY, &more), RAPAHUB_EPROTOCOL);
}

/* r[verify cluster.store.seat.answer] */
static void random_bytes_end_the_link_and_nothing_else(void **state)
{
    struct test *test = *state;
    struct hub_random random;

    hub_random_init(&random, 7);
    submit(test, 0);
    range(test, 1, 0, 5);
    watch(test, 0);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t bytes[80];
        size_t size = hub_random_below(&random, sizeof bytes) + 1;

        for (size_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)hub_random_below(&random, at < 6 ? 6 : 256);
        seat_tap_send(take, test->store,
                      i % 2 ? CLUSTER_FRAME_STORE_REPLY : CLUSTER_FRAME_STORE_EVENT,
                      (struct rapahub_bytes){bytes, size});
        if (i % 64 == 0)
            step(test, 0);
    }
    step(test, 0);
    assert_true(test->answers[0].ends <= 1);
    assert_true(test->answers[1].ends <= 1);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(a_reply_that_does_not_fit_is_refused),
        EACH(an_event_that_does_not_fit_is_refused),
        EACH(pieces_that_do_not_follow_each_other_are_refused),
        EACH(random_bytes_end_the_link_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
