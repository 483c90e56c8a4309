/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/clock.h"
#include "hub/shm/lease.h"
#include "tests/support/testing.h"

static bool is_over_at(uint64_t until_ns)
{
    const struct hub_a64 lease = {hub_lease_word(until_ns)};

    return hub_lease_is_over(&lease);
}

/* r[verify hub.lease.word] */
static void a_segment_that_nobody_wrote_to_has_no_end(void **state)
{
    const struct hub_a64 lease = {0};

    (void)state;
    assert_false(hub_lease_is_over(&lease));
    assert_int_equal(hub_lease_word(HUB_NEVER), 0);
    assert_false(is_over_at(HUB_NEVER));
    assert_false(is_over_at(HUB_NEVER - 1));
}

static void it_is_over_after_its_last_nanosecond(void **state)
{
    uint64_t now = hub_clock_boot();

    (void)state;
    assert_int_equal(hub_lease_word(0), 1);
    assert_true(is_over_at(0));
    assert_true(is_over_at(1));
    assert_true(is_over_at(now - 1));
    assert_false(is_over_at(now + 1000 * HUB_SECOND));
    while (hub_clock_boot() == now)
        continue;
    assert_true(is_over_at(now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_that_nobody_wrote_to_has_no_end),
        cmocka_unit_test(it_is_over_after_its_last_nanosecond),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
