/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/detached.h"
#include "tests/unit/host-lives/mortal.h"

static struct mortal *present;
static bool dies; /* in the first turn after it was asked */

static int turn_until(struct host_owner *owner, uint64_t deadline_ns)
{
    (void)deadline_ns;
    if (dies && present->life && present->life->death.proven_ns == 0 && present->guest->stop.told)
        mortal_die(present, CLD_EXITED, 0);
    return host_loop_turn(&owner->loop, 1);
}

static int turn(struct host_owner *owner, int timeout_ms)
{
    (void)timeout_ms;
    return turn_until(owner, 0);
}

static struct mortal *open_stop(bool is_mortal)
{
    static const struct host_turns turns = {turn, turn_until};

    present = mortal_serving((struct rapahub_supervision){.restarts_max = 5});
    HOST_OWNER(present->host)->turns = &turns;
    dies = is_mortal;
    return present;
}

static void a_stop_ends_when_the_guest_is_proven_dead(void **state)
{
    struct mortal *mortal = open_stop(true);

    (void)state;
    assert_int_equal(rapahub_host_stop(handle(mortal->host), mortal->guest->id), 0);
    assert_null(mortal->guest->life);
    assert_int_equal(mortal->guest->state, HOST_GUEST_STOPPED);
    assert_int_equal(mortal->guest->pins, 0);
    assert_int_equal(mortal->deaths, 0);
    mortal_close(mortal);
}

static unsigned told;
static int told_code;

static void on_done(void *user, int code, const void *result)
{
    (void)user;
    (void)result;
    told++;
    told_code = code;
}

/* r[verify hub.death.stuck] */
static void a_guest_that_does_not_die_is_not_waited_for_for_ever(void **state)
{
    struct mortal *mortal = open_stop(false);
    struct host_guest *guest = mortal->guest;

    (void)state;
    told = 0;
    assert_int_equal(rapahub_host_stop_async(handle(mortal->host), guest->id, on_done, NULL), 0);
    assert_int_equal(guest->pins, 1);
    assert_int_equal(host_detached_settle(HOST_OWNER(mortal->host)), 0);
    HUB_LIST_EACH (&HOST_OWNER(mortal->host)->loop.timers, link) {
        struct host_timer *timer = HUB_LIST_ITEM(link, struct host_timer, link);

        if (timer->on == host_threads_on_due) {
            assert_in_range(hub_clock_left(timer->due_ns), HUB_SECOND, 60 * HUB_SECOND);
            timer->due_ns = 1; /* it is over */
        }
    }
    assert_int_equal(host_detached_settle(HOST_OWNER(mortal->host)), 1);
    assert_true(told == 1 && told_code == RAPAHUB_ETIMEDOUT);
    assert_string_equal(rapahub_last_error()->rule, "hub.death.stuck");
    assert_non_null(guest->life);
    assert_int_equal(guest->pins, 0);
    mortal_close(mortal);
}

/* The id is that of a life, and another one may serve by now. */
static void a_life_that_has_ended_can_be_neither_stopped_nor_killed(void **state)
{
    struct mortal *mortal = open_stop(true);
    struct rapahub_guest_id id = mortal->guest->id, earlier = id;

    (void)state;
    earlier.epoch--;
    assert_int_equal(rapahub_host_stop(handle(mortal->host), earlier), RAPAHUB_ESTALE);
    assert_int_equal(rapahub_host_kill(handle(mortal->host), earlier), RAPAHUB_ESTALE);
    assert_int_equal(hub_observe(&mortal->life->goodbye.parted), 0);
    mortal_crash(mortal); /* its next life is about to begin */
    assert_int_equal(rapahub_host_kill(handle(mortal->host), id), RAPAHUB_ESTALE);
    assert_int_equal(rapahub_host_stop(handle(mortal->host), id), RAPAHUB_ESTALE);
    mortal_close(mortal);
}

static void a_guest_that_waits_for_its_next_start_can_be_stopped(void **state)
{
    struct mortal *mortal =
        mortal_serving((struct rapahub_supervision){.restarts_max = 5,
                                                    .backoff_initial_ns = 10 * HUB_SECOND,
                                                    .backoff_max_ns = 10 * HUB_SECOND,
                                                    .jitter = RAPAHUB_JITTER_NONE,
                                                    .backoff_first = true});

    (void)state;
    mortal_crash(mortal);
    assert_int_equal(mortal->guest->state, HOST_GUEST_BACKOFF);
    assert_int_equal(rapahub_host_stop(handle(mortal->host), mortal->guest->id), 0);
    assert_int_equal(mortal->guest->state, HOST_GUEST_STOPPED);
    mortal_close(mortal);
}

static void a_guest_that_is_killed_is_started_again(void **state)
{
    struct mortal *mortal = open_stop(false);

    (void)state;
    assert_int_equal(rapahub_host_kill(handle(mortal->host), mortal->guest->id), 0);
    assert_int_equal(hub_observe(&mortal->life->goodbye.parted), 1);
    assert_int_equal(hub_observe(&mortal->life->exit.cause), HOST_CAUSE_NONE);
    mortal_die(mortal, CLD_KILLED, SIGKILL);
    assert_true(mortal->guest->child.begins);
    mortal_close(mortal);
}

/* r[verify hub.death.quarantine] */
static void an_anonymous_guest_without_a_process_is_given_up_instead(void **state)
{
    struct mortal *mortal = open_stop(false);
    int pidfd = mortal->life->process.pidfd;

    (void)state;
    mortal->life->anonymous = true;
    mortal->life->process.pidfd = -1;
    assert_int_equal(rapahub_host_kill(handle(mortal->host), mortal->guest->id), 0);
    assert_int_equal(hub_observe(&mortal->life->exit.cause), HOST_CAUSE_STOP_TIMEOUT);
    mortal->life->anonymous = false;
    mortal->life->process.pidfd = pidfd;
    mortal_close(mortal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_ends_when_the_guest_is_proven_dead),
        cmocka_unit_test(a_guest_that_does_not_die_is_not_waited_for_for_ever),
        cmocka_unit_test(a_life_that_has_ended_can_be_neither_stopped_nor_killed),
        cmocka_unit_test(a_guest_that_waits_for_its_next_start_can_be_stopped),
        cmocka_unit_test(a_guest_that_is_killed_is_started_again),
        cmocka_unit_test(an_anonymous_guest_without_a_process_is_given_up_instead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
