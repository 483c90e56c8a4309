/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/conformance_step.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MANY       (3 * CLUSTER_TXN_FLIGHT_MAX)
#define STEPS_MOST 100

static const struct cluster_metastore_end *end;

struct test {
    struct store_stage stage;
    struct store_answer answers[MANY];
    struct store_stage *again; /* of a callback that submits */
    size_t chained;
};

static int begin(void **state)
{
    struct test *test = calloc(1, sizeof *test);

    store_stage_begin(&test->stage, end, NULL);
    *state = test;
    return 0;
}

static int finish(void **state)
{
    struct test *test = *state;

    store_stage_end(&test->stage);
    free(test);
    return 0;
}

static const struct cluster_write *put_of(const char *key)
{
    static _Thread_local struct cluster_write put;

    put = (struct cluster_write){CLUSTER_PUT, store_stage_bytes(key), store_stage_bytes("1")};
    return &put;
}

static int submit(struct store_stage *stage, struct store_answer *answer)
{
    const struct cluster_txn txn = {.id = store_stage_id(), .then = put_of("/a"), .then_count = 1};

    return cluster_metastore_submit(stage->store, &txn, store_stage_on_txn, answer);
}

/* The descriptor says that there is something to do; the end comes in a step, of which a store on
 * the network needs some. r[verify cluster.store.step] */
static void nothing_ends_outside_of_a_step(void **state)
{
    struct test *test = *state;
    struct store_answer *answer = &test->answers[0];
    struct pollfd fd = {.fd = cluster_metastore_fd(test->stage.store), .events = POLLIN};
    uint64_t next, steps = 0;

    assert_int_equal(submit(&test->stage, answer), 0);
    while (answer->ends == 0 && steps < STEPS_MOST) {
        assert_int_equal(poll(&fd, 1, 20000), 1);
        assert_int_equal(answer->ends, 0);
        assert_int_equal(cluster_metastore_step(test->stage.store, 2 + steps++, &next), 0);
    }
    assert_int_equal(answer->ends, 1);
    do
        assert_int_equal(cluster_metastore_step(test->stage.store, 2 + steps++, &next), 0);
    while (poll(&fd, 1, 0) != 0 && steps < STEPS_MOST);
    assert_int_equal(answer->ends, 1);
    assert_true(steps < STEPS_MOST);
}

static void on_chained(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                       size_t count)
{
    struct test *test = user;
    const struct cluster_txn txn = {.id = store_stage_id(), .then = put_of("/a"), .then_count = 1};

    (void)rev;
    (void)gets;
    (void)count;
    if (status == CLUSTER_TXN_OK && ++test->chained < 10)
        cluster_metastore_submit(test->stage.store, &txn, on_chained, test);
}

/* r[verify cluster.store.step] */
static void a_callback_may_submit(void **state)
{
    struct test *test = *state;

    on_chained(test, CLUSTER_TXN_OK, 0, NULL, 0);
    assert_true(store_stage_until(&test->stage, &test->chained, 10, 20000));
    assert_int_equal(store_stage_range(&test->stage, "/", "0", 0, 2).pairs[0].version, 9);
}

static void on_change(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                      size_t count)
{
    (void)rev;
    (void)changes;
    if (count == 0)
        store_stage_on_txn(user, status, 0, NULL, 0);
}

/* r[verify cluster.store.step] */
static void close_ends_all_that_is_open(void **state)
{
    struct test *test = *state;
    const struct cluster_span span = {store_stage_bytes("/"), store_stage_bytes("0"), 0, 1};
    uint64_t watch;

    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(submit(&test->stage, &test->answers[i]), 0);
    cluster_metastore_range(test->stage.store, &span, store_stage_on_range, &test->answers[20]);
    cluster_metastore_peek(test->stage.store, &span, store_stage_on_stale, &test->answers[21]);
    cluster_metastore_sync(test->stage.store, store_stage_on_txn, &test->answers[22]);
    cluster_metastore_compact(test->stage.store, 1, store_stage_on_txn, &test->answers[23]);
    cluster_metastore_watch(test->stage.store, &span, on_change, &test->answers[24], &watch);
    cluster_metastore_watch(test->stage.store, &span, on_change, &test->answers[25], &watch);
    cluster_metastore_unwatch(test->stage.store, watch);
    store_stage_close(&test->stage);
    for (unsigned i = 0; i < 25; i++) {
        assert_int_equal(test->answers[i].ends, 1);
        assert_int_equal(test->answers[i].status, CLUSTER_TXN_CLOSED);
        assert_int_equal(test->answers[i].count, 0);
    }
    assert_int_equal(test->answers[25].ends, 0);
}

/* As many as fit are taken, the next one is not, and it is as if it had not been. r[verify
 * cluster.store.bounds] */
