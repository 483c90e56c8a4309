/* SPDX-License-Identifier: Apache-2.0 */
/* seat_server_stage: the seat before a file of SQLite, with the test as a node. */
#ifndef TESTS_UNIT_CLUSTER_METASTORE_SEAT_SERVER_STAGE_H
#define TESTS_UNIT_CLUSTER_METASTORE_SEAT_SERVER_STAGE_H

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/seat/seat_server.h"
#include "cluster/metastore/sqlite/sqlite.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/metastore/seat_tap.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define SOON_NS (20 * HUB_SECOND)

struct test {
    struct store_stage stage;
    struct cluster_seat_server *server;
    struct seat_tap tap, other_tap;
    struct cluster_seat_peer *peer, *other;
    uint64_t now_ns, seq;
};

static const struct cluster_seat_node seven = {7, 3}, eight = {8, 1};

static inline int take(void *to, uint8_t type, const struct cluster_body *body)
{
    return cluster_seat_server_frame(to, type, body);
}

static inline void step(struct test *test, int ms)
{
    struct pollfd fd = {.fd = cluster_metastore_fd(test->stage.store), .events = POLLIN};
    uint64_t next;

    poll(&fd, 1, ms);
    test->now_ns += HUB_MILLISECOND;
    cluster_seat_server_step(test->server, test->now_ns, &next);
    cluster_metastore_step(test->stage.store, test->now_ns, &next);
    cluster_seat_server_step(test->server, test->now_ns, &next);
}

static inline void wait_for(struct test *test, const struct seat_tap *tap, size_t count)
{
    uint64_t deadline = hub_clock_after(SOON_NS);

    while (tap->count < count && hub_clock_left(deadline) > 0)
        step(test, 5);
    assert_int_equal(tap->count, count);
}

static inline int begin(void **state)
{
    struct test *test = calloc(1, sizeof *test);

    store_stage_begin(&test->stage, &cluster_sqlite_end, NULL);
    seat_tap_init(&test->tap);
    seat_tap_init(&test->other_tap);
    test->now_ns = 1;
    assert_int_equal(
        cluster_seat_server_open(test->stage.store, &cluster_seat_rights_of_nodes, &test->server),
        0);
    assert_int_equal(
        cluster_seat_server_attach(test->server, &seven, &seat_tap_link, &test->tap, &test->peer),
        0);
    *state = test;
    return 0;
}

static inline int finish(void **state)
{
    struct test *test = *state;

    cluster_seat_server_close(test->server);
    store_stage_end(&test->stage);
    seat_tap_clear(&test->tap);
    seat_tap_clear(&test->other_tap);
    free(test);
    return 0;
}

static inline uint64_t broken(struct test *test, enum cluster_seat_server_rule rule)
{
    struct cluster_seat_server_stats stats;

    cluster_seat_server_stats(test->server, &stats);
    return stats.broken[rule];
}

static inline int ask(struct test *test, struct cluster_seat_request request,
                      const struct cluster_txn *txn)
{
    return seat_tap_send_request(take, test->peer, &request, txn);
}

static inline int ask_span(struct test *test, enum cluster_seat_kind kind, uint64_t number,
                           const char *from, const char *to)
{
    return ask(test,
               (struct cluster_seat_request){.kind = (uint8_t)kind,
                                             .number = number,
                                             .from = store_stage_bytes(from),
                                             .to = store_stage_bytes(to),
                                             .pairs_max = kind == CLUSTER_SEAT_WATCH ? 0 : 1000},
               NULL);
}

static inline int ask_txn(struct test *test, uint64_t number, const struct cluster_txn *txn)
{
    return ask(test, (struct cluster_seat_request){.kind = CLUSTER_SEAT_TXN, .number = number},
               txn);
}

static inline int ask_write(struct test *test, enum cluster_write_kind kind, const char *key)
{
    const struct cluster_write write = {kind, store_stage_bytes(key), store_stage_bytes("1")};
    const struct cluster_txn txn = {
        .id = {cluster_txn_client(7, 3), ++test->seq}, .then = &write, .then_count = 1};

    return ask_txn(test, test->seq, &txn);
}

/* The link starts anew. */
static inline void reattach(struct test *test)
{
    cluster_seat_server_detach(test->peer);
    seat_tap_clear(&test->tap);
    assert_int_equal(
        cluster_seat_server_attach(test->server, &seven, &seat_tap_link, &test->tap, &test->peer),
        0);
}

#endif
