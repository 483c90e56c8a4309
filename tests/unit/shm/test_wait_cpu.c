/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two sides share a CPU is judged by where they are, not by where they were born. Each test
 * pins this thread, which is the one side; the other one shows what the test writes. */
#include "hub/shm/wait_for.h"
#include "tests/unit/shm/wait_pair.h"

static cpu_set_t allowed; /* before the test */

static uint32_t shown(int cpu)
{
    return ((uint32_t)cpu + 1) << HUB_WAIT_CPU_SHIFT;
}

static void show(struct pair *pair, uint32_t cpu)
{
    hub_publish(&pair->words[1], HUB_WAIT_PART | cpu);
}

static void pin_to(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static int pin_here(void)
{
    int cpu = sched_getcpu();

    pin_to(cpu);
    return cpu;
}

/* Another one than that; -1: there is none. */
static int other_than(int cpu)
{
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (i != cpu && CPU_ISSET((size_t)i, &allowed))
            return i;
    return -1;
}

static int remember(void **state)
{
    (void)state;
    return sched_getaffinity(0, sizeof allowed, &allowed);
}

static int restore(void **state)
{
    (void)state;
    return sched_setaffinity(0, sizeof allowed, &allowed);
}

/* A wait that may only look, in vain: true where it looked as long as the budget says, false where
 * it yielded instead. */
static bool looks(struct pair *pair)
{
    struct thing thing = {0};
    struct hub_wait_order order = order_for(&thing, HUB_WAIT_RX, PATIENCE);
    uint32_t before = hub_load_relaxed(&pair->side[0].turns);

    order.last = HUB_WAIT_SPIN;
    assert_int_equal(hub_wait_for(&pair->side[0], &order), RAPAHUB_EAGAIN);
    return hub_load_relaxed(&pair->side[0].turns) != before;
}

/* The peer was born there too, and went elsewhere. r[verify hub.wait.ladder] */
static void who_was_pinned_before_the_start_looks_for_a_peer_that_moved_away(void **state)
{
    struct pair pair;
    int here = pin_here();

    (void)state;
    begin_pair(&pair);
    show(&pair, shown(here));
    assert_false(hub_wait_is_near(&pair.side[0]));
    assert_false(hub_wait_is_elsewhere(&pair.side[0]));
    assert_false(looks(&pair));
    show(&pair, OTHER_CPU);
    assert_true(hub_wait_is_near(&pair.side[0]));
    assert_true(hub_wait_is_elsewhere(&pair.side[0]));
    assert_true(looks(&pair));
    end_pair(&pair);
}

/* r[verify hub.wait.ladder] */
static void who_is_pinned_after_the_start_shows_it_in_its_next_wait(void **state)
{
    struct pair pair;
    int here = pin_here(), there = other_than(here);

    (void)state;
    if (there < 0)
        skip();
    begin_pair(&pair);
    show(&pair, shown(there));
    assert_true(looks(&pair));
    pin_to(there);
    assert_false(looks(&pair));
    assert_false(hub_wait_is_near(&pair.side[0]));
    pin_to(here);
    assert_true(looks(&pair));
    assert_true(hub_wait_is_near(&pair.side[0]));
    end_pair(&pair);
}

/* Nothing else is known then. */
static void where_a_peer_shows_no_cpu_who_may_use_one_shares_it(void **state)
{
    struct pair pair;

    (void)state;
    (void)pin_here();
    begin_pair(&pair);
    show(&pair, 0);
    assert_false(hub_wait_is_near(&pair.side[0]));
    assert_false(looks(&pair));
    if (CPU_COUNT(&allowed) > 1) {
        assert_int_equal(restore(state), 0);
        assert_true(hub_wait_is_near(&pair.side[0]));
        assert_true(looks(&pair));
    }
    end_pair(&pair);
}

/* An answer of another time, which a thread left that judged while this one moved. */
static void looks_in_vain_are_a_reason_to_judge_anew(void **state)
{
    struct hub_a32 word = {7};
    struct pair pair;
    int here = pin_here();

    (void)state;
    begin_pair(&pair);
    show(&pair, shown(here));
    hub_store_relaxed64(&pair.side[0].near, hub_load_relaxed(&pair.words[1]));
    assert_true(hub_wait_is_near(&pair.side[0]));
    assert_false(hub_wait_for_word(&pair.side[0], &word, 7, &word));
    assert_false(hub_wait_is_near(&pair.side[0]));
    end_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            who_was_pinned_before_the_start_looks_for_a_peer_that_moved_away, remember, restore),
        cmocka_unit_test_setup_teardown(who_is_pinned_after_the_start_shows_it_in_its_next_wait,
                                        remember, restore),
        cmocka_unit_test_setup_teardown(where_a_peer_shows_no_cpu_who_may_use_one_shares_it,
                                        remember, restore),
        cmocka_unit_test_setup_teardown(looks_in_vain_are_a_reason_to_judge_anew, remember,
                                        restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
