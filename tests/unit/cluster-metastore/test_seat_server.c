/* SPDX-License-Identifier: Apache-2.0 */
/* Many nodes at the seat, and nodes that write what they should not. */
#include "tests/unit/cluster-metastore/seat_server_stage.h"

/* ---- messages ---- */

/* The seat has done nothing of it, and serves on. r[verify cluster.store.seat.hostile] */
static void random_bytes_are_counted_and_end_the_link(void **state)
{
    struct test *test = *state;
    struct hub_random random;
    unsigned ended = 0;

    hub_random_init(&random, 3);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t bytes[100];
        size_t size = hub_random_below(&random, sizeof bytes) + 1;
        int r;

        for (size_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)hub_random_below(&random, at < 12 ? 4 : 256);
        r = seat_tap_send(take, test->peer, CLUSTER_FRAME_STORE_REQUEST,
                          (struct rapahub_bytes){bytes, size});
        if (r == 0)
            continue;
        assert_true(r == RAPAHUB_EPROTOCOL || r == RAPAHUB_EFORMAT || r == -EINVAL ||
                    r == -EMSGSIZE);
        ended++;
        reattach(test);
    }
    assert_true(ended > 18000);
    assert_int_equal(
        broken(test, CLUSTER_SEAT_SERVER_FORM) + broken(test, CLUSTER_SEAT_SERVER_WATCHES), ended);
    reattach(test);
    assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    wait_for(test, &test->tap, 1);
    assert_int_equal(seat_tap_reply(&test->tap, 0).status, CLUSTER_TXN_OK);
    assert_int_equal(store_stage_sync(&test->stage).rev, 1);
}

/* r[verify cluster.store.seat.hostile] */
static void frames_of_other_types_end_the_link(void **state)
{
    static const uint8_t types[] = {CLUSTER_FRAME_STORE_REPLY, CLUSTER_FRAME_STORE_EVENT,
                                    CLUSTER_FRAME_CALL, 200};
    const struct cluster_body body = {.piece = {false, {"x", 1}}};
    struct test *test = *state;

    for (size_t i = 0; i < sizeof types; i++) {
        assert_int_equal(take(test->peer, types[i], &body), RAPAHUB_EPROTOCOL);
        assert_int_equal(ask_span(test, CLUSTER_SEAT_RANGE, 1, "/c/", "/c0"), RAPAHUB_EPROTOCOL);
        reattach(test);
    }
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_FORM), sizeof types);
    step(test, 0);
    assert_int_equal(test->tap.count, 0);
}

/* r[verify cluster.store.seat.message] */
static void a_message_without_an_end_ends_the_link(void **state)
{
    static const char bytes[CLUSTER_BODY_PIECE_MAX];
    const struct cluster_body more = {.piece = {true, {bytes, sizeof bytes}}};
    struct test *test = *state;

    for (size_t i = 0; i < CLUSTER_SEAT_REQUEST_MAX / sizeof bytes; i++)
        assert_int_equal(take(test->peer, CLUSTER_FRAME_STORE_REQUEST, &more), 0);
    assert_int_equal(take(test->peer, CLUSTER_FRAME_STORE_REQUEST, &more), RAPAHUB_EPROTOCOL);
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_FORM), 1);
}

/* Beyond the limits of a transaction, which no client of ours sends. r[verify
 * cluster.store.seat.hostile] */
static void a_value_that_is_too_large_ends_the_link(void **state)
{
    struct test *test = *state;
    size_t size = 257 * 1024;
    char *large = calloc(1, size);
    const struct cluster_write writes[] = {
        {CLUSTER_PUT, store_stage_bytes("/c/sess/00000007"), {large, size}},
        {CLUSTER_PUT, store_stage_bytes("/c/sess/00000007"), store_stage_bytes("1")}};
    struct cluster_txn txn = {.id = {cluster_txn_client(7, 3), 1}, .then = writes, .then_count = 1};

    assert_int_equal(ask_txn(test, 1, &txn), -EMSGSIZE);
    reattach(test);
    txn.then = &writes[1];
    txn.id.seq = 0;
    assert_int_equal(ask_txn(test, 1, &txn), -EINVAL);
    reattach(test);
    txn.id.seq = 1;
    assert_int_equal(ask_txn(test, 1, &txn), 0);
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_FORM), 2);
    wait_for(test, &test->tap, 1);
    free(large);
}

/* ---- the window ---- */

