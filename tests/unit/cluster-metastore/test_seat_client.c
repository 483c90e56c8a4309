/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a client of the seat over links that come and go, and its watches. */
#include "tests/unit/cluster-metastore/seat_client_stage.h"

/* ---- the link ---- */

/* r[verify cluster.store.seat.link] */
static void a_reply_is_told_by_the_step(void **state)
{
    struct test *test = *state;
    struct cluster_metastore_stats stats;

    submit(test, 0);
    assert_int_equal(test->tap.count, 1);
    assert_int_equal(answer(test, 0), 0);
    assert_open(test, 0);
    step(test, 0);
    assert_ended(test, 0, CLUSTER_TXN_OK);
    assert_int_equal(test->answers[0].rev, 9);
    assert_int_equal(test->answers[0].count, 1);
    assert_string_equal(test->answers[0].pairs[0].value, "2");
    cluster_metastore_stats(test->store, &stats);
    assert_int_equal(stats.revision, 9);
    assert_int_equal(stats.transactions, 1);
    assert_int_equal(stats.open, 0);
}

/* Sent and lost: UNKNOWN. Not sent, or only its first piece: it goes by the next link. r[verify
 * cluster.store.seat.link] */
static void a_cut_makes_unknown_what_was_sent_and_nothing_else(void **state)
{
    struct test *test = *state;
    char *large = calloc(1, CLUSTER_TXN_VALUE_MAX);

    submit(test, 0);
    range(test, 1, 0, 5);
    test->tap.room = 2;
    assert_int_equal(submit_value(test, 2, (struct rapahub_bytes){large, CLUSTER_TXN_VALUE_MAX}),
                     0);
    submit(test, 3);
    assert_int_equal(test->tap.count, 2);
    assert_int_equal(test->tap.pieces, 4);
    cluster_seat_client_link_down(test->store);
    assert_open(test, 0);
    step(test, 0);
    assert_ended(test, 0, CLUSTER_TXN_UNKNOWN);
    for (size_t i = 1; i < 4; i++)
        assert_open(test, i);
    seat_tap_clear(&test->tap);
    test->tap.room = SIZE_MAX;
    cluster_seat_client_link_up(test->store);
    assert_int_equal(test->tap.count, 3);
    assert_int_equal(seat_tap_request(&test->tap, 0).kind, CLUSTER_SEAT_RANGE);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(answer(test, i), 0);
    step(test, 0);
    for (size_t i = 1; i < 4; i++)
        assert_ended(test, i, CLUSTER_TXN_OK);
    free(large);
}

/* r[verify cluster.store.seat.deadline] */
static void nothing_waits_longer_than_ten_seconds(void **state)
{
    struct test *test = *state;

    submit(test, 0);
    range(test, 1, 0, 5);
    test->tap.room = 0;
    submit(test, 2);
    range(test, 3, 0, 5);
    assert_int_equal(step(test, 0), test->now_ns + 10 * HUB_SECOND);
    step(test, 9999);
    for (size_t i = 0; i < 4; i++)
        assert_open(test, i);
    step(test, 1);
    assert_ended(test, 0, CLUSTER_TXN_UNKNOWN);
    for (size_t i = 1; i < 4; i++)
        assert_ended(test, i, CLUSTER_TXN_NOT_APPLIED);
    assert_int_equal(test->tap.hang_ups, 0);
    assert_int_equal(answer(test, 0), 0);
    assert_int_equal(answer(test, 1), 0);
    assert_int_equal(step(test, 0), HUB_NEVER);
    assert_int_equal(test->answers[0].ends, 1);
    assert_int_equal(test->answers[1].ends, 1);
}

/* The rest of it can be neither sent nor left out: the link ends. r[verify
 * cluster.store.seat.deadline] */
