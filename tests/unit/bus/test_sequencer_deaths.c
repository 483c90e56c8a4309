/* SPDX-License-Identifier: Apache-2.0 */
/* Producers and stages that die, each at what it had begun; frozen and evicted stages; gaps. */
#include "hub/bus/reap.h"
#include "tests/unit/bus/sequencer_stage.h"

#define LATER (10 * HUB_SECOND)

static struct rapahub_region *make(enum rapahub_stage_on_death on_death, bool shared)
{
    const struct sequencer_plan plan = {
        .profile = RAPAHUB_REGION_HARDENED,
        .shared = shared,
        .stages = 3,
        .list = {{.on_death = on_death, .freeze_ns = on_death == RAPAHUB_STAGE_FREEZE},
                 {.after = 1},
                 {.after = 2}}};

    return sequencer_create(NULL, &plan);
}

static void claim_three(struct rapahub_region *region)
{
    struct rapahub_producer *producer;
    uint64_t position;

    if (rapahub_producer_open(region, NULL, &producer) < 0 ||
        rapahub_producer_claim(producer, 3, 0, &position) < 0 ||
        rapahub_producer_publish(producer, position, 1) < 0)
        _exit(2);
}

/* Takes part as stage 0, does one position and has a second one. */
static void do_one(struct rapahub_region *region)
{
    struct rapahub_stage *stage;
    uint64_t first;
    uint32_t count;

    if (rapahub_stage_open(region, NULL, &stage) < 0 ||
        rapahub_stage_next(stage, LATER, &first, &count) < 0 ||
        rapahub_stage_advance(stage, 1) < 0 || rapahub_stage_next(stage, 0, &first, &count) < 0)
        _exit(2);
}

/* r[verify region.sequencer.claim.dead] r[verify region.poison] r[verify region.strand] */
static void the_claim_of_a_dead_producer_is_skipped(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_stage *stages[] = {sequencer_stage(region, 0), sequencer_stage(region, 1)};
    struct rapahub_producer *producer = stage_producer(region);
    uint64_t first;
    uint32_t count;

    (void)state;
    stage_kill(stage_process(rapahub_region_fd(region), claim_three));
    sequencer_put(region, producer, 3, 1);
    sequencer_do(stages[0], 0, 1);
    assert_int_equal(rapahub_stage_next(stages[0], LATER, &first, &count), 0);
    assert_int_equal(first, 3);
    assert_int_equal(rapahub_stage_advance(stages[0], 1), 0);
    sequencer_do(stages[1], 0, 1);
    sequencer_do(stages[1], 3, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rapahub_stage_skipped(stages[i]), 2);
        rapahub_stage_close(stages[i]);
    }
    assert_int_equal(hub_load_relaxed64(&hub_region_header(region)->poisoned_total), 2);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* A stage that polls gets past it, too; and a stopped producer loses nothing. r[verify
 * region.poison.live] */
static void the_claim_of_a_living_producer_is_left_alone(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_stage *stage = sequencer_stage(region, 0);
    struct rapahub_producer *other = stage_producer(region);
    pid_t producer = stage_process(rapahub_region_fd(region), claim_three);
    uint64_t first;
    uint32_t count;
    int r = RAPAHUB_EEMPTY;

    (void)state;
    kill(producer, SIGSTOP);
    sequencer_do(stage, 0, 1);
    for (int i = 0; i < 200; i++)
        sequencer_idle(stage);
    assert_int_equal(hub_reap_try(region), 0);
    stage_kill(producer);
    sequencer_put(region, other, 3, 1);
    for (int i = 0; i < 200 && r == RAPAHUB_EEMPTY; i++)
        r = rapahub_stage_next(stage, 0, &first, &count);
    assert_int_equal(r, 0);
    assert_int_equal(first, 3);
    rapahub_stage_close(stage);
    rapahub_producer_close(other);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.committed] r[verify region.resume] */
