/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/watch.h"
#include "hub/shm/peer_table.h"
#include "tests/unit/host-guest/living.h"

#define BEAT (10 * HUB_SECOND)

static const struct rapahub_supervision plain = {.heartbeat_misses = 2};

static void set_state(struct living *living, uint32_t to)
{
    hub_publish(&living->life.segment.view.entry->state, to);
}

static const char *rule_of(const struct living *living)
{
    return hub_link_rule(living->life.connection.link);
}

/* r[verify shm.segment.peer-state] */
static void each_step_of_a_guest_is_told_once(void **state)
{
    struct living *living = living_open(plain);

    (void)state;
    living->life.segment.peer_state = HUB_PEER_RESERVED;
    host_watch_look(&living->life);
    host_watch_look(&living->life);
    assert_int_equal(living->attached, 1);
    assert_int_equal(living->leaving, 0);
    set_state(living, HUB_PEER_GOODBYE);
    host_watch_look(&living->life);
    host_watch_look(&living->life);
    assert_int_equal(living->leaving, 1);
    assert_int_equal(living->attached, 1);
    living_close(living);
}

/* r[verify shm.segment.peer-state] r[verify shm.crash.epoch] */
static void an_entry_that_no_guest_may_write_so_ends_the_link(void **state)
{
    struct living *living = living_open(plain);

    (void)state;
    set_state(living, HUB_PEER_RESERVED);
    host_watch_look(&living->life);
    assert_true(hub_link_closed(living->life.connection.link));
    assert_string_equal(rule_of(living), "shm.segment.peer-state");
    living_close(living);
    living = living_open(plain);
    hub_publish(&living->life.segment.view.entry->epoch, living->life.id.epoch + 1);
    host_watch_look(&living->life);
    assert_string_equal(rule_of(living), "shm.crash.epoch");
    assert_int_equal(living->attached + living->leaving, 0);
    living_close(living);
}

static void an_entry_that_is_no_longer_the_guest_s_is_not_looked_at(void **state)
{
    struct living *living = living_open(plain);

    (void)state;
    set_state(living, HUB_PEER_RESERVED);
    living->life.death.proven_ns = 1;
    host_watch_look(&living->life);
    living->life.death.proven_ns = 0;
    hub_publish(&living->life.goodbye.parted, 1); /* the host wrote Goodbye */
    host_watch_look(&living->life);
    assert_false(hub_link_closed(living->life.connection.link));
    living_close(living);
}

static void only_a_guest_that_is_there_and_not_being_killed_is_judged(void **state)
{
    struct living *living = living_open(plain);
    struct host_life *life = &living->life;

    (void)state;
    assert_true(host_watch_is_judged(life));
    life->segment.peer_state = HUB_PEER_GOODBYE;
    assert_false(host_watch_is_judged(life));
    life->segment.peer_state = HUB_PEER_ATTACHED;
    life->death.proven_ns = 1;
    assert_false(host_watch_is_judged(life));
    life->death.proven_ns = 0;
    hub_publish(&life->exit.cause, HOST_CAUSE_STALL);
    assert_false(host_watch_is_judged(life));
    hub_publish(&life->exit.cause, HOST_CAUSE_NONE);
    hub_link_close(life->connection.link, RAPAHUB_ECLOSED, "");
    assert_false(host_watch_is_judged(life));
    living_close(living);
}

/* ---- heartbeats ---- */

static struct living *open_beating(struct rapahub_supervision how)
{
    struct living *living = living_open(how);

    living->host->call.process.options.limits.heartbeat_ns = BEAT;
    host_watch_begin(living->host);
    assert_true(host_loop_is_set(&living->host->beat));
    return living;
}

static void beat(struct living *living, uint64_t when)
{
    hub_store_relaxed64(&living->life.segment.view.entry->last_heartbeat, when);
}

/* r[verify shm.crash.heartbeat] */
static void a_guest_whose_heart_stops_is_stuck(void **state)
{
    struct living *living = open_beating(plain);

    (void)state;
    for (int i = 0; i < 4; i++) {
        beat(living, __wrap_hub_clock_now());
        living_pass(living, BEAT);
    }
    assert_int_equal(living->stuck, 0);
    living_pass(living, 5 * BEAT);
    assert_true(living->stuck > 0);
    assert_int_equal(living->cause, HOST_CAUSE_WATCHDOG);
    living_close(living);
}

