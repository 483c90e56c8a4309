/* SPDX-License-Identifier: Apache-2.0 */
/* A node and its seat over links that are cut: at each piece of a history, a thousand times, and in
 * the middle of what a watch is told. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/metastore/marker.h"
#include "hub/base/clock.h"
#include "tests/metastore/seat_pair.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define FROM     "/"
#define TO       "0"
#define KEYS     12
#define TOLD_MAX 2000
#define SOON_NS  (20 * HUB_SECOND)
#define STEP_NS  (60 * HUB_MILLISECOND) /* of the marker's time */

struct test {
    struct store_stage stage;
    struct cluster_marker *marker;
    uint64_t now_ns;
    uint64_t told[TOLD_MAX], count; /* revisions, one for each change */
    uint64_t last;                  /* told of up to here */
    int watch_status;
    bool disorder;
};

static struct seat_pair *pair_of(const struct test *test)
{
    return seat_pair_of(test->stage.store);
}

static void step(struct test *test)
{
    struct pollfd fd = {.fd = cluster_metastore_fd(test->stage.store), .events = POLLIN};
    uint64_t next;

    poll(&fd, 1, 1);
    test->now_ns += STEP_NS;
    cluster_metastore_step(test->stage.store, test->now_ns, &next);
    cluster_marker_step(test->marker, test->now_ns, &next);
}

static void wait_for(struct test *test, const struct store_answer *answer)
{
    uint64_t deadline = hub_clock_after(SOON_NS);

    while (answer->ends == 0 && hub_clock_left(deadline) > 0)
        step(test);
    assert_int_equal(answer->ends, 1);
}

static void open_stage(struct test *test, struct seat_wire_way way)
{
    memset(test, 0, sizeof *test);
    seat_wire_way = way;
    store_stage_begin(&test->stage, &seat_pair_end, NULL);
    assert_int_equal(
        cluster_marker_open(test->stage.store, cluster_txn_client(3, 1), &test->marker), 0);
}

static void close_stage(struct test *test)
{
    store_stage_end(&test->stage);
    cluster_marker_close(test->marker);
    seat_wire_way = (struct seat_wire_way){0};
}

static struct store_answer run(struct test *test, const struct cluster_txn *txn)
{
    struct store_answer answer = {0};

    assert_int_equal(cluster_marker_submit(test->marker, txn, store_stage_on_txn, &answer), 0);
    wait_for(test, &answer);
    return answer;
}

static void on_change(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                      size_t count)
{
    struct test *test = user;

    (void)changes;
    if (status != CLUSTER_TXN_OK) {
        test->watch_status = status;
        return;
    }
    test->disorder |= rev < test->last || (count > 0 && rev == test->last);
    test->last = rev;
    for (size_t i = 0; i < count && test->count < TOLD_MAX; i++)
        test->told[test->count++] = rev;
}

static void watch(struct test *test)
{
    const struct cluster_span span = {store_stage_bytes(FROM), store_stage_bytes(TO), 0, 0};
    uint64_t number;

    assert_int_equal(cluster_metastore_watch(test->stage.store, &span, on_change, test, &number),
                     0);
}

/* Each change from the first on, once and in order. */
static void assert_told(struct test *test, uint64_t count)
{
    uint64_t deadline = hub_clock_after(SOON_NS);

    while (test->count < count && hub_clock_left(deadline) > 0)
        step(test);
    for (unsigned i = 0; i < 20; i++)
        step(test);
    assert_int_equal(test->count, count);
    assert_int_equal(test->watch_status, 0);
    assert_false(test->disorder);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(test->told[i], i + 1);
}

/* ---- a history ---- */

static struct store_answer range(struct test *test, const char *from, uint64_t rev)
{
    const struct cluster_span span = {store_stage_bytes(from), store_stage_bytes(TO), rev, 4};
    struct store_answer answer = {0};

    assert_int_equal(
        cluster_metastore_range(test->stage.store, &span, store_stage_on_range, &answer), 0);
    wait_for(test, &answer);
    assert_int_equal(answer.status, CLUSTER_TXN_OK);
    return answer;
}

/* All keys, in pages at one revision. */
static void read_all(struct test *test, size_t keys)
{
    struct store_answer page = range(test, FROM, 0);
    uint64_t rev = page.rev;
    size_t seen = page.count;

    while (page.more) {
        char from[STORE_STAGE_VALUE_MAX + 2];

        snprintf(from, sizeof from, "%s!", page.pairs[page.count - 1].key);
        page = range(test, from, rev);
        assert_int_equal(page.rev, rev);
        seen += page.count;
    }
    assert_int_equal(seen, keys);
    for (size_t i = 0; i < page.count; i++)
        assert_int_equal(page.pairs[i].version, 1);
}

/* It would be OK at first and CONFLICT when it ran again. */
static void put_once(struct test *test, const char *key, int status)
{
    const struct cluster_compare absent = {CLUSTER_ABSENT, store_stage_bytes(key), {0}, 0};
    const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes(key), store_stage_bytes("1")},
                               get = {CLUSTER_GET, store_stage_bytes(key), {0}};
    const struct cluster_txn txn = {.compares = &absent,
                                    .then = &put,
                                    .otherwise = &get,
                                    .compares_count = 1,
                                    .then_count = 1,
                                    .otherwise_count = 1};
    struct store_answer answer = run(test, &txn);

    assert_int_equal(answer.status, status);
    assert_int_equal(answer.count, status == CLUSTER_TXN_CONFLICT);
}

