/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, publications and stages of one process: room, order, the graph of stages, joining,
 * leaving. */
#include "tests/unit/bus/sequencer_stage.h"

static const struct rapahub_producer_options fails = {.on_full = RAPAHUB_ON_FULL_FAIL};

/* read -> checksum, compress -> write: 1 and 2 follow 0, and 3 follows both. */
static const struct sequencer_plan diamond = {
    .profile = RAPAHUB_REGION_HARDENED,
    .shared = true,
    .stages = 4,
    .list = {{.after = 0}, {.after = 1}, {.after = 1}, {.after = 6}}};

static void all_plans(void (*run)(struct rapahub_region *region, bool shared))
{
    for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
        for (int shared = 0; shared < 2; shared++) {
            const struct sequencer_plan plan = {
                .profile = (enum rapahub_region_profile)profile, .shared = shared, .stages = 2};
            struct rapahub_region *region = sequencer_create(NULL, &plan);

            run(region, shared);
            assert_int_equal(rapahub_region_close(region), 0);
        }
}

static void fill_the_ring(struct rapahub_region *region, bool shared)
{
    struct rapahub_producer *producer = NULL;
    struct rapahub_stage *stage;
    uint64_t position;

    (void)shared;
    assert_int_equal(rapahub_producer_open(region, &fails, &producer), 0);
    assert_int_equal(rapahub_producer_claim(producer, 1, 0, &position), RAPAHUB_EFULL);
    stage = sequencer_stage(region, 0);
    sequencer_idle(stage);
    sequencer_put(region, producer, 0, 3);
    sequencer_put(region, producer, 3, 5);
    assert_int_equal(rapahub_producer_claim(producer, 1, HUB_SECOND, &position), RAPAHUB_EFULL);
    sequencer_has(stage, 0, 8);
    assert_int_equal(rapahub_stage_advance(stage, 9), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_stage_advance(stage, 2), 0);
    assert_int_equal(rapahub_producer_claim(producer, 3, 0, &position), RAPAHUB_EFULL);
    sequencer_put(region, producer, 8, 2);
    sequencer_has(stage, 2, 8);
    for (uint64_t i = 2; i < 10; i++)
        assert_int_equal(*(uint64_t *)rapahub_region_user(region, i), 7 * i);
    assert_ptr_equal(rapahub_region_user(region, 2), rapahub_region_user(region, 10));
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
}

/* r[verify region.sequencer.claim] r[verify region.stage.wrap] r[verify region.sequencer.user] */
static void a_position_is_claimed_only_within_a_ring_of_the_slowest_stage(void **state)
{
    (void)state;
    all_plans(fill_the_ring);
}

static void misuse(struct rapahub_region *region, bool shared)
{
    struct rapahub_producer *producer = stage_producer(region), *second = NULL;
    struct rapahub_stage *stage = sequencer_stage(region, 0), *other = NULL;
    uint64_t position;
    uint32_t count;

    assert_int_equal(rapahub_producer_open(region, NULL, &second), shared ? 0 : RAPAHUB_EROLETAKEN);
    assert_int_equal(sequencer_open(region, 0, &other), RAPAHUB_EROLETAKEN);
    assert_int_equal(sequencer_open(region, 2, &other), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_producer_claim(producer, 0, 0, &position), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_producer_claim(producer, SEQUENCER_RING + 1, 0, &position),
                     RAPAHUB_EINVAL);
    assert_int_equal(rapahub_producer_claim(producer, 2, 0, &position), 0);
    assert_int_equal(rapahub_producer_claim(producer, 1, 0, &position), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_producer_publish(producer, 1, 1), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_producer_publish(producer, 0, 3), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_producer_publish(producer, 0, 1), 0);
    sequencer_has(stage, 0, 1);
    assert_int_equal(rapahub_producer_publish(producer, 1, 1), 0);
    sequencer_has(stage, 0, 2);
    assert_int_equal(rapahub_producer_push(producer, "x", 1, 0), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_stage_next(stage, 0, &position, &count), 0);
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    rapahub_producer_close(second);
}

/* r[verify region.role] r[verify region.again] */
static void what_is_not_allowed_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    all_plans(misuse);
}

