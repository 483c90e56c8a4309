/* SPDX-License-Identifier: Apache-2.0 */
/* The socket for datagrams: what is taken, and how much of what anybody sends. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/node/detection/datagrams.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define FLOOD 1000

static struct cluster_datagrams one, other;
static struct cluster_host_port_address at_one, at_other;

/* At a port that is free. */
static void open_at(struct cluster_datagrams *datagrams, struct cluster_host_port_address *at)
{
    const struct cluster_host_port where = {.host = "127.0.0.1"};

    assert_true(cluster_host_port_in_numbers(&where, at));
    assert_int_equal(cluster_datagrams_open(datagrams, at), 0);
    assert_int_equal(getsockname(datagrams->fd, (void *)&at->of, &at->size), 0);
}

static int open_stage(void **state)
{
    (void)state;
    open_at(&one, &at_one);
    open_at(&other, &at_other);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    cluster_datagrams_close(&one);
    cluster_datagrams_close(&other);
    return 0;
}

/* A datagram over the loopback is there when it was sent. */
static void what_is_sent_is_taken(void **state)
{
    uint8_t bytes[64] = {0}, came[32];

    (void)state;
    memset(bytes, 7, sizeof bytes);
    cluster_datagrams_send(&one, &at_other, bytes, 20);
    cluster_datagrams_send(&one, &at_other, bytes, 0); /* as if it were none */
    cluster_datagrams_send(&one, &at_other, bytes, sizeof bytes);
    cluster_datagrams_begin(&other, HUB_SECOND);
    assert_int_equal(cluster_datagrams_take(&other, HUB_SECOND, came, sizeof came), 20);
    assert_memory_equal(came, bytes, 20);
    assert_int_equal(cluster_datagrams_take(&other, HUB_SECOND, came, sizeof came), sizeof bytes);
    assert_int_equal(cluster_datagrams_take(&other, HUB_SECOND, came, sizeof came), 0);
    assert_int_equal(one.sent, 3);
    assert_int_equal(one.unsent, 0);
}

static void what_the_socket_does_not_take_is_counted(void **state)
{
    struct cluster_host_port_address nowhere = at_other;
    const uint8_t byte = 1;

    (void)state;
    nowhere.of.ss_family = AF_INET6; /* of a socket of the other family */
    cluster_datagrams_send(&one, &nowhere, &byte, 1);
    assert_int_equal(one.unsent, 1);
}

static void flood(void)
{
    static const uint8_t bytes[100];

    for (unsigned i = 0; i < FLOOD; i++)
        cluster_datagrams_send(&one, &at_other, bytes, sizeof bytes);
}

/* Two seconds of turns each 5 ms, in a time that the test makes. r[verify cluster.detect.bounds] */
static void a_flood_is_read_up_to_a_bound(void **state)
{
    uint8_t came[200];
    unsigned taken = 0, most = 0;

    (void)state;
    for (unsigned turn = 0; turn < 400; turn++) {
        uint64_t now_ns = HUB_SECOND + turn * 5 * HUB_MILLISECOND;
        unsigned count = 0;

        if (turn % 20 == 0)
            flood();
        cluster_datagrams_begin(&other, now_ns);
        while (cluster_datagrams_take(&other, now_ns, came, sizeof came) > 0)
            count++;
        taken += count;
        most = count > most ? count : most;
    }
    assert_true(most <= CLUSTER_DATAGRAMS_TURN);
    assert_true(taken > CLUSTER_DATAGRAMS_RATE);
    assert_true(taken <= 2 * CLUSTER_DATAGRAMS_RATE + CLUSTER_DATAGRAMS_BURST + 1);
    assert_true(other.dropped > 0);
}

/* It is not looked at meanwhile, and nothing wakes the node for it. r[verify cluster.detect.bounds]
 */
static void the_socket_rests_when_the_bound_is_reached(void **state)
{
    uint64_t now_ns = HUB_SECOND;
    uint8_t came[200];

    (void)state;
    for (unsigned turn = 0; turn < 8; turn++) {
        flood();
        cluster_datagrams_begin(&other, now_ns);
        while (cluster_datagrams_take(&other, now_ns, came, sizeof came) > 0)
            ;
    }
    assert_true(cluster_datagrams_next(&other) > now_ns &&
                cluster_datagrams_next(&other) <= now_ns + HUB_SECOND / 10);
    now_ns = cluster_datagrams_next(&other);
    cluster_datagrams_begin(&other, now_ns);
    assert_int_equal(cluster_datagrams_next(&other), HUB_NEVER);
    assert_true(cluster_datagrams_take(&other, now_ns, came, sizeof came) > 0);
}

/* r[verify cluster.detect.socket] */
static void an_address_that_is_taken_is_named(void **state)
{
    struct cluster_datagrams third;

    (void)state;
    assert_int_equal(cluster_datagrams_open(&third, &at_one), -EADDRINUSE);
    assert_non_null(strstr(rapahub_last_error()->text, "127.0.0.1:"));
    cluster_datagrams_close(&third);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
    const struct CMUnitTest tests[] = {
        TEST(what_is_sent_is_taken),
        TEST(what_the_socket_does_not_take_is_counted),
        TEST(a_flood_is_read_up_to_a_bound),
        TEST(the_socket_rests_when_the_bound_is_reached),
        TEST(an_address_that_is_taken_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
