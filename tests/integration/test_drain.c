/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that is to go and still has calls, with real processes. */
#include "tests/integration/child.h"

static void *nap(void *user)
{
    struct caller *caller = user;
    const uint32_t ms = 300;
    const struct rapahub_call call = {
        .target = here, .method = "hold(u32)", .arguments = (const void *const[]){&ms, NULL}};

    caller->code = rapahub_host_call(caller->lazy->on.host, &call, NULL);
    return NULL;
}

/* Killed right after the goodbye: a call that is not waited for does not end.
 * r[verify supervise.stop.drain] */
static int stop_in_a_call(uint64_t drain_ns, uint64_t *span)
{
    const struct rapahub_supervision how = {
        .drain_ns = drain_ns, .goodbye_ns = RAPAHUB_NONE, .term_ns = RAPAHUB_NONE};
    struct rapahub_child_id child;
    struct caller caller;
    struct lazy lazy;

    open_lazy(&lazy, true);
    child = put(&lazy, here, how);
    (void)pid(&lazy, here);
    caller = (struct caller){.lazy = &lazy};
    assert_int_equal(pthread_create(&caller.thread, NULL, nap, &caller), 0);
    pause_ms(50);
    *span = now_ms();
    assert_int_equal(rapahub_child_stop(lazy.on.host, child, 0), 0);
    assert_refused(ask_pid(&lazy, here), RAPAHUB_ESTOPPED, "was stopped");
    assert_int_equal(pthread_join(caller.thread, NULL), 0);
    *span = now_ms() - *span;
    assert_done(rapahub_child_stop(lazy.on.host, child, 5 * SECOND));
    close_host(&lazy.on);
    return caller.code;
}

static void a_stop_waits_for_calls_that_run_as_long_as_it_may(void **state)
{
    uint64_t span;

    (void)state;
    assert_int_equal(stop_in_a_call(5 * SECOND, &span), 0);
    assert_in_range(span, 150, 3000);
    assert_int_equal(stop_in_a_call(50 * MS, &span), RAPAHUB_EDIED);
    assert_in_range(span, 40, 240);
    assert_int_equal(stop_in_a_call(0, &span), RAPAHUB_EDIED);
}

/* The host's end waits, too; also for calls that the guest has not begun. */
static void the_end_of_a_host_waits_for_them(void **state)
{
    const struct rapahub_supervision how = {
        .drain_ns = 5 * SECOND, .goodbye_ns = RAPAHUB_NONE, .term_ns = RAPAHUB_NONE};
    const uint32_t ms = 100;
    const struct rapahub_call order = {
        .target = here, .method = "hold(u32)", .arguments = (const void *const[]){&ms, NULL}};
    struct ending ending = {0};
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    (void)put(&lazy, here, how);
    (void)pid(&lazy, here);
    for (unsigned i = 0; i < 3; i++)
        assert_done(rapahub_host_call_async(lazy.on.host, &order, on_done, &ending, NULL));
    dispatch(&lazy, 20);
    close_host(&lazy.on);
    assert_int_equal(ending.count, 3);
    assert_int_equal(ending.code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_waits_for_calls_that_run_as_long_as_it_may),
        cmocka_unit_test(the_end_of_a_host_waits_for_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
