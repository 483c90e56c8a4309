/* SPDX-License-Identifier: Apache-2.0 */
/* answers: what an answer that finds no memory still tells. */
#include "hub/call/call_ends.h"
#include "hub/call/call_table.h"
#include "hub/call/responses.h"
#include "tests/support/faults.h"
#include "tests/unit/link/channel_pair.h"

static const uint8_t unknown_method[] = {0, 1, 1}; /* no metadata; Err(UnknownMethod) */

/* A call with a stream to its callee, which is refused; `late`: its caller has given up. */
static int refuse(struct flow *flow, uint64_t deadline_ns, bool late)
{
    struct hub_calls *calls = flow->pair.host.connection.calls;
    struct hub_answer answer = {0};
    const struct hub_call call = {.method_id = 99,
                                  .payload = {.head = {(const uint8_t *)"\0", 1}},
                                  .deadline_ns = deadline_ns,
                                  .answer = &answer,
                                  .channels = &flow->caller};
    uint64_t number;
    uint32_t id;
    int r;

    assert_int_equal(hub_calls_begin(calls, &call, &number), 0);
    id = hub_call_table_find(calls, number)->id;
    if (late)
        assert_int_equal(hub_calls_wait(calls, number, false), -ETIMEDOUT);
    hub_channels_answer(&flow->callee, true);
    hub_channels_drop(&flow->callee);
    assert_int_equal(flow_send(&flow->pair.guest, HUB_RESPONSE, id, (const char *)unknown_method,
                               sizeof unknown_method),
                     0);
    faults_arm(FAULTS_aligned_alloc, 1);
    assert_int_equal(hub_link_sweep(flow->pair.host.connection.link, 64), 1);
    assert_true(faults_disarm());
    r = late ? 0 : hub_calls_wait(calls, number, false);
    hub_responses_fini(&answer);
    return r;
}

/* The other side will not close the channels of a refused call: their ids would be lost.
 * r[verify channeling.lifecycle.speculative] */
static void a_refusal_without_memory_frees_its_channels(void **state)
{
    for (int late = 0; late <= 1; late++) {
        struct flow flow;
        uint32_t id;
        int r;

        (void)state;
        flow_open(&flow, true);
        id = hub_channel_id(flow_sender(&flow));
        r = refuse(&flow, hub_clock_after(late ? HUB_MILLISECOND : SOON), late);
        assert_int_equal(r, late ? 0 : -ENOMEM);
        hub_channels_drop(&flow.caller);
        flow_sweep(&flow);
        assert_true(hub_channel_table_is_free(&flow_host(&flow)->entries[id]));
        flow_close(&flow);
    }
}

#define CALLS 5

static void count_one(void *user)
{
    ++*(unsigned *)user;
}

static void count_end(void *user, int code, struct hub_answer *answer)
{
    assert_int_equal(code, 0);
    assert_int_equal(answer->size, 3);
    count_one(user);
}

static void begin_one(struct hub_calls *calls, unsigned *ended, uint32_t *id)
{
    const struct hub_call call = {.method_id = 99,
                                  .payload = {.head = {(const uint8_t *)"\0", 1}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .done = count_end,
                                  .user = ended};
    uint64_t number;

    assert_int_equal(hub_calls_begin(calls, &call, &number), 0);
    *id = hub_call_table_find(calls, number)->id;
}

static void answer(struct pair *pair, uint32_t id)
{
    assert_int_equal(flow_send(&pair->guest, HUB_RESPONSE, id, "\0\0\0", 3), 0);
}

/* They are received together; an unrequested one among them, and one that comes twice, are not
 * taken for others. r[verify hub.call.once] */
static void each_of_several_answers_is_of_its_call(void **state)
{
    const struct hub_limits limits = pair_limits();
    unsigned ended[CALLS] = {0}, ready = 0;
    struct hub_calls *calls;
    uint32_t ids[CALLS];
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    calls = pair.host.connection.calls;
    for (int i = 0; i < CALLS; i++)
        begin_one(calls, &ended[i], &ids[i]);
    hub_calls_on_ready(calls, count_one, &ready);
    for (int i = CALLS - 1; i >= 0; i--) {
        answer(&pair, ids[i]);
        if (i == 3)
            answer(&pair, ids[i] + 1000);
        if (i == 1)
            answer(&pair, ids[4]);
    }
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), CALLS + 2);
    assert_int_equal(ready, 1); /* the first one's; a thread that takes it takes all */
    assert_int_equal(hub_calls_answered(calls), CALLS);
    assert_int_equal(hub_calls_late(calls), 2);
    assert_int_equal(hub_call_ends_deliver(calls), CALLS);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(ended[i], 1);
    begin_one(calls, &ended[0], &ids[0]);
    answer(&pair, ids[0]);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), 1);
    assert_int_equal(ready, 2);
    assert_int_equal(hub_call_ends_deliver(calls), 1);
    pair_close(&pair);
}

/* The callee may answer anything to a call that its caller has given up: no more is stored than a
 * refusal needs. r[verify sec.call.budget] */
