/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that a node may read and write at the seat, and a node that reads slowly. */
#include "tests/unit/cluster-metastore/seat_server_stage.h"

#define VALUES  6 /* more than a page has */
#define WATCHES 4

/* ---- rights ---- */

static int write_status(struct test *test, enum cluster_write_kind kind, const char *key)
{
    size_t count = test->tap.count;

    assert_int_equal(ask_write(test, kind, key), 0);
    wait_for(test, &test->tap, count + 1);
    return seat_tap_reply(&test->tap, count).status;
}

/* r[verify cluster.store.seat.rights] */
static void a_node_writes_what_is_its_own_and_nothing_else(void **state)
{
    static const char *const own[] = {"/c/sess/00000007", "/c/node/00000007",
                                      "/w/0000000700000003/3f"};
    static const char *const foreign[] = {"/c/sess/00000008",
                                          "/c/node/00000008",
                                          "/w/0000000800000001/00",
                                          "/c/lead",
                                          "/w/0000000700000002/00",
                                          "/c/log",
                                          "/c/meta",
                                          "/c/sess/7",
                                          "/c/sess/00000007/",
                                          "/x",
                                          "/c/next_node",
                                          "/c/sess/0000000a"};
    struct test *test = *state;
    uint64_t rev;

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_int_equal(write_status(test, CLUSTER_PUT, own[i]), CLUSTER_TXN_OK);
    rev = store_stage_sync(&test->stage).rev;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        assert_int_equal(write_status(test, CLUSTER_PUT, foreign[i]), CLUSTER_TXN_DENIED);
        assert_int_equal(write_status(test, CLUSTER_DELETE, foreign[i]), CLUSTER_TXN_DENIED);
    }
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_DENIED_WRITE),
                     2 * sizeof foreign / sizeof *foreign);
    assert_int_equal(store_stage_sync(&test->stage).rev, rev);
    assert_int_equal(write_status(test, CLUSTER_GET, "/c/lead"), CLUSTER_TXN_OK);
    assert_int_equal(write_status(test, CLUSTER_GET, "/x"), CLUSTER_TXN_DENIED);
    assert_int_equal(write_status(test, CLUSTER_GET, "/w/0000000800000001/00"), CLUSTER_TXN_DENIED);
}

static int txn_status(struct test *test, struct cluster_txn txn)
{
    size_t count = test->tap.count;

    assert_int_equal(ask_txn(test, 1000, &txn), 0);
    wait_for(test, &test->tap, count + 1);
    return seat_tap_reply(&test->tap, count).status;
}

/* Another life's number would make the store refuse what that life writes; the other branch and
 * the compares are looked at too. r[verify cluster.store.seat.rights] */
static void a_node_writes_as_this_life_of_itself(void **state)
{
    const struct cluster_write own = {CLUSTER_PUT, store_stage_bytes("/c/sess/00000007"),
                                      store_stage_bytes("1")},
                               other = {CLUSTER_PUT, store_stage_bytes("/c/lead"),
                                        store_stage_bytes("1")};
    const struct cluster_compare outside = {CLUSTER_ABSENT, store_stage_bytes("/x"), {0}, 0};
    struct cluster_txn txn = {.then = &own, .then_count = 1};
    struct test *test = *state;

    txn.id = (struct cluster_txn_id){cluster_txn_client(8, UINT32_MAX), 1};
    assert_int_equal(txn_status(test, txn), CLUSTER_TXN_DENIED);
    txn.id.client = cluster_txn_client(7, 4);
    assert_int_equal(txn_status(test, txn), CLUSTER_TXN_DENIED);
    txn.id.client = cluster_txn_client(7, 3);
    txn.otherwise = &other;
    txn.otherwise_count = 1;
    assert_int_equal(txn_status(test, txn), CLUSTER_TXN_DENIED);
    txn.otherwise_count = 0;
    txn.compares = &outside;
    txn.compares_count = 1;
    assert_int_equal(txn_status(test, txn), CLUSTER_TXN_DENIED);
    txn.compares_count = 0;
    assert_int_equal(txn_status(test, txn), CLUSTER_TXN_OK);
}

