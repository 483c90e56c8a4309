/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/owner/detached.h"
#include "hub/base/clock.h"
#include "tests/unit/host-owner/bare.h"

/* What a task does, and what came of it. */
struct work {
    struct host_owner *host;
    bool over, fails;
    unsigned begun, ended, told;
    int code;
    uint32_t callbacks; /* of the host, where it ended */
    unsigned settle;    /* others that end where it is told */
};

struct tracked {
    struct host_detached detached;
    struct work work;
};

static int begin_task(struct host_owner *host, void *argument)
{
    struct work *work = argument;

    work->host = host;
    work->begun++;
    return work->fails ? rapahub_fail(RAPAHUB_EFULL, "", "no room") : 0;
}

static bool is_over(const void *argument)
{
    return ((const struct work *)argument)->over;
}

static int end_task(struct host_owner *host, void *argument)
{
    struct work *work = argument;

    assert_ptr_equal(host, work->host);
    work->callbacks = host->callbacks;
    work->ended++;
    return -9;
}

static const struct host_threads_task task = {begin_task, is_over, end_task};

static void on_over(struct host_detached *detached, int r)
{
    struct work *work = &((struct tracked *)detached)->work;

    assert_true(hub_list_empty(&detached->link));
    work->told++;
    work->code = r;
    assert_int_equal(work->host->callbacks, work->callbacks + 1);
    assert_int_equal(host_detached_settle(work->host), work->settle);
}

static struct tracked make(void)
{
    return (struct tracked){.detached = {.task = &task, .on_over = on_over}};
}

static int begin(struct host_owner *host, struct tracked *tracked)
{
    tracked->detached.argument = &tracked->work;
    return host_detached_begin(host, &tracked->detached);
}

static bool is_woken(struct host_owner *host)
{
    bool woken = hub_observe(&host->loop.woken) != 0;

    assert_int_equal(host_loop_turn(&host->loop, 0), 0);
    return woken;
}

static void one_that_does_not_begin_is_told_to_nobody(void **state)
{
    struct tracked tracked = make();
    struct host_owner host;

    (void)state;
    bare_open(&host);
    tracked.work.fails = tracked.work.over = true;
    assert_int_equal(begin(&host, &tracked), RAPAHUB_EFULL);
    assert_true(hub_list_empty(&host.detached));
    assert_int_equal(host_detached_settle(&host), 0);
    assert_true(tracked.work.begun == 1 && tracked.work.ended == 0 && tracked.work.told == 0);
    host.callbacks = 1;
    assert_int_equal(begin(&host, &tracked), RAPAHUB_ESTATE);
    assert_int_equal(tracked.work.begun, 1);
    bare_close(&host);
}

static void one_that_is_over_is_told_once_with_its_result(void **state)
{
    struct tracked first = make(), second = make();
    struct host_owner host;

    (void)state;
    bare_open(&host);
    assert_int_equal(begin(&host, &first), 0);
    assert_int_equal(begin(&host, &second), 0);
    assert_int_equal(host_detached_settle(&host), 0);
    second.work.over = true;
    assert_int_equal(host_detached_settle(&host), 1);
    assert_int_equal(host_detached_settle(&host), 0);
    assert_true(second.work.ended == 1 && second.work.told == 1 && second.work.code == -9);
    assert_int_equal(host.callbacks, 0);
    assert_true(first.work.ended == 0 && first.work.told == 0);
    first.work.over = true;
    assert_int_equal(host_detached_settle(&host), 1);
    assert_true(hub_list_empty(&host.detached));
    bare_close(&host);
}

/* A callback may take turns. */
static void others_may_end_where_one_is_told(void **state)
{
    struct tracked first = make(), second = make(), third = make();
    struct host_owner host;

    (void)state;
    bare_open(&host);
    assert_int_equal(begin(&host, &first), 0);
    assert_int_equal(begin(&host, &second), 0);
    assert_int_equal(begin(&host, &third), 0);
    first.work.over = second.work.over = third.work.over = true;
    first.work.settle = 1;
    second.work.settle = 1;
    assert_int_equal(host_detached_settle(&host), 1);
    assert_true(first.work.told == 1 && second.work.told == 1 && third.work.told == 1);
    assert_int_equal(third.work.callbacks, 2);
    assert_int_equal(host.callbacks, 0);
    bare_close(&host);
}

