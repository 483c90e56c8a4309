/* SPDX-License-Identifier: Apache-2.0 */
/* The markers of one life of a node over a store that answers what the test wants. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/marker.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define CLIENT UINT64_C(0x700000001)
#define TXNS   100

/* The store: what was submitted, and is open. */
struct store {
    struct cluster_metastore base;
    struct {
        uint64_t seq;
        cluster_on_txn *on_txn;
        void *user;
    } open[TXNS];
    size_t count;
    int refuses;
};

struct test {
    struct store store;
    struct cluster_marker *marker;
    int status[TXNS];
    size_t ended;
};

static int submit(struct cluster_metastore *base, const struct cluster_txn *txn,
                  cluster_on_txn *on_txn, void *user)
{
    struct store *store = (struct store *)(void *)base;

    assert_int_equal(txn->id.client, CLIENT);
    assert_int_equal(txn->then_count, 1);
    assert_memory_equal(txn->then[0].key.data, "/key", 4);
    if (store->refuses != 0)
        return rapahub_fail(store->refuses, "", "refused");
    store->open[store->count].seq = txn->id.seq;
    store->open[store->count].on_txn = on_txn;
    store->open[store->count++].user = user;
    return 0;
}

static const struct cluster_metastore_end store_end = {.scheme = "test", .submit = submit};

static void answer(struct test *test, size_t index, int status)
{
    struct store *store = &test->store;

    assert_true(index < store->count);
    store->open[index].on_txn(store->open[index].user, status, 5, NULL, 0);
}

static void on_txn(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                   size_t count)
{
    struct test *test = user;

    (void)rev;
    (void)gets;
    (void)count;
    test->status[test->ended++] = status;
}

/* The bytes are gone once it was submitted. */
static int try(struct test *test)
{
    char *key = strdup("/key");
    const struct cluster_write put = {CLUSTER_PUT, {key, 4}, {"v", 1}};
    int r = cluster_marker_submit(
        test->marker, &(struct cluster_txn){.then = &put, .then_count = 1}, on_txn, test);

    memset(key, 'x', 4);
    free(key);
    return r;
}

static uint64_t step(struct test *test, uint64_t ms)
{
    uint64_t next;

    cluster_marker_step(test->marker, ms * HUB_MILLISECOND, &next);
    return next == HUB_NEVER ? next : next / HUB_MILLISECOND;
}

static int begin(void **state)
{
    struct test *test = calloc(1, sizeof *test);

    test->store.base.end = &store_end;
    assert_int_equal(cluster_marker_open(&test->store.base, CLIENT, &test->marker), 0);
    step(test, 1000);
    *state = test;
    return 0;
}

static int finish(void **state)
{
    struct test *test = *state;

    cluster_marker_close(test->marker);
    free(test);
    return 0;
}

/* r[verify cluster.store.retry] */
static void an_outcome_that_is_not_known_is_asked_for_with_the_same_number(void **state)
{
    struct test *test = *state;

    assert_int_equal(try(test), 0);
    answer(test, 0, CLUSTER_TXN_UNKNOWN);
    assert_int_equal(test->ended, 0);
    assert_int_equal(step(test, 1010), 1050);
    assert_int_equal(test->store.count, 1);
    assert_int_equal(step(test, 1050), HUB_NEVER);
    assert_int_equal(test->store.count, 2);
    assert_int_equal(test->store.open[1].seq, test->store.open[0].seq);
    answer(test, 1, CLUSTER_TXN_CONFLICT);
    assert_int_equal(test->ended, 1);
    assert_int_equal(test->status[0], CLUSTER_TXN_CONFLICT);
    assert_int_equal(try(test), 0);
    assert_int_equal(test->store.open[2].seq, test->store.open[0].seq + 1);
    answer(test, 2, CLUSTER_TXN_OK);
}

/* It says nothing of the time before. r[verify cluster.store.retry] */
static void one_that_was_not_done_when_it_was_sent_again_is_not_known(void **state)
{
    struct test *test = *state;

    assert_int_equal(try(test), 0);
    answer(test, 0, CLUSTER_TXN_UNKNOWN);
    step(test, 1050);
    answer(test, 1, CLUSTER_TXN_NOT_APPLIED);
    assert_int_equal(test->ended, 0);
    step(test, 1150);
    answer(test, 2, CLUSTER_TXN_OK);
    assert_int_equal(test->ended, 1);
    assert_int_equal(test->status[0], CLUSTER_TXN_OK);
    assert_int_equal(try(test), 0);
    answer(test, 3, CLUSTER_TXN_NOT_APPLIED);
    assert_int_equal(test->ended, 2);
    assert_int_equal(test->status[1], CLUSTER_TXN_NOT_APPLIED);
}

