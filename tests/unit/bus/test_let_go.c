/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that let their role go, and have it again later: another one has it meanwhile. */
#include "hub/bus/consumer.h"
#include "hub/bus/handles/state_reader.h"
#include "hub/bus/handles/state_writer.h"
#include "hub/bus/producer.h"
#include "tests/unit/bus/state_stage.h"

#define CELLS 4

static const enum rapahub_region_kind kinds[] = {RAPAHUB_REGION_SPSC, RAPAHUB_REGION_MPSC,
                                                 RAPAHUB_REGION_FANIN};

static struct rapahub_region *open_region(enum rapahub_region_kind kind)
{
    struct rapahub_region_options options = stage_options(kind, RAPAHUB_REGION_HARDENED, CELLS);
    struct rapahub_region *region = NULL;

    options.producers = kind == RAPAHUB_REGION_FANIN ? 2 : 0;
    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    return region;
}

static void assert_let_go(int r)
{
    assert_int_equal(r, RAPAHUB_ESTATE);
    assert_string_equal(rapahub_last_error()->rule, "region.let-go");
}

/* The other one goes on where this one ended, and this one where the other one did. */
static void a_producer_goes_and_comes(enum rapahub_region_kind kind)
{
    static const struct rapahub_producer_options options = {.on_full = RAPAHUB_ON_FULL_DROP};
    struct rapahub_region *region = open_region(kind), *again = stage_again(region);
    struct rapahub_producer *producer = NULL, *other;
    struct rapahub_consumer *consumer = stage_consumer(again);
    uint64_t number = 9, position;

    assert_int_equal(rapahub_producer_open(region, &options, &producer), 0);
    for (uint64_t i = 0; i < CELLS + 1; i++)
        stage_push(producer, i);
    hub_producer_let_go(producer);
    hub_producer_let_go(producer);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_let_go(rapahub_producer_push(producer, &number, sizeof number, 0));
    assert_let_go(rapahub_producer_push(producer, NULL, 0, HUB_SECOND));
    assert_let_go(rapahub_producer_claim(producer, 1, 0, &position));
    assert_let_go(rapahub_producer_publish(producer, 0, 1));
    assert_int_equal(rapahub_producer_dropped(producer), 1);
    stage_pop(consumer, 0);
    stage_pop(consumer, 1);
    other = stage_producer(again);
    stage_push(other, CELLS);
    rapahub_producer_close(other);
    region = stage_again(again);
    assert_int_equal(hub_producer_resume(producer, region, &options), 0);
    stage_push(producer, CELLS + 1);
    stage_push(producer, 77);
    assert_int_equal(rapahub_producer_dropped(producer), 2);
    for (uint64_t i = 2; i < CELLS + 2; i++)
        stage_pop(consumer, i);
    stage_empty(consumer);
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_int_equal(rapahub_region_close(again), 0);
}

/* r[verify region.let-go] */
static void a_producer_lets_its_role_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        a_producer_goes_and_comes(kinds[i]);
}

/* What was shown and is not done comes to the other one. */
static void a_consumer_goes_and_comes(enum rapahub_region_kind kind)
{
    struct rapahub_region *region = open_region(kind), *again = stage_again(region);
    struct rapahub_consumer *consumer = stage_consumer(region), *other;
    struct rapahub_producer *producer = stage_producer(again);
    struct rapahub_region_blocker blocker;
    struct rapahub_message shown;
    size_t count;

    for (uint64_t i = 0; i < CELLS; i++)
        stage_push(producer, i);
    stage_pop(consumer, 0);
    assert_true(rapahub_consumer_fd(consumer) >= 0);
    assert_int_equal(rapahub_consumer_peek(consumer, &shown, 1, 0, &count), 0);
    hub_consumer_let_go(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_let_go(rapahub_consumer_pop(consumer, &count, sizeof count, 0, NULL));
    assert_let_go(rapahub_consumer_peek(consumer, &shown, 1, HUB_SECOND, &count));
    assert_let_go(rapahub_consumer_fd(consumer));
    assert_int_equal(rapahub_consumer_done(consumer, 1), RAPAHUB_EINVAL);
    rapahub_consumer_blocked(consumer, &blocker);
    other = stage_consumer(again);
    stage_pop(other, 1);
    rapahub_consumer_close(other);
    region = stage_again(again);
    assert_int_equal(hub_consumer_resume(consumer, region, NULL), 0);
    stage_pop(consumer, 2);
    stage_pop(consumer, 3);
    stage_empty(consumer);
    rapahub_consumer_close(consumer);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_int_equal(rapahub_region_close(again), 0);
}

/* r[verify region.let-go] */
static void a_consumer_lets_its_role_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        a_consumer_goes_and_comes(kinds[i]);
}

