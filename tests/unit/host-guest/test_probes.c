/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/supervise.h>

#include "host/guest/probes.h"
#include "tests/unit/host-guest/living.h"

#define PERIOD (20 * HUB_SECOND)

static const struct rapahub_probe twice = {
    .period_ns = PERIOD, .timeout_ns = PERIOD / 2, .success = 1, .failure = 2};

enum { READY, DEGRADED, UNHEALTHY };

/* A guest that is ready, with these probes, which have begun. */
static struct living *open_probed(struct rapahub_supervision how)
{
    struct living *living = living_open(how);

    host_supervision_ready(living->guest);
    assert_true(host_probes_begin(&living->life));
    return living;
}

static void close_probed(struct living *living)
{
    host_probes_end(&living->life);
    assert_false(host_loop_is_set(&living->life.probes.timer));
    living_close(living);
}

/* The next question that comes. */
static struct hub_request *next_question(struct living *living)
{
    struct hub_request *request = living_next(living);

    for (uint64_t passed = 0; !request && passed < 2 * PERIOD; passed += LIVING_STEP) {
        living_pass(living, LIVING_STEP);
        request = living_next(living);
    }
    assert_non_null(request);
    return request;
}

static void answer_next(struct living *living, uint8_t health)
{
    living_answer(living, next_question(living), HUB_RESPONSE_OK, health);
}

/* r[verify supervise.probe.ready] */
static void a_guest_serves_when_its_startup_probe_has_passed(void **state)
{
    struct living *living =
        living_open((struct rapahub_supervision){.startup = twice, .ready = RAPAHUB_READY_PROBE});

    (void)state;
    assert_false(host_probes_begin(&living->life));
    assert_int_equal(living->guest->state, HOST_GUEST_ATTACHED);
    answer_next(living, READY);
    assert_int_equal(living->ready, 1);
    assert_int_equal(living->guest->state, HOST_GUEST_READY);
    close_probed(living);
}

/* r[verify supervise.probe.readiness] */
static void a_guest_that_says_it_is_degraded_gets_no_calls_until_it_is_ready(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.readiness = twice});

    (void)state;
    answer_next(living, DEGRADED);
    assert_int_equal(living->guest->state, HOST_GUEST_READY); /* once is not enough */
    answer_next(living, DEGRADED);
    assert_int_equal(living->guest->state, HOST_GUEST_DEGRADED);
    answer_next(living, READY);
    assert_int_equal(living->guest->state, HOST_GUEST_READY);
    assert_int_equal(living->ready + living->stuck, 0);
    close_probed(living);
}

/* r[verify supervise.probe.liveness] */
static void a_guest_that_does_not_answer_is_stuck_and_asked_no_more(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.liveness = twice});

    (void)state;
    living_pass(living, 4 * PERIOD);
    assert_int_equal(living->stuck, 1);
    assert_int_equal(living->cause, HOST_CAUSE_PROBE);
    assert_false(host_loop_is_set(&living->life.probes.timer));
    living_pass(living, 4 * PERIOD);
    assert_int_equal(living->stuck, 1);
    close_probed(living);
}

/* r[verify supervise.probe.liveness] */
static void a_degraded_guest_lives_and_an_unhealthy_one_is_stuck(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.liveness = twice});

    (void)state;
    for (int i = 0; i < 3; i++)
        answer_next(living, DEGRADED);
    assert_int_equal(living->stuck, 0);
    answer_next(living, UNHEALTHY);
    answer_next(living, READY);
    answer_next(living, UNHEALTHY);
    assert_int_equal(living->stuck, 0); /* not twice in a row */
    answer_next(living, UNHEALTHY);
    assert_int_equal(living->stuck, 1);
    close_probed(living);
}

/* It has received the question, and answered. r[verify supervise.probe.answer] */
static void a_guest_that_does_not_know_the_question_is_well(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.liveness = twice});

    (void)state;
    for (int i = 0; i < 3; i++)
        living_answer(living, next_question(living), HUB_RESPONSE_UNKNOWN_METHOD, 0);
    assert_int_equal(living->stuck, 0);
    for (int i = 0; i < 2; i++)
        living_answer(living, next_question(living), HUB_RESPONSE_CANCELLED, 0);
    assert_int_equal(living->stuck, 1);
    close_probed(living);
}

