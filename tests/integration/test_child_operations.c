/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous stops and restarts: they go on in the turns of their host. */
#include "tests/integration/child.h"

#define HOLD 400 /* ms: so long a guest cannot hear that it shall go */

struct pair {
    struct lazy lazy;
    struct rapahub_child_id child, quiet;
    struct ending held; /* the call that delays the child */
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
    (void)pid(&pair.lazy, other); /* a guest for which no call waits is served */
    if (now_ms() - begun < HOLD / 2)
        assert_int_equal(__atomic_load_n(&stopped.count, __ATOMIC_ACQUIRE), 0);
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
    life = pair.lazy.on.told.guest; /* the quiet guest's, which was ready last */
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

/* An operation that is over as soon as it is requested is reported at once, though nothing else
 * happens. */
static void what_is_over_already_is_told_at_once(void **state)
{
    uint64_t least = UINT64_MAX;
    struct pair pair;

    (void)state;
    open_pair(&pair, true);
    assert_done(rapahub_child_stop(pair.lazy.on.host, pair.child, 10 * SECOND));
    for (unsigned i = 0; i < 3; i++) {
        struct ending ending = {0};
        uint64_t begun;

        pause_ms(50); /* until the owner sleeps */
        begun = now_ms();
        assert_done(stop(&pair, &ending));
        assert_true(comes(&pair, &ending));
        assert_done(ending.code);
        least = now_ms() - begun < least ? now_ms() - begun : least;
    }
    assert_in_range(least, 0, 300);
    close_host(&pair.lazy.on);
}

/* A guest that is asked to stop, and to come back before it has gone. */
static void a_stop_that_is_overtaken_says_so(void **state)
{
    struct ending stopped = {0}, renewed = {0};
    struct pair pair;
    uint64_t begun = now_ms();
    int32_t before;

    (void)state;
    open_pair(&pair, false);
    before = pid(&pair.lazy, here);
    hold_up(&pair);
    assert_done(stop(&pair, &stopped));
    assert_done(renew(&pair, 20 * SECOND, &renewed));
    assert_true(comes(&pair, &renewed));
    assert_done(renewed.code);
    assert_int_not_equal(pid(&pair.lazy, here), before);
    assert_true(comes(&pair, &stopped));
    assert_int_equal(stopped.code, RAPAHUB_ESTATE);
    assert_in_range(now_ms() - begun, 0, 8000); /* and does not wait for its end */
    close_host(&pair.lazy.on);
}

static void *spawn_stuck(void *user)
{
    const struct rapahub_supervision slow = {.start_timeout_ns = 20 * SECOND};
    const struct rapahub_guest_options options = {
        .chimod = MODULE("constructor_loop"), .name = "stuck", .supervision = &slow};
    struct caller *caller = user;
    struct rapahub_guest_id guest;

    caller->code = rapahub_host_spawn(caller->lazy->on.host, &options, &guest);
    return NULL;
}

struct found {
    struct rapahub_guest_id guest;
    bool there;
};

static void find_stuck(void *user, const struct rapahub_guest_status *status)
{
    struct found *found = user;

    if (strcmp(status->name, "stuck") != 0 || status->pid == 0)
        return;
    found->guest = status->guest;
    found->there = true;
}

/* Two tasks hold it; whichever ends last. */
static void a_guest_is_stopped_while_somebody_waits_that_it_serves(void **state)
{
    struct caller caller = {0};
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, true);
    for (unsigned i = 0; i < 4; i++) {
        struct found found = {.there = false};
        struct ending ending = {0};

        caller = (struct caller){.lazy = &lazy};
        assert_int_equal(pthread_create(&caller.thread, NULL, spawn_stuck, &caller), 0);
        for (uint64_t end = now_ms() + 10000; !found.there && now_ms() < end; pause_ms(1))
            assert_done(rapahub_host_guests(lazy.on.host, find_stuck, &found));
        assert_true(found.there);
        if (i % 2)
            assert_done(rapahub_host_stop_async(lazy.on.host, found.guest, on_done, &ending));
        else
            assert_done(rapahub_host_stop(lazy.on.host, found.guest));
        pthread_join(caller.thread, NULL);
        assert_true(caller.code < 0);
        for (uint64_t end = now_ms() + 10000;
             i % 2 && __atomic_load_n(&ending.count, __ATOMIC_ACQUIRE) == 0 && now_ms() < end;)
            pause_ms(1);
        assert_int_equal(__atomic_load_n(&ending.count, __ATOMIC_ACQUIRE), i % 2);
        found.there = false;
        assert_done(rapahub_host_guests(lazy.on.host, find_stuck, &found));
        assert_false(found.there);
    }
    close_host(&lazy.on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_and_a_new_life_go_on_in_the_turns_of_the_host),
        cmocka_unit_test(the_life_of_a_guest_is_stopped_without_a_wait),
        cmocka_unit_test(what_cannot_begin_is_refused_and_what_fails_says_why),
        cmocka_unit_test(all_that_are_under_way_end_with_their_host),
        cmocka_unit_test(what_is_over_already_is_told_at_once),
        cmocka_unit_test(a_stop_that_is_overtaken_says_so),
        cmocka_unit_test(a_guest_is_stopped_while_somebody_waits_that_it_serves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