static void a_request_that_is_stuck_in_the_link_ends_the_link(void **state)
{
    struct test *test = *state;
    char *large = calloc(1, CLUSTER_TXN_VALUE_MAX);

    test->tap.room = 1;
    assert_int_equal(submit_value(test, 0, (struct rapahub_bytes){large, CLUSTER_TXN_VALUE_MAX}),
                     0);
    step(test, 0);
    step(test, 10000);
    assert_ended(test, 0, CLUSTER_TXN_NOT_APPLIED);
    assert_int_equal(test->tap.hang_ups, 1);
    test->tap.room = SIZE_MAX;
    submit(test, 1);
    assert_int_equal(test->tap.count, 0);
    seat_tap_clear(&test->tap);
    cluster_seat_client_link_down(test->store);
    cluster_seat_client_link_up(test->store);
    assert_int_equal(test->tap.count, 1);
    free(large);
}

/* The seat counts what it has not answered, so more of it wait here; also where the callers of the
 * first were told. r[verify cluster.store.seat.window] */
static void no_more_is_sent_than_the_seat_takes(void **state)
{
    struct test *test = *state;

    for (size_t i = 0; i < 64; i++)
        submit(test, i);
    assert_int_equal(test->tap.count, 64);
    step(test, 0);
    step(test, 10000);
    assert_ended(test, 63, CLUSTER_TXN_UNKNOWN);
    submit(test, 64);
    assert_int_equal(test->tap.count, 64);
    assert_int_equal(answer(test, 5), 0);
    step(test, 0);
    assert_int_equal(test->tap.count, 65);
    assert_int_equal(test->answers[5].ends, 1);
}

/* r[verify cluster.store.seat.window] r[verify cluster.store.bounds] */
static void no_more_bytes_are_sent_than_the_seat_takes(void **state)
{
    struct test *test = *state;
    char *large = calloc(1, CLUSTER_TXN_VALUE_MAX), keys[17][8];
    struct cluster_write writes[17];
    struct cluster_txn txn = {.then = writes};

    for (size_t i = 0; i < 20; i++)
        assert_int_equal(
            submit_value(test, i, (struct rapahub_bytes){large, CLUSTER_TXN_VALUE_MAX}), 0);
    assert_int_equal(test->tap.count, 15);
    assert_int_equal(answer(test, 0), 0);
    step(test, 0);
    assert_int_equal(test->tap.count, 16);
    for (uint32_t i = 0; i < 17; i++) {
        snprintf(keys[i], sizeof keys[i], "/c/%u", i);
        writes[i] = (struct cluster_write){
            CLUSTER_PUT, store_stage_bytes(keys[i]), {large, CLUSTER_TXN_VALUE_MAX}};
    }
    txn.id = store_stage_id();
    txn.then_count = CLUSTER_METASTORE_TXN_BYTES / CLUSTER_TXN_VALUE_MAX;
    assert_int_equal(
        cluster_metastore_submit(test->store, &txn, store_stage_on_txn, &test->answers[30]), 0);
    txn.then_count = 17;
    assert_int_equal(
        cluster_metastore_submit(test->store, &txn, store_stage_on_txn, &test->answers[31]),
        -EMSGSIZE);
    free(large);
}

static void only_the_seat_itself_compacts_and_backs_up(void **state)
{
    struct test *test = *state;

    assert_int_equal(
        cluster_metastore_compact(test->store, 1, store_stage_on_txn, &test->answers[0]), 0);
    assert_int_equal(
        cluster_metastore_backup(test->store, "/x", store_stage_on_txn, &test->answers[1]), 0);
    assert_open(test, 0);
    step(test, 0);
    assert_ended(test, 0, CLUSTER_TXN_DENIED);
    assert_ended(test, 1, CLUSTER_TXN_DENIED);
    assert_int_equal(test->tap.count, 0);
}

