/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/reconnect.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MS HUB_MILLISECOND

/* r[verify cluster.client.again] */
static void a_node_is_looked_for_soon_and_then_seldom(void **state)
{
    static const uint64_t first[] = {10, 20, 40, 50, 50}, then[] = {100, 200, 400, 800, 1000, 1000};
    struct cluster_reconnect reconnect;
    uint64_t now_ns = 7 * HUB_SECOND;

    (void)state;
    cluster_reconnect_begin(&reconnect, now_ns, false);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(reconnect.next_ns - now_ns, first[i] * MS);
        now_ns = reconnect.next_ns;
        cluster_reconnect_failed(&reconnect, now_ns);
    }
    while (reconnect.next_ns < 12 * HUB_SECOND) {
        assert_int_equal(reconnect.next_ns - now_ns, 50 * MS);
        now_ns = reconnect.next_ns;
        cluster_reconnect_failed(&reconnect, now_ns);
    }
    now_ns = reconnect.next_ns;
    for (unsigned i = 0; i < 6; i++) {
        cluster_reconnect_failed(&reconnect, now_ns);
        assert_int_equal(reconnect.next_ns - now_ns, then[i] * MS);
        now_ns = reconnect.next_ns;
    }
}

static void who_was_never_there_is_looked_for_at_once(void **state)
{
    struct cluster_reconnect reconnect;

    (void)state;
    cluster_reconnect_begin(&reconnect, 5, true);
    assert_int_equal(reconnect.next_ns, 5);
    cluster_reconnect_failed(&reconnect, 5);
    assert_int_equal(reconnect.next_ns, 5 + 10 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_looked_for_soon_and_then_seldom),
        cmocka_unit_test(who_was_never_there_is_looked_for_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
