/* SPDX-License-Identifier: Apache-2.0 */
/* answers: what an answer that finds no memory still tells. */
#include "hub/link/answers.h"
#include "hub/link/call_table.h"
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
    faults_arm(FAULTS_realloc, 1);
    assert_int_equal(hub_link_sweep(flow->pair.host.connection.link, 64), 1);
    assert_true(faults_disarm());
    r = late ? 0 : hub_calls_wait(calls, number, false);
    hub_answers_fini(&answer);
    return r;
}

/* Nobody on the other side will close channels of a call that was refused: their ids would be lost.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_without_memory_frees_its_channels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
