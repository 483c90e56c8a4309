/* SPDX-License-Identifier: Apache-2.0 */
/* The swept object is a pair of numbers that must be equal whenever no operation runs. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/sweep.h"
#include "tests/support/testing.h"

#define COUNT 60
#define FEW   12
#define SEEN  4000

#ifdef __SANITIZE_THREAD__
#define STEPS_ARE_FEW 0 /* each store is hundreds of instructions */
#else
#define STEPS_ARE_FEW 1
#endif

struct pair {
    volatile uint32_t first, second;
    volatile uint32_t intent; /* the value that both shall get; 0: no operation runs */
};

struct fixture {
    struct pair *pair; /* shared */
    bool may_be_half;  /* check recovers, and looks only at what it cannot recover */
    uint64_t half, ends, stops;
    uint32_t last; /* pair->first at the last point */
    uint64_t leaps;
    uint64_t round;      /* how often `fresh` was called */
    uint64_t seen[SEEN]; /* the pair at each step; at its end */
};

static int fresh(void *user)
{
    struct fixture *fixture = user;

    *fixture->pair = (struct pair){0};
    fixture->round++;
    return 0;
}

static void raise_both(void *user)
{
    struct pair *pair = ((struct fixture *)user)->pair;

    pair->first = 1;
    pair->second = 1;
}

static void raise_both_with_intent(void *user)
{
    struct pair *pair = ((struct fixture *)user)->pair;

    pair->intent = 1;
    pair->first = 1;
    pair->second = 1;
    pair->intent = 0;
}

static void count_up(void *user)
{
    struct pair *pair = ((struct fixture *)user)->pair;

    for (uint32_t i = 1; i <= COUNT; i++)
        pair->first = i;
}

/* A loop, a copy, system calls: the second number follows the first by fits and starts. */
static void count_up_together(void *user)
{
    struct pair *pair = ((struct fixture *)user)->pair;
    uint32_t copy[FEW + 1] = {0};

    for (uint32_t i = 1; i <= FEW; i++) {
        pair->first = i;
        copy[i] = pair->second;
        if (i % 4 == 0)
            pair->second = (uint32_t)(getppid() > 0) * i;
    }
    memmove(copy, copy + 1, sizeof(copy) - sizeof(copy[0]));
    pair->first = copy[FEW - 1];
}

/* Each time another way. */
static void go_another_way(void *user)
{
    struct fixture *fixture = user;

    if (fixture->round % 2 == 0)
        count_up_together(fixture);
    else
        raise_both_with_intent(fixture);
}

static int note_pair(void *user, struct sweep_point *point)
{
    struct fixture *fixture = user;

    if (point->step >= SEEN)
        return sweep_fail(point, "too many steps");
    fixture->seen[point->step] =
        ((uint64_t)fixture->pair->first << 32 | fixture->pair->second) + point->finished;
    return 0;
}

static int must_be_equal(void *user, struct sweep_point *point)
{
    struct fixture *fixture = user;
    struct pair *pair = fixture->pair;

    fixture->ends += point->finished;
    fixture->stops += point->stopped;
    if (pair->intent)
        pair->first = pair->second = pair->intent;
    if (pair->first == pair->second && (!point->finished || pair->first == 1))
        return 0;
    fixture->half++;
    return fixture->may_be_half ? 0 : sweep_fail(point, "%u and %u", pair->first, pair->second);
}

static int must_not_leap(void *user, struct sweep_point *point)
{
    struct fixture *fixture = user;

    if (fixture->pair->first > fixture->last + 1 || fixture->pair->first < fixture->last)
        fixture->leaps++;
    fixture->last = fixture->pair->first;
    if (point->finished && fixture->last != COUNT)
        return sweep_fail(point, "it counted to %u", fixture->last);
    return 0;
}

