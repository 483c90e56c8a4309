/* SPDX-License-Identifier: Apache-2.0 */
/* Stops and new lives that nobody waits for: they go on in the turns of their host. */
#include "tests/integration/child.h"

#define HOLD 400 /* ms: so long a guest cannot hear that it shall go */

struct pair {
    struct lazy lazy;
    struct rapahub_child_id child, quiet;
    struct ending held; /* of the call that holds the child up */
};

static void open_pair(struct pair *pair, bool own_thread)
{
    *pair = (struct pair){.held = {0}};
    open_lazy(&pair->lazy, own_thread);
    pair->child = put(&pair->lazy, here, (struct rapahub_supervision){0});
    pair->quiet = put(&pair->lazy, other, (struct rapahub_supervision){0});
    assert_done(rapahub_child_start(pair->lazy.on.host, pair->child, 10 * SECOND));
    assert_done(rapahub_child_start(pair->lazy.on.host, pair->quiet, 10 * SECOND));
}

static void hold_up(struct pair *pair)
{
    static const uint32_t ms = HOLD;
    const struct rapahub_call call = {
        .target = here, .method = "hold(u32)", .arguments = (const void *const[]){&ms, NULL}};

    assert_done(rapahub_host_call_async(pair->lazy.on.host, &call, on_done, &pair->held, NULL));
}

static bool comes(struct pair *pair, struct ending *ending)
{
    for (uint64_t end = now_ms() + 20000;
         __atomic_load_n(&ending->count, __ATOMIC_ACQUIRE) == 0 && now_ms() < end;)
        if (rapahub_host_dispatch(pair->lazy.on.host, 10) == RAPAHUB_ESTATE)
            pause_ms(1); /* it has a thread of its own */
    return ending->count == 1;
}

static int stop(struct pair *pair, struct ending *ending)
{
    return rapahub_child_stop_async(pair->lazy.on.host, pair->child, 10 * SECOND, on_done, ending);
}

static int renew(struct pair *pair, uint64_t timeout_ns, struct ending *ending)
{
    return rapahub_child_renew_async(pair->lazy.on.host, pair->child, timeout_ns, on_done, ending);
}

static void check_stop_and_renewal(bool own_thread)
{
    struct ending stopped = {0}, renewed = {0};
    struct pair pair;
    int32_t before;
    uint64_t begun;

    open_pair(&pair, own_thread);
    before = pid(&pair.lazy, here);
    hold_up(&pair);
    begun = now_ms();
    assert_done(stop(&pair, &stopped));
    (void)pid(&pair.lazy, other); /* who waits for nothing is served */
    if (now_ms() - begun < HOLD / 2)
        assert_int_equal(stopped.count, 0);
    assert_true(comes(&pair, &stopped));
    assert_done(stopped.code);
    assert_true(now_ms() - begun >= HOLD - 5);
    assert_string_equal(status_of(&pair.lazy, pair.child).state, "stopped");
    assert_done(renew(&pair, 10 * SECOND, &renewed));
    assert_true(comes(&pair, &renewed));
    assert_done(renewed.code);
    assert_int_not_equal(pid(&pair.lazy, here), before);
    close_host(&pair.lazy.on);
    assert_int_equal(stopped.count + renewed.count, 2);
}

static void a_stop_and_a_new_life_go_on_in_the_turns_of_the_host(void **state)
{
    (void)state;
    check_stop_and_renewal(false);
    check_stop_and_renewal(true);
}

static void the_life_of_a_guest_is_stopped_without_a_wait(void **state)
{
    struct ending stopped = {0}, again = {0};
    struct rapahub_guest_id life;
    struct pair pair;

    (void)state;
    open_pair(&pair, false);
    life = pair.lazy.on.told.guest; /* of the quiet one, which was ready last */
    assert_done(rapahub_host_stop_async(pair.lazy.on.host, life, on_done, &stopped));
    assert_int_equal(stopped.count, 0);
    assert_true(comes(&pair, &stopped));
    assert_done(stopped.code);
    assert_int_equal(ask_pid(&pair.lazy, other), RAPAHUB_ESTOPPED);
    assert_refused(rapahub_host_stop_async(pair.lazy.on.host, life, on_done, &again),
                   RAPAHUB_ESTALE, "ended");
    (void)pid(&pair.lazy, here);
    close_host(&pair.lazy.on);
    assert_int_equal(again.count, 0);
}

static void what_cannot_begin_is_refused_and_what_fails_says_why(void **state)
{
    const struct rapahub_supervision manual = {.start = RAPAHUB_START_MANUAL,
                                               .restart = RAPAHUB_RESTART_TEMPORARY};
    const struct rapahub_child_id nobody = {4711};
    struct ending none = {0}, late = {0}, lost = {0};
    struct pair pair;

    (void)state;
    open_pair(&pair, false);
    assert_refused(rapahub_child_stop_async(pair.lazy.on.host, nobody, 10 * SECOND, on_done, &none),
                   RAPAHUB_ESTALE, "no such child");
    hold_up(&pair);
    assert_done(renew(&pair, 20 * MS, &late));
    assert_true(comes(&pair, &late));
    assert_int_equal(late.code, RAPAHUB_ETIMEDOUT); /* it goes on all the same */
    pair.child = put_module(&pair.lazy, MODULE("constructor_exit"),
                            (struct rapahub_container_id){.pool = {3, 0}}, manual);
    assert_done(renew(&pair, 10 * SECOND, &lost));
    assert_true(comes(&pair, &lost));
    assert_int_not_equal(lost.code, 0);
    assert_int_not_equal(lost.code, RAPAHUB_ETIMEDOUT);
    close_host(&pair.lazy.on);
    assert_int_equal(none.count, 0);
    assert_int_equal(late.count + lost.count, 2);
}

/* More than one at a time, also for one child. */
static void all_that_are_under_way_end_with_their_host(void **state)
{
    struct ending endings[8] = {{0}};
    struct pair pair;

    (void)state;
    open_pair(&pair, false);
    hold_up(&pair);
    for (unsigned i = 0; i < 8; i++)
        assert_done(i % 2 ? renew(&pair, 10 * SECOND, &endings[i]) : stop(&pair, &endings[i]));
    close_host(&pair.lazy.on);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(endings[i].count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_and_a_new_life_go_on_in_the_turns_of_the_host),
        cmocka_unit_test(the_life_of_a_guest_is_stopped_without_a_wait),
        cmocka_unit_test(what_cannot_begin_is_refused_and_what_fails_says_why),
        cmocka_unit_test(all_that_are_under_way_end_with_their_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
