/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets which message of a region of kind FANOUT, in both profiles. */
#include "hub/bus/fanout.h"
#include "tests/support/pause.h"
#include "tests/unit/bus/fanout_stage.h"

#define BOTH(profile)                   \
    int profile = RAPAHUB_REGION_V1;    \
    profile <= RAPAHUB_REGION_HARDENED; \
    profile++

static struct fanout_stage begin(struct rapahub_region_options options, int profile)
{
    return fanout_stage_begin(options, (enum rapahub_region_profile)profile);
}

static uint64_t dropped(const struct fanout_stage *stage, uint32_t consumer)
{
    return hub_load_relaxed64(&hub_fanout_consumer(stage->region, consumer)->dropped);
}

/* r[verify region.fanout] r[verify region.mode] */
static void a_broadcast_comes_to_each_consumer_once(void **state)
{
    struct rapahub_message message;
    uint64_t number;

    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin((struct rapahub_region_options){0}, profile);

        for (uint64_t lap = 0; lap < 3; lap++) {
            fanout_stage_push(&stage, 8 * lap, 8 * lap + 8);
            assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
            for (uint32_t i = 0; i < FANOUT_CONSUMERS; i++) {
                fanout_stage_expect(&stage, i, 8 * lap, 8 * lap + 7);
                assert_int_equal(rapahub_consumer_pop(stage.consumers[i], &number, 8, 0, &message),
                                 0);
                assert_int_equal(number, 8 * lap + 7);
                assert_int_equal(message.position, number);
                stage_empty(stage.consumers[i]);
            }
        }
        assert_int_equal(hub_load_relaxed64(&hub_fanout_body(stage.region)->routed), 24);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.mode] */
static void a_message_of_a_work_queue_comes_to_one_consumer(void **state)
{
    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage =
            begin((struct rapahub_region_options){.mode = RAPAHUB_REGION_WORK}, profile);

        fanout_stage_push(&stage, 0, 8);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        for (uint64_t i = 0; i < 8; i++)
            stage_pop(stage.consumers[i % FANOUT_CONSUMERS], i);
        for (uint32_t i = 0; i < FANOUT_CONSUMERS; i++)
            stage_empty(stage.consumers[i]);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.credit] r[verify region.credit.policy] */
static void who_has_no_credit_goes_without_where_messages_are_dropped(void **state)
{
    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage =
            begin((struct rapahub_region_options){.credit_max = 3}, profile);

        for (uint64_t i = 0; i < 6; i++) {
            fanout_stage_push(&stage, i, i + 1);
            assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
            stage_pop(stage.consumers[0], i);
            stage_pop(stage.consumers[2], i);
        }
        assert_int_equal(dropped(&stage, 1), 3);
        assert_int_equal(dropped(&stage, 0), 0);
        assert_int_equal(hub_load_relaxed64(&hub_fanout_body(stage.region)->dropped), 3);
        stage_pop(stage.consumers[1], 0); /* one message less is one of credit */
        fanout_stage_push(&stage, 6, 8);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        stage_pop(stage.consumers[1], 1);
        stage_pop(stage.consumers[1], 2);
        stage_pop(stage.consumers[1], 6);
        stage_empty(stage.consumers[1]);
        assert_int_equal(dropped(&stage, 1), 4);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.credit.policy] */
static void a_work_queue_drops_what_nobody_can_take(void **state)
{
    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin(
            (struct rapahub_region_options){.mode = RAPAHUB_REGION_WORK, .credit_max = 1}, profile);

        fanout_stage_push(&stage, 0, 5);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        assert_int_equal(hub_load_relaxed64(&hub_fanout_body(stage.region)->dropped), 2);
        for (uint32_t i = 0; i < FANOUT_CONSUMERS; i++)
            stage_pop(stage.consumers[i], i);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.credit.policy] */
static void a_parked_router_waits_for_each_consumer_that_lives(void **state)
{
    const struct rapahub_region_options park = {.credit = RAPAHUB_REGION_PARK, .credit_max = 2};

    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin(park, profile);

        fanout_stage_push(&stage, 0, 6);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL);
        fanout_stage_expect(&stage, 0, 0, 2);
        fanout_stage_expect(&stage, 2, 0, 2);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL); /* for consumer 1 */
        stage_empty(stage.consumers[0]);
        for (uint64_t i = 0; i < 4; i++) {
            stage_pop(stage.consumers[1], i);
            assert_int_equal(fanout_stage_route(&stage), i < 3 ? RAPAHUB_EFULL : RAPAHUB_EEMPTY);
            stage_pop(stage.consumers[0], i + 2);
            stage_pop(stage.consumers[2], i + 2);
        }
        fanout_stage_expect(&stage, 1, 4, 6);
        assert_int_equal(hub_load_relaxed64(&hub_fanout_body(stage.region)->dropped), 0);
        fanout_stage_end(&stage);
    }
}

