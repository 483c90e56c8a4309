/* SPDX-License-Identifier: Apache-2.0 */
/* Which way copies go, by what they took: the test says how long each took. */
#include <string.h>

#include "hub/base/way.h"
#include "tests/support/testing.h"

#define SIZE 65536

/* What a copy of SIZE bytes takes each way, in ns. */
struct machine {
    uint64_t near, far;
};

static const struct machine shares = {2000, 3500}, shares_not = {30000, 4000};

struct run {
    struct hub_way way;
    uint32_t went_far;
};

static void copies(struct run *run, const struct machine *machine, uint32_t count)
{
    run->went_far = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool far = hub_way_goes_far(&run->way);
        uint64_t ns = far ? machine->far : machine->near;

        run->went_far += far;
        hub_way_note(&run->way, SIZE, hub_way_is_timed(&run->way) ? ns : 0);
    }
}

static void the_first_copies_take_turns_and_tell_which_way_pays(void **state)
{
    struct run run = {{{0}, 0, false}, 0};

    (void)state;
    copies(&run, &shares, 16);
    assert_int_equal(run.went_far, 8);
    assert_false(hub_way_goes_far(&run.way) && run.way.far);
    run = (struct run){{{0}, 0, false}, 0};
    copies(&run, &shares_not, 16);
    assert_int_equal(run.went_far, 8);
    assert_true(run.way.far);
}

static void of_a_thousand_copies_a_few_go_the_other_way(void **state)
{
    struct run run = {{{0}, 0, false}, 0};

    (void)state;
    copies(&run, &shares, 1000);
    copies(&run, &shares, 1000);
    assert_in_range(run.went_far, 3, 5);
    run = (struct run){{{0}, 0, false}, 0};
    copies(&run, &shares_not, 1000);
    copies(&run, &shares_not, 1000);
    assert_in_range(1000 - run.went_far, 3, 5);
}

static void it_follows_cpus_that_begin_or_cease_to_share(void **state)
{
    struct run run = {{{0}, 0, false}, 0};

    (void)state;
    copies(&run, &shares, 1000);
    for (int i = 0; i < 5; i++) {
        copies(&run, &shares_not, 100);
        assert_true(run.way.far);
        copies(&run, &shares, 600);
        assert_false(run.way.far);
    }
}

/* One that was interrupted took a thousand times as long. */
static void what_one_copy_took_decides_nothing(void **state)
{
    const struct machine stalls = {2000000, 2000000};
    struct run run = {{{0}, 0, false}, 0};

    (void)state;
    copies(&run, &shares, 1000);
    copies(&run, &stalls, 8); /* one of them is timed */
    assert_false(run.way.far);
    copies(&run, &shares, 1000);
    assert_in_range(run.went_far, 3, 5);
}

/* Its reader waits for memory, which its sender does not see. */
static void what_is_a_little_quicker_does_not_pay(void **state)
{
    const struct machine alike = {5000, 4200};
    struct run run = {{{0}, 0, false}, 0};

    (void)state;
    copies(&run, &alike, 1000);
    assert_false(run.way.far);
}

static void the_count_goes_round(void **state)
{
    struct run run = {{{0}, 0, false}, 0};

    (void)state;
    copies(&run, &shares_not, 1000);
    run.way.copies = UINT32_MAX - 100;
    copies(&run, &shares_not, 200);
    assert_true(run.way.far);
    assert_in_range(200 - run.went_far, 0, 2);
}

static void all_bytes_come_either_way(void **state)
{
    static uint8_t from[SIZE + 3], to[SIZE + 192];
    struct hub_way way = {{0}, 0, false};

    (void)state;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 % 229);
    for (uint32_t i = 0; i < 600; i++) {
        memset(to, 0xee, sizeof to);
        hub_way_copy(&way, to + 64 + i % 67, from + i % 3, SIZE - i);
        assert_memory_equal(to + 64 + i % 67, from + i % 3, SIZE - i);
        assert_int_equal(to[63 + i % 67], 0xee);
        assert_int_equal(to[64 + i % 67 + SIZE - i], 0xee);
    }
    assert_int_equal(way.copies, 600);
    assert_true(way.cost[0] > 0 && way.cost[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_copies_take_turns_and_tell_which_way_pays),
        cmocka_unit_test(of_a_thousand_copies_a_few_go_the_other_way),
        cmocka_unit_test(it_follows_cpus_that_begin_or_cease_to_share),
        cmocka_unit_test(what_one_copy_took_decides_nothing),
        cmocka_unit_test(what_is_a_little_quicker_does_not_pay),
        cmocka_unit_test(the_count_goes_round),
        cmocka_unit_test(all_bytes_come_either_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
