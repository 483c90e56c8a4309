/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that are asked how they are: what they say, and what they do not say, has consequences,
 * and only those that their options name. There are no heartbeats here. */
#include <signal.h>

#include "tests/integration/child.h"

#define MOODY MODULE("moody")
#define FEW                                                        \
    {                                                              \
        .period_ns = 50 * MS, .timeout_ns = 400 * MS, .failure = 2 \
    }

enum { WELL, DEGRADED, UNHEALTHY };

/* A child that has the module with these parameters from its first life on; it is started. */
struct moody {
    struct lazy lazy;
    struct rapahub_child_id child;
};

static void add_to(struct moody *moody, const char *chimod, struct rapahub_supervision how,
                   const char *params)
{
    const struct rapahub_guest_options options = {.chimod = chimod, .supervision = &how};
    const struct rapahub_container_options container = {
        .id = here, .pool_name = "test", .params = {params, strlen(params)}};

    how.start = RAPAHUB_START_MANUAL;
    assert_done(rapahub_host_supervisor(moody->lazy.on.host, &moody->lazy.root));
    assert_done(rapahub_supervisor_add(moody->lazy.root, &options, &moody->child));
    assert_done(rapahub_child_add_container(moody->lazy.on.host, moody->child, &container));
}

static void add_moody(struct moody *moody, const char *chimod, struct rapahub_supervision how,
                      const char *params)
{
    open_host(&moody->lazy.on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    add_to(moody, chimod, how, params);
}

static int begin_moody(struct moody *moody)
{
    return rapahub_child_start(moody->lazy.on.host, moody->child, 20 * SECOND);
}

static void open_moody(struct moody *moody, struct rapahub_supervision how)
{
    add_moody(moody, MOODY, how, "");
    assert_done(begin_moody(moody));
}

static void close_moody(struct moody *moody)
{
    close_host(&moody->lazy.on);
}

static void feel(struct moody *moody, uint32_t mood, uint32_t often)
{
    assert_done(ask(&moody->lazy.on, "feel(u32, u32) -> void",
                    (const void *const[]){&mood, &often, NULL}, NULL));
}

static uint32_t asked(struct moody *moody)
{
    uint32_t count = 0;

    assert_done(call(&moody->lazy, here, "asked() -> u32", &count));
    return count;
}

static bool is(struct moody *moody, const char *state)
{
    return strcmp(status_of(&moody->lazy, moody->child).state, state) == 0;
}

static bool becomes(struct moody *moody, const char *state)
{
    for (uint64_t end = now_ms() + 10000; now_ms() < end && !is(moody, state);)
        assert_true(rapahub_host_dispatch(moody->lazy.on.host, 10) >= 0);
    return is(moody, state);
}

static void one_that_is_well_is_left_alone(void **state)
{
    struct moody moody;

    (void)state;
    open_moody(&moody,
               (struct rapahub_supervision){.startup = FEW, .liveness = FEW, .readiness = FEW});
    dispatch(&moody.lazy, 1000);
    assert_true(is(&moody, "ready"));
    assert_in_range(asked(&moody), 10, 45); /* each 50 ms, by two of them */
    assert_int_equal(moody.lazy.on.told.down, 0);
    close_moody(&moody);
}

/* r[verify supervise.probe.readiness] */
static void one_that_is_not_ready_gets_no_calls_until_it_is(void **state)
{
    struct ending ending = {0};
    struct moody moody;
    int32_t before, after = 0;

    (void)state;
    open_moody(&moody, (struct rapahub_supervision){.readiness = FEW});
    before = pid(&moody.lazy, here);
    feel(&moody, DEGRADED, 20);
    assert_true(becomes(&moody, "degraded"));
    assert_refused(call(&moody.lazy, here, "pid() -> i32", &after), RAPAHUB_EDEGRADED,
                   "takes no calls now");
    assert_int_equal(rapahub_host_call_async(
                         moody.lazy.on.host,
                         &(const struct rapahub_call){.target = here, .method = "pid() -> i32"},
                         on_done, &ending, NULL),
                     RAPAHUB_EDEGRADED);
    assert_true(becomes(&moody, "ready"));
    assert_int_equal(pid(&moody.lazy, here), before);
    assert_int_equal(moody.lazy.on.told.down, 0);
    assert_int_equal(moody.lazy.on.told.ready, 1);
    close_moody(&moody);
}

/* Once each time, and READY is told of a new life only. r[verify supervise.probe.told] */
static void the_embedder_is_told_of_one_that_is_degraded(void **state)
{
    struct moody moody;
    struct told *told = &moody.lazy.on.told;

    (void)state;
    open_moody(&moody, (struct rapahub_supervision){.readiness = FEW});
    for (unsigned n = 1; n <= 3; n++) {
        feel(&moody, DEGRADED, 6);
        assert_true(until(&moody.lazy.on, &told->degraded, n));
        assert_true(is(&moody, "degraded"));
        assert_int_equal(told->restored, n - 1);
        assert_true(until(&moody.lazy.on, &told->restored, n));
        assert_true(is(&moody, "ready"));
        assert_int_equal(told->degraded, n);
    }
    assert_non_null(strstr(told->text, "degraded moody its readiness probe fails; restored moody"));
    assert_int_equal(told->ready, 1);
    feel(&moody, DEGRADED, 100000);
    assert_true(until(&moody.lazy.on, &told->degraded, 4));
    kill(status_of(&moody.lazy, moody.child).pid, SIGKILL);
    assert_true(until(&moody.lazy.on, &told->ready, 2));
    assert_int_equal(told->restored, 3);
    assert_int_equal(told->down, 1);
    close_moody(&moody);
}

/* Operations that are not calls of a program continue: the guest can be examined, and stopped. */
static void one_that_is_degraded_can_be_asked_and_stopped(void **state)
{
    struct rapahub_child_id child;
    struct moody moody;
    uint32_t health = 99;

    (void)state;
    open_moody(&moody, (struct rapahub_supervision){.readiness = FEW});
    feel(&moody, DEGRADED, 100000);
    assert_true(becomes(&moody, "degraded"));
    assert_done(rapahub_host_health(moody.lazy.on.host, here, &health));
    assert_int_equal(health, DEGRADED);
    child = moody.child;
    assert_done(rapahub_child_restart(moody.lazy.on.host, child, 10 * SECOND));
    assert_true(is(&moody, "ready"));
    feel(&moody, DEGRADED, 100000);
    assert_true(becomes(&moody, "degraded"));
    assert_done(rapahub_child_stop(moody.lazy.on.host, child, 10 * SECOND));
    assert_true(is(&moody, "stopped"));
    close_moody(&moody);
}

/* r[verify supervise.probe.liveness] */
static void one_that_is_unhealthy_is_started_anew(void **state)
{
    struct moody moody;
    int32_t before;

    (void)state;
    open_moody(&moody, (struct rapahub_supervision){.liveness = FEW});
    before = pid(&moody.lazy, here);
    feel(&moody, UNHEALTHY, 100000);
    assert_true(until(&moody.lazy.on, &moody.lazy.on.told.ready, 2));
    assert_non_null(strstr(moody.lazy.on.told.text, "down moody its probe failed, killed"));
    assert_int_not_equal(pid(&moody.lazy, here), before);
    dispatch(&moody.lazy, 300); /* the next life is judged by itself */
    assert_int_equal(moody.lazy.on.told.down, 1);
    close_moody(&moody);
}

/* Neither leads to what the other one leads to. r[verify supervise.probe.liveness]
 * r[verify supervise.probe.readiness] */
static void liveness_does_not_degrade_and_readiness_does_not_kill(void **state)
{
    struct moody moody;

    (void)state;
    open_moody(&moody, (struct rapahub_supervision){.liveness = FEW});
    feel(&moody, DEGRADED, 100000);
    dispatch(&moody.lazy, 600);
    assert_true(is(&moody, "ready"));
    assert_int_equal(moody.lazy.on.told.down, 0);
    close_moody(&moody);
    open_moody(&moody, (struct rapahub_supervision){.readiness = FEW});
    feel(&moody, UNHEALTHY, 100000);
    assert_true(becomes(&moody, "degraded"));
    dispatch(&moody.lazy, 600);
    assert_true(is(&moody, "degraded"));
    assert_int_equal(moody.lazy.on.told.down, 0);
    close_moody(&moody);
}

/* Idle, or in a method: a guest that does not answer in time is stuck.
 * r[verify supervise.probe.liveness] */
static void one_that_does_not_answer_is_stuck(void **state)
{
    const struct rapahub_call hold = {.target = here,
                                      .method = "hold(u32) -> void",
                                      .arguments = (const void *const[]){&(uint32_t){20000}, NULL}};
    struct moody moody;
    uint64_t begun;

    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) {
        struct ending ending = {0};

        open_moody(&moody, (struct rapahub_supervision){.liveness = FEW, .abort_ns = RAPAHUB_NONE});
        begun = now_ms();
        if (stopped)
            kill(pid(&moody.lazy, here), SIGSTOP);
        assert_done(rapahub_host_call_async(moody.lazy.on.host, &hold, on_done, &ending, NULL));
        assert_true(until(&moody.lazy.on, &moody.lazy.on.told.ready, 2));
        assert_in_range(now_ms() - begun, 400, 5000);
        assert_int_equal(ending.count, 1);
        assert_int_equal(ending.code, RAPAHUB_EDIED);
        close_moody(&moody);
    }
}

