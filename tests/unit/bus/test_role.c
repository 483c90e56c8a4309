/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/lock.h"
#include "hub/bus/role.h"
#include "tests/unit/bus/region_stage.h"

#define CELLS 4

static void produce_one(struct rapahub_region *region)
{
    struct rapahub_producer *producer;
    uint64_t number = 1;

    if (rapahub_producer_open(region, NULL, &producer) < 0 ||
        rapahub_producer_push(producer, &number, sizeof number, 0) < 0)
        _exit(2);
}

static void consume_one(struct rapahub_region *region)
{
    struct rapahub_consumer *consumer;
    uint64_t number;

    if (rapahub_consumer_open(region, NULL, &consumer) < 0 ||
        rapahub_consumer_pop(consumer, &number, sizeof number, 0, NULL) < 0)
        _exit(2);
}

static void profiles(void (*run)(struct rapahub_region *region))
{
    for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++) {
        struct rapahub_region *region =
            stage_create(NULL, RAPAHUB_REGION_SPSC, (enum rapahub_region_profile)profile, CELLS);

        run(region);
        assert_int_equal(rapahub_region_close(region), 0);
    }
}

static void second_here(struct rapahub_region *region)
{
    struct rapahub_region *again = stage_again(region);
    struct rapahub_producer *producer = stage_producer(region), *other = NULL;
    struct rapahub_consumer *consumer = stage_consumer(region), *second = NULL;

    assert_int_equal(rapahub_producer_open(region, NULL, &other), RAPAHUB_EROLETAKEN);
    assert_int_equal(rapahub_producer_open(again, NULL, &other), RAPAHUB_EROLETAKEN);
    assert_int_equal(rapahub_consumer_open(region, NULL, &second), RAPAHUB_EROLETAKEN);
    assert_int_equal(rapahub_consumer_open(again, NULL, &second), RAPAHUB_EROLETAKEN);
    rapahub_producer_close(producer);
    producer = stage_producer(again);
    stage_push(producer, 5);
    stage_pop(consumer, 5);
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    rapahub_region_close(again);
}

/* r[verify region.role] */
static void a_second_producer_or_consumer_is_refused(void **state)
{
    (void)state;
    profiles(second_here);
}

static void die_and_follow(struct rapahub_region *region)
{
    struct rapahub_producer *producer = NULL;
    pid_t pid = stage_process(rapahub_region_fd(region), produce_one);
    struct rapahub_consumer *consumer = NULL;

    kill(pid, SIGSTOP);
    assert_int_equal(rapahub_producer_open(region, NULL, &producer), RAPAHUB_EROLETAKEN);
    stage_kill(pid);
    producer = stage_producer(region);
    for (uint64_t i = 2; i <= CELLS; i++)
        stage_push(producer, i);
    pid = stage_process(rapahub_region_fd(region), consume_one);
    kill(pid, SIGSTOP);
    assert_int_equal(rapahub_consumer_open(region, NULL, &consumer), RAPAHUB_EROLETAKEN);
    stage_kill(pid);
    consumer = stage_consumer(region);
    for (uint64_t i = 2; i <= CELLS; i++)
        stage_pop(consumer, i);
    stage_empty(consumer);
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
}

/* r[verify region.role] r[verify region.committed] r[verify region.again] */
static void a_dead_holder_is_followed_by_the_next_and_a_stopped_one_is_not(void **state)
{
    (void)state;
    profiles(die_and_follow);
}

/* Dies in the middle of a wait of the other side. */
static void wait_for_the_dead(struct rapahub_region *region)
{
    struct rapahub_consumer *consumer = stage_consumer(region);
    pid_t pid = stage_process(rapahub_region_fd(region), produce_one), killer;
    uint64_t number, start;
    siginfo_t info;

    stage_pop(consumer, 1);
    killer = fork();
    if (killer == 0) {
        hub_clock_pause(100 * HUB_MILLISECOND);
        kill(pid, SIGKILL);
        _exit(0);
    }
    start = hub_clock_now();
    assert_int_equal(rapahub_consumer_pop(consumer, &number, sizeof number, 20 * HUB_SECOND, NULL),
                     RAPAHUB_EPEERDEAD);
    assert_true(hub_clock_now() - start < 5 * HUB_SECOND);
    waitid(P_PID, (id_t)killer, &info, WEXITED);
    waitid(P_PID, (id_t)pid, &info, WEXITED);
    /* nobody is there, which is no death */
    assert_int_equal(
        rapahub_consumer_pop(consumer, &number, sizeof number, 20 * HUB_MILLISECOND, NULL),
        RAPAHUB_ETIMEDOUT);
    rapahub_consumer_close(consumer);
}

/* r[verify region.peer.dead] r[verify region.bound] */
static void a_wait_ends_with_the_death_of_the_only_counterpart(void **state)
{
    (void)state;
    profiles(wait_for_the_dead);
}

static void enter_table(struct rapahub_region *region)
{
    if (hub_region_table_enter(region, 0) < 0)
        _exit(3);
}

/* r[verify region.bound] */
static void a_process_that_stopped_while_it_changed_roles_is_waited_for_with_a_deadline(
    void **state)
{
    struct rapahub_region_open_options options = {.wait_ns = 50 * HUB_MILLISECOND};
    struct rapahub_region *region =
        stage_create(NULL, RAPAHUB_REGION_SPSC, RAPAHUB_REGION_HARDENED, CELLS);
    struct rapahub_region *again;
    struct rapahub_producer *producer = NULL;
    pid_t pid = stage_process(rapahub_region_fd(region), enter_table);

    (void)state;
    assert_int_equal(rapahub_region_adopt(rapahub_region_fd(region), &options, &again), 0);
    kill(pid, SIGSTOP);
    assert_int_equal(rapahub_producer_open(again, NULL, &producer), RAPAHUB_ETIMEDOUT);
    stage_kill(pid);
    producer = stage_producer(again);
    rapahub_producer_close(producer);
    rapahub_region_close(again);
    rapahub_region_close(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_producer_or_consumer_is_refused),
        cmocka_unit_test(a_dead_holder_is_followed_by_the_next_and_a_stopped_one_is_not),
        cmocka_unit_test(a_wait_ends_with_the_death_of_the_only_counterpart),
        cmocka_unit_test(
            a_process_that_stopped_while_it_changed_roles_is_waited_for_with_a_deadline)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