static void a_debugged_guest_may_stand_still(void **state)
{
    struct living *living =
        open_beating((struct rapahub_supervision){.heartbeat_misses = 2, .debug = true});

    (void)state;
    beat(living, __wrap_hub_clock_now());
    living_pass(living, 10 * BEAT);
    assert_int_equal(living->stuck, 0);
    living_close(living);
}

/* r[verify shm.crash.heartbeat] */
static void time_in_which_the_host_stood_still_is_not_the_guest_s_fault(void **state)
{
    struct living *living = open_beating(plain);

    (void)state;
    beat(living, __wrap_hub_clock_now());
    for (int i = 0; i < 5; i++)
        living_stand_still(living, 10 * BEAT);
    assert_int_equal(living->stuck, 0);
    assert_true(host_loop_is_set(&living->host->beat));
    living_close(living);
}

/* r[verify shm.crash.heartbeat-clock] */
static void a_beat_of_another_clock_ends_the_link(void **state)
{
    struct living *living = open_beating(plain);

    (void)state;
    beat(living, __wrap_hub_clock_now() + 100 * BEAT);
    living_pass(living, 2 * BEAT);
    assert_string_equal(rule_of(living), "shm.crash.heartbeat-clock");
    living_close(living);
}

static void without_lives_nobody_listens_to_hearts(void **state)
{
    struct living *living = open_beating(plain);

    (void)state;
    hub_list_remove(&living->life.link);
    living_pass(living, 2 * BEAT);
    assert_false(host_loop_is_set(&living->host->beat));
    living_close(living);
}

/* ---- looks by time ---- */

static uint32_t work_of(struct living *living)
{
    uint32_t work = hub_observe(&living->life.work);

    hub_publish(&living->life.work, 0);
    return work;
}

static uint64_t next_look(const struct living *living)
{
    assert_true(host_loop_is_set(&living->host->silent));
    return living->host->silent.due_ns - __wrap_hub_clock_now();
}

/* r[verify hub.wait.foreign] */
static void the_ring_of_a_guest_that_rings_no_doorbell_is_looked_at_often(void **state)
{
    struct living *living = living_open(plain);

    (void)state;
    hub_publish(&living->life.segment.view.entry->guest_wait, 0);
    host_watch_begin(living->host);
    assert_false(host_loop_is_set(&living->host->beat)); /* none was asked for */
    living_stand_still(living, 10 * HUB_SECOND);
    assert_int_equal(work_of(living), HOST_WORK_SWEEP);
    assert_in_range(next_look(living), 5 * HUB_MILLISECOND, 10 * HUB_MILLISECOND);
    living->life.looks.traffic++; /* it has sent something */
    living_stand_still(living, 10 * HUB_MILLISECOND);
    assert_in_range(next_look(living), 1, HUB_MILLISECOND);
    living_close(living);
}

/* r[verify hub.wait.bound] r[verify shm.host.poll-peers] */
static void a_guest_that_wakes_its_host_is_looked_at_each_second_while_something_is_open(
    void **state)
{
    struct living *living = living_open(plain); /* it starts: a message may always come */

    (void)state;
    hub_publish(&living->life.segment.view.entry->guest_wait, UINT32_MAX);
    host_watch_begin(living->host);
    living_stand_still(living, 10 * HUB_SECOND);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(work_of(living), HOST_WORK_SWEEP);
        assert_in_range(next_look(living), 1, HUB_SECOND);
        living_stand_still(living, HUB_SECOND);
    }
    assert_false(living->host->rests);
    living_close(living);
}