/* r[verify cluster.store.seat.window] */
static void a_transaction_too_many_ends_the_link(void **state)
{
    struct test *test = *state;

    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), RAPAHUB_EPROTOCOL);
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_LIMIT), 1);
    step(test, 0);
    assert_int_equal(test->tap.count, 0);
    reattach(test);
    test->seq = 0;
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(ask_span(test, CLUSTER_SEAT_RANGE, 100 + i, "/c/", "/c0"), 0);
    wait_for(test, &test->tap, 128);
    assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    wait_for(test, &test->tap, 129);
}

/* r[verify cluster.store.seat.window] */
static void bytes_too_many_end_the_link(void **state)
{
    struct test *test = *state;
    char *large = calloc(1, CLUSTER_TXN_VALUE_MAX);
    const struct cluster_write write = {
        CLUSTER_PUT, store_stage_bytes("/c/sess/00000007"), {large, CLUSTER_TXN_VALUE_MAX}};

    for (uint64_t i = 1; i <= 16; i++) {
        const struct cluster_txn txn = {
            .id = {cluster_txn_client(7, 3), i}, .then = &write, .then_count = 1};

        assert_int_equal(ask_txn(test, i, &txn), i == 16 ? RAPAHUB_EPROTOCOL : 0);
    }
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_LIMIT), 1);
    free(large);
}

/* r[verify cluster.store.seat.window] */
static void a_watch_too_many_or_twice_ends_the_link(void **state)
{
    struct test *test = *state;
    struct cluster_seat_server_stats stats;

    for (unsigned i = 1; i <= 16; i++)
        assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, i, "/c/log", "/c/log0"), 0);
    step(test, 0);
    cluster_seat_server_stats(test->server, &stats);
    assert_int_equal(stats.watches, 16);
    assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, 17, "/c/log", "/c/log0"),
                     RAPAHUB_EPROTOCOL);
    step(test, 0);
    cluster_seat_server_stats(test->server, &stats);
    assert_int_equal(stats.watches, 0);
    reattach(test);
    assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, 1, "/c/log", "/c/log0"), 0);
    assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, 1, "/c/log", "/c/log0"), RAPAHUB_EPROTOCOL);
    assert_int_equal(broken(test, CLUSTER_SEAT_SERVER_WATCHES), 2);
}

/* ---- nodes ---- */

/* r[verify cluster.store.seat.peers] */
static void a_node_has_one_link_and_there_are_so_many_nodes(void **state)
{
    struct test *test = *state;
    struct cluster_seat_peer **peers = calloc(CLUSTER_SEAT_SERVER_PEERS_MAX, sizeof *peers), *more;
    struct cluster_seat_node node = {7, 4};

    assert_int_equal(
        cluster_seat_server_attach(test->server, &node, &seat_tap_link, &test->tap, &more),
        RAPAHUB_EBUSY);
    for (uint32_t i = 1; i < CLUSTER_SEAT_SERVER_PEERS_MAX; i++) {
        node.node = 100 + i;
        assert_int_equal(
            cluster_seat_server_attach(test->server, &node, &seat_tap_link, &test->tap, &peers[i]),
            0);
    }
    node.node = 99;
    assert_int_equal(
        cluster_seat_server_attach(test->server, &node, &seat_tap_link, &test->tap, &more),
        RAPAHUB_EFULL);
    cluster_seat_server_detach(peers[1]);
    assert_int_equal(
        cluster_seat_server_attach(test->server, &node, &seat_tap_link, &test->tap, &more), 0);
    free(peers);
}

/* One node has 64 transactions under way and its watches; the other one's get their turn. r[verify
 * cluster.store.seat.peers] */
static void a_busy_node_does_not_keep_others_waiting(void **state)
{
    struct test *test = *state;
    const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes("/c/sess/00000008"),
                                      store_stage_bytes("1")};
    const struct cluster_txn txn = {
        .id = {cluster_txn_client(8, 1), 1}, .then = &put, .then_count = 1};
    const struct cluster_seat_request request = {.kind = CLUSTER_SEAT_TXN, .number = 1};

    assert_int_equal(cluster_seat_server_attach(test->server, &eight, &seat_tap_link,
                                                &test->other_tap, &test->other),
                     0);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    assert_int_equal(seat_tap_send_request(take, test->other, &request, &txn), 0);
    wait_for(test, &test->other_tap, 1);
    assert_true(test->tap.count < 64);
    wait_for(test, &test->tap, 64);
}