/* r[verify region.kind] */
static void a_sequencer_has_no_messages_and_queues_have_no_stages(void **state)
{
    struct rapahub_region *region = sequencer_create(NULL, &diamond);
    struct rapahub_region *queue =
        stage_create(NULL, RAPAHUB_REGION_MPSC, RAPAHUB_REGION_HARDENED, 4);
    struct rapahub_producer *producer = stage_producer(queue);
    struct rapahub_consumer *consumer = NULL;
    struct rapahub_writer *writer = NULL;
    struct rapahub_router *router = NULL;
    struct rapahub_stage *stage = NULL;
    const struct rapahub_producer_options drops = {.on_full = RAPAHUB_ON_FULL_DROP};
    uint64_t position;

    (void)state;
    assert_int_equal(rapahub_consumer_open(region, NULL, &consumer), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_writer_open(region, &writer), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_router_open(region, 0, &router), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_stage_open(queue, NULL, &stage), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_region_evict(queue, 0), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_producer_claim(producer, 1, 0, &position), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_producer_publish(producer, 0, 0), RAPAHUB_EBADKIND);
    assert_null(rapahub_region_user(queue, 0));
    rapahub_producer_close(producer);
    producer = NULL;
    assert_int_equal(rapahub_producer_open(region, &drops, &producer), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_region_close(queue), 0);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.stage.after] */
