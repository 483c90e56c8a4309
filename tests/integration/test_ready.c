/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that are READY by having attached: they count as started while their module is loaded, and
 * what is sent to them meanwhile waits. */
#include <rapahub/upgrade.h>

#include "tests/integration/child.h"

static const struct rapahub_supervision by_attach = {.ready = RAPAHUB_READY_ATTACH};

/* r[verify supervise.ready.attach] */
static void one_that_attaches_is_ready_before_its_module_is_loaded(void **state)
{
    const struct rapahub_supervision how = {.ready = RAPAHUB_READY_ATTACH,
                                            .start_timeout_ns = 1 * SECOND};
    const struct rapahub_guest_options options = {.chimod = MODULE("constructor_loop"),
                                                  .supervision = &how};
    const struct rapahub_upgrade_options next = {.chimod = CALC};
    struct rapahub_child_id child;
    struct lazy lazy;

    (void)state;
    open_host(&lazy.on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(lazy.on.host, &options, &lazy.on.guest));
    assert_done(rapahub_child_of(lazy.on.host, lazy.on.guest, &child));
    dispatch(&lazy, 1500); /* its start has ended: the time-out is none of its */
    assert_string_equal(status_of(&lazy, child).state, "ready");
    assert_int_equal(lazy.on.told.ready, 1);
    assert_int_equal(lazy.on.told.down, 0);
    /* its successor could not be compared with it */
    assert_int_equal(rapahub_host_upgrade(lazy.on.host, lazy.on.guest, &next, NULL),
                     RAPAHUB_ESTATE);
    close_host(&lazy.on);
}

/* In each of its lives, also by a name whose types only the guest knows.
 * r[verify supervise.ready.attach] */
static void its_containers_are_begun_and_called(void **state)
{
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const struct rapahub_guest_options options = {
        .chimod = CALC, .supervision = &by_attach, .container = &container};
    struct hosting on;
    int64_t sum = 0;
    int32_t before;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on.host, &options, &on.guest));
    for (unsigned life = 1; life <= 3; life++) {
        assert_done(add(&on, life, 2, &sum));
        assert_int_equal(sum, life + 2);
        before = pid_of(&on);
        kill(before, SIGKILL);
        assert_true(until(&on, &on.told.ready, life + 1));
        assert_int_not_equal(pid_of(&on), before);
    }
    assert_done(ask(&on, "pid() -> i32", NULL, &before));
    assert_int_equal(on.told.down, 3);
    close_host(&on);
}

/* r[verify supervise.ready.attach] */
static void one_whose_module_cannot_be_loaded_has_started_and_died(void **state)
{
    const struct rapahub_supervision how = {.ready = RAPAHUB_READY_ATTACH, .restarts_max = -1};
    const struct rapahub_guest_options options = {.chimod = MODULE("no_symbol"),
                                                  .supervision = &how};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on.host, &options, &on.guest));
    assert_true(until(&on, &on.told.failed, 1));
    assert_int_equal(on.told.ready, 1);
    assert_int_equal(on.told.down, 1);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_attaches_is_ready_before_its_module_is_loaded),
        cmocka_unit_test(its_containers_are_begun_and_called),
        cmocka_unit_test(one_whose_module_cannot_be_loaded_has_started_and_died),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