/* Returns how many pieces the link took. */
static uint64_t history(struct seat_wire_way way, uint64_t *out_cuts)
{
    struct test *test = malloc(sizeof *test);
    struct store_answer answer = {0};
    uint64_t pieces;
    char key[16];

    open_stage(test, way);
    watch(test);
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "/k%02u", i);
        put_once(test, key, CLUSTER_TXN_OK);
        if (i % 4 == 3)
            read_all(test, i + 1);
    }
    put_once(test, "/k00", CLUSTER_TXN_CONFLICT);
    assert_int_equal(cluster_metastore_sync(test->stage.store, store_stage_on_txn, &answer), 0);
    wait_for(test, &answer);
    assert_int_equal(answer.rev, KEYS);
    assert_told(test, KEYS);
    pieces = pair_of(test)->wire.pieces;
    *out_cuts += pair_of(test)->wire.cuts;
    assert_int_equal(pair_of(test)->wire.refused, 0);
    close_stage(test);
    free(test);
    return pieces;
}

/* The piece at which the link is cut is lost, or arrives. r[verify cluster.store.seat.link]
 * r[verify cluster.store.seat.watch] r[verify cluster.store.outcome] */
static void a_history_is_the_same_wherever_the_link_is_cut(void **state)
{
    uint64_t cuts = 0, all = history((struct seat_wire_way){0}, &cuts);

    (void)state;
    assert_true(all > 3 * KEYS);
    assert_int_equal(cuts, 0);
    for (uint64_t at = 1; at <= all; at++) {
        const struct seat_wire_way way = {.seed = at, .cut_at = at, .down_most = 5};
        struct seat_wire_way later = way;

        later.cut_after = true;
        history(way, &cuts);
        history(later, &cuts);
    }
    print_message("  %llu pieces, each cut at twice\n", (unsigned long long)all);
    assert_int_equal(cuts, 2 * all);
}

/* A transaction for each of a thousand links, which is cut when it was sent. r[verify
 * cluster.store.seat.link] */
static void a_thousand_links_leave_nothing_behind(void **state)
{
    struct test *test = malloc(sizeof *test);
    struct cluster_seat_server_stats stats;
    struct cluster_metastore_stats own;

    (void)state;
    open_stage(test, (struct seat_wire_way){0});
    watch(test);
    for (unsigned i = 1; i <= 1000; i++) {
        const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes("/a"),
                                          store_stage_bytes("1")};
        const struct cluster_txn txn = {.then = &put, .then_count = 1};
        struct store_answer answer = {0};

        assert_int_equal(cluster_marker_submit(test->marker, &txn, store_stage_on_txn, &answer), 0);
        seat_wire_cut(&pair_of(test)->wire);
        wait_for(test, &answer);
        assert_int_equal(answer.status, CLUSTER_TXN_OK);
        assert_int_equal(answer.rev, i);
    }
    assert_told(test, 1000);
    cluster_seat_server_stats(pair_of(test)->server, &stats);
    assert_int_equal(stats.peers, 1);
    assert_int_equal(stats.watches, 1);
    assert_int_equal(stats.out_bytes, 0);
    for (unsigned i = 0; i < CLUSTER_SEAT_SERVER_RULE_COUNT; i++)
        assert_int_equal(stats.broken[i], 0);
    cluster_metastore_stats(pair_of(test)->below, &own);
    assert_int_equal(own.watches, 1);
    assert_int_equal(own.open + own.reads, 0);
    close_stage(test);
    free(test);
}

/* Others change what it watches, while the link is there and while it is not. r[verify
 * cluster.store.seat.watch] r[verify cluster.store.watch] */
static void a_watch_misses_nothing_over_a_hundred_links(void **state)
{
    struct test *test = malloc(sizeof *test);
    struct store_answer answers[4];
    struct hub_random random;
    uint64_t made = 0;

    (void)state;
    hub_random_init(&random, 11);
    open_stage(test, (struct seat_wire_way){.seed = 11, .delay_most = 4, .down_most = 6});
    watch(test);
    for (unsigned cut = 0; cut < 100; cut++) {
        memset(answers, 0, sizeof answers);
        while (!pair_of(test)->wire.peer)
            step(test);
        for (unsigned i = 0; i < 4; i++, made++) {
            const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes("/a"),
                                              store_stage_bytes("1")};
            const struct cluster_txn txn = {.id = store_stage_id(), .then = &put, .then_count = 1};

            assert_int_equal(cluster_metastore_submit(pair_of(test)->below, &txn,
                                                      store_stage_on_txn, &answers[i]),
                             0);
        }
        for (uint64_t left = hub_random_below(&random, 8); left > 0; left--)
            step(test);
        seat_wire_cut(&pair_of(test)->wire);
        for (unsigned i = 0; i < 4; i++)
            wait_for(test, &answers[i]);
    }
    assert_told(test, made);
    assert_int_equal(pair_of(test)->wire.cuts, 100);
    close_stage(test);
    free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_history_is_the_same_wherever_the_link_is_cut),
        cmocka_unit_test(a_thousand_links_leave_nothing_behind),
        cmocka_unit_test(a_watch_misses_nothing_over_a_hundred_links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