static struct fixture fixture_new(void)
{
    void *page =
        mmap(NULL, sizeof(struct pair), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(page, MAP_FAILED);
    return (struct fixture){.pair = page};
}

static void fixture_end(struct fixture *fixture)
{
    munmap(fixture->pair, sizeof(struct pair));
}

/* Where nothing can be stepped there is nothing to test. Under ThreadSanitizer each store is
 * hundreds of instructions. */
static void must_run(const struct sweep *sweep, struct sweep_result *result)
{
    int r = STEPS_ARE_FEW ? sweep_run(sweep, result) : -ENOTSUP;

    if (r == -ENOTSUP)
        skip();
    if (r != 0)
        print_error("%s\n", result->text);
    assert_int_equal(r, 0);
}

static void the_window_between_two_stores_is_found(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {fresh, raise_both, must_be_equal, .user = &fixture};
    struct leak *leak = leak_begin();
    struct sweep_result result;

    (void)state;
    must_run(&sweep, &result);
    assert_true(result.complete);
    assert_true(result.failures >= 1 && result.failures < result.points);
    assert_in_range(result.first_failure, 1, result.points);
    assert_string_equal(result.text, "1 and 0");
    assert_int_equal(fixture.ends, 1);
    leak_assert_none(leak);
    fixture_end(&fixture);
}

static void an_operation_that_can_be_recovered_passes_at_every_point(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {fresh, raise_both_with_intent, must_be_equal, .user = &fixture};
    struct sweep_result result;

    (void)state;
    must_run(&sweep, &result);
    assert_int_equal(result.failures, 0);
    assert_true(result.complete);
    assert_in_range(result.points, 5, 500);
    assert_int_equal(result.points, result.steps);
    assert_int_equal(result.last, result.steps + 1);
    fixture_end(&fixture);
}

static void no_instruction_is_left_out(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {fresh, count_up, must_not_leap, .user = &fixture};
    struct sweep_result result;

    (void)state;
    must_run(&sweep, &result);
    assert_int_equal(result.failures, 0);
    assert_int_equal(fixture.leaps, 0);
    assert_in_range(result.points, COUNT, 50 * COUNT);
    fixture_end(&fixture);
}

static void a_stride_leaves_points_out_and_limits_cut_it_short(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {.setup = fresh,
                          .operation = count_up,
                          .check = must_not_leap,
                          .user = &fixture,
                          .start = 10,
                          .stride = 7,
                          .points_max = 5};
    struct sweep_result result;

    (void)state;
    must_run(&sweep, &result);
    assert_int_equal(result.points, 5);
    assert_int_equal(result.last, 10 + 4 * 7);
    assert_false(result.complete);
    assert_int_equal(result.steps, 0);
    sweep.points_max = 0;
    sweep.time_ns = 1;
    must_run(&sweep, &result);
    assert_false(result.complete);
    assert_true(result.points <= 1);
    fixture_end(&fixture);
}

static void a_stopped_child_is_looked_at_twice(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {fresh, raise_both, must_be_equal, .user = &fixture, .mode = SWEEP_STOP};
    struct sweep_result result;

    (void)state;
    fixture.may_be_half = true;
    must_run(&sweep, &result);
    assert_int_equal(fixture.stops, result.points);
    assert_int_equal(fixture.ends, result.points + 1);
    assert_in_range(fixture.half, 1, result.points - 1);
    fixture_end(&fixture);
}

static void a_stopped_child_that_is_killed_is_looked_at_twice(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {fresh, raise_both, must_be_equal, .user = &fixture,
                          .mode = SWEEP_STOP_KILL};
    struct sweep_result result;

    (void)state;
    fixture.may_be_half = true;
    must_run(&sweep, &result);
    assert_int_equal(fixture.stops, result.points);
    assert_int_equal(fixture.ends, 1);
    assert_in_range(fixture.half, 2, result.points - 1);
    assert_int_equal(fixture.half % 2, 0); /* no operation continued */
    fixture_end(&fixture);
}

static void steps_from_outside_find_the_same_window(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {fresh, raise_both, must_be_equal, .user = &fixture, .from_outside = true};
    struct sweep_result result;

    (void)state;
    must_run(&sweep, &result);
    assert_true(result.complete);
    assert_in_range(result.failures, 1, result.points - 1);
    assert_string_equal(result.text, "1 and 0");
    sweep.mode = SWEEP_STOP;
    sweep.start = result.first_failure;
    sweep.points_max = 1;
    fixture.may_be_half = true;
    fixture.half = fixture.stops = fixture.ends = 0;
    must_run(&sweep, &result);
    assert_int_equal(fixture.stops, 1);
    assert_int_equal(fixture.half, 1);
    assert_int_equal(fixture.ends, 1);
    fixture_end(&fixture);
}

static void to_run_freely_finds_what_stepping_finds(void **state)
{
    struct fixture free = fixture_new(), stepped = fixture_new();
    struct sweep sweep = {fresh, count_up_together, note_pair, .user = &free};
    struct sweep_result freely, steps;

    (void)state;
    must_run(&sweep, &freely);
    sweep.user = &stepped;
    sweep.steps_only = true;
    must_run(&sweep, &steps);
    assert_int_equal(freely.failures + steps.failures + freely.astray, 0);
    assert_int_equal(freely.steps, steps.steps);
    assert_memory_equal(free.seen, stepped.seen, sizeof(free.seen));
    fixture_end(&free);
    fixture_end(&stepped);
}

static void both_ways_find_the_window_at_the_same_instruction(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {fresh, raise_both, must_be_equal, .user = &fixture};
    struct sweep_result freely, steps;

    (void)state;
    must_run(&sweep, &freely);
    sweep.steps_only = true;
    must_run(&sweep, &steps);
    assert_int_equal(freely.first_failure, steps.first_failure);
    assert_int_equal(freely.failures, steps.failures);
    assert_int_equal(freely.points, steps.points);
    fixture_end(&fixture);
}

static void a_run_that_takes_another_way_is_done_again(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {fresh, go_another_way, note_pair, .user = &fixture};
    struct sweep_result result;

    (void)state;
    must_run(&sweep, &result);
    assert_true(result.complete);
    assert_int_equal(result.failures, 0);
    assert_true(result.astray > 0);
    fixture_end(&fixture);
}

static void end_by_itself(void *user)
{
    (void)user;
    raise(SIGTERM);
}

static void a_child_that_ends_by_itself_is_an_error(void **state)
{
    struct fixture fixture = fixture_new();
    struct sweep sweep = {.setup = fresh,
                          .operation = end_by_itself,
                          .check = must_be_equal,
                          .user = &fixture,
                          .start = 1000000};
    struct leak *leak = leak_begin();
    struct sweep_result result;

    (void)state;
    assert_int_equal(sweep_run(&sweep, &result), -ECHILD);
    assert_non_null(strstr(result.text, "signal 15"));
    assert_int_equal(result.points, 0);
    sweep.from_outside = true;
    assert_int_equal(sweep_run(&sweep, &result), -ECHILD);
    assert_non_null(strstr(result.text, "signal 15"));
    leak_assert_none(leak);
    fixture_end(&fixture);
}

static int refuse(void *user)
{
    (void)user;
    return -1;
}

static void a_setup_that_fails_is_an_error(void **state)
{
    struct sweep sweep = {.setup = refuse, .operation = raise_both, .check = must_be_equal};
    struct sweep_result result;

    (void)state;
    assert_int_equal(sweep_run(&sweep, &result), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_between_two_stores_is_found),
        cmocka_unit_test(an_operation_that_can_be_recovered_passes_at_every_point),
        cmocka_unit_test(no_instruction_is_left_out),
        cmocka_unit_test(a_stride_leaves_points_out_and_limits_cut_it_short),
        cmocka_unit_test(a_stopped_child_is_looked_at_twice),
        cmocka_unit_test(a_stopped_child_that_is_killed_is_looked_at_twice),
        cmocka_unit_test(steps_from_outside_find_the_same_window),
        cmocka_unit_test(to_run_freely_finds_what_stepping_finds),
        cmocka_unit_test(both_ways_find_the_window_at_the_same_instruction),
        cmocka_unit_test(a_run_that_takes_another_way_is_done_again),
        cmocka_unit_test(a_child_that_ends_by_itself_is_an_error),
        cmocka_unit_test(a_setup_that_fails_is_an_error),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