/* The seat's own node has a part of the store for itself, and may have all of it: others wait.
 * r[verify cluster.store.seat.peers] */
static void a_full_store_makes_nodes_wait_and_not_fail(void **state)
{
    struct test *test = *state;
    struct store_answer answers[CLUSTER_TXN_FLIGHT_MAX] = {{0}}, one = {0};
    const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes("/c/lead"),
                                      store_stage_bytes("1")};
    struct cluster_txn txn = {.then = &put, .then_count = 1};
    uint64_t next;

    for (unsigned i = 0; i < CLUSTER_TXN_FLIGHT_MAX; i++) {
        txn.id = store_stage_id();
        assert_int_equal(
            cluster_metastore_submit(test->stage.store, &txn, store_stage_on_txn, &answers[i]), 0);
    }
    assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    cluster_seat_server_step(test->server, 1, &next);
    wait_for(test, &test->tap, 1);
    assert_int_equal(seat_tap_reply(&test->tap, 0).status, CLUSTER_TXN_OK);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    cluster_seat_server_step(test->server, 1, &next);
    txn.id = store_stage_id();
    assert_int_equal(cluster_metastore_submit(test->stage.store, &txn, store_stage_on_txn, &one),
                     0);
    wait_for(test, &test->tap, 65);
    store_stage_wait(&test->stage, &one);
}

/* Its requests end in the store, and nobody is told; its next link begins with nothing. r[verify
 * cluster.store.seat.link] */
static void a_node_that_is_gone_is_told_nothing(void **state)
{
    struct test *test = *state;
    uint64_t next;

    assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, 1, "/c/", "/c0"), 0);
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    cluster_seat_server_step(test->server, test->now_ns, &next);
    reattach(test);
    store_stage_sync(&test->stage);
    for (unsigned i = 0; i < 10; i++)
        step(test, 1);
    assert_int_equal(test->tap.count, 0);
    assert_int_equal(store_stage_sync(&test->stage).rev, CLUSTER_SEAT_SERVER_TXNS_MAX);
    assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    wait_for(test, &test->tap, 1);
}

/* The store ends what it has; nodes do not hear of that. */
static void a_seat_that_closes_tells_nodes_nothing(void **state)
{
    struct test *test = *state;
    uint64_t next;

    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    cluster_seat_server_step(test->server, test->now_ns, &next);
    cluster_seat_server_close(test->server);
    test->server = NULL;
    store_stage_close(&test->stage);
    assert_int_equal(test->tap.count, 0);
}

/* That is no end of a request, so the node is hung up, and knows that it does not know. r[verify
 * cluster.store.seat.link] */
static void the_end_of_the_store_is_the_end_of_links(void **state)
{
    struct test *test = *state;
    uint64_t next;

    assert_int_equal(ask_write(test, CLUSTER_PUT, "/c/sess/00000007"), 0);
    assert_int_equal(ask_span(test, CLUSTER_SEAT_WATCH, 1, "/c/", "/c0"), 0);
    cluster_seat_server_step(test->server, test->now_ns, &next);
    store_stage_close(&test->stage);
    assert_int_equal(test->tap.hang_ups, 1);
    assert_int_equal(test->tap.count, 0);
}

static void each_rule_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(cluster_seat_server_rule_name(CLUSTER_SEAT_SERVER_FORM), "FORM");
    assert_string_equal(cluster_seat_server_rule_name(CLUSTER_SEAT_SERVER_DENIED_READ),
                        "DENIED_READ");
    assert_string_equal(cluster_seat_server_rule_name(CLUSTER_SEAT_SERVER_RULE_COUNT), "?");
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(random_bytes_are_counted_and_end_the_link),
        EACH(frames_of_other_types_end_the_link),
        EACH(a_message_without_an_end_ends_the_link),
        EACH(a_value_that_is_too_large_ends_the_link),
        EACH(a_transaction_too_many_ends_the_link),
        EACH(bytes_too_many_end_the_link),
        EACH(a_watch_too_many_or_twice_ends_the_link),
        EACH(a_node_has_one_link_and_there_are_so_many_nodes),
        EACH(a_busy_node_does_not_keep_others_waiting),
        EACH(a_full_store_makes_nodes_wait_and_not_fail),
        EACH(a_node_that_is_gone_is_told_nothing),
        EACH(a_seat_that_closes_tells_nodes_nothing),
        EACH(the_end_of_the_store_is_the_end_of_links),
        cmocka_unit_test(each_rule_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