static void subscribe_last(struct rapahub_region *region)
{
    const struct rapahub_consumer_options options = {.index = FANOUT_CONSUMERS - 1};
    struct rapahub_consumer *consumer;

    if (rapahub_consumer_open(region, &options, &consumer) < 0)
        _exit(2);
}

/* A stage whose last consumer is another process. */
static pid_t move_last_away(struct fanout_stage *stage)
{
    rapahub_consumer_close(stage->consumers[FANOUT_CONSUMERS - 1]);
    stage->consumers[FANOUT_CONSUMERS - 1] = NULL;
    return stage_process(rapahub_region_fd(stage->region), subscribe_last);
}

/* r[verify region.credit.policy] r[verify region.subscribe] */
static void a_dead_consumer_holds_nobody_up_and_its_queue_is_kept(void **state)
{
    const struct rapahub_region_options park = {.credit = RAPAHUB_REGION_PARK, .credit_max = 2};

    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin(park, profile);
        pid_t pid = move_last_away(&stage);

        kill(pid, SIGSTOP);
        fanout_stage_push(&stage, 0, 4);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL);
        fanout_stage_expect(&stage, 0, 0, 2);
        fanout_stage_expect(&stage, 1, 0, 2);
        for (int i = 0; i < 5; i++) /* one that is stopped may go on */
            assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL);
        stage_kill(pid);
        (void)fanout_stage_route(&stage); /* notes its death */
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        fanout_stage_expect(&stage, 0, 2, 4);
        fanout_stage_expect(&stage, 1, 2, 4);
        stage.consumers[2] = fanout_stage_consumer(stage.region, 2);
        fanout_stage_expect(&stage, 2, 0, 2);
        stage_empty(stage.consumers[2]);
        assert_int_equal(dropped(&stage, 2), 2);
        fanout_stage_push(&stage, 4, 6);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        fanout_stage_expect(&stage, 2, 4, 6);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.credit.policy] */
static void a_parked_work_queue_keeps_what_nobody_can_take(void **state)
{
    const struct rapahub_region_options work = {
        .mode = RAPAHUB_REGION_WORK, .credit = RAPAHUB_REGION_PARK, .credit_max = 1};

    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin(work, profile);

        fanout_stage_push(&stage, 0, 8);
        for (uint64_t i = 0; i < 8; i++) {
            assert_int_equal(fanout_stage_route(&stage), i < 5 ? RAPAHUB_EFULL : RAPAHUB_EEMPTY);
            stage_pop(stage.consumers[i % FANOUT_CONSUMERS], i);
        }
        assert_int_equal(hub_load_relaxed64(&hub_fanout_body(stage.region)->dropped), 0);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.credit.detach] */
static void who_has_no_credit_for_too_long_is_left_out_until_it_is_opened_again(void **state)
{
    const struct rapahub_region_options detach = {
        .credit = RAPAHUB_REGION_DETACH, .credit_max = 2, .detach_after_ns = 300 * HUB_MILLISECOND};

    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin(detach, profile);

        fanout_stage_push(&stage, 0, 4);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL);
        fanout_stage_expect(&stage, 0, 0, 2);
        fanout_stage_expect(&stage, 1, 0, 2);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL); /* not yet */
        pause_ms(400);
        (void)fanout_stage_route(&stage);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        fanout_stage_expect(&stage, 0, 2, 4);
        fanout_stage_expect(&stage, 1, 2, 4);
        fanout_stage_expect(&stage, 2, 0, 2);
        fanout_stage_push(&stage, 4, 5); /* it has credit again, and is left out still */
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        stage_empty(stage.consumers[2]);
        rapahub_consumer_close(stage.consumers[2]);
        stage.consumers[2] = fanout_stage_consumer(stage.region, 2);
        fanout_stage_push(&stage, 5, 6);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        stage_pop(stage.consumers[2], 5);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.credit.detach] */
static void a_new_router_knows_nothing_of_who_was_left_out(void **state)
{
    const struct rapahub_region_options detach = {
        .credit = RAPAHUB_REGION_DETACH, .credit_max = 1, .detach_after_ns = HUB_MILLISECOND};
    struct fanout_stage stage = begin(detach, RAPAHUB_REGION_HARDENED);

    (void)state;
    fanout_stage_push(&stage, 0, 2);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL);
    pause_ms(5);
    (void)fanout_stage_route(&stage);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY); /* all three are left out */
    for (uint32_t i = 0; i < FANOUT_CONSUMERS; i++)
        stage_pop(stage.consumers[i], 0);
    rapahub_router_close(stage.router);
    stage.router = fanout_stage_router(stage.region);
    fanout_stage_push(&stage, 2, 3);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
    for (uint32_t i = 0; i < FANOUT_CONSUMERS; i++)
        stage_pop(stage.consumers[i], 2);
    fanout_stage_end(&stage);
}

