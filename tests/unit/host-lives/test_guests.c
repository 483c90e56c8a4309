/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/host-lives/mortal.h"

static bool host_has_left(const struct mortal *mortal)
{
    struct hub_link *link = mortal->pair.guest.connection.link;

    assert_true(hub_link_sweep(link, UINT32_MAX) >= 0);
    return mortal->pair.guest.goodbye[0] != '\0';
}

static void begin_call(struct mortal *mortal, struct hub_answer *answer, uint64_t *number)
{
    static const uint8_t nothing = 0;

    assert_int_equal(hub_calls_begin(mortal->life->connection.calls,
                                     &(struct hub_call){.method_id = 5,
                                                        .payload = {.head = {&nothing, 1}},
                                                        .deadline_ns = hub_clock_after(SOON),
                                                        .answer = answer},
                                     number),
                     0);
}

/* The guest answers its only call, and the caller takes the answer. */
static void end_call(struct mortal *mortal, struct hub_answer *answer, uint64_t number)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_inbound_calls *served = mortal->pair.guest.connection.served;

    assert_true(hub_link_sweep(mortal->pair.guest.connection.link, UINT32_MAX) >= 0);
    assert_int_equal(hub_inbound_calls_answer(served, hub_inbound_calls_next(served, NULL, NULL),
                                              &ok, (struct rapahub_bytes){NULL, 0}),
                     0);
    assert_int_equal(hub_calls_wait(mortal->life->connection.calls, number, false), 0);
    hub_responses_fini(answer);
}

/* r[verify supervise.stop] */
static void a_guest_is_asked_to_go_then_gets_a_signal_and_then_is_killed(void **state)
{
    struct mortal *mortal = mortal_serving(
        (struct rapahub_supervision){.goodbye_ns = HUB_SECOND, .term_ns = 5 * HUB_SECOND});
    struct host_guest *guest = mortal->guest;

    (void)state;
    host_supervision_end(guest);
    assert_true(guest->stop.told && host_has_left(mortal));
    assert_int_equal(guest->state, HOST_GUEST_STOPPING);
    assert_in_range(mortal_time_left(mortal), 1, HUB_SECOND);
    mortal_time_out(mortal);
    assert_true(guest->stop.termed && !mortal->life->death.killed);
    assert_in_range(mortal_time_left(mortal), HUB_SECOND, 5 * HUB_SECOND);
    mortal_time_out(mortal);
    assert_true(mortal->life->death.killed);
    assert_int_equal(hub_observe(&mortal->life->exit.cause), HOST_CAUSE_STOP_TIMEOUT);
    mortal_close(mortal);
}

static void a_guest_that_is_asked_twice_is_told_once(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    uint64_t left;

    (void)state;
    host_guests_ask(mortal->guest);
    mortal->guest->timer.due_ns -= HUB_MILLISECOND;
    left = mortal->guest->timer.due_ns;
    host_guests_ask(mortal->guest);
    assert_true(mortal->guest->timer.due_ns == left);
    mortal_close(mortal);
}

static void options_may_leave_out_the_goodbye_s_time_and_the_signal(void **state)
{
    struct mortal *mortal = mortal_serving(
        (struct rapahub_supervision){.goodbye_ns = RAPAHUB_NONE, .term_ns = RAPAHUB_NONE});

    (void)state;
    host_guests_ask(mortal->guest);
    assert_true(mortal_time_left(mortal) == 0);
    mortal_time_out(mortal);
    assert_true(mortal->life->death.killed && !mortal->guest->stop.termed);
    mortal_close(mortal);
    mortal = mortal_serving((struct rapahub_supervision){.brutal = true});
    host_guests_ask(mortal->guest);
    assert_true(mortal->life->death.killed && !host_has_left(mortal));
    assert_int_equal(hub_observe(&mortal->life->goodbye.leaving), 1);
    mortal_close(mortal);
}

/* r[verify supervise.stop.drain] */
static void a_guest_with_open_calls_is_told_when_they_have_ended(void **state)
{
    struct mortal *mortal = mortal_serving((struct rapahub_supervision){.drain_ns = SOON});
    struct hub_answer answer = {0};
    uint64_t number;

    (void)state;
    begin_call(mortal, &answer, &number);
    host_guests_ask(mortal->guest);
    mortal_time_out(mortal);
    assert_false(host_has_left(mortal));
    assert_true(mortal->guest->stop.drain_ns != 0);
    end_call(mortal, &answer, number);
    mortal_time_out(mortal);
    assert_true(host_has_left(mortal));
    assert_false(mortal->guest->stop.termed);
    mortal_close(mortal);
}