static void the_claim_of_a_dead_single_producer_is_claimed_again(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, false);
    struct rapahub_stage *stage = sequencer_stage(region, 0);
    struct rapahub_producer *producer;

    (void)state;
    stage_kill(stage_process(rapahub_region_fd(region), claim_three));
    producer = stage_producer(region);
    sequencer_put(region, producer, 1, 2);
    sequencer_do(stage, 0, 3);
    assert_int_equal(rapahub_stage_skipped(stage), 0);
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.stage.dead] r[verify region.stage] */
static void a_dead_stage_is_held_and_goes_on_where_it_was(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0), *second = sequencer_stage(region, 1);
    uint64_t position;
    uint32_t count;

    (void)state;
    sequencer_put(region, producer, 0, 3);
    rapahub_stage_close(stage); /* its follower waits at 0 */
    stage_kill(stage_process(rapahub_region_fd(region), do_one));
    sequencer_do(second, 0, 1);
    assert_int_equal(rapahub_stage_next(second, LATER, &position, &count), RAPAHUB_EPEERDEAD);
    sequencer_put(region, producer, 3, 6);
    assert_int_equal(rapahub_producer_claim(producer, 1, 0, &position), RAPAHUB_EFULL);
    stage = sequencer_stage(region, 0);
    sequencer_do(stage, 1, 8);
    sequencer_do(second, 1, 8);
    rapahub_stage_close(stage);
    rapahub_stage_close(second);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.peer.dead] */
static void a_producer_is_told_of_the_death_of_the_stage_in_its_way(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0), *second = sequencer_stage(region, 1);
    uint64_t position;

    (void)state;
    sequencer_put(region, producer, 0, 3);
    rapahub_stage_close(stage);
    stage_kill(stage_process(rapahub_region_fd(region), do_one));
    sequencer_do(second, 0, 1);
    sequencer_put(region, producer, 3, 6);
    rapahub_stage_close(second);
    assert_int_equal(rapahub_producer_claim(producer, 1, LATER, &position), RAPAHUB_EPEERDEAD);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* Nobody waits for it, and it and its followers are told where the gap is. */
static void evicted(enum rapahub_stage_on_death on_death)
{
    struct rapahub_region *region = make(on_death, true);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0), *second = sequencer_stage(region, 1);
    uint64_t position;

    sequencer_put(region, producer, 0, 3);
    rapahub_stage_close(stage);
    stage_kill(stage_process(rapahub_region_fd(region), do_one));
    sequencer_do(second, 0, 1);
    sequencer_put(region, producer, 3, 6);
    rapahub_stage_close(second);
    assert_int_equal(rapahub_producer_claim(producer, 1, 2 * HUB_MILLISECOND, &position),
                     RAPAHUB_ETIMEDOUT); /* no gate at all: nobody to wait for */
    second = sequencer_stage(region, 1);
    sequencer_idle(second);
    sequencer_put(region, producer, 9, 2);
    sequencer_do(second, 9, 2);
    stage = sequencer_stage(region, 0);
    sequencer_gap(stage, 0, 1, 11);
    sequencer_idle(stage);
    sequencer_put(region, producer, 11, 1);
    sequencer_idle(second); /* it is followed again */
    sequencer_do(stage, 11, 1);
    sequencer_do(second, 11, 1);
    rapahub_stage_close(stage);
    rapahub_stage_close(second);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.stage.dead] r[verify region.stage.gap] r[verify region.stage.evict] */
static void a_dead_stage_is_evicted_or_frozen_first(void **state)
{
    (void)state;
    evicted(RAPAHUB_STAGE_EVICT);
    evicted(RAPAHUB_STAGE_FREEZE);
}