/* r[verify region.let-go] */
static void a_role_that_is_taken_meanwhile_is_not_had_again(void **state)
{
    static const struct rapahub_producer_options options = {.index = 0};
    struct rapahub_region *region = open_region(RAPAHUB_REGION_SPSC), *again = stage_again(region);
    struct rapahub_producer *producer = stage_producer(region), *other;
    struct rapahub_consumer *consumer = stage_consumer(region), *reader;
    uint64_t number = 1;

    (void)state;
    hub_producer_let_go(producer);
    hub_consumer_let_go(consumer);
    other = stage_producer(again);
    reader = stage_consumer(again);
    assert_int_equal(hub_producer_resume(producer, region, &options), RAPAHUB_EROLETAKEN);
    assert_int_equal(hub_consumer_resume(consumer, region, NULL), RAPAHUB_EROLETAKEN);
    assert_let_go(rapahub_producer_push(producer, &number, sizeof number, 0));
    assert_let_go(rapahub_consumer_pop(consumer, &number, sizeof number, 0, NULL));
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    stage_push(other, 5);
    stage_pop(reader, 5);
    rapahub_producer_close(other);
    rapahub_consumer_close(reader);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_int_equal(rapahub_region_close(again), 0);
}

/* r[verify region.let-go] */
static void a_writer_and_a_reader_let_theirs_go(void **state)
{
    struct rapahub_region *region, *again;
    struct rapahub_writer *writer, *other;
    struct rapahub_reader *reader;
    uint64_t number = 3;

    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        region = state_stage_create(NULL, state_kinds[kind], RAPAHUB_REGION_HARDENED);
        again = stage_again(region);
        writer = state_stage_writer(region);
        reader = state_stage_reader(region);
        state_stage_write(writer, 1);
        state_stage_read(reader, 1, 1);
        hub_state_writer_let_go(writer);
        hub_state_reader_let_go(reader);
        assert_int_equal(rapahub_region_close(region), 0);
        assert_let_go(rapahub_writer_write(writer, &number, sizeof number));
        assert_let_go(rapahub_reader_read(reader, &number, sizeof number, NULL, NULL));
        assert_let_go(rapahub_reader_wait(reader, 0, HUB_SECOND));
        other = state_stage_writer(again);
        state_stage_write(other, 2);
        region = stage_again(again);
        assert_int_equal(hub_state_writer_resume(writer, region), RAPAHUB_EROLETAKEN);
        rapahub_writer_close(other);
        assert_int_equal(hub_state_writer_resume(writer, region), 0);
        assert_int_equal(hub_state_reader_resume(reader, region), 0);
        state_stage_read(reader, 2, 2);
        state_stage_write(writer, 3);
        state_stage_read(reader, 3, 3);
        rapahub_writer_close(writer);
        rapahub_reader_close(reader);
        assert_int_equal(rapahub_region_close(region), 0);
        assert_int_equal(rapahub_region_close(again), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_producer_lets_its_role_go),
        cmocka_unit_test(a_consumer_lets_its_role_go),
        cmocka_unit_test(a_role_that_is_taken_meanwhile_is_not_had_again),
        cmocka_unit_test(a_writer_and_a_reader_let_theirs_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