static void only_one_that_is_over_makes_a_turn_come(void **state)
{
    struct tracked tracked = make(), at_once = make();
    struct host_owner host;

    (void)state;
    bare_open(&host);
    host_detached_rouse(&host);
    assert_int_equal(begin(&host, &tracked), 0);
    host_detached_rouse(&host);
    assert_false(is_woken(&host));
    tracked.work.over = true;
    host_detached_rouse(&host);
    assert_true(is_woken(&host));
    assert_int_equal(host_detached_settle(&host), 1);
    host_detached_rouse(&host);
    assert_false(is_woken(&host));
    at_once.work.over = true;
    assert_int_equal(begin(&host, &at_once), 0);
    assert_true(is_woken(&host));
    assert_int_equal(at_once.work.told, 0);
    assert_int_equal(host_detached_settle(&host), 1);
    bare_close(&host);
}

static void on_timer(void *user)
{
    (void)user;
}

/* A task sets timers when it begins; inside of a turn they are armed at its end. */
static void outside_of_turns_its_timers_are_armed_when_it_begins(void **state)
{
    struct host_timer timer = {.on = on_timer};
    struct tracked first = make(), second = make();
    struct host_owner host;

    (void)state;
    bare_open(&host);
    host_loop_set(&host.loop, &timer, hub_clock_after(60 * HUB_SECOND));
    host.depth = 1;
    assert_int_equal(begin(&host, &first), 0);
    assert_true(host.loop.moved);
    host.depth = 0;
    assert_int_equal(begin(&host, &second), 0);
    assert_false(host.loop.moved);
    assert_true(host.loop.armed_ns == timer.due_ns);
    host_loop_clear(&timer);
    first.work.over = true;
    assert_int_equal(host_detached_settle(&host), 1);
    second.work.over = true;
    assert_int_equal(host_detached_settle(&host), 1);
    bare_close(&host);
}

static struct work *argument_seen;

static int begin_made(struct host_owner *host, void *argument)
{
    argument_seen = argument;
    return begin_task(host, argument);
}

static const struct host_threads_task made_task = {begin_made, is_over, end_task};

static void on_done(void *user, int code, const void *result)
{
    struct work *told = user;

    assert_null(result);
    told->told++;
    told->code = code;
}

static struct host_detached_plan plan_of(const struct work *work, struct work *told)
{
    return (struct host_detached_plan){.task = &made_task,
                                       .argument = work,
                                       .size = sizeof *work,
                                       .on_done = on_done,
                                       .user = told};
}

static void a_copy_of_its_argument_lasts_until_it_is_told(void **state)
{
    struct work work = {.settle = 5}, told = {0};
    struct host_detached_plan plan = plan_of(&work, &told);
    struct host_owner host;

    (void)state;
    bare_open(&host);
    assert_int_equal(host_detached_make(&host, &plan), 0);
    memset(&work, 0, sizeof work);
    memset(&plan, 0, sizeof plan);
    assert_ptr_not_equal(argument_seen, &work);
    assert_int_equal(argument_seen->settle, 5);
    assert_int_equal(host_detached_settle(&host), 0);
    argument_seen->over = true;
    assert_int_equal(host_detached_settle(&host), 1);
    assert_true(told.told == 1 && told.code == -9);
    work.fails = true;
    plan = plan_of(&work, &told);
    assert_int_equal(host_detached_make(&host, &plan), RAPAHUB_EFULL);
    assert_int_equal(told.told, 1);
    bare_close(&host);
}

static void on_result(void *user, int code, const void *result)
{
    struct work *told = user;

    told->told++;
    told->code = code;
    told->settle = result ? *(const unsigned *)result : 0;
}

static const void *result_of(const void *argument)
{
    return &((const struct work *)argument)->settle;
}

static int end_well(struct host_owner *host, void *argument)
{
    (void)host;
    return ((const struct work *)argument)->code;
}

