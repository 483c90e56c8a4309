/* SPDX-License-Identifier: Apache-2.0 */
/* Producers that die, or stop, between their claim and their publication. */
#include "hub/bus/reap.h"
#include "tests/unit/bus/queue_stage.h"

static pid_t claim_in_process(void)
{
    return stage_process(rapahub_region_fd(region), stage_claim);
}

static uint64_t poisoned(void)
{
    return hub_load_relaxed64(&hub_region_header(region)->poisoned_total);
}

static int pop(uint64_t timeout_ns, uint64_t *number, struct rapahub_message *message)
{
    return rapahub_consumer_pop(consumer, number, sizeof *number, timeout_ns, message);
}

/* The lap after shows that no cell is lost. */
static void use_all_of_it(void)
{
    uint64_t extra = 0;

    for (int lap = 0; lap < 2; lap++) {
        for (uint64_t i = 0; i < CELLS; i++)
            stage_push(producer, i);
        assert_int_equal(rapahub_producer_push(producer, &extra, 8, 0), RAPAHUB_EFULL);
        for (uint64_t i = 0; i < CELLS; i++)
            stage_pop(consumer, i);
    }
    stage_empty(consumer);
}

/* r[verify region.poison] r[verify region.strand] */
static void the_claim_of_a_dead_producer_is_skipped_and_reported(void **state)
{
    struct rapahub_message message;
    uint64_t number;
    pid_t pid = claim_in_process();

    (void)state;
    stage_push(producer, 7);
    stage_kill(pid);
    assert_int_equal(pop(HUB_SECOND, &number, &message), 0);
    assert_int_equal(number, 7);
    assert_int_equal(message.skipped, 1);
    assert_int_equal(message.position, 1);
    stage_push(producer, 8);
    assert_int_equal(pop(0, &number, &message), 0);
    assert_int_equal(message.skipped, 0); /* told once */
    assert_int_equal(poisoned(), 1);
    assert_int_equal(hub_load_relaxed64(&hub_region_header(region)->reaped_total), 1);
    use_all_of_it();
}

/* A consumer that never waits looks now and then, too. r[verify region.poison] */
static void a_consumer_that_polls_gets_past_a_dead_producer(void **state)
{
    uint64_t number = 0;
    int r = RAPAHUB_EEMPTY;
    pid_t pid = claim_in_process();

    (void)state;
    stage_push(producer, 7);
    stage_kill(pid);
    for (int i = 0; i < 1000 && r == RAPAHUB_EEMPTY; i++)
        r = pop(0, &number, NULL);
    assert_int_equal(r, 0);
    assert_int_equal(number, 7);
}

/* r[verify region.poison.live] r[verify region.blocked] */
static void the_claim_of_a_stopped_producer_is_left_alone_and_named(void **state)
{
    struct rapahub_region_blocker blocker;
    uint64_t number;
    pid_t pid = claim_in_process();

    (void)state;
    kill(pid, SIGSTOP);
    stage_push(producer, 7);
    assert_int_equal(pop(50 * HUB_MILLISECOND, &number, NULL), RAPAHUB_EBLOCKED);
    rapahub_consumer_blocked(consumer, &blocker);
    assert_true(blocker.known);
    assert_int_equal(blocker.pid, pid);
    assert_int_equal(blocker.position, 0);
    assert_int_equal(hub_reap_try(region), 0);
    assert_int_equal(poisoned(), 0);
    stage_kill(pid);
    assert_int_equal(pop(HUB_SECOND, &number, NULL), 0);
    assert_int_equal(poisoned(), 1);
    use_all_of_it();
}

static void hold(struct rapahub_region *other)
{
    struct rapahub_producer *held;

    if (rapahub_producer_open(other, NULL, &held) < 0)
        _exit(2);
}

/* Sets what the lease of a process intends, as it would itself. */
static void intend(uint32_t lease, uint64_t position)
{
    hub_publish64(&hub_region_lease_at(region, lease)->intent, hub_region_lease_intend(position));
}

static uint32_t lease_of(pid_t pid)
{
    for (uint32_t i = 0; i < region->shape.lease_count; i++) {
        uint64_t owner = hub_observe64(&hub_region_lease_at(region, i)->owner);

        if (hub_region_lease_pid(owner) == pid && hub_region_lease_state(owner) == HUB_LEASE_HELD)
            return i;
    }
    fail();
    return 0;
}

/* A loser of the race has stored the same intent, and may not have seen yet that it lost: as long
 * as it lives, it might be the owner. r[verify region.poison.live] */