/* r[verify region.stage.gap] */
static void followers_get_the_gap_of_an_evicted_stage_once(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stages[3];
    uint64_t first;
    uint32_t count;

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        stages[i] = sequencer_stage(region, i);
    sequencer_put(region, producer, 0, 4);
    sequencer_has(stages[0], 0, 4);
    assert_int_equal(rapahub_stage_advance(stages[0], 2), 0);
    sequencer_do(stages[1], 0, 2);
    assert_int_equal(rapahub_region_evict(region, 1), 0);
    sequencer_gap(stages[2], 1, 2, 4);
    sequencer_do(stages[2], 0, 2);
    sequencer_idle(stages[2]); /* what it followed is followed in its place */
    assert_int_equal(rapahub_stage_advance(stages[0], 2), 0);
    sequencer_do(stages[2], 2, 2);
    assert_int_equal(rapahub_stage_advance(stages[1], 0), RAPAHUB_EGAP);
    sequencer_gap(stages[1], 1, 2, 4);
    sequencer_idle(stages[1]);
    sequencer_put(region, producer, 4, 2);
    sequencer_do(stages[0], 4, 2);
    sequencer_idle(stages[2]);
    sequencer_do(stages[1], 4, 2);
    sequencer_do(stages[2], 4, 2);
    assert_int_equal(rapahub_region_evict(region, 3), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_stage_next(stages[0], 0, &first, &count), RAPAHUB_EEMPTY);
    for (uint32_t i = 0; i < 3; i++)
        rapahub_stage_close(stages[i]);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* The gap of a stage that dies before it can act on it is told again. */
static void rejoin(struct rapahub_region *region)
{
    struct rapahub_stage *stage;
    uint64_t first;
    uint32_t count;

    if (rapahub_stage_open(region, NULL, &stage) < 0 ||
        rapahub_stage_next(stage, 0, &first, &count) != RAPAHUB_EGAP)
        _exit(2);
}

static void a_gap_is_told_until_it_was_heard(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0);

    (void)state;
    sequencer_put(region, producer, 0, 4);
    rapahub_stage_close(stage);
    assert_int_equal(rapahub_region_evict(region, 0), 0);
    stage_kill(stage_process(rapahub_region_fd(region), rejoin));
    stage = sequencer_stage(region, 0);
    sequencer_gap(stage, 0, 0, 4);
    sequencer_idle(stage);
    rapahub_stage_close(stage);
    stage = sequencer_stage(region, 0);
    sequencer_idle(stage);
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* Takes part as stage 1, and does nothing. */
static void follow(struct rapahub_region *region)
{
    struct rapahub_stage *stage;

    if (sequencer_open(region, 1, &stage) < 0)
        _exit(2);
}

/* r[verify region.stage.gap] */
static void a_follower_that_was_dead_gets_the_gap_of_a_stage_that_came_back_before(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0), *second;
    pid_t follower = stage_process(rapahub_region_fd(region), follow);

    (void)state;
    stage_kill(follower);
    sequencer_put(region, producer, 0, 4);
    sequencer_has(stage, 0, 4);
    assert_int_equal(rapahub_stage_advance(stage, 2), 0);
    assert_int_equal(rapahub_region_evict(region, 0), 0);
    sequencer_gap(stage, 0, 2, 4);
    sequencer_idle(stage);
    second = sequencer_stage(region, 1);
    sequencer_gap(second, 0, 2, 4);
    sequencer_do(second, 0, 4);
    rapahub_stage_close(second);
    second = sequencer_stage(region, 1); /* it is behind the gap */
    sequencer_idle(second);
    rapahub_stage_close(stage);
    rapahub_stage_close(second);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.stage.evict] */
static void a_stage_evicted_again_before_it_was_told_gets_both_gaps(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0);

    (void)state;
    sequencer_put(region, producer, 0, 3);
    rapahub_stage_close(stage);
    assert_int_equal(rapahub_region_evict(region, 0), 0);
    stage = sequencer_stage(region, 0);
    sequencer_put(region, producer, 3, 4);
    rapahub_stage_close(stage);
    assert_int_equal(rapahub_region_evict(region, 0), 0);
    stage = sequencer_stage(region, 0);
    sequencer_gap(stage, 0, 0, 7);
    sequencer_idle(stage);
    sequencer_put(region, producer, 7, 1);
    assert_int_equal(rapahub_region_evict(region, 0), 0);
    sequencer_gap(stage, 0, 7, 8); /* what it was told does not come again */
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* Puts a position that the stage leaves out, and one that it does. */
static void leave_one_out(struct rapahub_region *region, struct rapahub_producer *producer,
                          struct rapahub_stage *stage, uint64_t position)
{
    sequencer_put(region, producer, position, 1);
    assert_int_equal(rapahub_region_evict(region, 0), 0);
    sequencer_gap(stage, 0, position, position + 1);
    sequencer_idle(stage);
    sequencer_put(region, producer, position + 1, 1);
    sequencer_do(stage, position + 1, 1);
}