static void a_stage_gets_what_all_that_it_follows_have_done(void **state)
{
    struct rapahub_region *region = sequencer_create(NULL, &diamond);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stages[4];

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        stages[i] = sequencer_stage(region, i);
    sequencer_put(region, producer, 0, 4);
    for (uint32_t i = 1; i < 4; i++)
        sequencer_idle(stages[i]);
    sequencer_has(stages[0], 0, 4);
    assert_int_equal(rapahub_stage_advance(stages[0], 3), 0);
    sequencer_do(stages[1], 0, 3);
    sequencer_idle(stages[3]);
    sequencer_has(stages[2], 0, 3);
    assert_int_equal(rapahub_stage_advance(stages[2], 2), 0);
    sequencer_do(stages[3], 0, 2);
    sequencer_idle(stages[3]);
    for (uint32_t i = 0; i < 4; i++)
        rapahub_stage_close(stages[i]);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

static void join_late(struct rapahub_region *region, bool shared)
{
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *first = sequencer_stage(region, 0), *late;

    (void)shared;
    sequencer_put(region, producer, 0, 5);
    sequencer_do(first, 0, 5);
    late = sequencer_stage(region, 1); /* begins with what is not published yet */
    sequencer_idle(late);
    sequencer_put(region, producer, 5, 2);
    sequencer_do(first, 5, 2);
    sequencer_put(region, producer, 7, 6);
    sequencer_has(late, 5, 8); /* and holds the producers from there on */
    rapahub_stage_close(late);
    sequencer_do(first, 7, 6);
    sequencer_put(region, producer, 13, 8);
    late = sequencer_stage(region, 1);
    sequencer_idle(late);
    rapahub_stage_close(late);
    rapahub_stage_close(first);
    rapahub_producer_close(producer);
}

/* r[verify region.stage.join] r[verify region.stage] */
static void a_stage_joins_and_leaves_while_others_run(void **state)
{
    (void)state;
    all_plans(join_late);
}

/* A claim that is not published belongs to a producer: a stage that joins behind it would let its
 * place be claimed once more. */
static void a_stage_joins_before_what_is_claimed_and_not_published(void **state)
{
    struct rapahub_region *region = sequencer_create(NULL, &diamond);
    struct rapahub_producer *slow = stage_producer(region), *producer = NULL;
    struct rapahub_stage *stage = sequencer_stage(region, 0);
    uint64_t position, other;

    (void)state;
    assert_int_equal(rapahub_producer_open(region, &fails, &producer), 0);
    assert_int_equal(rapahub_producer_claim(slow, 2, 0, &position), 0);
    sequencer_put(region, producer, 2, 1);
    rapahub_stage_close(stage);
    stage = sequencer_stage(region, 0);
    sequencer_put(region, producer, 3, 5);
    assert_int_equal(rapahub_producer_claim(producer, 1, 0, &other), RAPAHUB_EFULL);
    sequencer_idle(stage);
    assert_int_equal(rapahub_producer_publish(slow, position, 2), 0);
    sequencer_do(stage, 0, 8);
    rapahub_stage_close(stage);
    rapahub_producer_close(slow);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* Those that follow a stage wait for it when it has left, and it goes on where they wait. */
static void a_stage_that_left_goes_on_where_its_followers_wait(void **state)
{
    struct rapahub_region *region = sequencer_create(NULL, &diamond);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *first = sequencer_stage(region, 0), *second;

    (void)state;
    sequencer_put(region, producer, 0, 2);
    second = sequencer_stage(region, 1);
    sequencer_do(first, 0, 2);
    rapahub_stage_close(first);
    sequencer_put(region, producer, 2, 4);
    sequencer_idle(second);
    first = sequencer_stage(region, 0);
    sequencer_do(first, 2, 4);
    sequencer_do(second, 2, 4);
    rapahub_stage_close(first);
    rapahub_stage_close(second);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* A follower is one also by way of a stage that is not there. Each stage does all positions that
 * are left to the last one. r[verify region.stage.join] */
static void a_stage_begins_where_the_followers_of_one_that_is_not_there_wait(void **state)
{
    static const struct sequencer_plan line = {.profile = RAPAHUB_REGION_HARDENED,
                                               .shared = true,
                                               .stages = 3,
                                               .list = {{.after = 0}, {.after = 1}, {.after = 2}}};
    struct rapahub_region *region = sequencer_create(NULL, &line);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stages[3];

    (void)state;
    stages[2] = sequencer_stage(region, 2);
    sequencer_put(region, producer, 0, 5);
    stages[0] = sequencer_stage(region, 0);
    stages[1] = sequencer_stage(region, 1);
    sequencer_idle(stages[1]);
    for (int i = 0; i < 3; i++)
        sequencer_do(stages[i], 0, 5);
    rapahub_stage_close(stages[1]);
    rapahub_stage_close(stages[0]);
    sequencer_put(region, producer, 5, 2);
    stages[1] = sequencer_stage(region, 1);
    sequencer_idle(stages[1]);
    stages[0] = sequencer_stage(region, 0);
    for (int i = 0; i < 3; i++)
        sequencer_do(stages[i], 5, 2);
    for (int i = 0; i < 3; i++)
        rapahub_stage_close(stages[i]);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.bound] r[verify region.wake] */
static void waits_end_at_their_deadlines(void **state)
{
    struct rapahub_region *region = sequencer_create(NULL, &diamond);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0);
    struct rapahub_region_blocker blocker;
    uint64_t position;
    uint32_t count;

    (void)state;
    assert_int_equal(rapahub_stage_next(stage, HUB_MILLISECOND, &position, &count),
                     RAPAHUB_ETIMEDOUT);
    sequencer_put(region, producer, 0, SEQUENCER_RING);
    assert_int_equal(rapahub_producer_claim(producer, 1, HUB_MILLISECOND, &position),
                     RAPAHUB_ETIMEDOUT);
    sequencer_do(stage, 0, SEQUENCER_RING);
    assert_int_equal(rapahub_producer_claim(producer, 1, HUB_MILLISECOND, &position), 0);
    assert_int_equal(rapahub_stage_next(stage, HUB_MILLISECOND, &position, &count),
                     RAPAHUB_EBLOCKED);
    rapahub_stage_blocked(stage, &blocker);
    assert_true(blocker.known);
    assert_int_equal(blocker.pid, getpid());
    assert_int_equal(blocker.position, SEQUENCER_RING);
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.sequencer.claim.dead] */
static void what_a_closing_producer_did_not_publish_is_skipped(void **state)
{
    struct rapahub_region *region = sequencer_create(NULL, &diamond);
    struct rapahub_producer *gives_up = stage_producer(region), *producer = stage_producer(region);
    struct rapahub_stage *stage = sequencer_stage(region, 0);
    uint64_t position;

    (void)state;
    assert_int_equal(rapahub_producer_claim(gives_up, 3, 0, &position), 0);
    assert_int_equal(rapahub_producer_publish(gives_up, 0, 1), 0);
    sequencer_put(region, producer, 3, 1);
    rapahub_producer_close(gives_up);
    sequencer_do(stage, 0, 1);
    sequencer_do(stage, 3, 1);
    assert_int_equal(rapahub_stage_skipped(stage), 2);
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_is_claimed_only_within_a_ring_of_the_slowest_stage),
        cmocka_unit_test(what_is_not_allowed_is_refused_and_changes_nothing),
        cmocka_unit_test(a_sequencer_has_no_messages_and_queues_have_no_stages),
        cmocka_unit_test(a_stage_gets_what_all_that_it_follows_have_done),
        cmocka_unit_test(a_stage_joins_and_leaves_while_others_run),
        cmocka_unit_test(a_stage_joins_before_what_is_claimed_and_not_published),
        cmocka_unit_test(a_stage_that_left_goes_on_where_its_followers_wait),
        cmocka_unit_test(a_stage_begins_where_the_followers_of_one_that_is_not_there_wait),
        cmocka_unit_test(waits_end_at_their_deadlines),
        cmocka_unit_test(what_a_closing_producer_did_not_publish_is_skipped)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
