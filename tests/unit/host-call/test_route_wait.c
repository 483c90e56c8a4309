/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/call/route_wait.h"
#include "tests/unit/host-call/stage.h"

/* A thread that waits, and does not own the host. */
struct waiter {
    struct stage *stage;
    struct host_route route;
    uint64_t deadline_ns;
    int code;
    pthread_t thread;
};

static void *wait_on_thread(void *user)
{
    struct waiter *waiter = user;

    waiter->code = host_route_wait(&waiter->stage->host, &waiter->route, waiter->deadline_ns);
    return NULL;
}

static struct waiter waiter_of(struct stage *stage)
{
    return (struct waiter){.stage = stage,
                           .route = {.container = stage->container, .name = "kv"},
                           .deadline_ns = HUB_NEVER};
}

static void begin(struct waiter *waiter)
{
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_on_thread, waiter), 0);
}

static int end(struct waiter *waiter)
{
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
    return waiter->code;
}

static void after_the_deadline_nobody_waits(void **state)
{
    struct stage *stage = stage_open();
    struct waiter waiter = waiter_of(stage);

    (void)state;
    assert_int_equal(host_route_wait(&stage->host, &waiter.route, 1), RAPAHUB_ETIMEDOUT);
    assert_string_equal(rapahub_last_error()->text, "kv was not ready in time");
    assert_int_equal(stage->deadlines, 0);
    waiter.deadline_ns = 1;
    waiter.route.uncalled = true;
    begin(&waiter);
    assert_int_equal(end(&waiter), RAPAHUB_ETIMEDOUT);
    assert_int_equal(stage->calls, 0);
    stage_close(stage);
}

static void the_owner_takes_turns_meanwhile(void **state)
{
    struct stage *stage = stage_open();
    struct waiter waiter = waiter_of(stage);

    (void)state;
    stage->until = 3; /* things that it did */
    assert_int_equal(host_route_wait(&stage->host, &waiter.route, HUB_NEVER - 1), 0);
    assert_int_equal(stage->deadlines, 1);
    assert_true(stage->deadline_ns == HUB_NEVER - 1);
    stage->until = RAPAHUB_EINVAL;
    assert_int_equal(host_route_wait(&stage->host, &waiter.route, HUB_NEVER), RAPAHUB_EINVAL);
    waiter.route.uncalled = true; /* the look-up has called it */
    assert_int_equal(host_route_wait(&stage->host, &waiter.route, HUB_NEVER), RAPAHUB_EINVAL);
    assert_int_equal(stage->calls, 0);
    stage_close(stage);
}

static void another_thread_waits_for_a_change_of_the_host(void **state)
{
    struct stage *stage = stage_open();
    struct host_routes *routes = &stage->host.process.owner.registry.routes;
    struct waiter waiter = waiter_of(stage);

    (void)state;
    waiter.route.changes = hub_observe(&routes->changes);
    begin(&waiter);
    host_routes_announce(routes);
    assert_int_equal(end(&waiter), 0);
    begin(&waiter); /* it has changed since the look-up */
    assert_int_equal(end(&waiter), 0);
    assert_int_equal(stage->deadlines, 0);
    assert_int_equal(stage->calls, 0);
    stage_close(stage);
}

static void another_thread_shows_first_what_is_held_back(void **state)
{
    struct stage *stage = stage_open();
    struct waiter waiter = waiter_of(stage);

    (void)state;
    hub_publish(&stage->host.held, 1);
    waiter.route.changes = hub_observe(&stage->host.process.owner.registry.routes.changes) + 1;
    begin(&waiter);
    assert_int_equal(end(&waiter), 0);
    assert_int_equal(hub_observe(&stage->host.held), 0);
    stage_close(stage);
}

static void another_thread_has_a_guest_started_that_only_a_call_starts(void **state)
{
    struct stage *stage = stage_open();
    struct waiter waiter = waiter_of(stage);

    (void)state;
    waiter.route.uncalled = true;
    waiter.route.changes = hub_observe(&stage->host.process.owner.registry.routes.changes) + 1;
    waiter.deadline_ns = HUB_NEVER - 1;
    begin(&waiter);
    assert_int_equal(end(&waiter), 0);
    assert_int_equal(stage->calls, 1);
    assert_memory_equal(&stage->called, &stage_here, sizeof stage_here);
    assert_true(stage->deadline_ns == HUB_NEVER - 1);
    stage->call = RAPAHUB_ESTATE;
    waiter.route.changes--; /* nothing changes: it must not wait */
    begin(&waiter);
    assert_int_equal(end(&waiter), RAPAHUB_ETIMEDOUT);
    stage_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_the_deadline_nobody_waits),
        cmocka_unit_test(the_owner_takes_turns_meanwhile),
        cmocka_unit_test(another_thread_waits_for_a_change_of_the_host),
        cmocka_unit_test(another_thread_shows_first_what_is_held_back),
        cmocka_unit_test(another_thread_has_a_guest_started_that_only_a_call_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
