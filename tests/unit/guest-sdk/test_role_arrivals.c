/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions that came for roles, and the messages that name the roles. */
#include <unistd.h>

#include "guest-sdk/role_arrivals.h"
#include "hub/bus/grant/grant.h"
#include "tests/support/testing.h"

/* r[verify supervise.role.holder] */
static void a_description_that_was_left_is_not_taken_for_another_role(void **state)
{
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_MPSC,
                                                   .profile = RAPAHUB_REGION_HARDENED};
    const struct hub_grant_order order = {RAPAHUB_REGION_ROLE_PRODUCER, 0, 4711, "holder"};
    struct guest_role_arrivals arrivals = {.count = 0};
    struct rapahub_region *region = NULL;
    struct hub_grant left, again;
    int first, second;

    (void)state;
    guest_role_arrivals_init(&arrivals);
    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    first = hub_grant_make(region, &order, &left);
    second = hub_grant_make(region, &order, &again);
    assert_true(first >= 0 && second >= 0);
    arrivals.inbox.take(arrivals.inbox.user, first);
    arrivals.inbox.take(arrivals.inbox.user, second);
    assert_int_equal(guest_role_arrivals_take(&arrivals, &again), second);
    assert_int_equal(guest_role_arrivals_take(&arrivals, &again), -1);
    assert_int_equal(guest_role_arrivals_take(&arrivals, &left), first);
    close(first);
    close(second);
    guest_role_arrivals_fini(&arrivals);
    assert_int_equal(rapahub_region_close(region), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_that_was_left_is_not_taken_for_another_role),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
