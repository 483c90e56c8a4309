/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/epoll.h>

#include "tests/unit/host-lives/mortal.h"

static int call_code;
static unsigned call_ends;

static void on_call(void *user, int code, struct hub_answer *answer)
{
    (void)user;
    (void)answer;
    call_code = code;
    call_ends++;
}

/* Begins an asynchronous call to the guest. */
static void begin_call(struct mortal *mortal)
{
    static const uint8_t nothing = 0;
    uint64_t number;

    call_code = 1;
    call_ends = 0;
    assert_int_equal(hub_calls_begin(mortal->life->connection.calls,
                                     &(struct hub_call){.method_id = 5,
                                                        .payload = {.head = {&nothing, 1}},
                                                        .deadline_ns = hub_clock_after(SOON),
                                                        .done = on_call,
                                                        .at_once = true},
                                     &number),
                     0);
}

/* r[verify hub.death.proof] */
static void a_hint_alone_ends_nothing(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    begin_call(mortal);
    host_death_look(mortal->life);
    host_death_on_pidfd(mortal->life, EPOLLIN);
    host_death_on_bell(mortal->life, EPOLLHUP);
    assert_true(mortal->life->death.proven_ns == 0);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    assert_int_equal(call_ends, 0);
    mortal_close(mortal);
}

/* r[verify supervise.pending] r[verify shm.death.detection-methods] */
static void a_proven_death_ends_calls_first_and_is_told_once(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    (void)mortal_events(mortal);
    mortal->events = 0;
    begin_call(mortal);
    mortal_crash(mortal);
    assert_true(mortal->life->death.proven_ns != 0 && mortal->life->death.settled);
    assert_true(call_ends == 1 && call_code == RAPAHUB_EDIED);
    assert_null(mortal->guest->life);
    assert_int_equal(mortal->life->death.calls_lost, 1);
    host_death_look(mortal->life);
    host_death_on_pidfd(mortal->life, EPOLLIN);
    host_death_closed(mortal->life);
    assert_int_equal(mortal_events(mortal), 2);
    assert_int_equal(mortal->told[0].kind, RAPAHUB_EVENT_DOWN);
    assert_int_equal(mortal->told[0].calls_lost, 1);
    assert_non_null(strstr(mortal->told[0].cause, "SIGSEGV"));
    assert_int_equal(mortal->told[1].kind, RAPAHUB_EVENT_RESTART);
    assert_int_equal(mortal->deaths, 1);
    mortal_close(mortal);
}

/* It may never write again, so nothing of it is watched. */
static void after_the_proof_nobody_watches_the_life(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    struct host_life *life = mortal->life;

    (void)state;
    life->process.on_death = (struct host_watch){life->process.pidfd, host_death_on_pidfd, life, 0};
    assert_int_equal(host_loop_watch(life->loop, &life->process.on_death, EPOLLIN), 0);
    mortal_crash(mortal);
    assert_true(life->process.on_death.number == 0);
    assert_int_equal(hub_observe(&life->segment.view.entry->state), HUB_PEER_GOODBYE);
    assert_false(host_loop_is_set(&mortal->guest->timer));
    mortal_close(mortal);
}

/* r[verify shm.death.callback] */
static void a_guest_that_left_as_it_was_asked_is_no_death(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    host_supervision_end(mortal->guest);
    mortal_die(mortal, CLD_EXITED, 0);
    (void)mortal_events(mortal);
    assert_int_equal(mortal->deaths, 0);
    assert_int_equal(mortal->guest->state, HOST_GUEST_STOPPED);
    mortal_close(mortal);
}

/* A start that found no free entry hears of it. */
static void a_life_is_freed_when_its_last_user_has_gone(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    struct hub_a32 *told = &HOST_OWNER(mortal->host)->changes.told;

    (void)state;
    host_life_hold(mortal->life);
    mortal_crash(mortal);
    hub_store_relaxed(told, 0);
    mortal_sweep(mortal);
    assert_non_null(mortal->life);
    assert_int_equal(hub_load_relaxed(told), 0);
    host_life_drop(mortal->life);
    mortal_sweep(mortal);
    assert_null(mortal->life);
    assert_int_equal(hub_load_relaxed(told), 1);
    mortal_close(mortal);
}

static void a_life_whose_last_calls_have_not_been_told_is_not_freed(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    mortal_crash(mortal);
    hub_publish(&mortal->life->work, HOST_WORK_ANSWER);
    mortal_sweep(mortal);
    assert_non_null(mortal->life);
    assert_int_equal(host_death_deliver(mortal->host), 0);
    assert_int_equal(hub_observe(&mortal->life->work), 0);
    mortal_sweep(mortal);
    assert_null(mortal->life);
    mortal_close(mortal);
}

/* A grandchild may hold the pipe for ever. */
static void output_that_outlives_its_guest_is_waited_for_only_for_a_moment(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    struct host_timer *linger = &HOST_PROCESS(mortal->host)->linger;
    int ends[2];

    (void)state;
    linger->on = host_threads_on_due;
    assert_int_equal(host_output_open(&mortal->life->process.output, mortal->life->loop, ends), 0);
    mortal_crash(mortal);
    mortal_sweep(mortal);
    assert_non_null(mortal->life);
    assert_in_range(hub_clock_left(linger->due_ns), 1, HUB_SECOND);
    mortal->life->death.proven_ns -= HUB_SECOND;
    mortal_sweep(mortal);
    assert_null(mortal->life);
    close(ends[0]);
    close(ends[1]);
    host_loop_clear(linger);
    mortal_close(mortal);
}