static void it_is_asked_for_less_and_less_often(void **state)
{
    static const uint64_t waits[] = {50, 100, 200, 400, 800, 1600, 1600};
    struct test *test = *state;
    uint64_t now = 1000;

    assert_int_equal(try(test), 0);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        answer(test, i, CLUSTER_TXN_UNKNOWN);
        assert_int_equal(step(test, now), now + waits[i]);
        now += waits[i];
        assert_int_equal(step(test, now - 1), now);
        assert_int_equal(step(test, now), HUB_NEVER);
        assert_int_equal(test->store.count, i + 2);
    }
    answer(test, sizeof waits / sizeof *waits, CLUSTER_TXN_OK);
    assert_int_equal(test->ended, 1);
}

/* r[verify cluster.store.retry] r[verify cluster.store.bounds] */
static void a_number_waits_for_the_one_64_before_it(void **state)
{
    struct test *test = *state;

    for (unsigned i = 0; i < CLUSTER_TXN_FLIGHT_MAX; i++)
        assert_int_equal(try(test), 0);
    assert_int_equal(try(test), -EBUSY);
    answer(test, 3, CLUSTER_TXN_OK);
    assert_int_equal(try(test), 0);
    assert_int_equal(test->store.open[64].seq, test->store.open[3].seq + CLUSTER_TXN_FLIGHT_MAX);
    answer(test, 2, CLUSTER_TXN_UNKNOWN);
    assert_int_equal(try(test), -EBUSY);
}

static void a_store_that_is_busy_is_asked_again(void **state)
{
    struct test *test = *state;

    assert_int_equal(try(test), 0);
    answer(test, 0, CLUSTER_TXN_UNKNOWN);
    test->store.refuses = -EBUSY;
    assert_int_equal(step(test, 1050), 1150);
    test->store.refuses = 0;
    assert_int_equal(step(test, 1150), HUB_NEVER);
    assert_int_equal(test->store.count, 2);
    answer(test, 1, CLUSTER_TXN_UNKNOWN);
    test->store.refuses = -EIO;
    step(test, 9999);
    assert_int_equal(test->ended, 1);
    assert_int_equal(test->status[0], CLUSTER_TXN_CORRUPT);
}

static void a_transaction_that_is_refused_leaves_no_trace(void **state)
{
    struct test *test = *state;
    uint64_t first;

    test->store.refuses = -EBUSY;
    for (unsigned i = 0; i < 2 * CLUSTER_TXN_FLIGHT_MAX; i++)
        assert_int_equal(try(test), -EBUSY);
    test->store.refuses = 0;
    assert_int_equal(try(test), 0);
    first = test->store.open[0].seq;
    assert_int_equal(first, 1);
    answer(test, 0, CLUSTER_TXN_OK);
    assert_int_equal(test->ended, 1);
}

/* r[verify cluster.store.step] */
static void close_ends_what_waits(void **state)
{
    struct test *test = *state;

    assert_int_equal(try(test), 0);
    assert_int_equal(try(test), 0);
    answer(test, 0, CLUSTER_TXN_UNKNOWN);
    answer(test, 1, CLUSTER_TXN_CLOSED);
    assert_int_equal(test->ended, 1);
    cluster_marker_close(test->marker);
    test->marker = NULL;
    assert_int_equal(test->ended, 2);
    assert_int_equal(test->status[1], CLUSTER_TXN_CLOSED);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(an_outcome_that_is_not_known_is_asked_for_with_the_same_number),
        EACH(one_that_was_not_done_when_it_was_sent_again_is_not_known),
        EACH(it_is_asked_for_less_and_less_often),
        EACH(a_number_waits_for_the_one_64_before_it),
        EACH(a_store_that_is_busy_is_asked_again),
        EACH(a_transaction_that_is_refused_leaves_no_trace),
        EACH(close_ends_what_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
