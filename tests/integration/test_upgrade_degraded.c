/* SPDX-License-Identifier: Apache-2.0 */
/* A DEGRADED guest is a likely candidate for an upgrade; and a guest may become so at any step of
 * its upgrade. */
#include <rapahub/upgrade.h>

#include "tests/integration/child.h"

#define MOODY MODULE("moody")
#define SICK  1 /* RAPAHUB_HEALTH_DEGRADED */
#define LONG  1000000

struct moody {
    struct lazy lazy;
    struct rapahub_child_id child;
    int32_t pid;
};

/* Sick from its beginning on for so many questions. */
static void open_moody(struct moody *moody, const char *questions)
{
    const struct rapahub_supervision how = {
        .readiness = {.period_ns = 30 * MS, .timeout_ns = 60 * MS, .failure = 2}};
    const struct rapahub_guest_options guest = {.chimod = MOODY, .supervision = &how};
    const struct rapahub_container_options container = {
        .id = here, .pool_name = "test", .params = {questions, strlen(questions)}};

    open_host(&moody->lazy.on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    assert_done(rapahub_host_spawn(moody->lazy.on.host, &guest, &moody->lazy.on.guest));
    assert_done(rapahub_child_of(moody->lazy.on.host, moody->lazy.on.guest, &moody->child));
    assert_done(rapahub_host_add_container(moody->lazy.on.host, moody->lazy.on.guest, &container));
    moody->pid = status_of(&moody->lazy, moody->child).pid;
}

static void feel_sick(struct moody *moody)
{
    const uint32_t mood = SICK, often = LONG;

    assert_done(ask(&moody->lazy.on, "feel(u32, u32) -> void",
                    (const void *const[]){&mood, &often, NULL}, NULL));
}

static bool is(struct moody *moody, const char *state)
{
    return strcmp(status_of(&moody->lazy, moody->child).state, state) == 0;
}

static void await(struct moody *moody, const char *state)
{
    for (uint64_t end = now_ms() + 10000; now_ms() < end && !is(moody, state);)
        assert_true(rapahub_host_dispatch(moody->lazy.on.host, 10) >= 0);
    assert_string_equal(status_of(&moody->lazy, moody->child).state, state);
}

static int upgrade(struct moody *moody, const char *chimod)
{
    const struct rapahub_upgrade_options options = {.chimod = chimod};
    struct rapahub_upgrade_result result;
    int r = rapahub_host_upgrade(moody->lazy.on.host, moody->lazy.on.guest, &options, &result);

    if (r == 0)
        moody->lazy.on.guest = result.guest;
    return r;
}

/* r[verify supervise.upgrade.degraded] */
static void the_next_version_of_a_sick_one_is_ready_if_it_is_well(void **state)
{
    struct moody moody;
    int32_t serving = 0;

    (void)state;
    open_moody(&moody, "");
    feel_sick(&moody);
    await(&moody, "degraded");
    assert_refused(call(&moody.lazy, here, "pid() -> i32", &serving), RAPAHUB_EDEGRADED, "");
    assert_done(upgrade(&moody, MOODY));
    assert_true(is(&moody, "ready"));
    serving = pid(&moody.lazy, here);
    assert_int_not_equal(serving, moody.pid);
    assert_int_equal(status_of(&moody.lazy, moody.child).pid, serving);
    assert_int_equal(status_of(&moody.lazy, moody.child).failures, 0);
    dispatch(&moody.lazy, 300); /* and stays so */
    assert_true(is(&moody, "ready"));
    assert_int_equal(moody.lazy.on.told.restart, 0);
    assert_int_equal(moody.lazy.on.told.restored, 0); /* that would be the same life */
    close_host(&moody.lazy.on);
}

static void the_next_version_of_a_sick_one_may_be_sick_too(void **state)
{
    struct moody moody;

    (void)state;
    open_moody(&moody, "1000000");
    await(&moody, "degraded");
    assert_done(upgrade(&moody, MOODY));
    assert_int_not_equal(status_of(&moody.lazy, moody.child).pid, moody.pid);
    await(&moody, "degraded");
    close_host(&moody.lazy.on);
}

/* The call that runs keeps it from answering its probe: while it is waited for it is found sick,
 * and is so at the switch. */
static void one_that_becomes_sick_while_it_is_replaced_is_replaced(void **state)
{
    const uint32_t ms = 600;
    const struct rapahub_call slow = {
        .target = here, .method = "hold(u32)", .arguments = (const void *const[]){&ms, NULL}};
    struct ending ending = {0};
    struct moody moody;

    (void)state;
    open_moody(&moody, "");
    feel_sick(&moody);
    assert_done(rapahub_host_call_async(moody.lazy.on.host, &slow, on_done, &ending, NULL));
    assert_true(is(&moody, "ready"));
    assert_done(upgrade(&moody, MOODY));
    assert_int_equal(ending.count, 1);
    assert_int_equal(ending.code, 0);
    assert_true(is(&moody, "ready"));
    assert_int_not_equal(pid(&moody.lazy, here), moody.pid);
    close_host(&moody.lazy.on);
}

/* r[verify supervise.upgrade.degraded] */
static void a_sick_one_whose_upgrade_fails_is_as_before(void **state)
{
    struct moody moody;
    int32_t serving = 0;

    (void)state;
    open_moody(&moody, "");
    feel_sick(&moody);
    await(&moody, "degraded");
    assert_refused(upgrade(&moody, MODULE("moody_load_fails")), RAPAHUB_EAPPLICATION,
                   "asked not to load");
    assert_true(is(&moody, "degraded"));
    assert_int_equal(status_of(&moody.lazy, moody.child).pid, moody.pid);
    assert_refused(call(&moody.lazy, here, "pid() -> i32", &serving), RAPAHUB_EDEGRADED, "");
    close_host(&moody.lazy.on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_version_of_a_sick_one_is_ready_if_it_is_well),
        cmocka_unit_test(the_next_version_of_a_sick_one_may_be_sick_too),
        cmocka_unit_test(one_that_becomes_sick_while_it_is_replaced_is_replaced),
        cmocka_unit_test(a_sick_one_whose_upgrade_fails_is_as_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
