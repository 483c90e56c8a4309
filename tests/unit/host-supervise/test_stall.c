/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/stall.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MS    HUB_MILLISECOND
#define START (1000 * HUB_SECOND)

static const struct rapahub_supervision both = {.stall_ns = 100 * MS, .overrun_ns = 200 * MS};

/* A look at one that owes nothing, but for what is given. */
static struct host_stall_sight sight(struct host_stall_sight given)
{
    given.overdue_ns = given.overdue_ns ? given.overdue_ns : HUB_NEVER;
    return given;
}
#define SIGHT(...) sight((struct host_stall_sight){__VA_ARGS__})

/* Looks each 10 ms at the same sight: when is it stuck, from the first look on? 0: not in 10 s. */
static uint64_t stuck_after(struct host_stall *stall, const struct rapahub_supervision *how,
                            struct host_stall_sight seen, enum host_stall_verdict wanted)
{
    for (uint64_t ms = 0; ms < 10000; ms += 10) {
        enum host_stall_verdict verdict = host_stall_judge(stall, how, &seen, START + ms * MS);

        if (verdict == HOST_STALL_NONE)
            continue;
        assert_int_equal(verdict, wanted);
        return ms;
    }
    return 0;
}

/* r[verify supervise.stall] */
static void who_owes_nothing_is_never_stuck(void **state)
{
    struct host_stall stall = {0};

    (void)state;
    assert_int_equal(stuck_after(&stall, &both, SIGHT(.taken = 7), HOST_STALL_NONE), 0);
}

/* r[verify supervise.stall] */
static void a_ring_that_nobody_empties_is_a_stall(void **state)
{
    const struct rapahub_supervision off = {.overrun_ns = 200 * MS};
    struct host_stall stall = {0}, other = {0};

    (void)state;
    assert_int_equal(stuck_after(&stall, &both, SIGHT(.unread = true), HOST_STALL_STANDS), 100);
    assert_int_equal(stuck_after(&other, &off, SIGHT(.unread = true), HOST_STALL_NONE), 0);
}

/* Its heart takes from the ring meanwhile. r[verify supervise.stall] */
static void a_call_that_says_nothing_is_a_stall_whatever_is_taken(void **state)
{
    struct host_stall stall = {0};
    enum host_stall_verdict verdict = HOST_STALL_NONE;
    uint32_t ms = 0;

    (void)state;
    for (; verdict == HOST_STALL_NONE && ms < 1000; ms += 10) {
        const struct host_stall_sight seen =
            SIGHT(.taken = ms, .sent = 3, .unread = true, .runs = true);

        verdict = host_stall_judge(&stall, &both, &seen, START + ms * MS);
    }
    assert_int_equal(verdict, HOST_STALL_STANDS);
    assert_int_equal(ms, 110);
}

/* Its received messages may not be published yet. */
static void who_gets_on_is_not_stuck(void **state)
{
    (void)state;
    for (int shows = 0; shows < 2; shows++) {
        struct host_stall stall = {0};

        for (uint32_t i = 0; i < 1000; i++) {
            const struct host_stall_sight seen =
                SIGHT(.taken = shows ? i / 9 : 0, .sent = i / 9, .unread = true, .runs = true);

            assert_int_equal(host_stall_judge(&stall, &both, &seen, START + i * 10 * MS),
                             HOST_STALL_NONE);
        }
    }
}

/* r[verify supervise.overrun] */
static void a_call_far_behind_its_time_is_an_overrun(void **state)
{
    const struct rapahub_supervision off = {.stall_ns = 100 * MS};
    struct host_stall stall = {0}, other = {0};

    (void)state;
    assert_int_equal(
        stuck_after(&stall, &both, SIGHT(.overdue_ns = START + 50 * MS), HOST_STALL_OVERRUN), 250);
    assert_int_equal(
        stuck_after(&other, &off, SIGHT(.overdue_ns = START + 50 * MS), HOST_STALL_NONE), 0);
}

/* r[verify supervise.watchdog.pause] */
static void time_that_is_forgiven_does_not_count(void **state)
{
    const struct host_stall_sight seen =
        SIGHT(.unread = true, .runs = true, .overdue_ns = START - 10 * HUB_SECOND);
    const struct rapahub_supervision overrun = {.overrun_ns = 200 * MS};
    struct host_stall stall = {0}, other = {0};

    (void)state;
    assert_int_equal(host_stall_judge(&stall, &both, &seen, START - 90 * MS), HOST_STALL_OVERRUN);
    host_stall_forgive(&stall, START);
    assert_int_equal(stuck_after(&stall, &both, seen, HOST_STALL_STANDS), 100);
    host_stall_forgive(&other, START);
    assert_int_equal(stuck_after(&other, &overrun, seen, HOST_STALL_OVERRUN), 200);
}

static void it_is_looked_at_often_enough_and_not_too_often(void **state)
{
    static const struct {
        uint64_t stall, overrun, every;
    } cases[] = {
        {0, 0, 0},
        {100 * MS, 0, 25 * MS},
        {0, 100 * MS, 25 * MS},
        {800 * MS, 400 * MS, 100 * MS},
        {10 * MS, 0, 10 * MS},
        {0, 60 * HUB_SECOND, HUB_SECOND},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rapahub_supervision how = {.stall_ns = cases[i].stall,
                                                .overrun_ns = cases[i].overrun};

        assert_int_equal(host_stall_every(&how), cases[i].every);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_owes_nothing_is_never_stuck),
        cmocka_unit_test(a_ring_that_nobody_empties_is_a_stall),
        cmocka_unit_test(a_call_that_says_nothing_is_a_stall_whatever_is_taken),
        cmocka_unit_test(who_gets_on_is_not_stuck),
        cmocka_unit_test(a_call_far_behind_its_time_is_an_overrun),
        cmocka_unit_test(time_that_is_forgiven_does_not_count),
        cmocka_unit_test(it_is_looked_at_often_enough_and_not_too_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