/* r[verify hub.wait.bound] */
static void a_host_at_rest_looks_each_ten_seconds_until_it_is_roused(void **state)
{
    struct living *living = living_open(plain);

    (void)state;
    hub_publish(&living->life.segment.view.entry->guest_wait, UINT32_MAX);
    host_supervision_ready(living->guest);
    host_watch_begin(living->host);
    living_stand_still(living, 10 * HUB_SECOND);
    assert_true(living->host->rests);
    living->host->silent.due_ns = __wrap_hub_clock_now() + 10 * HUB_SECOND;
    host_watch_rouse(living->host); /* nothing is open */
    assert_true(living->host->rests);
    assert_true(next_look(living) > 9 * HUB_SECOND);
    host_watch_expect(living->host);
    assert_false(living->host->rests);
    assert_in_range(next_look(living), 0, HUB_SECOND);
    living_close(living);
}

static void a_guest_that_is_not_ready_rouses_a_host_at_rest(void **state)
{
    struct living *living = living_open(plain);

    (void)state;
    hub_publish(&living->life.segment.view.entry->guest_wait, UINT32_MAX);
    host_watch_begin(living->host);
    living->host->rests = true;
    host_watch_rouse(living->host);
    assert_false(living->host->rests);
    living_close(living);
}

/* r[verify hub.wait.flood] */
static void nobody_listens_for_a_while_to_a_doorbell_that_rings_for_nothing(void **state)
{
    struct living *living = living_open(plain);
    struct hub_flood *flood = &living->life.connection.link->wait.flood;

    (void)state;
    living->life.doorbell.watch.fd = living->pair.host.doorbell;
    assert_int_equal(host_life_listen(&living->life), 0);
    host_watch_listen(&living->life);
    assert_false(living->life.doorbell.deaf);
    for (int i = 0; i < 1000000 && hub_flood_until(flood) <= __wrap_hub_clock_now(); i++)
        hub_flood_note(flood, __wrap_hub_clock_now(), 0);
    host_watch_begin(living->host);
    host_watch_listen(&living->life);
    assert_true(living->life.doorbell.deaf);
    assert_true(living->life.doorbell.watch.number == 0);
    assert_true(next_look(living) <= HUB_MILLISECOND);
    living_stand_still(living, HUB_SECOND * 10);
    assert_false(living->life.doorbell.deaf);
    assert_true(living->life.doorbell.watch.number != 0);
    host_loop_unwatch(living->life.loop, &living->life.doorbell.watch);
    living_close(living);
}

/* r[verify hub.file.lock] */
static void an_anonymous_guest_that_leaves_is_tested_for_its_death(void **state)
{
    struct living *living = living_open(plain);

    (void)state;
    living->life.anonymous = true;
    host_watch_begin(living->host);
    living_stand_still(living, 10 * HUB_SECOND);
    assert_int_equal(living->may_be_dead, 0);
    set_state(living, HUB_PEER_GOODBYE);
    living_stand_still(living, 10 * HUB_SECOND);
    assert_int_equal(living->leaving, 1);
    assert_int_equal(living->may_be_dead, 1);
    living_close(living);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_of_a_guest_is_told_once),
        cmocka_unit_test(an_entry_that_no_guest_may_write_so_ends_the_link),
        cmocka_unit_test(an_entry_that_is_no_longer_the_guest_s_is_not_looked_at),
        cmocka_unit_test(only_a_guest_that_is_there_and_not_being_killed_is_judged),
        cmocka_unit_test(a_guest_whose_heart_stops_is_stuck),
        cmocka_unit_test(a_debugged_guest_may_stand_still),
        cmocka_unit_test(time_in_which_the_host_stood_still_is_not_the_guest_s_fault),
        cmocka_unit_test(a_beat_of_another_clock_ends_the_link),
        cmocka_unit_test(without_lives_nobody_listens_to_hearts),
        cmocka_unit_test(the_ring_of_a_guest_that_rings_no_doorbell_is_looked_at_often),
        cmocka_unit_test(
            a_guest_that_wakes_its_host_is_looked_at_each_second_while_something_is_open),
        cmocka_unit_test(a_host_at_rest_looks_each_ten_seconds_until_it_is_roused),
        cmocka_unit_test(a_guest_that_is_not_ready_rouses_a_host_at_rest),
        cmocka_unit_test(nobody_listens_for_a_while_to_a_doorbell_that_rings_for_nothing),
        cmocka_unit_test(an_anonymous_guest_that_leaves_is_tested_for_its_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
