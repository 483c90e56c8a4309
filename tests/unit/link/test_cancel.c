/* SPDX-License-Identifier: Apache-2.0 */
/* A Cancel that the other side never looks at. */
#include "hub/call/call_ends.h"
#include "tests/unit/link/pair.h"

#define LONG (6 * HUB_SECOND) /* longer than the agreed time */

static void note_code(void *user, int code, struct hub_answer *answer)
{
    (void)answer;
    *(int *)user = code;
}

static uint64_t begin(struct pair *pair, struct hub_answer *answer, int *code)
{
    static const uint8_t payload[] = {0, 7};
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {payload, sizeof payload}},
                                  .deadline_ns = hub_clock_after(LONG),
                                  .answer = answer,
                                  .done = answer ? NULL : note_code,
                                  .user = code};
    uint64_t number = 0;

    assert_int_equal(hub_calls_begin(pair->host.connection.calls, &call, &number), 0);
    return number;
}

/* The waiting caller and the callback: both end a second after the Cancel, not at their deadline.
 * r[verify core.call.cancel] r[verify call.request-id.cancel-still-in-flight] */
static void a_cancelled_call_that_nobody_answers_ends_a_second_later(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_answer answer = {0};
    struct hub_calls *calls;
    uint64_t told, waited, start;
    struct pair pair;
    int code = 0;

    (void)state;
    pair_open(&pair, &limits, 0);
    calls = pair.host.connection.calls;
    told = begin(&pair, NULL, &code);
    waited = begin(&pair, &answer, NULL);
    start = hub_clock_now();
    hub_calls_cancel(calls, told);
    assert_true(hub_call_ends_next(calls) <= hub_clock_after(HUB_CALLS_CANCEL_WAIT));
    assert_int_equal(hub_call_ends_deliver(calls), 0);
    hub_calls_cancel(calls, waited);
    assert_int_equal(hub_calls_wait(calls, waited, false), RAPAHUB_ECANCELED);
    assert_in_range(hub_clock_now() - start, HUB_CALLS_CANCEL_WAIT, LONG / 2);
    assert_int_equal(hub_call_ends_deliver(calls), 1);
    assert_int_equal(code, RAPAHUB_ECANCELED);
    assert_int_equal(hub_calls_open(calls), 2); /* their ids wait for the Responses */
    hub_responses_fini(&answer);
    pair_close(&pair);
}

/* A deadline that is nearer stays. */
static void a_cancel_puts_no_deadline_off(void **state)
{
    const struct hub_limits limits = pair_limits();
    int code = 0;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {"", 1}},
                                  .deadline_ns = hub_clock_now(),
                                  .done = note_code,
                                  .user = &code};
    uint64_t number = 0;
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(hub_calls_begin(pair.host.connection.calls, &call, &number), 0);
    hub_calls_cancel(pair.host.connection.calls, number);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 1);
    assert_int_equal(code, RAPAHUB_ECANCELED);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_call_that_nobody_answers_ends_a_second_later),
        cmocka_unit_test(a_cancel_puts_no_deadline_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