/* It is asked meanwhile. r[verify supervise.probe.answer] */
static void one_that_waits_for_another_is_not_stuck(void **state)
{
    const struct rapahub_probe brief = {.period_ns = 50 * MS, .timeout_ns = 200 * MS, .failure = 1};
    const struct rapahub_container_options container = {.id = other, .pool_name = "calc"};
    const struct rapahub_guest_options calc = {.chimod = CALC};
    const uint32_t pool = 2, ms = 1500;
    struct rapahub_guest_id guest;
    struct moody moody;

    (void)state;
    add_moody(&moody, MODULE("caller"),
              (struct rapahub_supervision){.liveness = brief, .readiness = brief}, "");
    assert_done(begin_moody(&moody));
    assert_done(rapahub_host_spawn(moody.lazy.on.host, &calc, &guest));
    assert_done(rapahub_host_add_container(moody.lazy.on.host, guest, &container));
    assert_done(ask(&moody.lazy.on, "hold(u32, u32) -> void",
                    (const void *const[]){&pool, &ms, NULL}, NULL));
    assert_true(is(&moody, "ready"));
    assert_int_equal(moody.lazy.on.told.down, 0);
    close_moody(&moody);
}

/* r[verify supervise.probe.startup] */
static void one_that_starts_up_slowly_is_not_judged_before(void **state)
{
    const struct rapahub_probe slow = {.period_ns = 50 * MS, .failure = 1000};
    struct moody moody;

    (void)state;
    add_moody(&moody, MOODY,
              (struct rapahub_supervision){.startup = slow, .liveness = FEW, .readiness = FEW},
              "12");
    assert_done(begin_moody(&moody)); /* by its message */
    assert_true(asked(&moody) < 12);
    for (uint64_t end = now_ms() + 2000; now_ms() < end;) {
        assert_true(rapahub_host_dispatch(moody.lazy.on.host, 10) >= 0);
        assert_true(is(&moody, "ready"));
    }
    assert_true(asked(&moody) > 12);
    assert_int_equal(moody.lazy.on.told.down, 0);
    close_moody(&moody);
}