static void a_seat_has_a_host_a_port_and_a_link(void **state)
{
    const struct cluster_metastore_end *const ends[] = {&cluster_seat_client_end, NULL};
    static const char *const urls[] = {"seat:",           "seat:host",      "seat::9413",
                                       "seat:host:",      "seat:host:0",    "seat:host:65536",
                                       "seat:host:94 13", "seat:host:-9413"};
    struct test *test = *state;
    struct cluster_metastore_options options = {.link = &seat_tap_link, .link_user = &test->tap};
    struct cluster_metastore *out;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_int_equal(cluster_metastore_open(ends, urls[i], &options, &out), RAPAHUB_ECONFIG);
    options.link = NULL;
    assert_int_equal(cluster_metastore_open(ends, "seat:host:9413", &options, &out),
                     RAPAHUB_ECONFIG);
}

/* ---- watches ---- */

/* After a cut it is asked for from what was heard of it, also if that was not yet told. r[verify
 * cluster.store.seat.watch] */
static void a_watch_goes_on_by_the_next_link(void **state)
{
    struct test *test = *state;
    uint64_t number = watch(test, 5);

    assert_int_equal(seat_tap_request(&test->tap, 0).rev, 5);
    assert_int_equal(tell(test, number, 7, "/c/a"), 0);
    assert_int_equal(tell(test, number, 9, NULL), 0);
    cluster_seat_client_link_down(test->store);
    cluster_seat_client_link_up(test->store);
    assert_int_equal(test->tap.count, 2);
    assert_int_equal(seat_tap_request(&test->tap, 1).rev, 9);
    assert_int_equal(seat_tap_request(&test->tap, 1).number, number);
    assert_int_equal(test->changes, 0);
    step(test, 0);
    assert_int_equal(test->changes, 1);
    assert_int_equal(test->told_rev, 9);
}

/* r[verify cluster.store.seat.watch] */
static void a_watch_that_the_seat_ended_is_not_asked_for_again(void **state)
{
    struct test *test = *state;
    const struct cluster_seat_event event = {
        .watch = watch(test, 5), .status = CLUSTER_TXN_COMPACTED, .rev = 8};

    assert_int_equal(seat_tap_send_event(take, test->store, &event), 0);
    cluster_seat_client_link_down(test->store);
    cluster_seat_client_link_up(test->store);
    step(test, 0);
    assert_int_equal(test->watch_status, CLUSTER_TXN_COMPACTED);
    assert_int_equal(test->tap.count, 1);
    assert_int_equal(tell(test, event.watch, 9, "/c/a"), 0);
    step(test, 0);
    assert_int_equal(test->changes, 0);
}

static void an_ended_watch_is_taken_back_or_called_off(void **state)
{
    struct test *test = *state;
    uint64_t sent = watch(test, 0), waits;

    test->tap.room = 0;
    waits = watch(test, 0);
    cluster_metastore_unwatch(test->store, waits);
    cluster_metastore_unwatch(test->store, sent);
    assert_int_equal(tell(test, sent, 7, "/c/a"), 0); /* it was on its way */
    test->tap.room = SIZE_MAX;
    step(test, 0);
    assert_int_equal(test->tap.count, 2);
    assert_int_equal(seat_tap_request(&test->tap, 1).kind, CLUSTER_SEAT_UNWATCH);
    assert_int_equal(seat_tap_request(&test->tap, 1).number, sent);
    assert_int_equal(test->changes, 0);
    for (unsigned i = 0; i < CLUSTER_SEAT_WATCHES_MAX; i++)
        watch(test, 0);
    assert_int_equal(test->tap.count, 2 + CLUSTER_SEAT_WATCHES_MAX);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(a_reply_is_told_by_the_step),
        EACH(a_cut_makes_unknown_what_was_sent_and_nothing_else),
        EACH(nothing_waits_longer_than_ten_seconds),
        EACH(a_request_that_is_stuck_in_the_link_ends_the_link),
        EACH(no_more_is_sent_than_the_seat_takes),
        EACH(no_more_bytes_are_sent_than_the_seat_takes),
        EACH(only_the_seat_itself_compacts_and_backs_up),
        EACH(a_seat_has_a_host_a_port_and_a_link),
        EACH(a_watch_goes_on_by_the_next_link),
        EACH(a_watch_that_the_seat_ended_is_not_asked_for_again),
        EACH(an_ended_watch_is_taken_back_or_called_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
