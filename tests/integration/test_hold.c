/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are held, with real processes: they wait and go on; calls that others in the container
 * wait for pass. */
#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define CALLER MODULE("caller")
#define MS     UINT64_C(1000000)

static const struct rapahub_container_id offer = {.pool = {9, 0}};

struct waiting {
    struct hosting *on;
    pthread_t thread;
    uint64_t timeout_ns;
    int64_t result;
    int code, ended;
};

static void *call_twice(void *user)
{
    const int64_t number = 21;
    struct waiting *waiting = user;
    const struct rapahub_call call = {.target = here,
                                      .method = "twice(i64) -> i64",
                                      .arguments = (const void *const[]){&number, NULL},
                                      .timeout_ns = waiting->timeout_ns};

    waiting->code = rapahub_host_call(waiting->on->host, &call, &waiting->result);
    __atomic_store_n(&waiting->ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void begin_waiting(struct waiting *waiting, struct hosting *on, uint64_t timeout_ns)
{
    *waiting = (struct waiting){.on = on, .timeout_ns = timeout_ns};
    assert_int_equal(pthread_create(&waiting->thread, NULL, call_twice, waiting), 0);
}

static bool has_ended(const struct waiting *waiting)
{
    return __atomic_load_n(&waiting->ended, __ATOMIC_ACQUIRE) != 0;
}

static int end_waiting(const struct waiting *waiting)
{
    assert_int_equal(pthread_join(waiting->thread, NULL), 0);
    return waiting->code;
}

/* What the host offers: it holds its caller, and calls it back. */
struct offered {
    struct hosting *on;
};

static int offer_twice(void *self, int64_t number, int64_t *result)
{
    struct offered *offered = self;
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "twice(i64) -> i64",
                                      .arguments = arguments,
                                      .timeout_ns = 100 * MS};

    assert_done(rapahub_host_hold(offered->on->host, here, true));
    return rapahub_host_call(offered->on->host, &call, result);
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(twice, offer_twice, i64, i64),
    RAPAHUB_METHOD_END,
};

static void open_caller(struct hosting *on, struct offered *offered, bool own_thread)
{
    const struct rapahub_container_options options = {.id = offer, .pool_name = "offer"};

    *offered = (struct offered){.on = on};
    open_host(on, (struct rapahub_host_options){.own_thread = own_thread});
    assert_done(start(on, CALLER, here, NULL));
    assert_done(rapahub_host_offer(on->host, &options, methods, offered));
}

/* r[verify cluster.hold] */
static void a_call_to_a_held_container_waits_until_it_may_go_on(void **state)
{
    struct waiting waiting;
    struct offered offered;
    struct hosting on;

    (void)state;
    open_caller(&on, &offered, true);
    assert_done(rapahub_host_hold(on.host, here, true));
    begin_waiting(&waiting, &on, 0);
    pause_ns(30 * MS);
    assert_false(has_ended(&waiting));
    assert_done(rapahub_host_drain(on.host, here, 1000 * MS));
    assert_done(rapahub_host_hold(on.host, here, false));
    assert_done(end_waiting(&waiting));
    assert_int_equal(waiting.result, 42);
    assert_done(rapahub_host_hold(on.host, here, true));
    begin_waiting(&waiting, &on, 20 * MS); /* its own time-out holds */
    assert_int_equal(end_waiting(&waiting), RAPAHUB_ETIMEDOUT);
    close_host(&on);
}

static void of_a_container_that_is_removed_the_held_calls_end(void **state)
{
    struct waiting waiting;
    struct offered offered;
    struct hosting on;

    (void)state;
    open_caller(&on, &offered, true);
    assert_done(rapahub_host_hold(on.host, here, true));
    begin_waiting(&waiting, &on, 0);
    pause_ns(20 * MS);
    assert_done(rapahub_host_remove_container(on.host, here));
    assert_int_equal(end_waiting(&waiting), RAPAHUB_ENOENT);
    assert_int_equal(rapahub_host_hold(on.host, here, false), RAPAHUB_ENOENT);
    assert_int_equal(rapahub_host_hold(on.host, offer, true), -ENOTSUP);
    close_host(&on);
}

static void a_container_is_held_over_a_restart_of_its_guest(void **state)
{
    struct waiting waiting;
    struct offered offered;
    struct hosting on;

    (void)state;
    open_caller(&on, &offered, true);
    assert_done(rapahub_host_hold(on.host, here, true));
    assert_done(rapahub_host_kill(on.host, on.guest));
    for (int i = 0; i < 1000 && __atomic_load_n(&on.told.ready, __ATOMIC_RELAXED) < 2; i++)
        pause_ns(10 * MS);
    begin_waiting(&waiting, &on, 0);
    pause_ns(30 * MS);
    assert_false(has_ended(&waiting));
    assert_done(rapahub_host_hold(on.host, here, false));
    assert_done(end_waiting(&waiting));
    close_host(&on);
}

/* The method that runs waits for it. r[verify cluster.hold.chain] */
static void a_call_that_one_in_the_container_waits_for_passes(void **state)
{
    const uint32_t pool = 9;
    const int64_t number = 21;
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered, false);
    assert_done(
        ask(&on, "ask(u32, i64) -> i64", (const void *const[]){&pool, &number, NULL}, &result));
    assert_int_equal(result, 42);
    assert_done(rapahub_host_drain(on.host, here, 1000 * MS));
    assert_int_equal(offer_twice(&offered, 1, &result), RAPAHUB_ETIMEDOUT); /* in no chain */
    assert_done(rapahub_host_hold(on.host, here, false));
    assert_done(ask(&on, "twice(i64) -> i64", (const void *const[]){&number, NULL}, &result));
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_to_a_held_container_waits_until_it_may_go_on),
        cmocka_unit_test(of_a_container_that_is_removed_the_held_calls_end),
        cmocka_unit_test(a_container_is_held_over_a_restart_of_its_guest),
        cmocka_unit_test(a_call_that_one_in_the_container_waits_for_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