/* r[verify supervise.stop.drain] */
static void open_calls_put_off_the_goodbye_only_for_so_long(void **state)
{
    struct mortal *mortal = mortal_serving((struct rapahub_supervision){.drain_ns = SOON});
    struct hub_answer answer = {0};
    uint64_t number;

    (void)state;
    begin_call(mortal, &answer, &number);
    host_guests_ask(mortal->guest);
    mortal->guest->stop.drain_ns = 1; /* it is over */
    mortal_time_out(mortal);
    assert_true(host_has_left(mortal));
    end_call(mortal, &answer, number);
    mortal_close(mortal);
}

static void a_guest_that_does_not_become_ready_in_time_is_killed(void **state)
{
    struct mortal *mortal =
        mortal_open((struct rapahub_supervision){.start_timeout_ns = 3 * HUB_SECOND});

    (void)state;
    assert_in_range(mortal_time_left(mortal), HUB_SECOND, 3 * HUB_SECOND);
    mortal_time_out(mortal);
    assert_true(mortal->life->death.killed);
    assert_int_equal(hub_observe(&mortal->life->exit.cause), HOST_CAUSE_START_TIMEOUT);
    mortal_close(mortal);
}

/* r[verify supervise.watchdog.pause] */
static void a_start_during_which_the_host_stood_still_gets_its_time_anew(void **state)
{
    struct mortal *mortal =
        mortal_open((struct rapahub_supervision){.start_timeout_ns = 3 * HUB_SECOND});
    struct host_timer *timer = &mortal->guest->timer;

    (void)state;
    host_loop_clear(timer);
    timer->due_ns = hub_clock_now() - 2 * HUB_SECOND;
    timer->on(timer->user);
    assert_false(mortal->life->death.killed);
    assert_in_range(mortal_time_left(mortal), HUB_SECOND, 3 * HUB_SECOND);
    mortal_close(mortal);
}

/* r[verify hub.death.stuck] */
static void the_calls_of_a_guest_that_does_not_die_end(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    host_guests_end(mortal->life, HOST_CAUSE_STALL, "");
    assert_false(hub_link_closed(mortal->life->connection.link));
    mortal_time_out(mortal); /* SIGTERM is for guests that were asked */
    assert_true(hub_link_closed(mortal->life->connection.link));
    assert_string_equal(hub_link_rule(mortal->life->connection.link), "hub.death.stuck");
    assert_non_null(mortal->guest->life); /* nothing is given back without the proof */
    mortal_close(mortal);
}

/* r[verify supervise.watchdog] */
static void a_stuck_guest_gets_time_for_its_last_words(void **state)
{
    struct mortal *mortal =
        mortal_serving((struct rapahub_supervision){.abort_ns = 3 * HUB_SECOND});

    (void)state;
    host_guests_abort(mortal->life, HOST_CAUSE_STALL);
    assert_false(mortal->life->death.killed);
    assert_int_equal(hub_observe(&mortal->life->exit.cause), HOST_CAUSE_STALL);
    assert_int_equal(mortal->guest->state, HOST_GUEST_STOPPING);
    assert_in_range(mortal_time_left(mortal), HUB_SECOND, 3 * HUB_SECOND);
    mortal_time_out(mortal);
    assert_true(mortal->life->death.killed);
    assert_int_equal(hub_observe(&mortal->life->exit.cause), HOST_CAUSE_STALL);
    mortal_close(mortal);
    mortal = mortal_serving((struct rapahub_supervision){.abort_ns = RAPAHUB_NONE});
    host_guests_abort(mortal->life, HOST_CAUSE_STALL);
    assert_true(mortal->life->death.killed);
    mortal_close(mortal);
}