/* r[verify region.detach] */
static void a_consumer_that_an_operator_detached_gets_nothing_until_it_is_admitted(void **state)
{
    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin((struct rapahub_region_options){0}, profile);

        assert_int_equal(rapahub_region_detach(stage.region, FANOUT_CONSUMERS, true),
                         RAPAHUB_EINVAL);
        assert_int_equal(rapahub_region_detach(stage.region, 1, true), 0);
        rapahub_router_close(stage.router);
        stage.router = fanout_stage_router(stage.region);
        rapahub_consumer_close(stage.consumers[1]);
        stage.consumers[1] = fanout_stage_consumer(stage.region, 1);
        fanout_stage_push(&stage, 0, 2);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        stage_empty(stage.consumers[1]);
        fanout_stage_expect(&stage, 0, 0, 2);
        assert_int_equal(rapahub_region_detach(stage.region, 1, false), 0);
        fanout_stage_push(&stage, 2, 3);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        stage_pop(stage.consumers[1], 2);
        assert_int_equal(dropped(&stage, 1), 0);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.subscribe] */
static void who_closes_gets_no_more_and_finds_what_it_had(void **state)
{
    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin((struct rapahub_region_options){0}, profile);

        fanout_stage_push(&stage, 0, 2);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        rapahub_consumer_close(stage.consumers[1]);
        fanout_stage_push(&stage, 2, 4);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        stage.consumers[1] = fanout_stage_consumer(stage.region, 1);
        fanout_stage_push(&stage, 4, 5);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        fanout_stage_expect(&stage, 1, 0, 2);
        stage_pop(stage.consumers[1], 4);
        fanout_stage_expect(&stage, 0, 0, 5);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.unrouted] */
static void without_a_router_producers_fill_the_source(void **state)
{
    uint64_t extra = 9;

    (void)state;
    for (BOTH(profile)) {
        struct fanout_stage stage = begin((struct rapahub_region_options){0}, profile);

        fanout_stage_push(&stage, 0, 1);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        rapahub_router_close(stage.router);
        fanout_stage_push(&stage, 1, 9);
        assert_int_equal(rapahub_producer_push(stage.producer, &extra, 8, 0), RAPAHUB_EFULL);
        stage_pop(stage.consumers[0], 0);
        stage_empty(stage.consumers[0]);
        stage.router = fanout_stage_router(stage.region);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        fanout_stage_expect(&stage, 0, 1, 9);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.again] r[verify region.role] */
static void a_consumer_has_an_index_and_is_alone_there(void **state)
{
    struct rapahub_consumer_options options = {.index = FANOUT_CONSUMERS};
    struct fanout_stage stage = begin((struct rapahub_region_options){0}, RAPAHUB_REGION_HARDENED);
    struct rapahub_region *again = stage_again(stage.region);
    struct rapahub_consumer *consumer = NULL;

    (void)state;
    assert_int_equal(rapahub_consumer_open(again, &options, &consumer), RAPAHUB_EINVAL);
    options.index = 1;
    assert_int_equal(rapahub_consumer_open(again, &options, &consumer), RAPAHUB_EROLETAKEN);
    assert_int_equal(rapahub_consumer_open(stage.region, &options, &consumer), RAPAHUB_EROLETAKEN);
    options.index = RAPAHUB_CONSUMER_ANY;
    assert_int_equal(rapahub_consumer_open(again, &options, &consumer), RAPAHUB_EROLETAKEN);
    rapahub_consumer_close(stage.consumers[1]);
    assert_int_equal(rapahub_consumer_open(again, &options, &consumer), 0);
    assert_int_equal(rapahub_consumer_index(consumer), 1);
    stage.consumers[1] = NULL;
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(again), 0);
    fanout_stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broadcast_comes_to_each_consumer_once),
        cmocka_unit_test(a_message_of_a_work_queue_comes_to_one_consumer),
        cmocka_unit_test(who_has_no_credit_goes_without_where_messages_are_dropped),
        cmocka_unit_test(a_work_queue_drops_what_nobody_can_take),
        cmocka_unit_test(a_parked_router_waits_for_each_consumer_that_lives),
        cmocka_unit_test(a_dead_consumer_holds_nobody_up_and_its_queue_is_kept),
        cmocka_unit_test(a_parked_work_queue_keeps_what_nobody_can_take),
        cmocka_unit_test(who_has_no_credit_for_too_long_is_left_out_until_it_is_opened_again),
        cmocka_unit_test(a_new_router_knows_nothing_of_who_was_left_out),
        cmocka_unit_test(a_consumer_that_an_operator_detached_gets_nothing_until_it_is_admitted),
        cmocka_unit_test(who_closes_gets_no_more_and_finds_what_it_had),
        cmocka_unit_test(without_a_router_producers_fill_the_source),
        cmocka_unit_test(a_consumer_has_an_index_and_is_alone_there)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