/* r[verify supervise.probe.startup] */
static void one_that_does_not_start_up_is_stuck(void **state)
{
    struct moody moody;

    (void)state;
    add_moody(&moody, MOODY, (struct rapahub_supervision){.startup = FEW, .restarts_max = -1},
              "100000");
    assert_done(begin_moody(&moody));
    assert_true(becomes(&moody, "failed"));
    assert_non_null(strstr(moody.lazy.on.told.text, "its probe failed"));
    close_moody(&moody);
}

/* r[verify supervise.probe.ready] */
static void one_that_is_ready_by_its_probes_serves_not_before(void **state)
{
    const struct rapahub_probe slow = {.period_ns = 50 * MS, .failure = 1000};
    const struct rapahub_supervision hows[] = {
        {.ready = RAPAHUB_READY_PROBE, .startup = slow},
        {.ready = RAPAHUB_READY_PROBE, .readiness = slow},
        {.ready = RAPAHUB_READY_PROBE, .startup = slow, .readiness = slow},
    };
    struct moody moody;
    uint64_t begun;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        add_moody(&moody, MOODY, hows[i], "12");
        begun = now_ms();
        assert_done(begin_moody(&moody));
        assert_in_range(now_ms() - begun, 550, 5000);
        assert_true(is(&moody, "ready"));
        assert_true(asked(&moody) >= 13);
        assert_int_equal(moody.lazy.on.told.down, 0);
        close_moody(&moody);
    }
}

