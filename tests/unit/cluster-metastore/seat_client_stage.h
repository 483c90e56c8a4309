/* SPDX-License-Identifier: Apache-2.0 */
/* seat_client_stage: a client of the seat, with the test as the seat. */
#ifndef TESTS_UNIT_CLUSTER_METASTORE_SEAT_CLIENT_STAGE_H
#define TESTS_UNIT_CLUSTER_METASTORE_SEAT_CLIENT_STAGE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/seat/seat_client.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/metastore/seat_tap.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define ANSWERS 160

struct test {
    struct seat_tap tap;
    struct cluster_metastore *store;
    struct store_answer answers[ANSWERS];
    uint64_t now_ns, changes, told_rev;
    int watch_status;
};

static inline int take(void *to, uint8_t type, const struct cluster_body *body)
{
    return cluster_seat_client_frame(to, type, body);
}

static inline uint64_t step(struct test *test, uint64_t ms)
{
    uint64_t next;

    test->now_ns += ms * HUB_MILLISECOND;
    assert_int_equal(cluster_metastore_step(test->store, test->now_ns, &next), 0);
    return next;
}

static inline int begin(void **state)
{
    const struct cluster_metastore_end *const ends[] = {&cluster_seat_client_end, NULL};
    struct test *test = calloc(1, sizeof *test);
    struct cluster_metastore_options options = {.link = &seat_tap_link, .link_user = &test->tap};

    seat_tap_init(&test->tap);
    test->now_ns = HUB_SECOND;
    test->watch_status = -1;
    assert_int_equal(cluster_metastore_open(ends, "seat:127.0.0.1:9413", &options, &test->store),
                     0);
    cluster_seat_client_link_up(test->store);
    *state = test;
    return 0;
}

static inline int finish(void **state)
{
    struct test *test = *state;

    cluster_metastore_close(test->store);
    seat_tap_clear(&test->tap);
    free(test);
    return 0;
}

static inline int submit_value(struct test *test, size_t index, struct rapahub_bytes value)
{
    const struct cluster_write writes[] = {{CLUSTER_PUT, store_stage_bytes("/c/a"), value},
                                           {CLUSTER_GET, store_stage_bytes("/c/b"), {0}}};
    const struct cluster_txn txn = {.id = store_stage_id(), .then = writes, .then_count = 2};

    return cluster_metastore_submit(test->store, &txn, store_stage_on_txn, &test->answers[index]);
}

static inline void submit(struct test *test, size_t index)
{
    assert_int_equal(submit_value(test, index, store_stage_bytes("1")), 0);
}

static inline void range(struct test *test, size_t index, uint64_t rev, uint32_t most)
{
    const struct cluster_span span = {store_stage_bytes("/c/"), store_stage_bytes("/c0"), rev,
                                      most};

    assert_int_equal(
        cluster_metastore_range(test->store, &span, store_stage_on_range, &test->answers[index]),
        0);
}

static inline void on_change(void *user, int status, uint64_t rev,
                             const struct cluster_change *changes, size_t count)
{
    struct test *test = user;

    (void)changes;
    test->watch_status = status;
    test->changes += count;
    test->told_rev = rev;
}

static inline uint64_t watch(struct test *test, uint64_t rev)
{
    const struct cluster_span span = {store_stage_bytes("/c/"), store_stage_bytes("/c0"), rev, 0};
    uint64_t number;

    assert_int_equal(cluster_metastore_watch(test->store, &span, on_change, test, &number), 0);
    return number;
}

static const struct cluster_pair found = {{"/c/b", 4}, {"2", 1}, 3, 4, 2};

static inline struct cluster_seat_reply reply_to(const struct test *test, size_t message)
{
    return (struct cluster_seat_reply){.number = seat_tap_request(&test->tap, message).number,
                                       .rev = 9,
                                       .pairs = {.of = &found, .count = 1}};
}

static inline int answer(struct test *test, size_t message)
{
    const struct cluster_seat_reply reply = reply_to(test, message);

    return seat_tap_send_reply(take, test->store, &reply);
}

static inline void assert_open(const struct test *test, size_t index)
{
    assert_int_equal(test->answers[index].ends, 0);
}

static inline void assert_ended(const struct test *test, size_t index, int status)
{
    assert_int_equal(test->answers[index].ends, 1);
    assert_string_equal(cluster_txn_status_name((uint32_t)test->answers[index].status),
                        cluster_txn_status_name((uint32_t)status));
}

static inline struct cluster_change change_at(uint64_t rev, const char *key)
{
    return (struct cluster_change){
        .pair = {.key = store_stage_bytes(key), .create_rev = rev, .mod_rev = rev, .version = 1}};
}

static inline int tell(struct test *test, uint64_t number, uint64_t rev, const char *key)
{
    const struct cluster_change change = change_at(rev, key ? key : "");
    const struct cluster_seat_event event = {
        .watch = number, .rev = rev, .changes = {.of = &change, .count = key ? 1 : 0}};

    return seat_tap_send_event(take, test->store, &event);
}

#endif