/* It may begin in a turn, and in a callback. */
static void the_result_of_one_that_has_not_failed_is_told(void **state)
{
    static const struct host_threads_task task_of = {begin_made, is_over, end_well};
    struct work work = {.settle = 5, .over = true}, told = {0};
    struct host_detached_plan plan = plan_of(&work, &told);
    struct host_owner host;

    (void)state;
    bare_open(&host);
    plan.task = &task_of;
    plan.on_done = on_result;
    plan.result = result_of;
    host.callbacks = 1;
    assert_int_equal(host_detached_make(&host, &plan), RAPAHUB_ESTATE);
    plan.in_turn_until_ns = hub_clock_after(HUB_SECOND);
    assert_int_equal(host_detached_make(&host, &plan), 0);
    host.callbacks = 0;
    assert_int_equal(host_detached_settle(&host), 1);
    assert_true(told.told == 1 && told.code == 0 && told.settle == 5);
    work.code = -9;
    assert_int_equal(host_detached_make(&host, &plan), 0);
    assert_int_equal(host_detached_settle(&host), 1);
    assert_true(told.told == 2 && told.code == -9 && told.settle == 0);
    bare_close(&host);
}

static int turns_left, turn_result;
static struct work *ends_in_the_last;

static int until(struct host_owner *host, uint64_t deadline_ns)
{
    assert_true(deadline_ns > hub_clock_now() && deadline_ns != HUB_NEVER);
    if (--turns_left == 0 && ends_in_the_last) {
        ends_in_the_last->over = true;
        host_detached_settle(host);
    }
    return turn_result;
}

static const struct host_turns turns = {.until = until};

static void the_end_of_the_host_waits_for_those_under_way(void **state)
{
    struct tracked tracked = make();
    struct host_owner host;

    (void)state;
    bare_open(&host);
    host.turns = &turns;
    turns_left = turn_result = 0;
    host_detached_end_all(&host); /* there is none */
    assert_int_equal(turns_left, 0);
    assert_int_equal(begin(&host, &tracked), RAPAHUB_ESTALE);
    assert_int_equal(tracked.work.begun, 0);
    host.ends = false;
    assert_int_equal(begin(&host, &tracked), 0);
    turns_left = 3;
    ends_in_the_last = &tracked.work;
    host_detached_end_all(&host);
    assert_int_equal(turns_left, 0);
    assert_true(tracked.work.ended == 1 && tracked.work.told == 1);
    bare_close(&host);
}

/* One with memory of its own ends late; another has its memory and stays. */
static void where_no_turn_is_possible_those_that_were_made_end_at_once(void **state)
{
    struct tracked tracked = make();
    struct work work = {0}, told = {0};
    const struct host_detached_plan plan = plan_of(&work, &told);
    struct host_owner host;

    (void)state;
    bare_open(&host);
    host.turns = &turns;
    assert_int_equal(host_detached_make(&host, &plan), 0);
    assert_int_equal(begin(&host, &tracked), 0);
    assert_int_equal(host_detached_make(&host, &plan), 0);
    turns_left = 100;
    turn_result = RAPAHUB_EINVAL;
    ends_in_the_last = NULL;
    host_detached_end_all(&host);
    assert_int_equal(turns_left, 99);
    assert_true(told.told == 2 && told.code == -9);
    assert_true(tracked.work.ended == 0 && tracked.work.told == 0);
    assert_ptr_equal(host.detached.next, &tracked.detached.link);
    hub_list_remove(&tracked.detached.link);
    assert_true(hub_list_empty(&host.detached));
    bare_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_does_not_begin_is_told_to_nobody),
        cmocka_unit_test(one_that_is_over_is_told_once_with_its_result),
        cmocka_unit_test(others_may_end_where_one_is_told),
        cmocka_unit_test(only_one_that_is_over_makes_a_turn_come),
        cmocka_unit_test(outside_of_turns_its_timers_are_armed_when_it_begins),
        cmocka_unit_test(a_copy_of_its_argument_lasts_until_it_is_told),
        cmocka_unit_test(the_result_of_one_that_has_not_failed_is_told),
        cmocka_unit_test(the_end_of_the_host_waits_for_those_under_way),
        cmocka_unit_test(where_no_turn_is_possible_those_that_were_made_end_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
