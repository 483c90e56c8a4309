/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/owner.h"
#include "tests/support/testing.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_a_turn_of_the_table_of_its_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