/* r[verify hub.violation] */
static void a_trusted_guest_that_broke_a_rule_may_log_the_reason(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    mortal->life->segment.trusted = true;
    hub_link_close(mortal->life->connection.link, RAPAHUB_EPROTOCOL, "sec.call.own");
    host_guests_violated(mortal->life);
    assert_false(mortal->life->death.killed);
    assert_in_range(mortal_time_left(mortal), 1, HUB_SECOND / 2);
    mortal_close(mortal);
    mortal = mortal_serving(eager);
    hub_link_close(mortal->life->connection.link, RAPAHUB_EPROTOCOL, "sec.call.own");
    host_guests_violated(mortal->life);
    host_guests_violated(mortal->life);
    assert_true(mortal->life->death.killed);
    assert_true(mortal->guest->totals.violations == 1);
    assert_int_equal(mortal->guest->totals.figures.broken[0].count, 1);
    mortal_close(mortal);
}

static void a_guest_that_leaves_by_itself_has_the_time_of_a_stop(void **state)
{
    struct mortal *mortal = mortal_serving(
        (struct rapahub_supervision){.goodbye_ns = 3 * HUB_SECOND, .term_ns = HUB_SECOND});

    (void)state;
    host_guests_leaving(mortal->life);
    assert_int_equal(mortal->guest->state, HOST_GUEST_STOPPING);
    assert_int_equal(hub_observe(&mortal->life->goodbye.leaving), 1);
    assert_in_range(mortal_time_left(mortal), 3 * HUB_SECOND, 5 * HUB_SECOND);
    mortal_close(mortal);
}

static void containers_open_with_their_guest_and_plugged_ones_stay_plugged(void **state)
{
    struct mortal *mortal = mortal_open(eager);
    struct host_container *plain = stage_container(mortal->guest, 1);
    struct host_container *plugged = stage_container(mortal->guest, 2);
    struct host_container *down = stage_container(mortal->guest, 3);

    (void)state;
    plugged->plugged = true;
    down->state = HOST_CONTAINER_DOWN;
    mortal_serve(mortal);
    assert_int_equal(plain->state, HOST_CONTAINER_READY);
    assert_int_equal(plugged->state, HOST_CONTAINER_PLUGGED);
    assert_int_equal(down->state, HOST_CONTAINER_DOWN);
    assert_int_equal(mortal_events(mortal), 1);
    assert_int_equal(mortal->told[0].kind, RAPAHUB_EVENT_READY);
    assert_true(mortal_time_left(mortal) == HUB_NEVER);
    mortal_close(mortal);
}

static void an_end_without_a_goodbye_is_told_to_the_embedder_s_own_function(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    mortal_die(mortal, CLD_EXITED, 0); /* nobody asked for it */
    (void)mortal_events(mortal);
    assert_int_equal(mortal->deaths, 1);
    assert_null(mortal->guest->life);
    assert_int_equal(mortal->guest->ends.count, 1);
    mortal_close(mortal);
}

static void an_event_of_an_earlier_life_does_nothing_to_the_present_one(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    struct host_life *life = mortal->life;

    (void)state;
    mortal->guest->life = NULL;
    host_guests_end(life, HOST_CAUSE_STALL, "");
    host_guests_abort(life, HOST_CAUSE_STALL);
    host_guests_leaving(life);
    assert_false(life->death.killed);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    mortal->guest->life = life;
    mortal_close(mortal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_is_asked_to_go_then_gets_a_signal_and_then_is_killed),
        cmocka_unit_test(a_guest_that_is_asked_twice_is_told_once),
        cmocka_unit_test(options_may_leave_out_the_goodbye_s_time_and_the_signal),
        cmocka_unit_test(a_guest_with_open_calls_is_told_when_they_have_ended),
        cmocka_unit_test(open_calls_put_off_the_goodbye_only_for_so_long),
        cmocka_unit_test(a_guest_that_does_not_become_ready_in_time_is_killed),
        cmocka_unit_test(a_start_during_which_the_host_stood_still_gets_its_time_anew),
        cmocka_unit_test(the_calls_of_a_guest_that_does_not_die_end),
        cmocka_unit_test(a_stuck_guest_gets_time_for_its_last_words),
        cmocka_unit_test(a_trusted_guest_that_broke_a_rule_may_log_the_reason),
        cmocka_unit_test(a_guest_that_leaves_by_itself_has_the_time_of_a_stop),
        cmocka_unit_test(containers_open_with_their_guest_and_plugged_ones_stay_plugged),
        cmocka_unit_test(an_end_without_a_goodbye_is_told_to_the_embedder_s_own_function),
        cmocka_unit_test(an_event_of_an_earlier_life_does_nothing_to_the_present_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