/* r[verify cluster.store.seat.rights] */
static void a_node_reads_the_cluster_and_nothing_else(void **state)
{
    static const struct {
        const char *from, *to;
        int status;
    } spans[] = {{"/c/", "/c0", CLUSTER_TXN_OK},         {"/c/addr/", "/c/addr0", CLUSTER_TXN_OK},
                 {"/c/sess/", "/c0", CLUSTER_TXN_OK},    {"/", "0", CLUSTER_TXN_DENIED},
                 {"/c/", "/c1", CLUSTER_TXN_DENIED},     {"/c", "/c0", CLUSTER_TXN_DENIED},
                 {"/c/", "/c00", CLUSTER_TXN_DENIED},    {"/w/", "/w0", CLUSTER_TXN_DENIED},
                 {"/c/\xff", "\xff", CLUSTER_TXN_DENIED}};
    struct test *test = *state;
    uint64_t denied = 0;

    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        size_t at = test->tap.count;

        assert_int_equal(ask_span(test, CLUSTER_SEAT_RANGE, 1, spans[i].from, spans[i].to), 0);
        assert_int_equal(ask_span(test, CLUSTER_SEAT_PEEK, 2, spans[i].from, spans[i].to), 0);
        wait_for(test, &test->tap, at + 2);
        assert_int_equal(seat_tap_reply(&test->tap, at).status, spans[i].status);
        assert_int_equal(seat_tap_reply(&test->tap, at + 1).status, spans[i].status);
        assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, 1, spans[i].from, spans[i].to), 0);
        step(test, 0);
        assert_int_equal(test->tap.count, at + 2 + (spans[i].status != CLUSTER_TXN_OK));
        if (spans[i].status != CLUSTER_TXN_OK)
            assert_int_equal(seat_tap_event(&test->tap, at + 2).status, CLUSTER_TXN_DENIED);
        denied += spans[i].status != CLUSTER_TXN_OK ? 3 : 0;
        ask(test, (struct cluster_seat_request){.kind = CLUSTER_SEAT_UNWATCH, .number = 1}, NULL);
    }
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_DENIED_READ), denied);
}

/* ---- a node that does not read ---- */

static void fill(struct test *test, unsigned count)
{
    char *large = malloc(CLUSTER_TXN_VALUE_MAX), key[32];

    memset(large, 'x', CLUSTER_TXN_VALUE_MAX);
    for (unsigned i = 0; i < count; i++) {
        struct cluster_write put = {CLUSTER_PUT, {0}, {large, CLUSTER_TXN_VALUE_MAX}};
        const struct cluster_txn txn = {.id = store_stage_id(), .then = &put, .then_count = 1};

        snprintf(key, sizeof key, "/c/token/%016x", i + 1);
        put.key = store_stage_bytes(key);
        assert_int_equal(store_stage_run(&test->stage, &txn).status, CLUSTER_TXN_OK);
    }
    free(large);
}

static uint64_t waiting_bytes(struct test *test)
{
    struct cluster_seat_server_stats stats;

    cluster_seat_server_stats(test->server, &stats);
    return stats.out_bytes;
}

/* Until more than so many bytes wait, and then for some time. Returns how many there were at most.
 */
static uint64_t let_wait(struct test *test, uint64_t least)
{
    uint64_t deadline = hub_clock_after(SOON_NS), most = 0;

    while (most <= least && hub_clock_left(deadline) > 0) {
        step(test, 5);
        most = waiting_bytes(test) > most ? waiting_bytes(test) : most;
    }
    for (unsigned i = 0; i < 50; i++) {
        step(test, 1);
        most = waiting_bytes(test) > most ? waiting_bytes(test) : most;
    }
    assert_true(most > least);
    return most;
}

/* It asks for 64 pages of a megabyte, and watches all that there is: the seat keeps a few of them,
 * and has the rest when the node reads. r[verify cluster.store.seat.room] */
