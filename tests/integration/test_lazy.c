/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that start when they are called, and what a call meets that finds none, with real
 * processes. */
#include "tests/integration/child.h"

#define CALLERS 64

/* r[verify supervise.preset] */
static void the_presets_are_what_is_said_of_them(void **state)
{
    struct rapahub_supervision seed, never;

    (void)state;
    rapahub_supervision_seed(3, &seed);
    assert_int_equal(seed.restart, RAPAHUB_RESTART_PERMANENT);
    assert_int_equal(seed.start, RAPAHUB_START_LAZY);
    assert_int_equal(seed.when_down, RAPAHUB_WHEN_DOWN_WAIT);
    assert_int_equal(seed.restarts_max, 3);
    assert_true(seed.period_ns == RAPAHUB_FOREVER && seed.backoff_initial_ns == RAPAHUB_NONE);
    assert_int_equal(seed.on_exhausted, RAPAHUB_EXHAUSTED_PARK);
    rapahub_supervision_seed(0, &seed);
    assert_int_equal(seed.restarts_max, -1);
    rapahub_supervision_never(&never);
    assert_int_equal(never.restart, RAPAHUB_RESTART_TEMPORARY);
    assert_int_equal(never.start, RAPAHUB_START_LAZY);
}

static int add_seed(struct lazy *lazy, unsigned restarts_max, struct rapahub_child_id *out)
{
    struct rapahub_supervision seed;
    char name[32];
    const struct rapahub_guest_options guest = {.chimod = CALC, .name = name, .supervision = &seed};

    snprintf(name, sizeof name, "of-%u", restarts_max);
    rapahub_supervision_seed(restarts_max, &seed);
    return rapahub_supervisor_add(lazy->root, &guest, out);
}

