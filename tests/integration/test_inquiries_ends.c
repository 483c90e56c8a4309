/* SPDX-License-Identifier: Apache-2.0 */
/* Inquiries that end without an answer, and how many may be open. */
#include "tests/integration/inquiring.h"

static void expect_stale(struct gate *at, struct hosting *on)
{
    assert_true(gate_until(at, &at->cancelled, 1));
    assert_true(at->ended.number == at->waiting[0].number);
    assert_int_equal(rapahub_host_answer_raw(on->host, at->ended, &(struct rapahub_raw_answer){0}),
                     RAPAHUB_ESTALE);
}

static void the_death_of_the_guest_that_asks_ends_it(void **state)
{
    struct done done = {0};
    struct hosting on;
    struct gate at;

    (void)state;
    gate_open(&at, &on, true);
    begin_hold(&on, &done, NULL);
    assert_true(gate_until(&at, &at.begun, 1));
    assert_done(rapahub_host_kill(on.host, on.guest));
    expect_stale(&at, &on);
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, RAPAHUB_EDIED);
    gate_close(&at, &on);
}

static void its_deadline_ends_it(void **state)
{
    int64_t number = 4;
    const struct rapahub_call call = {.target = gate,
                                      .method = "twice(i64) -> i64",
                                      .timeout_ns = 50 * MS,
                                      .arguments = (const void *const[]){&number, NULL}};
    struct done done = {0};
    struct hosting on;
    struct gate at;

    (void)state;
    gate_open(&at, &on, true);
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, RAPAHUB_ETIMEDOUT);
    expect_stale(&at, &on);
    gate_close(&at, &on);
}

static void a_cancel_ends_it(void **state)
{
    int64_t number = 4;
    const struct rapahub_call call = {.target = gate,
                                      .method = "twice(i64) -> i64",
                                      .arguments = (const void *const[]){&number, NULL}};
    struct rapahub_request_id id;
    struct done done = {0};
    struct hosting on;
    struct gate at;

    (void)state;
    gate_open(&at, &on, true);
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, &id));
    assert_true(gate_until(&at, &at.begun, 1));
    rapahub_host_cancel(on.host, id);
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, RAPAHUB_ECANCELED);
    expect_stale(&at, &on);
    gate_close(&at, &on);
}

static void the_end_of_the_host_ends_it(void **state)
{
    int64_t number = 4;
    const struct rapahub_call call = {.target = gate,
                                      .method = "twice(i64) -> i64",
                                      .arguments = (const void *const[]){&number, NULL}};
    struct done done = {0};
    struct hosting on;
    struct gate at;

    (void)state;
    gate_open(&at, &on, true);
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    assert_true(gate_until(&at, &at.begun, 1));
    gate_close(&at, &on);
    assert_int_equal(done.count, 1);
    assert_int_equal(done.status, RAPAHUB_EDIED);
    assert_int_equal(at.cancelled, 1);
}

/* One more than its share, and the limit is in the text. */
static void a_host_has_no_more_than_its_share_open(void **state)
{
    const unsigned share = 8192;
    int64_t number = 4;
    const struct rapahub_call call = {.target = gate,
                                      .method = "twice(i64) -> i64",
                                      .arguments = (const void *const[]){&number, NULL}};
    struct done done = {0};
    struct hosting on;
    struct gate at;

    (void)state;
    gate_open(&at, &on, true);
    at.keeps_none = true;
    for (unsigned i = 0; i < share; i++)
        assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    assert_true(gate_until(&at, &at.begun, share));
    assert_int_equal(done.count, 0);
    if (rapahub_host_call_async(on.host, &call, on_done, &done, NULL) == 0)
        assert_true(ends(&done, 1));
    else
        snprintf(done.text, sizeof done.text, "%s", rapahub_last_error()->text);
    assert_non_null(strstr(done.text, "8192 calls of this host"));
    gate_close(&at, &on);
    assert_int_equal(at.cancelled, share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_death_of_the_guest_that_asks_ends_it),
        cmocka_unit_test(its_deadline_ends_it),
        cmocka_unit_test(a_cancel_ends_it),
        cmocka_unit_test(the_end_of_the_host_ends_it),
        cmocka_unit_test(a_host_has_no_more_than_its_share_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