/* r[verify supervise.probe.ready] */
static void one_whose_probes_never_pass_has_not_started(void **state)
{
    const struct rapahub_probe slow = {.period_ns = 50 * MS, .failure = 1000};
    const struct rapahub_supervision how = {.ready = RAPAHUB_READY_PROBE,
                                            .readiness = slow,
                                            .start_timeout_ns = 500 * MS,
                                            .restarts_max = -1};
    struct moody moody;

    (void)state;
    add_moody(&moody, MOODY, how, "100000");
    assert_int_equal(begin_moody(&moody), RAPAHUB_EGIVENUP);
    assert_non_null(strstr(rapahub_last_error()->text, "not ready in time"));
    close_moody(&moody);
}

struct crowd {
    struct moody *moody;
    pthread_t thread;
    unsigned good, refused, other;
};

static void *call_often(void *user)
{
    struct crowd *one = user;

    for (uint64_t end = now_ms() + 1500; now_ms() < end;) {
        int r = ask_pid(&one->moody->lazy, here);

        one->good += r == 0;
        one->refused += r == RAPAHUB_EDEGRADED;
        one->other += r != 0 && r != RAPAHUB_EDEGRADED;
    }
    return NULL;
}

/* With a host that has a thread of its own, and every watch there is.
 * r[verify supervise.probe.readiness] */
static void calls_of_many_threads_are_answered_or_refused(void **state)
{
    const struct rapahub_supervision how = {.stall_ns = 5 * SECOND,
                                            .overrun_ns = 5 * SECOND,
                                            .liveness = {.period_ns = 20 * MS, .failure = 20},
                                            .readiness = {.period_ns = 20 * MS, .failure = 1}};
    struct crowd crowd[3] = {{0}};
    struct moody moody;

    (void)state;
    open_host(&moody.lazy.on, (struct rapahub_host_options){.own_thread = true});
    add_to(&moody, MOODY, how, "");
    assert_done(begin_moody(&moody));
    for (unsigned i = 0; i < 3; i++) {
        crowd[i].moody = &moody;
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, call_often, &crowd[i]), 0);
    }
    pause_ms(300);
    feel(&moody, DEGRADED, 50);
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(crowd[i].thread, NULL);
        assert_true(crowd[i].good > 0);
        assert_true(crowd[i].refused > 0);
        assert_int_equal(crowd[i].other, 0);
    }
    close_moody(&moody);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_well_is_left_alone),
        cmocka_unit_test(one_that_is_not_ready_gets_no_calls_until_it_is),
        cmocka_unit_test(the_embedder_is_told_of_one_that_is_degraded),
        cmocka_unit_test(one_that_is_degraded_can_be_asked_and_stopped),
        cmocka_unit_test(one_that_is_unhealthy_is_started_anew),
        cmocka_unit_test(liveness_does_not_degrade_and_readiness_does_not_kill),
        cmocka_unit_test(one_that_does_not_answer_is_stuck),
        cmocka_unit_test(one_that_waits_for_another_is_not_stuck),
        cmocka_unit_test(one_that_starts_up_slowly_is_not_judged_before),
        cmocka_unit_test(one_that_does_not_start_up_is_stuck),
        cmocka_unit_test(one_that_is_ready_by_its_probes_serves_not_before),
        cmocka_unit_test(one_whose_probes_never_pass_has_not_started),
        cmocka_unit_test(calls_of_many_threads_are_answered_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