/* The allowed values, and those refused with their reason. r[verify supervise.preset] */
static void a_preset_means_the_number_it_was_given(void **state)
{
    static const unsigned good[] = {0, 1, 256, 257, 100000, 0x7fffffff};
    static const unsigned bad[] = {0x80000000, 0x80000005, 0xffffffff};
    struct rapahub_child_id child;
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_done(add_seed(&lazy, good[i], &child));
        assert_int_equal(status_of(&lazy, child).failures_max, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(add_seed(&lazy, bad[i], &child), RAPAHUB_EINVAL,
                       "restarts_max is not -1 to 256, nor, with a period_ns of RAPAHUB_FOREVER");
    close_host(&lazy.on);
}

static void each_life_begins_with_a_call(void **state)
{
    struct rapahub_supervision seed;
    struct rapahub_child_status first, second;
    struct rapahub_child_id child;
    struct lazy lazy;
    int32_t before;

    (void)state;
    open_lazy(&lazy, false);
    rapahub_supervision_seed(8, &seed);
    child = put(&lazy, here, seed);
    dispatch(&lazy, 50);
    assert_int_equal(status_of(&lazy, child).incarnation, 0);
    before = pid(&lazy, here);
    first = status_of(&lazy, child);
    assert_int_equal(before, first.pid);
    die(&lazy);
    dispatch(&lazy, 50);
    assert_int_equal(status_of(&lazy, child).pid, 0);
    assert_string_equal(status_of(&lazy, child).state, "backoff");
    before = pid(&lazy, here);
    second = status_of(&lazy, child);
    assert_int_equal(before, second.pid);
    assert_int_equal(second.incarnation, first.incarnation + 1);
    assert_int_not_equal(second.pid, first.pid);
    assert_int_equal(second.failures, 1);
    close_host(&lazy.on);
}

/* Init in the first life, restart in the others; also of one that comes while there is a life.
 * r[verify supervise.container] */
static void a_container_given_to_one_that_is_down_begins_once(void **state)
{
    const struct rapahub_container_options more = {.id = other, .pool_name = "test"};
    struct rapahub_supervision seed;
    struct rapahub_child_id child;
    uint32_t begun = 0;
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    rapahub_supervision_seed(8, &seed);
    child = put_module(&lazy, MODULE("counter"), here, seed);
    assert_refused(rapahub_child_add_container(
                       lazy.on.host, child,
                       &(struct rapahub_container_options){.id = here, .pool_name = "test"}),
                   RAPAHUB_EEXIST, "1.0");
    assert_done(call(&lazy, here, "begun() -> u32", &begun));
    assert_int_equal(begun, 1);
    assert_done(rapahub_child_add_container(lazy.on.host, child, &more));
    assert_done(call(&lazy, other, "begun() -> u32", &begun));
    assert_int_equal(begun, 1);
    kill(status_of(&lazy, child).pid, SIGKILL);
    assert_true(until(&lazy.on, &lazy.on.told.down, 1));
    assert_done(call(&lazy, other, "begun() -> u32", &begun));
    assert_int_equal(begun, 2);
    assert_done(call(&lazy, here, "begun() -> u32", &begun));
    assert_int_equal(begun, 2);
    close_host(&lazy.on);
}

static void the_budget_of_the_seed_bounds_its_restarts(void **state)
{
    struct rapahub_supervision seed;
    struct rapahub_child_id child;
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    rapahub_supervision_seed(1, &seed);
    child = put(&lazy, here, seed);
    (void)pid(&lazy, here);
    die(&lazy);
    (void)pid(&lazy, here);
    die(&lazy);
    assert_refused(ask_pid(&lazy, here), RAPAHUB_EGIVENUP, "given up");
    assert_refused(ask_pid(&lazy, here), RAPAHUB_EGIVENUP, "given up");
    assert_int_equal(status_of(&lazy, child).restarts, 1);
    assert_string_equal(status_of(&lazy, child).state, "failed");
    close_host(&lazy.on);
}

static void one_that_has_one_life_refuses_promptly_behind_it(void **state)
{
    struct rapahub_supervision never;
    struct lazy lazy;
    uint64_t begun;

    (void)state;
    open_lazy(&lazy, false);
    rapahub_supervision_never(&never);
    (void)put(&lazy, here, never);
    (void)pid(&lazy, here);
    die(&lazy);
    begun = now_ms();
    assert_refused(ask_pid(&lazy, here), RAPAHUB_ENORESTART, "not restarted");
    assert_true(now_ms() - begun < 5000);
    close_host(&lazy.on);
}

static void a_restart_disturbs_nobody_else(void **state)
{
    struct rapahub_supervision seed;
    struct lazy lazy;
    int32_t before;

    (void)state;
    open_lazy(&lazy, false);
    rapahub_supervision_seed(8, &seed);
    (void)put(&lazy, here, seed);
    (void)put(&lazy, other, seed);
    before = pid(&lazy, other);
    (void)pid(&lazy, here);
    for (unsigned i = 0; i < 3; i++) {
        die(&lazy);
        assert_int_equal(pid(&lazy, other), before);
        assert_int_not_equal(pid(&lazy, here), before);
    }
    close_host(&lazy.on);
}

/* r[verify supervise.call] */
static void who_was_stopped_or_closed_is_not_started_by_a_call(void **state)
{
    struct rapahub_supervision seed;
    struct rapahub_child_id child;
    uint64_t incarnation;
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    rapahub_supervision_seed(8, &seed);
    child = put(&lazy, here, seed);
    assert_done(rapahub_child_stop(lazy.on.host, child, SECOND));
    assert_refused(ask_pid(&lazy, here), RAPAHUB_ESTOPPED, "was stopped");
    dispatch(&lazy, 20);
    assert_int_equal(status_of(&lazy, child).incarnation, 0);
    assert_done(rapahub_child_start(lazy.on.host, child, 5 * SECOND));
    (void)pid(&lazy, here);
    assert_done(rapahub_child_stop(lazy.on.host, child, 5 * SECOND));
    incarnation = status_of(&lazy, child).incarnation;
    assert_refused(ask_pid(&lazy, here), RAPAHUB_ESTOPPED, "was stopped");
    assert_int_equal(status_of(&lazy, child).incarnation, incarnation);
    assert_done(rapahub_child_close(lazy.on.host, child, SECOND));
    assert_refused(ask_pid(&lazy, here), RAPAHUB_ECLOSED, "was closed");
    dispatch(&lazy, 20);
    assert_int_equal(lazy.on.told.ready, 1);
    close_host(&lazy.on);
}

/* r[verify supervise.call.when-down] */
static void before_its_delay_is_over_a_call_waits_or_does_not(void **state)
{
    struct rapahub_supervision how = {
        .backoff_first = true, .jitter = RAPAHUB_JITTER_NONE, .backoff_initial_ns = 300 * MS};
    struct lazy lazy;
    uint64_t died;

    (void)state;
    open_lazy(&lazy, false);
    (void)put(&lazy, here, how);
    how.start = RAPAHUB_START_LAZY;
    how.when_down = RAPAHUB_WHEN_DOWN_WAIT;
    (void)put(&lazy, other, how);
    (void)pid(&lazy, here);
    (void)pid(&lazy, other);
    die(&lazy);
    assert_refused(ask_pid(&lazy, here), RAPAHUB_ERESTARTING, "restarts in 0.3 s");
    died = now_ms();
    assert_int_equal(call(&lazy, other, "crash()", NULL), RAPAHUB_EDIED);
    (void)pid(&lazy, other);
    assert_in_range(now_ms() - died, 299, 5000);
    close_host(&lazy.on);
}

static void one_that_says_so_lets_no_call_wait(void **state)
{
    const struct rapahub_supervision fail = {.when_down = RAPAHUB_WHEN_DOWN_FAIL};
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    (void)put(&lazy, here, fail);
    (void)pid(&lazy, here);
    die(&lazy);
    assert_refused(ask_pid(&lazy, here), RAPAHUB_ERESTARTING, "not ready yet");
    assert_true(until(&lazy.on, &lazy.on.told.ready, 2));
    (void)pid(&lazy, here);
    close_host(&lazy.on);
}

/* ---- many at once ---- */

static void begin_callers(struct lazy *lazy, struct caller *callers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        callers[i] = (struct caller){.lazy = lazy};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_once, &callers[i]), 0);
    }
}