static void a_full_queue_refuses_at_once(void **state)
{
    struct test *test = *state;
    unsigned ended = 0;

    for (unsigned i = 0; i < CLUSTER_TXN_FLIGHT_MAX; i++)
        assert_int_equal(submit(&test->stage, &test->answers[i]), 0);
    assert_int_equal(submit(&test->stage, &test->answers[MANY - 1]), -EBUSY);
    assert_non_null(rapahub_last_error()->text);
    for (unsigned i = 0; i < CLUSTER_TXN_FLIGHT_MAX; i++)
        store_stage_wait(&test->stage, &test->answers[i]);
    for (unsigned i = 0; i < MANY; i++)
        ended += (unsigned)test->answers[i].ends;
    assert_int_equal(ended, CLUSTER_TXN_FLIGHT_MAX);
    assert_int_equal(submit(&test->stage, &test->answers[MANY - 1]), 0);
    store_stage_wait(&test->stage, &test->answers[MANY - 1]);
}

/* r[verify cluster.store.bounds] */
static void too_many_reads_and_watches_are_refused_at_once(void **state)
{
    struct test *test = *state;
    const struct cluster_span span = {store_stage_bytes("/"), store_stage_bytes("0"), 0, 1};
    struct store_answer *last = &test->answers[MANY - 1];
    uint64_t watch;

    for (unsigned i = 0; i < CLUSTER_METASTORE_READS_MAX; i++)
        assert_int_equal(cluster_metastore_range(test->stage.store, &span, store_stage_on_range,
                                                 &test->answers[i]),
                         0);
    assert_int_equal(cluster_metastore_range(test->stage.store, &span, store_stage_on_range, last),
                     -EBUSY);
    assert_int_equal(cluster_metastore_sync(test->stage.store, store_stage_on_txn, last), -EBUSY);
    for (unsigned i = 0; i < end->watches_max; i++)
        assert_int_equal(cluster_metastore_watch(test->stage.store, &span, on_change, last, &watch),
                         0);
    assert_int_equal(cluster_metastore_watch(test->stage.store, &span, on_change, last, &watch),
                     -EBUSY);
    for (unsigned i = 0; i < CLUSTER_METASTORE_READS_MAX; i++)
        store_stage_wait(&test->stage, &test->answers[i]);
    assert_int_equal(last->ends, 0);
}

static int try_txn(struct test *test, const struct cluster_write *list, uint32_t count)
{
    const struct cluster_txn txn = {.id = store_stage_id(), .then = list, .then_count = count};

    return cluster_metastore_submit(test->stage.store, &txn, store_stage_on_txn, &test->answers[0]);
}

/* r[verify cluster.store.bounds] */
static void what_is_too_large_is_refused_at_once(void **state)
{
    struct test *test = *state;
    char *large = calloc(1, CLUSTER_TXN_VALUE_MAX + 1), keys[CLUSTER_TXN_LIST_MAX + 1][8];
    struct cluster_write list[CLUSTER_TXN_LIST_MAX + 1];
    uint64_t before = store_stage_sync(&test->stage).rev;

    for (unsigned i = 0; i <= CLUSTER_TXN_LIST_MAX; i++) {
        snprintf(keys[i], sizeof keys[i], "/%u", i);
        list[i] = *put_of(keys[i]);
    }
    assert_int_equal(try_txn(test, list, CLUSTER_TXN_LIST_MAX + 1), -EMSGSIZE);
    list[0].value = (struct rapahub_bytes){large, CLUSTER_TXN_VALUE_MAX + 1};
    assert_int_equal(try_txn(test, list, 1), -EMSGSIZE);
    list[0] = *put_of("");
    assert_int_equal(try_txn(test, list, 1), -EINVAL);
    list[0].key = (struct rapahub_bytes){large, CLUSTER_TXN_KEY_MAX + 1};
    assert_int_equal(try_txn(test, list, 1), -EMSGSIZE);
    list[0] = list[1];
    assert_int_equal(try_txn(test, list, 2), -EINVAL);
    assert_int_equal(store_stage_sync(&test->stage).rev, before);
    list[0] = *put_of(keys[0]);
    list[0].key = (struct rapahub_bytes){large, CLUSTER_TXN_KEY_MAX};
    list[0].value = (struct rapahub_bytes){large, CLUSTER_TXN_VALUE_MAX};
    assert_int_equal(try_txn(test, list, CLUSTER_TXN_LIST_MAX), 0);
    store_stage_wait(&test->stage, &test->answers[0]);
    assert_int_equal(test->answers[0].status, CLUSTER_TXN_OK);
    free(large);
}

int conformance_step_run(const struct cluster_metastore_end *of)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(nothing_ends_outside_of_a_step),
        EACH(a_callback_may_submit),
        EACH(close_ends_all_that_is_open),
        EACH(a_full_queue_refuses_at_once),
        EACH(too_many_reads_and_watches_are_refused_at_once),
        EACH(what_is_too_large_is_refused_at_once),
    };

    end = of;
    return cmocka_run_group_tests_name(of->scheme, tests, NULL, NULL);
}