static void a_node_that_reads_slowly_makes_the_seat_keep_little(void **state)
{
    struct test *test = *state;
    uint64_t most, changes = 0, last = 0, replies = 0;

    fill(test, VALUES);
    test->tap.room = 0;
    for (unsigned i = 1; i <= 64; i++)
        assert_int_equal(ask_span(test, CLUSTER_SEAT_RANGE, i, "/c/", "/c0"), 0);
    for (unsigned i = 1; i <= WATCHES; i++)
        assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, i, "/c/", "/c0"), 0);
    most = let_wait(test, 1 << 20);
    assert_true(most <= CLUSTER_SEAT_SERVER_ROOM + CLUSTER_SEAT_PAIR_MAX);
    for (unsigned i = 0; i < 20000 && replies + changes < 64 + WATCHES * VALUES; i++) {
        test->tap.room = 3;
        step(test, 1);
        most = waiting_bytes(test) > most ? waiting_bytes(test) : most;
        for (size_t at = 0; at < test->tap.count; at++)
            if (test->tap.messages[at].type == CLUSTER_FRAME_STORE_REPLY) {
                replies++;
                assert_int_equal(seat_tap_reply(&test->tap, at).number, ++last);
            } else {
                changes += seat_tap_event(&test->tap, at).changes.count;
            }
        if (!test->tap.in.data)
            seat_tap_clear(&test->tap);
        else
            while (test->tap.count > 0)
                free(test->tap.messages[--test->tap.count].data);
    }
    assert_int_equal(replies, 64);
    assert_int_equal(changes, WATCHES * VALUES);
    assert_true(most <= CLUSTER_SEAT_SERVER_ROOM + 2 * CLUSTER_SEAT_PAIR_MAX);
    assert_int_equal(test->tap.hang_ups, 0);
}

/* An answer that is larger than the room is made when nothing else waits. r[verify
 * cluster.store.seat.room] */
static void an_answer_larger_than_the_room_goes_alone(void **state)
{
    struct cluster_write gets[20];
    struct test *test = *state;
    char keys[20][32];
    struct cluster_txn txn = {.then = gets, .then_count = 20};

    fill(test, 20);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(keys[i], sizeof keys[i], "/c/token/%016x", i + 1);
        gets[i] = (struct cluster_write){CLUSTER_GET, store_stage_bytes(keys[i]), {0}};
    }
    for (unsigned i = 1; i <= 8; i++)
        assert_int_equal(ask_txn(test, i, &txn), 0);
    test->tap.room = 0;
    assert_true(let_wait(test, 20 * CLUSTER_TXN_VALUE_MAX) < 21 * CLUSTER_SEAT_PAIR_MAX);
    test->tap.room = SIZE_MAX;
    wait_for(test, &test->tap, 8);
    assert_int_equal(seat_tap_reply(&test->tap, 7).pairs.count, 20);
}

/* r[verify cluster.store.seat.room] */
static void a_node_that_does_not_read_at_all_is_hung_up(void **state)
{
    struct test *test = *state;
    struct cluster_seat_server_stats stats;

    assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, 1, "/c/", "/c0"), 0);
    step(test, 0);
    test->tap.room = 0;
    store_stage_put(&test->stage, "/c/lead", "1");
    step(test, 20);
    assert_true(waiting_bytes(test) > 0);
    test->now_ns += CLUSTER_SEAT_SERVER_STALL_NS - 10 * HUB_MILLISECOND;
    step(test, 0);
    assert_int_equal(test->tap.hang_ups, 0);
    test->now_ns += CLUSTER_SEAT_SERVER_STALL_NS;
    step(test, 0);
    assert_int_equal(test->tap.hang_ups, 1);
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_STALL), 1);
    cluster_seat_server_stats(test->server, &stats);
    assert_int_equal(stats.watches, 0);
    assert_int_equal(stats.out_bytes, 0);
    assert_int_equal(stats.peers, 1);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(a_node_writes_what_is_its_own_and_nothing_else),
        EACH(a_node_writes_as_this_life_of_itself),
        EACH(a_node_reads_the_cluster_and_nothing_else),
        EACH(a_node_that_reads_slowly_makes_the_seat_keep_little),
        EACH(an_answer_larger_than_the_room_goes_alone),
        EACH(a_node_that_does_not_read_at_all_is_hung_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