static void the_end_of_the_host_waits_for_no_output(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    int ends[2];

    (void)state;
    assert_int_equal(host_output_open(&mortal->life->process.output, mortal->life->loop, ends), 0);
    mortal_crash(mortal);
    HOST_PROCESS(mortal->host)->closing = true;
    host_death_sweep_all(mortal->host);
    assert_true(hub_list_empty(&HOST_PROCESS(mortal->host)->ended));
    mortal->life = NULL;
    close(ends[0]);
    close(ends[1]);
    mortal_close(mortal);
}

/* r[verify hub.violation] */
static void a_closed_link_kills_a_guest_that_lives(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    hub_link_close(mortal->life->connection.link, RAPAHUB_ECLOSED, "");
    host_death_closed(mortal->life);
    assert_true(mortal->life->death.killed);
    assert_int_equal(hub_observe(&mortal->life->exit.cause), HOST_CAUSE_NONE);
    assert_int_equal(mortal->guest->state, HOST_GUEST_STOPPING);
    assert_non_null(mortal->guest->life); /* killed is not dead */
    mortal_close(mortal);
}

/* r[verify hub.violation] */
static void a_broken_rule_is_told_and_is_the_cause_of_the_end(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    (void)mortal_events(mortal);
    mortal->events = 0;
    hub_link_close(mortal->life->connection.link, RAPAHUB_EPROTOCOL, "shm.segment.peer-state");
    host_death_closed(mortal->life);
    host_death_closed(mortal->life);
    assert_true(mortal->guest->totals.violations == 1); /* its death may take long */
    mortal_die(mortal, CLD_KILLED, SIGKILL);
    assert_true(mortal_events(mortal) >= 2);
    assert_int_equal(mortal->told[0].kind, RAPAHUB_EVENT_VIOLATION);
    assert_string_equal(mortal->told[0].rule, "shm.segment.peer-state");
    assert_int_equal(mortal->told[1].kind, RAPAHUB_EVENT_DOWN);
    assert_true(mortal->guest->totals.violations == 1);
    assert_int_equal(stage_child(mortal->guest)->ended, RAPAHUB_EXIT_PROTOCOL);
    mortal_close(mortal);
}

/* Another thread saw the hang-up, and killed it. */
static void a_life_that_somebody_killed_gets_its_time_to_die(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    host_life_part(mortal->life);
    host_death_look(mortal->life);
    assert_true(mortal->life->death.killed);
    assert_int_equal(mortal->guest->state, HOST_GUEST_STOPPING);
    assert_in_range(mortal_time_left(mortal), HUB_SECOND, 10 * HUB_SECOND);
    mortal_close(mortal);
}

/* r[verify hub.death.quarantine] */
static void a_life_without_a_lock_is_quarantined_when_it_should_be_dead(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    struct host_life *life = mortal->life;

    (void)state;
    life->anonymous = true;
    host_death_look(life);
    assert_false(life->death.quarantined);
    hub_publish(&life->exit.cause, HOST_CAUSE_STOP_TIMEOUT);
    host_death_look(life);
    assert_true(life->death.quarantined && life->death.settled);
    assert_string_equal(hub_link_rule(life->connection.link), "hub.death.quarantine");
    assert_null(mortal->guest->life);
    life->anonymous = false;
    mortal_close(mortal);
}

/* A process that it forked has its lock still. r[verify hub.death.proof] */
static void an_anonymous_guest_whose_process_is_dead_is_watched_no_more_and_ended(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    struct host_life *life = mortal->life;

    (void)state;
    life->process.on_death = (struct host_watch){life->process.pidfd, host_death_on_pidfd, life, 0};
    assert_int_equal(host_loop_watch(life->loop, &life->process.on_death, EPOLLIN), 0);
    host_death_on_pidfd(life, EPOLLIN);
    assert_true(life->process.on_death.number != 0); /* of a child only its end counts */
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    life->anonymous = true;
    host_death_on_pidfd(life, EPOLLIN);
    assert_true(life->process.on_death.number == 0);
    assert_int_equal(mortal->guest->state, HOST_GUEST_STOPPING);
    assert_true(life->death.proven_ns == 0);
    life->anonymous = false;
    mortal_close(mortal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hint_alone_ends_nothing),
        cmocka_unit_test(a_proven_death_ends_calls_first_and_is_told_once),
        cmocka_unit_test(after_the_proof_nobody_watches_the_life),
        cmocka_unit_test(a_guest_that_left_as_it_was_asked_is_no_death),
        cmocka_unit_test(a_life_is_freed_when_its_last_user_has_gone),
        cmocka_unit_test(a_life_whose_last_calls_have_not_been_told_is_not_freed),
        cmocka_unit_test(output_that_outlives_its_guest_is_waited_for_only_for_a_moment),
        cmocka_unit_test(the_end_of_the_host_waits_for_no_output),
        cmocka_unit_test(a_closed_link_kills_a_guest_that_lives),
        cmocka_unit_test(a_broken_rule_is_told_and_is_the_cause_of_the_end),
        cmocka_unit_test(a_life_that_somebody_killed_gets_its_time_to_die),
        cmocka_unit_test(a_life_without_a_lock_is_quarantined_when_it_should_be_dead),
        cmocka_unit_test(an_anonymous_guest_whose_process_is_dead_is_watched_no_more_and_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