static void a_living_intent_that_covers_the_position_defers_the_reap(void **state)
{
    pid_t dead = claim_in_process(), loser = stage_process(rapahub_region_fd(region), hold);
    uint32_t of_dead = lease_of(dead), of_loser = lease_of(loser);

    (void)state;
    intend(of_loser, 0);
    stage_kill(dead);
    assert_int_equal(hub_reap_try(region), 0);
    assert_int_equal(poisoned(), 0);
    assert_int_equal(
        hub_region_lease_state(hub_observe64(&hub_region_lease_at(region, of_dead)->owner)),
        HUB_LEASE_REAPING);
    hub_publish64(&hub_region_lease_at(region, of_loser)->intent, 0);
    assert_int_equal(hub_reap_try(region), 1);
    assert_int_equal(poisoned(), 1);
    stage_kill(loser);
}

/* r[verify region.poison] */
static void two_that_died_over_one_position_do_not_wait_for_each_other(void **state)
{
    pid_t dead = claim_in_process(), loser = stage_process(rapahub_region_fd(region), hold);

    (void)state;
    intend(lease_of(loser), 0);
    stage_kill(dead);
    stage_kill(loser);
    assert_int_equal(hub_reap_try(region), 2);
    assert_int_equal(poisoned(), 1);
    stage_empty(consumer);
    use_all_of_it();
}

/* r[verify region.poison] */
static void positions_that_were_not_claimed_or_are_published_are_left_alone(void **state)
{
    pid_t dead = stage_process(rapahub_region_fd(region), hold);
    uint32_t lease = lease_of(dead);

    (void)state;
    stage_push(producer, 3);
    stage_kill(dead);
    /* published at 0, claimed by nobody from 1 on: an intent of any size and place */
    hub_publish64(&hub_region_lease_at(region, lease)->intent, UINT64_C(255) << 56 | 1);
    assert_int_equal(hub_reap_try(region), 1);
    assert_int_equal(poisoned(), 0);
    stage_pop(consumer, 3);
    use_all_of_it();
}

/* r[verify region.lease] */
static void a_granter_that_died_leaves_its_lease_to_the_next(void **state)
{
    struct hub_region_lease *lease = hub_region_lease_at(region, 2);
    struct rapahub_producer *one;

    (void)state;
    hub_publish64(&lease->owner, UINT64_C(1) << 32 | 1 << 8 | HUB_LEASE_GRANTING);
    one = stage_producer(region);
    assert_int_equal(hub_region_lease_state(hub_observe64(&lease->owner)), HUB_LEASE_HELD);
    rapahub_producer_close(one);
    assert_int_equal(hub_region_lease_state(hub_observe64(&lease->owner)), HUB_LEASE_FREE);
}

/* r[verify region.lease] */
static void no_more_handles_than_leases(void **state)
{
    struct rapahub_region_options options =
        stage_options(RAPAHUB_REGION_MPSC, RAPAHUB_REGION_HARDENED, 4);
    struct rapahub_producer *one, *two, *three = NULL;
    struct rapahub_region *small;

    (void)state;
    options.leases = 2;
    assert_int_equal(rapahub_region_create(NULL, &options, &small), 0);
    one = stage_producer(small);
    two = stage_producer(small);
    assert_int_equal(rapahub_producer_open(small, NULL, &three), RAPAHUB_EFULL);
    rapahub_producer_close(one);
    one = stage_producer(small);
    rapahub_producer_close(one);
    rapahub_producer_close(two);
    rapahub_region_close(small);
}

/* The epoch of a lease wraps without a trace in the pid. */
static void an_epoch_wraps_in_its_sixteen_bits(void **state)
{
    uint64_t owner = UINT64_C(77) << 32 | 0xFFFF0000u | 1 << 8 | HUB_LEASE_HELD;
    uint64_t next = hub_region_lease_next(owner);

    (void)state;
    assert_int_equal(next, UINT64_C(77) << 32 | HUB_LEASE_FREE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_claim_of_a_dead_producer_is_skipped_and_reported),
        TEST(a_consumer_that_polls_gets_past_a_dead_producer),
        TEST(the_claim_of_a_stopped_producer_is_left_alone_and_named),
        TEST(a_living_intent_that_covers_the_position_defers_the_reap),
        TEST(two_that_died_over_one_position_do_not_wait_for_each_other),
        TEST(positions_that_were_not_claimed_or_are_published_are_left_alone),
        TEST(a_granter_that_died_leaves_its_lease_to_the_next),
        TEST(no_more_handles_than_leases),
        cmocka_unit_test(an_epoch_wraps_in_its_sixteen_bits)};
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
