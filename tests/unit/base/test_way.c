/* SPDX-License-Identifier: Apache-2.0 */
/* The way that copies go, chosen by their durations: the test says how long each took. */
#include <string.h>

#include "hub/base/way.h"
#include "tests/support/testing.h"

#define SIZE 65536

/* The duration of a copy of SIZE bytes each way, in ns, and the time between two copies. */
struct machine {
    uint64_t of[HUB_WAY_KINDS];
    uint64_t between;
};

static const struct machine shares = {{2000, 3500, 2500}, 0}, shares_not = {{30000, 4000, 9000}, 0};

struct run {
    struct hub_way way;
    uint64_t clock;
    uint32_t went[HUB_WAY_KINDS];
};

static void copies(struct run *run, const struct machine *machine, uint32_t count)
{
    memset(run->went, 0, sizeof run->went);
    for (uint32_t i = 0; i < count; i++) {
        enum hub_way_kind kind = hub_way_next(&run->way);
        bool timed = hub_way_is_timed(&run->way);
        uint64_t begun = run->clock += machine->between;

        run->clock += machine->of[kind];
        run->went[kind]++;
        hub_way_note(&run->way, SIZE, timed ? begun : 0, timed ? run->clock : 0);
    }
}

static struct run alone(void)
{
    struct run run = {.clock = 1000};

    hub_way_init_alone(&run.way);
    return run;
}

static struct run stream(bool cold)
{
    struct run run = {.clock = 1000};

    hub_way_init_stream(&run.way, cold);
    return run;
}

/* Each is waited for: more would cost more than they tell. */
static void of_four_single_copies_one_is_timed(void **state)
{
    struct run run = alone();

    (void)state;
    for (uint32_t i = 0; i < 64; i++) {
        assert_true(hub_way_is_timed(&run.way) == (i % 4 == 3));
        copies(&run, &shares, 1);
    }
}

static void the_first_copies_try_each_way_and_tell_which_pays(void **state)
{
    struct run run = alone();

    (void)state;
    copies(&run, &shares, 16);
    assert_int_equal(run.went[HUB_WAY_FAR], 8);
    assert_int_equal(hub_way_next(&run.way), HUB_WAY_NEAR);
    run = alone();
    copies(&run, &shares_not, 16);
    assert_int_equal(run.went[HUB_WAY_FAR], 8);
    assert_int_equal(hub_way_next(&run.way), HUB_WAY_FAR);
}

static void of_a_thousand_copies_a_few_go_another_way(void **state)
{
    struct run run = alone();

    (void)state;
    copies(&run, &shares, 16);
    copies(&run, &shares, 8192);
    assert_in_range(run.went[HUB_WAY_FAR], 8192 * 3 / 1000, 8192 * 5 / 1000);
    assert_int_equal(run.went[HUB_WAY_COLD], 0);
    run = stream(true);
    copies(&run, &shares_not, 600);
    assert_int_equal(hub_way_next(&run.way), HUB_WAY_FAR);
    copies(&run, &shares_not, 33024);
    assert_in_range(run.went[HUB_WAY_NEAR], 300, 33024 * 25 / 1000);
    assert_in_range(run.went[HUB_WAY_COLD], 300, 33024 * 25 / 1000);
}

static void it_follows_cpus_that_begin_or_cease_to_share(void **state)
{
    struct run run = alone();

    (void)state;
    for (int i = 0; i < 5; i++) {
        copies(&run, &shares_not, 3 * 2048);
        assert_int_equal(run.way.pays, HUB_WAY_FAR);
        copies(&run, &shares, 3 * 2048);
        assert_int_equal(run.way.pays, HUB_WAY_NEAR);
    }
}

/* Between its copies a sender waits for the reader, which waits for memory if they went past the
 * caches: the sender alone sees the quicker copy. */
static void of_a_stream_the_waits_for_its_reader_count(void **state)
{
    static const struct machine here = {{8000, 1500, 2000}, 0};
    struct run run = stream(true);

    (void)state;
    for (int i = 0; i < 600; i++) {
        const struct machine now = {
            {here.of[0], here.of[1], here.of[2]},
            hub_way_next(&run.way) == HUB_WAY_FAR ? 5000 : 500,
        };

        copies(&run, &now, 1);
    }
    assert_int_equal(run.way.pays, HUB_WAY_COLD);
}

static void where_none_is_cold_no_copy_goes_there(void **state)
{
    struct run run = stream(false);

    (void)state;
    copies(&run, &shares, 40000);
    assert_int_equal(run.went[HUB_WAY_COLD], 0);
    assert_in_range(run.went[HUB_WAY_FAR], 1, 40000 * 3 / 100);
}

/* An interrupted copy took a thousand times as long. */
static void what_one_copy_took_decides_nothing(void **state)
{
    const struct machine stalls = {{2000000, 2000000, 2000000}, 0};
    struct run run = alone();

    (void)state;
    copies(&run, &shares, 1000);
    copies(&run, &stalls, 4); /* only one is timed */
    copies(&run, &shares, 2048);
    assert_int_equal(run.way.pays, HUB_WAY_NEAR);
}

/* Its reader waits for memory, which its sender does not see. */
static void what_is_a_little_quicker_does_not_pay(void **state)
{
    const struct machine alike = {{5000, 4200, 4700}, 0};
    struct run run = stream(true);

    (void)state;
    copies(&run, &alike, 600);
    assert_int_equal(run.way.pays, HUB_WAY_NEAR);
}

static void all_bytes_come_either_way(void **state)
{
    static uint8_t from[SIZE + 3], to[SIZE + 192];
    struct hub_way way;

    (void)state;
    hub_way_init_stream(&way, true);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 % 229);
    for (uint32_t i = 0; i < 700; i++) {
        memset(to, 0xee, sizeof to);
        hub_way_copy(&way, to + 64 + i % 67, from + i % 3, SIZE - i);
        assert_memory_equal(to + 64 + i % 67, from + i % 3, SIZE - i);
        assert_int_equal(to[63 + i % 67], 0xee);
        assert_int_equal(to[64 + i % 67 + SIZE - i], 0xee);
    }
    assert_true(way.cost[0] > 0 && way.cost[1] > 0 && way.cost[2] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_four_single_copies_one_is_timed),
        cmocka_unit_test(the_first_copies_try_each_way_and_tell_which_pays),
        cmocka_unit_test(of_a_thousand_copies_a_few_go_another_way),
        cmocka_unit_test(it_follows_cpus_that_begin_or_cease_to_share),
        cmocka_unit_test(of_a_stream_the_waits_for_its_reader_count),
        cmocka_unit_test(where_none_is_cold_no_copy_goes_there),
        cmocka_unit_test(what_one_copy_took_decides_nothing),
        cmocka_unit_test(what_is_a_little_quicker_does_not_pay),
        cmocka_unit_test(all_bytes_come_either_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