static void join_callers(struct caller *callers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
}

static void many_first_calls_make_one_life(void **state)
{
    struct caller callers[CALLERS];
    struct rapahub_supervision seed;
    struct rapahub_child_id child;
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, true);
    rapahub_supervision_seed(8, &seed);
    child = put(&lazy, here, seed);
    for (unsigned round = 1; round <= 5; round++) {
        begin_callers(&lazy, callers, CALLERS);
        join_callers(callers, CALLERS);
        for (unsigned i = 0; i < CALLERS; i++) {
            assert_int_equal(callers[i].code, 0);
            assert_int_equal(callers[i].pid, callers[0].pid);
        }
        assert_int_equal(status_of(&lazy, child).restarts, round - 1);
        die(&lazy);
    }
    close_host(&lazy.on);
}

/* Closed while they wait for its delay to be over. */
static void who_waits_is_told_of_the_end(void **state)
{
    const struct rapahub_supervision slow = {.start = RAPAHUB_START_LAZY,
                                             .when_down = RAPAHUB_WHEN_DOWN_WAIT,
                                             .backoff_first = true,
                                             .period_ns = RAPAHUB_FOREVER,
                                             .backoff_initial_ns = 20 * SECOND};
    struct caller callers[4];
    struct rapahub_child_id child;
    struct lazy lazy;
    uint64_t closed;

    (void)state;
    open_lazy(&lazy, true);
    child = put(&lazy, here, slow);
    (void)pid(&lazy, here);
    die(&lazy);
    begin_callers(&lazy, callers, 4);
    pause_ms(50);
    closed = now_ms();
    assert_done(rapahub_child_close(lazy.on.host, child, SECOND));
    join_callers(callers, 4);
    assert_in_range(now_ms() - closed, 0, 1000);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(callers[i].code, RAPAHUB_ECLOSED);
    close_host(&lazy.on);
}

/* An asynchronous call, which no thread waits for in the library. */
static void a_call_nobody_waits_for_starts_it(void **state)
{
    const struct rapahub_call order = {.target = here, .method = "pid() -> i32"};

    (void)state;
    for (unsigned own = 0; own < 2; own++) {
        struct ending ending = {0};
        struct rapahub_supervision seed;
        struct lazy lazy;

        open_lazy(&lazy, own);
        rapahub_supervision_seed(8, &seed);
        (void)put(&lazy, here, seed);
        assert_done(rapahub_host_call_async(lazy.on.host, &order, on_done, &ending, NULL));
        for (uint64_t end = now_ms() + 5000;
             __atomic_load_n(&ending.count, __ATOMIC_ACQUIRE) == 0 && now_ms() < end;)
            if (own)
                pause_ms(1);
            else
                assert_true(rapahub_host_dispatch(lazy.on.host, 10) >= 0);
        assert_int_equal(ending.count, 1);
        assert_int_equal(ending.code, 0);
        close_host(&lazy.on);
    }
}

/* ---- limits ---- */

static void a_child_that_is_closed_gives_its_place_back(void **state)
{
    const struct rapahub_supervisor_options one = {.name = "one", .children_max = 1};
    struct rapahub_supervision seed;
    struct rapahub_guest_options options = {.chimod = CALC, .supervision = &seed};
    struct rapahub_child_id first, second;
    struct rapahub_supervisor *under;
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    rapahub_supervision_seed(8, &seed);
    assert_done(rapahub_supervisor_create(lazy.root, &one, &under));
    assert_done(rapahub_supervisor_add(under, &options, &first));
    assert_int_equal(rapahub_supervisor_add(under, &options, &second), RAPAHUB_EFULL);
    assert_done(rapahub_child_close(lazy.on.host, first, SECOND));
    assert_done(rapahub_supervisor_add(under, &options, &second));
    assert_int_not_equal(second.number, first.number);
    assert_int_equal(rapahub_child_start(lazy.on.host, first, 0), RAPAHUB_ESTALE);
    close_host(&lazy.on);
}

