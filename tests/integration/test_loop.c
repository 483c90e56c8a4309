/* SPDX-License-Identifier: Apache-2.0 */
/* The host in a foreign event loop: one descriptor reports everything. */
#include "tests/integration/hosting.h"

#define MS UINT64_C(1000000)

/* A loop of one's own: poll, then dispatch with 0. */
static bool poll_until(struct hosting *on, const unsigned *count, unsigned wanted)
{
    struct pollfd host = {.fd = rapahub_host_fd(on->host), .events = POLLIN};
    uint64_t end = now_ms() + 10000;

    while (*count < wanted && now_ms() < end) {
        if (poll(&host, 1, 5000) <= 0)
            return false;
        if (rapahub_host_dispatch(on->host, 0) < 0)
            return false;
    }
    return *count >= wanted;
}

static void on_done(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    ++*(unsigned *)user;
}

static void the_descriptor_tells_of_answers(void **state)
{
    const struct rapahub_call call = {.target = here, .method = "pid() -> i32"};
    unsigned done = 0;
    struct hosting on;

    (void)state;
    open_calc(&on);
    for (unsigned i = 1; i <= 50; i++) {
        assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
        assert_true(poll_until(&on, &done, i));
    }
    close_host(&on);
}

static void the_descriptor_tells_of_deadlines(void **state)
{
    const uint32_t ms = 200;
    const struct rapahub_call call = {.target = here,
                                      .method = "nap(u32)",
                                      .arguments = (const void *const[]){&ms, NULL},
                                      .timeout_ns = 20 * MS};
    unsigned done = 0;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    assert_done(start(&on, CALC, here, NULL));
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    assert_true(poll_until(&on, &done, 1));
    close_host(&on);
}

static void the_descriptor_tells_of_deaths_and_restarts(void **state)
{
    struct hosting on;

    (void)state;
    open_calc(&on);
    kill(pid_of(&on), SIGKILL);
    assert_true(poll_until(&on, &on.told.ready, 2));
    kill(pid_of(&on), SIGKILL); /* this restart comes by timer */
    assert_true(poll_until(&on, &on.told.ready, 3));
    close_host(&on);
}

/* Takes until the next second begins, when guests are looked at with whom something is open. */
static void tell_slowly(void *user, const struct rapahub_event *event)
{
    uint64_t second = now_ms() / 1000;

    tell(user, event);
    while (event->kind == RAPAHUB_EVENT_DOWN && now_ms() / 1000 == second)
        continue;
}

/* The check comes due between the turn of the lives and the end of the turn: it is not left to
 * another turn that is never requested. */
static void the_descriptor_tells_of_a_look_behind_a_death(void **state)
{
    const struct rapahub_supervision once = {.restart = RAPAHUB_RESTART_TEMPORARY};
    const struct rapahub_container_id there = {{2, 0}, 0};
    const uint32_t ms = 3000;
    const struct rapahub_call call = {
        .target = there, .method = "nap(u32)", .arguments = (const void *const[]){&ms, NULL}};
    struct pollfd host = {.events = POLLIN};
    struct hosting on;
    unsigned done = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){
                       .heartbeat_ns = UINT64_MAX, .on_event = tell_slowly, .user = &on.told});
    assert_done(start(&on, CALC, there, NULL));
    assert_done(start(&on, CALC, here, &once));
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &on.told.down, 1));
    host.fd = rapahub_host_fd(on.host);
    assert_int_equal(poll(&host, 1, 500), 1);
    assert_true(poll_until(&on, &done, 1));
    close_host(&on);
}

/* How often the descriptor was ready, with a dispatch for each. */
static unsigned wakes_in(struct hosting *on, uint64_t ms)
{
    struct pollfd host = {.fd = rapahub_host_fd(on->host), .events = POLLIN};
    uint64_t end = now_ms() + ms;
    unsigned wakes = 0;

    while (now_ms() < end) {
        wakes += poll(&host, 1, 50) > 0;
        assert_done(rapahub_host_dispatch(on->host, 0));
    }
    return wakes;
}

/* Returns the one of a few measurements that comes nearest to the range: others were disturbed by
 * other activity of the machine. */
static unsigned wakes_of_a_calm_time(struct hosting *on, uint64_t ms, unsigned least, unsigned most)
{
    unsigned wakes = wakes_in(on, ms);

    for (int i = 0; i < 3 && (wakes < least || wakes > most); i++)
        wakes = wakes_in(on, ms);
    return wakes;
}

/* Nothing to do: the descriptor is not ready all the time. */
static void an_idle_host_is_quiet(void **state)
{
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    assert_done(start(&on, CALC, here, NULL));
    assert_in_range(wakes_of_a_calm_time(&on, 300, 0, 5), 0, 5);
    close_host(&on);
}

/* However many guests there are, and whenever they came; nor for the deadline of a call that has
 * ended: once in the second after that, and then with each ten. r[verify hub.wait.bound] */