static void a_guest_that_is_debugged_is_never_stuck(void **state)
{
    struct living *living =
        open_probed((struct rapahub_supervision){.liveness = twice, .debug = true});

    (void)state;
    living_pass(living, 10 * PERIOD);
    assert_int_equal(living->stuck, 0);
    assert_true(host_loop_is_set(&living->life.probes.timer));
    close_probed(living);
}

/* r[verify supervise.watchdog.pause] */
static void time_in_which_the_host_stood_still_is_not_the_guest_s_fault(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.liveness = twice});

    (void)state;
    (void)next_question(living);
    for (int i = 0; i < 5; i++)
        living_stand_still(living, 10 * PERIOD);
    assert_int_equal(living->stuck, 0);
    close_probed(living);
}

/* Its last answer may be on its way. */
static void before_a_probe_fails_the_messages_of_the_guest_are_received(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.liveness = twice});

    (void)state;
    (void)next_question(living);
    hub_publish(&living->life.work, 0);
    living_pass(living, PERIOD / 4);
    assert_int_equal(hub_observe(&living->life.work), 0);
    living_pass(living, PERIOD / 4);
    assert_int_equal(hub_observe(&living->life.work), HOST_WORK_SWEEP | HOST_WORK_ANSWER);
    close_probed(living);
}

static void a_guest_that_leaves_is_not_judged_by_its_answers(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.liveness = twice});
    struct hub_request *request;

    (void)state;
    answer_next(living, UNHEALTHY);
    request = next_question(living);
    host_supervision_leaving(living->guest, "");
    living_answer(living, request, HUB_RESPONSE_OK, UNHEALTHY);
    assert_int_equal(living->stuck, 0);
    living_pass(living, 4 * PERIOD);
    assert_null(living_next(living));
    close_probed(living);
}

static void the_next_question_comes_a_period_after_the_last(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.liveness = twice});
    uint64_t asked;

    (void)state;
    answer_next(living, READY);
    asked = __wrap_hub_clock_now();
    assert_in_range(living->life.probes.timer.due_ns, asked + PERIOD - HUB_SECOND,
                    asked + PERIOD + HUB_SECOND);
    close_probed(living);
}

static void a_question_that_finds_no_space_is_asked_again_and_counts_against_nobody(void **state)
{
    struct living *living = open_probed((struct rapahub_supervision){.readiness = twice});
    const struct hub_message cancel = {HUB_CANCEL, 1, 0};
    const struct hub_parts none = {.loan = NULL};
    struct hub_link *link = living->life.connection.link;

    (void)state;
    while (hub_link_send(link, &cancel, &none, 1) == 0)
        continue;
    living_pass(living, LIVING_STEP);
    answer_next(living, READY);
    assert_int_equal(living->guest->state, HOST_GUEST_READY);
    close_probed(living);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_serves_when_its_startup_probe_has_passed),
        cmocka_unit_test(a_guest_that_says_it_is_degraded_gets_no_calls_until_it_is_ready),
        cmocka_unit_test(a_guest_that_does_not_answer_is_stuck_and_asked_no_more),
        cmocka_unit_test(a_degraded_guest_lives_and_an_unhealthy_one_is_stuck),
        cmocka_unit_test(a_guest_that_does_not_know_the_question_is_well),
        cmocka_unit_test(a_guest_that_is_debugged_is_never_stuck),
        cmocka_unit_test(time_in_which_the_host_stood_still_is_not_the_guest_s_fault),
        cmocka_unit_test(before_a_probe_fails_the_messages_of_the_guest_are_received),
        cmocka_unit_test(a_guest_that_leaves_is_not_judged_by_its_answers),
        cmocka_unit_test(the_next_question_comes_a_period_after_the_last),
        cmocka_unit_test(a_question_that_finds_no_space_is_asked_again_and_counts_against_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
