/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/call_debt.h"
#include "hub/call/call_ends.h"
#include "tests/unit/link/pair.h"

static struct pair *open_pair(void)
{
    struct pair *pair = test_malloc(sizeof *pair);
    const struct hub_limits limits = pair_limits();

    pair_open(pair, &limits, 0);
    return pair;
}

static void on_done(void *user, int code, struct hub_answer *answer)
{
    (void)answer;
    *(int *)user = code;
}

static uint64_t begin(struct pair *pair, uint64_t deadline_ns, int *code)
{
    static const uint8_t no_metadata = 0;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {&no_metadata, 1}},
                                  .deadline_ns = deadline_ns,
                                  .done = on_done,
                                  .user = code};
    uint64_t number;

    assert_int_equal(hub_calls_begin(pair->host.connection.calls, &call, &number), 0);
    return number;
}

static struct hub_call_debt look(const struct pair *pair)
{
    struct hub_call_debt debt;

    hub_call_debt_look(pair->host.connection.calls, &debt);
    return debt;
}

/* The guest has begun with it. */
static struct hub_request *take(struct pair *pair)
{
    struct hub_request *request;

    assert_true(hub_link_sweep(pair->guest.connection.link, UINT32_MAX) >= 0);
    request = hub_inbound_calls_next(pair->guest.connection.served, NULL, NULL);
    assert_non_null(request);
    return request;
}

static void answer(struct pair *pair, struct hub_request *request)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct rapahub_bytes nothing = {NULL, 0};

    assert_int_equal(hub_inbound_calls_answer(pair->guest.connection.served, request, &ok, nothing),
                     0);
    assert_true(hub_link_sweep(pair->host.connection.link, UINT32_MAX) >= 0);
}

static void what_is_not_answered_is_owed(void **state)
{
    struct pair *pair = open_pair();
    int codes[2] = {1, 1};

    (void)state;
    assert_int_equal(look(pair).open, 0);
    begin(pair, hub_clock_after(SOON), &codes[0]);
    begin(pair, hub_clock_after(SOON), &codes[1]);
    assert_int_equal(look(pair).open, 2);
    assert_int_equal(look(pair).overdue_ns, HUB_NEVER);
    answer(pair, take(pair));
    assert_int_equal(look(pair).open, 1); /* though the end was not reported yet */
    answer(pair, take(pair));
    assert_int_equal(look(pair).open, 0);
    assert_int_equal(hub_call_ends_deliver(pair->host.connection.calls), 2);
    assert_int_equal(codes[0] | codes[1], 0);
    pair_close(pair);
    test_free(pair);
}

/* r[verify supervise.overrun] */
static void a_call_that_nobody_waits_for_is_owed_since_its_deadline(void **state)
{
    struct pair *pair = open_pair();
    struct hub_request *requests[3];
    int codes[3] = {1, 1, 1};
    uint64_t soon = hub_clock_after(HUB_MILLISECOND);

    (void)state;
    begin(pair, hub_clock_after(SOON), &codes[0]);
    begin(pair, soon, &codes[1]);
    begin(pair, soon + 1, &codes[2]);
    for (int i = 0; i < 3; i++)
        requests[i] = take(pair);
    while (hub_clock_left(soon + 1) > 0)
        continue;
    assert_int_equal(look(pair).overdue_ns, HUB_NEVER); /* the end was not reported */
    assert_int_equal(hub_call_ends_deliver(pair->host.connection.calls), 2);
    assert_int_equal(codes[1], -ETIMEDOUT);
    assert_int_equal(look(pair).open, 3);
    assert_int_equal(look(pair).overdue_ns, soon);
    answer(pair, requests[1]);
    assert_int_equal(look(pair).overdue_ns, soon + 1);
    answer(pair, requests[2]);
    assert_int_equal(look(pair).overdue_ns, HUB_NEVER);
    assert_int_equal(look(pair).open, 1);
    answer(pair, requests[0]);
    assert_int_equal(look(pair).open, 0);
    pair_close(pair);
    test_free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_answered_is_owed),
        cmocka_unit_test(a_call_that_nobody_waits_for_is_owed_since_its_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
