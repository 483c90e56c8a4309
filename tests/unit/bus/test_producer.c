/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/bus/region_stage.h"

#define CELLS 2

static struct rapahub_region *region;
static struct rapahub_producer *producer;
static struct rapahub_consumer *consumer;

static void begin(enum rapahub_region_kind kind, enum rapahub_on_full on_full)
{
    const struct rapahub_producer_options options = {.on_full = on_full};

    region = stage_create(NULL, kind, RAPAHUB_REGION_HARDENED, CELLS);
    assert_int_equal(rapahub_producer_open(region, &options, &producer), 0);
    consumer = stage_consumer(region);
    stage_push(producer, 1);
    stage_push(producer, 2);
}

static void end(void)
{
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
}

static int push(uint64_t timeout_ns)
{
    uint64_t number = 3;

    return rapahub_producer_push(producer, &number, sizeof number, timeout_ns);
}

/* r[verify region.edge] r[verify region.stopped] */
static void each_policy_does_on_full_as_it_says(void **state)
{
    (void)state;
    for (int kind = RAPAHUB_REGION_SPSC; kind <= RAPAHUB_REGION_MPSC; kind++) {
        uint64_t start;

        begin((enum rapahub_region_kind)kind, RAPAHUB_ON_FULL_FAIL);
        start = hub_clock_now();
        assert_int_equal(push(HUB_SECOND), RAPAHUB_EFULL);
        assert_true(hub_clock_now() - start < HUB_SECOND);
        end();
        begin((enum rapahub_region_kind)kind, RAPAHUB_ON_FULL_DROP);
        assert_int_equal(push(HUB_SECOND), 0);
        assert_int_equal(push(HUB_SECOND), 0);
        assert_int_equal(rapahub_producer_dropped(producer), 2);
        stage_pop(consumer, 1);
        stage_pop(consumer, 2);
        stage_empty(consumer);
        end();
        for (int policy = RAPAHUB_ON_FULL_BLOCK; policy <= RAPAHUB_ON_FULL_BACKOFF; policy++) {
            begin((enum rapahub_region_kind)kind, (enum rapahub_on_full)policy);
            assert_int_equal(push(0), RAPAHUB_EFULL);
            start = hub_clock_now();
            assert_int_equal(push(20 * HUB_MILLISECOND), RAPAHUB_ETIMEDOUT);
            assert_true(hub_clock_now() - start >= 20 * HUB_MILLISECOND);
            assert_int_equal(rapahub_producer_dropped(producer), 0);
            stage_pop(consumer, 1);
            assert_int_equal(push(HUB_SECOND), 0);
            end();
        }
    }
}

/* r[verify region.edge] */
static void blocking_needs_wakes(void **state)
{
    const struct rapahub_producer_options backoff = {.on_full = RAPAHUB_ON_FULL_BACKOFF};
    struct rapahub_producer_options wrong = {.reserved = {[3] = 1}};
    struct rapahub_producer *other = NULL;

    (void)state;
    region = stage_create(NULL, RAPAHUB_REGION_SPSC, RAPAHUB_REGION_V1, CELLS);
    region->shape.caps_optional = 0;
    assert_int_equal(rapahub_producer_open(region, NULL, &other), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_producer_open(region, &wrong, &other), RAPAHUB_EINVAL);
    wrong = (struct rapahub_producer_options){.on_full = (enum rapahub_on_full)4};
    assert_int_equal(rapahub_producer_open(region, &wrong, &other), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_producer_open(region, &backoff, &other), 0);
    rapahub_producer_close(other);
    rapahub_producer_close(NULL);
    rapahub_region_close(region);
}

/* r[verify region.cell] */
static void a_producer_does_not_write_into_a_damaged_ring(void **state)
{
    const uint64_t words[] = {
        1,         hub_cell_free(1), hub_cell_free(6), hub_cell_published(4), hub_cell_poisoned(0),
        UINT64_MAX};

    (void)state;
    for (int kind = RAPAHUB_REGION_SPSC; kind <= RAPAHUB_REGION_MPSC; kind++)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            begin((enum rapahub_region_kind)kind, RAPAHUB_ON_FULL_FAIL);
            if (kind == RAPAHUB_REGION_SPSC || words[i] != hub_cell_poisoned(0)) {
                hub_publish64(&hub_ring_view_cell(&region->view, 2)->state, words[i]);
                assert_int_equal(push(0), RAPAHUB_ECORRUPT);
            }
            end();
        }
}

/* r[verify region.retired] */
static void positions_come_to_an_end(void **state)
{
    const uint64_t last = HUB_CELL_POSITION_MAX + 1;

    (void)state;
    for (int kind = RAPAHUB_REGION_SPSC; kind <= RAPAHUB_REGION_MPSC; kind++) {
        region = stage_create(NULL, (enum rapahub_region_kind)kind, RAPAHUB_REGION_HARDENED, CELLS);
        for (uint64_t i = 0; i < CELLS; i++)
            hub_publish64(&hub_ring_view_cell(&region->view, last + i)->state,
                          hub_cell_free(last + i));
        hub_publish64(&region->view.ring->tail, last);
        producer = stage_producer(region);
        assert_int_equal(push(0), RAPAHUB_ERETIRED);
        rapahub_producer_close(producer);
        rapahub_region_close(region);
    }
}

static void consume(struct rapahub_region *other)
{
    struct rapahub_consumer *held;

    if (rapahub_consumer_open(other, NULL, &held) < 0)
        _exit(2);
}

/* r[verify region.peer.dead] */
static void a_producer_that_waits_is_told_that_its_consumer_died(void **state)
{
    (void)state;
    for (int policy = RAPAHUB_ON_FULL_BLOCK; policy <= RAPAHUB_ON_FULL_BACKOFF; policy++) {
        pid_t pid;

        begin(RAPAHUB_REGION_MPSC, (enum rapahub_on_full)policy);
        rapahub_consumer_close(consumer);
        pid = stage_process(rapahub_region_fd(region), consume);
        kill(pid, SIGSTOP);
        assert_int_equal(push(20 * HUB_MILLISECOND), RAPAHUB_ETIMEDOUT);
        stage_kill(pid);
        assert_int_equal(push(20 * HUB_SECOND), RAPAHUB_EPEERDEAD);
        assert_int_equal(push(20 * HUB_MILLISECOND), RAPAHUB_ETIMEDOUT);
        consumer = stage_consumer(region);
        stage_pop(consumer, 1);
        assert_int_equal(push(0), 0);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_does_on_full_as_it_says),
        cmocka_unit_test(blocking_needs_wakes),
        cmocka_unit_test(a_producer_does_not_write_into_a_damaged_ring),
        cmocka_unit_test(positions_come_to_an_end),
        cmocka_unit_test(a_producer_that_waits_is_told_that_its_consumer_died)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