/* Where it cannot know which ones were left out, all may be that it has not done. r[verify
 * region.stage.gap] */
static void a_follower_misses_no_gap_of_a_stage_that_was_evicted_twice(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0), *second = sequencer_stage(region, 1);

    (void)state;
    for (uint64_t position = 0; position < 4; position += 2)
        leave_one_out(region, producer, stage, position);
    sequencer_gap(second, 0, 0, 3);
    sequencer_do(second, 0, 4);
    leave_one_out(region, producer, stage, 4);
    sequencer_gap(second, 0, 4, 5);
    leave_one_out(region, producer, stage, 6);
    rapahub_stage_close(second);
    hub_publish(&region->sequencer.gates[1].state, HUB_STAGE_GATING); /* as if it had died */
    second = sequencer_stage(region, 1);
    sequencer_gap(second, 0, 4, 7);
    sequencer_do(second, 4, 4);
    rapahub_stage_close(stage);
    rapahub_stage_close(second);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

static void enter_table(struct rapahub_region *region)
{
    if (hub_region_table_enter(region, 0) < 0)
        _exit(3);
}

/* Another eviction may be under way: a gap is read when it is not. r[verify region.stage.gap] */
static void a_gap_is_not_read_while_it_may_be_written(void **state)
{
    struct rapahub_region_open_options options = {.wait_ns = 50 * HUB_MILLISECOND};
    struct rapahub_region *region = make(RAPAHUB_STAGE_HOLD, true), *again;
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0), *second;
    uint64_t first;
    uint32_t count;
    pid_t pid;

    (void)state;
    assert_int_equal(rapahub_region_adopt(rapahub_region_fd(region), &options, &again), 0);
    second = sequencer_stage(again, 1);
    sequencer_put(region, producer, 0, 3);
    assert_int_equal(rapahub_region_evict(region, 0), 0);
    pid = stage_process(rapahub_region_fd(region), enter_table);
    kill(pid, SIGSTOP);
    assert_int_equal(rapahub_stage_next(second, 0, &first, &count), RAPAHUB_ETIMEDOUT);
    stage_kill(pid);
    sequencer_gap(second, 0, 0, 3);
    rapahub_stage_close(second);
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(again), 0);
    assert_int_equal(rapahub_region_close(region), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_claim_of_a_dead_producer_is_skipped),
        cmocka_unit_test(the_claim_of_a_living_producer_is_left_alone),
        cmocka_unit_test(the_claim_of_a_dead_single_producer_is_claimed_again),
        cmocka_unit_test(a_dead_stage_is_held_and_goes_on_where_it_was),
        cmocka_unit_test(a_producer_is_told_of_the_death_of_the_stage_in_its_way),
        cmocka_unit_test(a_dead_stage_is_evicted_or_frozen_first),
        cmocka_unit_test(followers_get_the_gap_of_an_evicted_stage_once),
        cmocka_unit_test(a_gap_is_told_until_it_was_heard),
        cmocka_unit_test(a_follower_that_was_dead_gets_the_gap_of_a_stage_that_came_back_before),
        cmocka_unit_test(a_stage_evicted_again_before_it_was_told_gets_both_gaps),
        cmocka_unit_test(a_follower_misses_no_gap_of_a_stage_that_was_evicted_twice),
        cmocka_unit_test(a_gap_is_not_read_while_it_may_be_written)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
