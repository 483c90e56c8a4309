/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that calls again by a stub takes a shorter way: it must see each change all the same. */
#include "tests/integration/hosting.h"

#define COUNTER MODULE("counter")
#define CALLS   3 /* the first goes the long way and finds the id, the next notes the place */

static uint64_t add_id;

static int add_by_stub(struct rapahub_host *host, int64_t amount, int64_t *total)
{
    const void *const arguments[] = {&amount, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(i64, i64),
                                      .arguments = arguments,
                                      .method_id = &add_id};

    *total = -1;
    return rapahub_host_call(host, &call, total);
}

static void warm_up(struct hosting *on)
{
    int64_t total;

    add_id = 0;
    open_host(on, (struct rapahub_host_options){0});
    assert_done(start(on, COUNTER, here, NULL));
    for (int64_t i = 1; i <= CALLS; i++) {
        assert_done(add_by_stub(on->host, 1, &total));
        assert_int_equal(total, i);
    }
    assert_true(add_id != 0);
}

static void a_container_that_was_plugged_meanwhile_is_not_called(void **state)
{
    struct hosting on;
    int64_t total;

    (void)state;
    warm_up(&on);
    assert_done(rapahub_host_plug(on.host, here, true));
    assert_refused(add_by_stub(on.host, 1, &total), RAPAHUB_EPLUGGED, "1.0[0]");
    assert_done(rapahub_host_plug(on.host, here, false));
    assert_done(add_by_stub(on.host, 1, &total));
    assert_int_equal(total, CALLS + 1); /* the one that was refused was not run */
    close_host(&on);
}

static void a_container_that_was_removed_meanwhile_is_not_called(void **state)
{
    struct hosting on;
    int64_t total;

    (void)state;
    warm_up(&on);
    assert_done(rapahub_host_remove_container(on.host, here));
    assert_int_equal(add_by_stub(on.host, 1, &total), RAPAHUB_ENOENT);
    close_host(&on);
}

static void the_next_life_is_called_after_a_death(void **state)
{
    struct hosting on;
    int64_t total;

    (void)state;
    warm_up(&on);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    for (int i = 0; i < CALLS; i++)
        assert_done(add_by_stub(on.host, 0, &total));
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_that_was_plugged_meanwhile_is_not_called),
        cmocka_unit_test(a_container_that_was_removed_meanwhile_is_not_called),
        cmocka_unit_test(the_next_life_is_called_after_a_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
