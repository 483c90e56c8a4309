/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>

#include "host/owner/owner.h"
#include "tests/support/testing.h"
#include "tests/unit/host-owner/bare.h"

static struct {
    struct host_owner *host;
    int timeout_ms;
    uint64_t deadline_ns;
} seen;

static int turn(struct host_owner *host, int timeout_ms)
{
    seen.host = host;
    seen.timeout_ms = timeout_ms;
    return 3;
}

static int until(struct host_owner *host, uint64_t deadline_ns)
{
    seen.host = host;
    seen.deadline_ns = deadline_ns;
    return -7;
}

static void a_wait_is_a_turn_of_the_table_of_its_host(void **state)
{
    static const struct host_turns turns = {turn, until};
    static struct host_owner host = {.turns = &turns};

    (void)state;
    assert_int_equal(host_wait_turn(&host, 250), 3);
    assert_ptr_equal(seen.host, &host);
    assert_int_equal(seen.timeout_ms, 250);
    seen.host = NULL;
    assert_int_equal(host_wait_until(&host, UINT64_MAX - 1), -7);
    assert_ptr_equal(seen.host, &host);
    assert_true(seen.deadline_ns == UINT64_MAX - 1);
}

static bool is_woken(struct host_owner *host)
{
    struct pollfd fd = {.fd = host->loop.epoll, .events = POLLIN};
    bool woken = poll(&fd, 1, 0) == 1;

    assert_true(host_loop_turn(&host->loop, 0) >= 0);
    return woken;
}

static void *say_again(void *user)
{
    host_wait_again(user);
    return NULL;
}

/* A turn finds what its own work has said; for anything else the loop is woken. */
static void work_that_is_said_in_a_turn_wakes_nobody(void **state)
{
    struct host_owner host;
    pthread_t other;

    (void)state;
    bare_open(&host);
    host_wait_again(&host);
    assert_false(host.again);
    assert_true(is_woken(&host)); /* no turn runs */
    host.depth = 1;
    host_wait_again(&host);
    assert_true(host.again);
    assert_false(is_woken(&host));
    host_wait_settle(&host); /* it may sleep before its turn ends */
    assert_false(host.again);
    assert_true(is_woken(&host));
    host_wait_settle(&host);
    assert_false(is_woken(&host));
    assert_int_equal(pthread_create(&other, NULL, say_again, &host), 0);
    pthread_join(other, NULL);
    assert_false(host.again);
    assert_true(is_woken(&host));
    host.depth = 0;
    bare_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_a_turn_of_the_table_of_its_host),
        cmocka_unit_test(work_that_is_said_in_a_turn_wakes_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
