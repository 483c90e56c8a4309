/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/random.h"
#include "hub/bus/resume.h"
#include "hub/bus/spsc.h"
#include "tests/unit/bus/region_stage.h"

#define CELLS 4

static void kinds(void (*run)(struct rapahub_region *region))
{
    for (int kind = RAPAHUB_REGION_SPSC; kind <= RAPAHUB_REGION_MPSC; kind++)
        for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++) {
            struct rapahub_region *region = stage_create(
                NULL, (enum rapahub_region_kind)kind, (enum rapahub_region_profile)profile, CELLS);

            run(region);
            assert_int_equal(rapahub_region_close(region), 0);
        }
}

static void fill(struct rapahub_region *region)
{
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_consumer *consumer = stage_consumer(region);
    uint64_t extra = 99;

    for (uint64_t lap = 0; lap < 3; lap++) {
        for (uint64_t i = 0; i < CELLS; i++)
            stage_push(producer, i);
        assert_int_equal(rapahub_producer_push(producer, &extra, sizeof extra, 0), RAPAHUB_EFULL);
        assert_int_equal(rapahub_producer_push(producer, &extra, sizeof extra, 0), RAPAHUB_EFULL);
        for (uint64_t i = 0; i < CELLS; i++)
            stage_pop(consumer, i);
        stage_empty(consumer);
    }
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
}

/* r[verify region.full] */
static void a_full_region_refuses_a_message_and_changes_nothing(void **state)
{
    (void)state;
    kinds(fill);
}

/* Random pushes, pops and new handles, against a queue of numbers. */
static void trace(struct rapahub_region *region)
{
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_consumer *consumer = stage_consumer(region);
    uint64_t next = 0, expected = 0;
    struct hub_random random;

    hub_random_init(&random, 18);
    for (int i = 0; i < 20000; i++) {
        uint64_t dice = hub_random_below(&random, 100);

        if (dice < 45 && next - expected < CELLS)
            stage_push(producer, next++);
        else if (dice < 90 && next > expected)
            stage_pop(consumer, expected++);
        else if (dice == 90) {
            rapahub_producer_close(producer);
            producer = stage_producer(region);
        } else if (dice == 91) {
            rapahub_consumer_close(consumer);
            consumer = stage_consumer(region);
        } else if (next == expected) {
            stage_empty(consumer);
        }
    }
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
}

/* r[verify region.fifo] r[verify region.resume] r[verify region.order.claim] */
static void a_random_trace_is_that_of_a_queue(void **state)
{
    (void)state;
    kinds(trace);
}

static void corrupt(struct rapahub_region *region)
{
    const struct hub_ring_view *view = &region->view;
    struct rapahub_message message;

    for (uint64_t tag = 0; tag < 4; tag++)
        for (uint64_t position = 0; position < 4 * CELLS; position++) {
            uint64_t word = position << 2 | tag;
            enum hub_spsc_cell is;

            hub_publish64(&hub_ring_view_cell(view, 5)->state, word);
            is = hub_spsc_look(view, 5, &message);
            assert_int_equal(is, word == hub_cell_free(5)                       ? HUB_SPSC_EMPTY
                                 : word == hub_cell_published(5)                ? HUB_SPSC_MESSAGE
                                 : word == hub_cell_poisoned(5) && view->poison ? HUB_SPSC_POISONED
                                                                                : HUB_SPSC_CORRUPT);
        }
    hub_publish64(&hub_ring_view_cell(view, 5)->state, hub_cell_published(5));
    hub_store_relaxed(&hub_ring_view_cell(view, 5)->len, 48);
    assert_int_equal(hub_spsc_look(view, 5, &message), HUB_SPSC_MESSAGE);
    hub_store_relaxed(&hub_ring_view_cell(view, 5)->len, 49);
    assert_int_equal(hub_spsc_look(view, 5, &message), HUB_SPSC_CORRUPT);
    hub_store_relaxed(&hub_ring_view_cell(view, 5)->len, UINT32_MAX);
    assert_int_equal(hub_spsc_look(view, 5, &message), HUB_SPSC_CORRUPT);
}

/* r[verify region.cell] */
static void a_word_that_the_protocol_does_not_allow_is_damage(void **state)
{
    (void)state;
    kinds(corrupt);
}

static void refuse_resume(struct rapahub_region *region)
{
    const uint64_t words[] = {1,
                              hub_cell_free(1),
                              hub_cell_free(CELLS * 2 + 1),
                              hub_cell_free(CELLS * 16),
                              UINT64_MAX,
                              UINT64_MAX & ~UINT64_C(3)};
    struct rapahub_consumer *consumer = NULL;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        hub_publish64(&hub_ring_view_cell(&region->view, 0)->state, words[i]);
        assert_int_equal(rapahub_consumer_open(region, NULL, &consumer), RAPAHUB_ECORRUPT);
    }
}

/* r[verify region.cell] */
static void nobody_resumes_in_a_damaged_ring(void **state)
{
    (void)state;
    kinds(refuse_resume);
}

/* The counters of the ring are hints, and may be anything. r[verify region.resume] */
static void resume_does_not_believe_the_counters(void **state)
{
    struct rapahub_region *region =
        stage_create(NULL, RAPAHUB_REGION_SPSC, RAPAHUB_REGION_HARDENED, CELLS);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_consumer *consumer = stage_consumer(region);
    uint64_t head, tail;

    (void)state;
    for (uint64_t i = 0; i < 3 * CELLS; i++) {
        stage_push(producer, i);
        stage_push(producer, i);
        stage_pop(consumer, i);
        hub_publish64(&region->view.ring->tail, 1000);
        hub_publish64(&region->view.ring->head, 1000);
        assert_int_equal(hub_resume_head(&region->view, &head), 0);
        assert_int_equal(hub_resume_tail(&region->view, &tail), 0);
        assert_int_equal(head, 2 * i + 1);
        assert_int_equal(tail, 2 * i + 2);
        stage_pop(consumer, i);
    }
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    rapahub_region_close(region);
}

static void messages_of_every_size_arrive_as_they_were(void **state)
{
    struct rapahub_region_options options =
        stage_options(RAPAHUB_REGION_SPSC, RAPAHUB_REGION_V1, CELLS);
    struct rapahub_region *region;
    struct rapahub_producer *producer;
    struct rapahub_consumer *consumer;
    uint8_t out[1009], in[1009];
    struct rapahub_message message;

    (void)state;
    options.cell_bytes = 1024;
    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    producer = stage_producer(region);
    consumer = stage_consumer(region);
    for (size_t size = 0; size <= 1008; size++) {
        memset(out, (int)size, sizeof out);
        assert_int_equal(rapahub_producer_push(producer, size ? out : NULL, size, 0), 0);
        assert_int_equal(rapahub_consumer_pop(consumer, in, sizeof in, 0, &message), 0);
        assert_int_equal(message.size, size);
        assert_int_equal(message.position, size);
        assert_memory_equal(in, out, size);
    }
    assert_int_equal(rapahub_producer_push(producer, out, 1009, 0), RAPAHUB_EMSGSIZE);
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    rapahub_region_close(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_region_refuses_a_message_and_changes_nothing),
        cmocka_unit_test(a_random_trace_is_that_of_a_queue),
        cmocka_unit_test(a_word_that_the_protocol_does_not_allow_is_damage),
        cmocka_unit_test(nobody_resumes_in_a_damaged_ring),
        cmocka_unit_test(resume_does_not_believe_the_counters),
        cmocka_unit_test(messages_of_every_size_arrive_as_they_were)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