/* Its guest is still looked at, so what comes later does not get its place. */
static void a_supervisor_does_not_take_the_place_of_a_child_that_was_closed(void **state)
{
    const struct rapahub_supervisor_options some = {.name = "some"};
    struct rapahub_supervision seed;
    struct rapahub_guest_options options = {.chimod = CALC, .supervision = &seed};
    struct rapahub_child_id child;
    struct rapahub_supervisor *many;
    struct lazy lazy;

    (void)state;
    open_host(&lazy.on, (struct rapahub_host_options){.guests_max = 2});
    assert_done(rapahub_host_supervisor(lazy.on.host, &lazy.root));
    rapahub_supervision_seed(8, &seed);
    assert_done(rapahub_supervisor_add(lazy.root, &options, &child));
    assert_done(rapahub_child_close(lazy.on.host, child, SECOND));
    for (unsigned i = 0; i < 64; i++) {
        assert_done(rapahub_supervisor_create(lazy.root, &some, &many));
        assert_done(rapahub_supervisor_stop(many, SECOND));
    }
    assert_done(rapahub_supervisor_create(lazy.root, &some, &many));
    for (unsigned i = 0; i < 2; i++)
        assert_done(rapahub_supervisor_add(many, &options, &child));
    assert_done(rapahub_child_start(lazy.on.host, child, 5 * SECOND));
    assert_done(rapahub_supervisor_stop(many, SECOND));
    close_host(&lazy.on);
}

/* ---- several threads ---- */

static void *start_child(void *user)
{
    struct caller *caller = user;

    caller->code = rapahub_child_start(caller->lazy->on.host, caller->child, 4 * SECOND);
    return NULL;
}

static void a_child_that_hangs_as_it_starts_holds_up_no_other(void **state)
{
    const struct rapahub_supervision manual = {.start = RAPAHUB_START_MANUAL};
    struct caller stuck = {0};
    struct rapahub_child_id child;
    struct lazy lazy;
    uint64_t begun;

    (void)state;
    open_host(&lazy.on,
              (struct rapahub_host_options){.own_thread = true, .heartbeat_ns = UINT64_MAX});
    assert_done(rapahub_host_supervisor(lazy.on.host, &lazy.root));
    stuck.lazy = &lazy;
    stuck.child = put_module(&lazy, MODULE("constructor_loop"), other, manual);
    child = put(&lazy, here, manual);
    begun = now_ms();
    assert_int_equal(pthread_create(&stuck.thread, NULL, start_child, &stuck), 0);
    pause_ms(100);
    assert_done(rapahub_child_start(lazy.on.host, child, SECOND));
    assert_in_range(now_ms() - begun, 0, 3500);
    pthread_join(stuck.thread, NULL);
    assert_int_equal(stuck.code, RAPAHUB_ETIMEDOUT);
    assert_in_range(now_ms() - begun, 3900, 10000);
    assert_done(rapahub_child_stop(lazy.on.host, stuck.child, 0));
    close_host(&lazy.on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_presets_are_what_is_said_of_them),
        cmocka_unit_test(a_preset_means_the_number_it_was_given),
        cmocka_unit_test(each_life_begins_with_a_call),
        cmocka_unit_test(a_container_given_to_one_that_is_down_begins_once),
        cmocka_unit_test(the_budget_of_the_seed_bounds_its_restarts),
        cmocka_unit_test(one_that_has_one_life_refuses_promptly_behind_it),
        cmocka_unit_test(a_restart_disturbs_nobody_else),
        cmocka_unit_test(who_was_stopped_or_closed_is_not_started_by_a_call),
        cmocka_unit_test(before_its_delay_is_over_a_call_waits_or_does_not),
        cmocka_unit_test(one_that_says_so_lets_no_call_wait),
        cmocka_unit_test(many_first_calls_make_one_life),
        cmocka_unit_test(who_waits_is_told_of_the_end),
        cmocka_unit_test(a_call_nobody_waits_for_starts_it),
        cmocka_unit_test(a_child_that_is_closed_gives_its_place_back),
        cmocka_unit_test(a_supervisor_does_not_take_the_place_of_a_child_that_was_closed),
        cmocka_unit_test(a_child_that_hangs_as_it_starts_holds_up_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