static void an_idle_host_looks_seldom_at_all_its_guests(void **state)
{
    const struct rapahub_call call = {
        .target = here, .method = "pid() -> i32", .timeout_ns = 1500 * MS};
    struct hosting on;
    unsigned done = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    for (uint32_t i = 0; i < 3; i++) {
        assert_done(start(&on, CALC, (struct rapahub_container_id){{1, 0}, i}, NULL));
        (void)wakes_in(&on, 250);
    }
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    assert_true(poll_until(&on, &done, 1));
    (void)wakes_in(&on, 50);
    assert_in_range(wakes_of_a_calm_time(&on, 3500, 0, 2), 0, 2);
    close_host(&on);
}

/* It rested before the call. r[verify hub.wait.bound] */
static void a_host_with_something_open_looks_once_a_second(void **state)
{
    const uint32_t ms = 3500;
    const struct rapahub_call call = {
        .target = here, .method = "nap(u32)", .arguments = (const void *const[]){&ms, NULL}};
    struct hosting on;
    unsigned wakes = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    assert_done(start(&on, CALC, here, NULL));
    for (int i = 0; i < 3 && (wakes < 2 || wakes > 4); i++) {
        unsigned done = 0;

        (void)wakes_in(&on, 1100); /* it rests */
        assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
        wakes = wakes_in(&on, 3000);
        assert_true(poll_until(&on, &done, 1));
    }
    assert_in_range(wakes, 2, 4);
    close_host(&on);
}

static void a_dispatch_waits_no_longer_than_asked(void **state)
{
    struct hosting on;
    uint64_t begin;

    (void)state;
    open_calc(&on);
    while (rapahub_host_dispatch(on.host, 0) > 0)
        continue;
    begin = now_ms();
    assert_done(rapahub_host_dispatch(on.host, 30));
    assert_in_range(now_ms() - begin, 0, 5000);
    close_host(&on);
}

/* Nothing else happens: the owner made the call, and no heartbeat is looked at. */
static void the_descriptor_tells_of_a_deadline(void **state)
{
    const uint32_t ms = 20000;
    const struct rapahub_call call = {.target = here,
                                      .method = "nap(u32)",
                                      .arguments = (const void *const[]){&ms, NULL},
                                      .timeout_ns = 50 * MS};
    struct hosting on;
    unsigned done = 0;
    uint64_t begun;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    assert_done(start(&on, CALC, here, NULL));
    assert_done(rapahub_host_dispatch(on.host, 20));
    begun = now_ms();
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    assert_true(poll_until(&on, &done, 1));
    assert_in_range(now_ms() - begun, 49, 5000);
    close_host(&on);
}

/* Many turns without a wait, in which no guest is asked to ring; early in a second, for at its end
 * guests are looked at anyway. */
static void begin_and_look_often(struct hosting *on, unsigned *done)
{
    const uint32_t ms = 50;
    const struct rapahub_call call = {
        .target = here, .method = "nap(u32)", .arguments = (const void *const[]){&ms, NULL}};

    while (now_ms() % 1000 > 300)
        assert_done(rapahub_host_dispatch(on->host, 20));
    assert_done(rapahub_host_dispatch(on->host, 50)); /* the events that come after the start */
    assert_done(rapahub_host_call_async(on->host, &call, on_done, done, NULL));
    for (int i = 0; i < 40; i++)
        assert_done(rapahub_host_dispatch(on->host, 0));
}

/* Not woken it would wait for the end of that second each time; a machine may be slow at times. */
static void check_woken(bool (*wait)(struct hosting *on, unsigned *done))
{
    struct hosting on;
    unsigned soon = 0;

    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    assert_done(start(&on, CALC, here, NULL));
    for (unsigned i = 0; i < 8 && soon < 2; i++) {
        unsigned done = 0;
        uint64_t begun;

        begin_and_look_often(&on, &done);
        begun = now_ms();
        assert_true(wait(&on, &done));
        soon += now_ms() - begun < 400;
    }
    assert_int_equal(soon, 2);
    close_host(&on);
}

static bool dispatch_until(struct hosting *on, unsigned *done)
{
    while (*done == 0)
        assert_done(rapahub_host_dispatch(on->host, 3000));
    return true;
}

/* r[verify hub.wait.bound] */
static void who_has_looked_often_is_woken_when_he_waits(void **state)
{
    (void)state;
    check_woken(dispatch_until);
}

static bool poll_until_one(struct hosting *on, unsigned *done)
{
    return poll_until(on, done, 1);
}

static void who_has_looked_often_may_wait_for_the_descriptor(void **state)
{
    (void)state;
    check_woken(poll_until_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_descriptor_tells_of_answers),
        cmocka_unit_test(the_descriptor_tells_of_deadlines),
        cmocka_unit_test(the_descriptor_tells_of_deaths_and_restarts),
        cmocka_unit_test(the_descriptor_tells_of_a_look_behind_a_death),
        cmocka_unit_test(an_idle_host_is_quiet),
        cmocka_unit_test(an_idle_host_looks_seldom_at_all_its_guests),
        cmocka_unit_test(a_host_with_something_open_looks_once_a_second),
        cmocka_unit_test(a_dispatch_waits_no_longer_than_asked),
        cmocka_unit_test(the_descriptor_tells_of_a_deadline),
        cmocka_unit_test(who_has_looked_often_is_woken_when_he_waits),
        cmocka_unit_test(who_has_looked_often_may_wait_for_the_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