static void a_large_answer_that_nobody_waits_for_is_not_kept(void **state)
{
    struct hub_answer answer = {0};
    struct hub_call_entry *entry;
    struct hub_calls *calls;
    struct flow flow;
    uint64_t number;

    (void)state;
    flow_open(&flow, true);
    calls = flow.pair.host.connection.calls;
    const struct hub_call call = {.method_id = 99,
                                  .payload = {.head = {(const uint8_t *)"\0", 1}},
                                  .deadline_ns = hub_clock_after(HUB_MILLISECOND),
                                  .answer = &answer,
                                  .channels = &flow.caller};

    assert_int_equal(hub_calls_begin(calls, &call, &number), 0);
    entry = hub_call_table_find(calls, number);
    assert_int_equal(hub_calls_wait(calls, number, false), -ETIMEDOUT);
    assert_null(hub_responses_place(calls, entry->id, 1000000, 0));
    assert_int_equal(entry->own.capacity, 0);
    assert_non_null(hub_responses_place(calls, entry->id, 1500, 0));
    assert_in_range(entry->own.capacity, 1500, 2048);
    hub_responses_accept(calls, entry->id, NULL, 0);
    hub_responses_fini(&answer);
    hub_channels_drop(&flow.caller);
    hub_channels_answer(&flow.callee, false);
    hub_channels_drop(&flow.callee);
    flow_sweep(&flow);
    flow_close(&flow);
}

/* r[verify sec.call.budget] */
static void an_answer_is_taken_from_the_budget_it_has(void **state)
{
    static const uint8_t bytes[600];
    const struct hub_limits limits = pair_limits();
    struct hub_budget *budget = hub_budget_create(1000);
    struct hub_answer answers[2] = {{0}};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    for (int i = 0; i < 2; i++) {
        struct hub_calls *calls = pair.host.connection.calls;
        const struct hub_call call = {.method_id = 3,
                                      .payload = {.head = {(const uint8_t *)"", 1}},
                                      .deadline_ns = hub_clock_after(SOON),
                                      .answer = &answers[i]};
        const struct hub_parts parts = {.head = {bytes, sizeof bytes}};
        struct hub_message message = {HUB_RESPONSE, 0, 0};
        uint64_t number;

        hub_responses_limit(&answers[i], budget);
        assert_int_equal(hub_calls_begin(calls, &call, &number), 0);
        message.id = hub_call_table_find(calls, number)->id;
        assert_int_equal(hub_link_send(pair.guest.connection.link, &message, &parts, 0), 0);
        assert_int_equal(hub_calls_wait(calls, number, false), i == 0 ? 0 : RAPAHUB_EBUDGET);
        assert_int_equal(hub_load_relaxed64(&budget->used), sizeof bytes);
    }
    hub_responses_fini(&answers[1]);
    hub_budget_drop(&budget); /* the other answer holds it */
    assert_int_equal(hub_load_relaxed64(&answers[0].budget->used), sizeof bytes);
    hub_responses_fini(&answers[0]);
    pair_close(&pair);
}

/* The link closes then, by which it ends; and a call that was to end meanwhile ends here. */
static void an_answer_that_breaks_off_leaves_its_call_open(void **state)
{
    const struct hub_limits limits = pair_limits();

    (void)state;
    for (int ended = 0; ended <= 1; ended++) {
        struct hub_answer answer = {0};
        const struct hub_call call = {.method_id = 3,
                                      .payload = {.head = {(const uint8_t *)"", 1}},
                                      .deadline_ns = hub_clock_after(SOON),
                                      .answer = &answer};
        struct hub_call_entry *entry;
        struct hub_calls *calls;
        uint64_t number;
        struct pair pair;

        pair_open(&pair, &limits, 0);
        calls = pair.host.connection.calls;
        assert_int_equal(hub_calls_begin(calls, &call, &number), 0);
        entry = hub_call_table_find(calls, number);
        assert_non_null(hub_responses_place(calls, entry->id, 100, 0));
        if (ended)
            hub_calls_end_all(calls, RAPAHUB_ECLOSED);
        assert_int_equal(entry->state, HUB_CALL_FILLING);
        hub_responses_drop(calls, entry->id);
        assert_int_equal(entry->state, ended ? HUB_CALL_ENDED : HUB_CALL_OPEN);
        if (!ended)
            hub_calls_end_all(calls, RAPAHUB_EPROTOCOL);
        assert_int_equal(hub_calls_wait(calls, number, false),
                         ended ? RAPAHUB_ECLOSED : RAPAHUB_EPROTOCOL);
        hub_responses_fini(&answer);
        pair_close(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_without_memory_frees_its_channels),
        cmocka_unit_test(each_of_several_answers_is_of_its_call),
        cmocka_unit_test(a_large_answer_that_nobody_waits_for_is_not_kept),
        cmocka_unit_test(an_answer_is_taken_from_the_budget_it_has),
        cmocka_unit_test(an_answer_that_breaks_off_leaves_its_call_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
