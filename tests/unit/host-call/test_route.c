/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/call/route.h"
#include "host/call/service.h"
#include "hub/base/clock.h"
#include "hub/shm/lease.h"
#include "tests/unit/host-call/stage.h"

static const struct rapahub_container_id nowhere = {{9, 9}, 9};

/* Nothing is counted as used any more. */
static void drop(struct stage *stage, struct host_route *route)
{
    host_route_drop(route);
    assert_true(!route->container && !route->life && !route->methods);
    host_route_drop(route);
    assert_int_equal(hub_observe(&stage->container->users), 0);
    assert_int_equal(hub_observe(&stage->container->held), 0);
    assert_int_equal(hub_observe(&stage->life.users), 0);
    assert_int_equal(hub_observe(&stage->guest.methods->holders), 1);
}

static void a_container_that_nobody_has_is_not_there(void **state)
{
    struct stage *stage = stage_open();
    struct host_route route;

    (void)state;
    assert_int_equal(host_route_find(&stage->host, nowhere, &route), RAPAHUB_ENOENT);
    assert_string_equal(rapahub_last_error()->text, "there is no container 9.9[9]");
    assert_null(route.container);
    drop(stage, &route);
    stage->container->guest = NULL; /* it is being begun */
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), RAPAHUB_ENOENT);
    assert_null(route.container);
    drop(stage, &route);
    stage_close(stage);
}

static void a_route_holds_all_that_a_call_uses(void **state)
{
    struct stage *stage = stage_open();
    struct host_routes *routes = &stage->host.process.owner.registry.routes;
    struct host_route route;

    (void)state;
    host_routes_announce(routes);
    host_routes_write(routes);
    host_routes_unlock(routes);
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), 0);
    assert_ptr_equal(route.container, stage->container);
    assert_ptr_equal(route.life, &stage->life);
    assert_ptr_equal(route.methods, stage->guest.methods);
    assert_string_equal(route.name, "kv");
    assert_int_equal(route.changes, 1);
    assert_int_equal(route.version, 2);
    assert_false(route.held || route.uncalled);
    assert_int_equal(hub_observe(&stage->container->users), 1);
    assert_int_equal(hub_observe(&stage->container->held), 0);
    assert_int_equal(hub_observe(&stage->life.users), 1);
    assert_int_equal(hub_observe(&stage->guest.methods->holders), 2);
    assert_int_equal(stage->looks, 0);
    drop(stage, &route);
    stage_close(stage);
}

static void one_that_goes_tells_an_owner_that_waits_for_it(void **state)
{
    struct stage *stage = stage_open();
    struct host_owner *owner = &stage->host.process.owner;
    struct host_route route;

    (void)state;
    owner->depth = 1; /* it need not be woken */
    for (int awaited = 0; awaited < 2; awaited++) {
        hub_add(&stage->container->users, 1);
        assert_int_equal(host_route_find(&stage->host, stage_here, &route), 0);
        host_containers_await(stage->container, awaited);
        host_route_drop(&route);
        assert_int_equal(hub_observe(&owner->changes.told), awaited);
    }
    host_containers_await(stage->container, false);
    stage_close(stage);
}

static void only_one_of_several_containers_is_named_to_its_guest(void **state)
{
    struct stage *stage = stage_open();
    struct host_container *other;
    struct host_route route;

    (void)state;
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), 0);
    assert_true(route.handle == 0);
    drop(stage, &route);
    other = stage_add(stage, nowhere);
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), 0);
    assert_true(route.handle != 0 && route.handle == stage->container->handle);
    drop(stage, &route);
    assert_int_equal(host_route_find(&stage->host, nowhere, &route), 0);
    assert_true(route.handle == other->handle && route.handle != stage->container->handle);
    drop(stage, &route);
    assert_int_equal(hub_observe(&other->users), 0);
    stage_close(stage);
}

static void an_offer_has_methods_and_no_life(void **state)
{
    static const struct rapahub_method none[] = {RAPAHUB_METHOD_END};
    struct stage *stage = stage_open();
    struct host_service *service;
    struct host_route route;

    (void)state;
    assert_int_equal(host_service_create(none, NULL, &service), 0);
    stage->container->guest = NULL;
    stage->container->offer = service;
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), 0);
    assert_null(route.life);
    assert_string_equal(route.name, "host");
    assert_ptr_equal(route.methods, host_service_methods(service));
    assert_int_equal(hub_observe(&route.methods->holders), 2);
    assert_int_equal(hub_observe(&stage->container->users), 1);
    drop(stage, &route);
    assert_int_equal(hub_observe(&host_service_methods(service)->holders), 1);
    stage->container->offer = NULL;
    host_service_release(&service);
    stage_close(stage);
}

static void a_plugged_container_is_refused_whatever_its_guest_does(void **state)
{
    struct stage *stage = stage_open();
    struct host_route route;

    (void)state;
    stage->container->state = HOST_CONTAINER_PLUGGED;
    for (int i = 0; i < 2; i++) {
        stage->guest.state = i ? HOST_GUEST_STARTING : HOST_GUEST_READY;
        assert_int_equal(host_route_find(&stage->host, stage_here, &route), RAPAHUB_EPLUGGED);
        assert_string_equal(rapahub_last_error()->text, "container 1.2[3] of kv is plugged");
        assert_null(route.life);
        drop(stage, &route);
    }
    assert_int_equal(stage->looks, 0);
    stage_close(stage);
}

/* Also while its guest is being replaced; what is not a call finds it. */
static void a_managed_container_is_found_for_calls_only_under_a_lease(void **state)
{
    struct stage *stage = stage_open();
    struct host_route route;

    (void)state;
    stage->host.process.lease.word.word = hub_lease_word(0);
    assert_int_equal(host_route_find_call(&stage->host, stage_here, false, &route), 0);
    drop(stage, &route);
    stage->container->managed = true;
    assert_int_equal(host_route_find_call(&stage->host, stage_here, false, &route),
                     RAPAHUB_EFENCED);
    drop(stage, &route);
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), 0);
    drop(stage, &route);
    stage->container->state = HOST_CONTAINER_HELD;
    assert_int_equal(host_route_find_call(&stage->host, stage_here, false, &route),
                     RAPAHUB_EFENCED);
    drop(stage, &route);
    stage->host.process.lease.word.word = hub_lease_word(HUB_NEVER);
    assert_int_equal(host_route_find_call(&stage->host, stage_here, false, &route), -EAGAIN);
    drop(stage, &route);
    stage_close(stage);
}

static void where_no_call_can_go_now_the_floor_above_says_why(void **state)
{
    struct stage *stage = stage_open();
    struct host_route route;

    (void)state;
    stage->look = -EAGAIN;
    stage->guest.state = HOST_GUEST_STARTING;
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), -EAGAIN);
    assert_ptr_equal(route.container, stage->container);
    assert_ptr_equal(route.methods, stage->guest.methods);
    assert_string_equal(route.name, "kv");
    assert_null(route.life);
    assert_false(route.held);
    drop(stage, &route);
    stage->look = RAPAHUB_ERESTARTING;
    stage->guest.state = HOST_GUEST_READY;
    stage->container->state = HOST_CONTAINER_STARTING;
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), RAPAHUB_ERESTARTING);
    assert_null(route.life);
    drop(stage, &route);
    assert_int_equal(stage->looks, 2);
    assert_int_equal(stage->calls, 0);
    stage_close(stage);
}

static void *find_on_thread(void *user)
{
    struct stage *stage = user;
    struct host_route route;
    bool uncalled;

    if (host_route_find(&stage->host, stage_here, &route) != -EAGAIN)
        return NULL;
    uncalled = route.uncalled;
    host_route_drop(&route);
    return uncalled ? stage : NULL;
}

/* Another thread asks it to when it waits: see route_wait.h. */
static void the_owner_starts_a_guest_that_only_a_call_starts(void **state)
{
    struct stage *stage = stage_open();
    struct host_route route;
    pthread_t thread;
    void *result;

    (void)state;
    stage->look = -EAGAIN;
    stage->uncalled = true;
    stage->deadline_ns = 7;
    stage->guest.state = HOST_GUEST_STOPPED;
    assert_int_equal(pthread_create(&thread, NULL, find_on_thread, stage), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, stage);
    assert_int_equal(stage->calls, 0);
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), -EAGAIN);
    assert_true(route.uncalled);
    assert_int_equal(stage->calls, 1);
    assert_memory_equal(&stage->called, &stage_here, sizeof stage_here);
    assert_true(stage->deadline_ns == 0);
    drop(stage, &route);
    stage_close(stage);
}

static void a_call_is_counted_once_where_its_guest_is_being_replaced(void **state)
{
    struct stage *stage = stage_open();
    bool counted = false;
    struct host_route route;

    (void)state;
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), 0);
    host_route_count(&route, &counted);
    assert_false(counted);
    drop(stage, &route);
    stage->container->state = HOST_CONTAINER_HELD;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(host_route_find(&stage->host, stage_here, &route), -EAGAIN);
        assert_true(route.held);
        assert_null(route.life);
        assert_int_equal(hub_observe(&stage->container->held), 1);
        assert_int_equal(hub_observe(&stage->container->users), 0);
        host_route_count(&route, &counted);
        assert_true(counted);
        drop(stage, &route);
    }
    assert_int_equal(hub_observe(&stage->container->held_ever), 1);
    assert_int_equal(stage->looks, 0);
    stage_close(stage);
}

/* r[verify cluster.managed] */
static void calls_to_a_managed_container_wait_until_it_is_begun_again(void **state)
{
    struct stage *stage = stage_open();
    struct host_route route;

    (void)state;
    stage->look = RAPAHUB_ERESTARTING;
    stage->container->state = HOST_CONTAINER_DOWN;
    stage->container->managed = true;
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), -EAGAIN);
    drop(stage, &route);
    assert_int_equal(stage->looks, 0);
    stage->guest.state = HOST_GUEST_BACKOFF; /* as any other */
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), RAPAHUB_ERESTARTING);
    drop(stage, &route);
    stage_close(stage);
}

/* r[verify cluster.hold.chain] */
static void a_call_of_a_chain_that_runs_there_passes_until_no_call_is_open(void **state)
{
    struct stage *stage = stage_open();
    struct host_life other = {.incarnation = 1};
    const struct host_chain here = {.origin = &stage->life}, elsewhere = {.origin = &other};
    struct host_route route;

    (void)state;
    hub_list_init(&stage->life.chains.seats);
    stage->container->state = HOST_CONTAINER_HELD;
    assert_int_equal(host_route_find_in(&stage->host, stage_here, false, &elsewhere, &route),
                     -EAGAIN);
    assert_true(route.held && !route.passes);
    drop(stage, &route);
    assert_int_equal(host_route_find_in(&stage->host, stage_here, false, &here, &route), 0);
    assert_true(route.passes && !route.held);
    assert_ptr_equal(route.life, &stage->life);
    assert_int_equal(hub_observe(&stage->container->users), 1);
    drop(stage, &route);
    stage->container->sealed = true;
    assert_int_equal(host_route_find_in(&stage->host, stage_here, false, &here, &route), -EAGAIN);
    drop(stage, &route);
    stage->container->sealed = false;
    stage->container->state = HOST_CONTAINER_PLUGGED;
    assert_int_equal(host_route_find_in(&stage->host, stage_here, false, &here, &route),
                     RAPAHUB_EPLUGGED);
    drop(stage, &route);
    stage->container->state = HOST_CONTAINER_READY;
    assert_int_equal(host_route_find_in(&stage->host, stage_here, false, &here, &route), 0);
    assert_false(route.passes);
    drop(stage, &route);
    stage_close(stage);
}

static void a_call_without_a_timeout_has_that_of_the_host(void **state)
{
    struct stage *stage = stage_open();
    struct rapahub_call call = {.timeout_ns = 0};
    uint64_t before = hub_clock_now(), deadline;

    (void)state;
    stage->host.process.options.call_timeout_ns = 1000 * HUB_SECOND;
    deadline = host_route_deadline(&stage->host, &call);
    assert_true(deadline >= before + 1000 * HUB_SECOND);
    assert_true(deadline <= hub_clock_now() + 1000 * HUB_SECOND);
    call.timeout_ns = 50000 * HUB_SECOND;
    deadline = host_route_deadline(&stage->host, &call);
    assert_true(deadline >= before + 50000 * HUB_SECOND);
    assert_true(deadline <= hub_clock_now() + 50000 * HUB_SECOND);
    call.timeout_ns = UINT64_MAX;
    assert_true(host_route_deadline(&stage->host, &call) == HUB_NEVER);
    stage_close(stage);
}

/* r[verify hub.route.away] */
static void a_call_goes_to_the_router_where_there_is_one(void **state)
{
    struct stage *stage = stage_open();
    struct host_route route;

    (void)state;
    assert_int_equal(host_route_find_call(&stage->host, nowhere, false, &route), RAPAHUB_ENOENT);
    drop(stage, &route);
    stage->container->routed = true;
    assert_int_equal(host_route_find_call(&stage->host, stage_here, false, &route),
                     RAPAHUB_ENOTLOCAL);
    drop(stage, &route);
    hub_store_relaxed(&stage->host.router.set, 1);
    assert_int_equal(host_route_find_call(&stage->host, nowhere, false, &route), HOST_ROUTE_AWAY);
    assert_null(route.container);
    drop(stage, &route);
    assert_int_equal(host_route_find_call(&stage->host, nowhere, true, &route), HOST_ROUTE_AWAY);
    drop(stage, &route);
    assert_int_equal(host_route_find_call(&stage->host, stage_here, false, &route),
                     HOST_ROUTE_AWAY);
    assert_null(route.container);
    drop(stage, &route);
    assert_int_equal(host_route_find_call(&stage->host, stage_here, true, &route), 0);
    drop(stage, &route);
    assert_int_equal(host_route_find(&stage->host, stage_here, &route), 0);
    drop(stage, &route);
    stage->container->routed = false;
    assert_int_equal(host_route_find_call(&stage->host, stage_here, false, &route), 0);
    drop(stage, &route);
    stage_close(stage);
}

/* r[verify hub.route.away] */
static void a_query_is_for_the_router_alone(void **state)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_LOCAL};
    struct rapahub_call call = {.target = stage_here, .query = &query};
    struct stage *stage = stage_open();
    struct rapahub_uid uid;
    struct host_route route;

    (void)state;
    assert_int_equal(host_route_find_own(&stage->host, &call, &route, &uid), RAPAHUB_ENOTSUP);
    drop(stage, &route);
    hub_store_relaxed(&stage->host.router.set, 1);
    assert_int_equal(host_route_find_own(&stage->host, &call, &route, &uid), HOST_ROUTE_AWAY);
    assert_true(uid.origin == 0 && uid.number == 0);
    drop(stage, &route);
    call.query = NULL;
    assert_int_equal(host_route_find_own(&stage->host, &call, &route, &uid), 0);
    drop(stage, &route);
    stage_close(stage);
}

static int find_claimed(struct stage *stage, uint64_t chain, struct rapahub_uid *uid)
{
    const struct host_chain_claim claim = {&stage->life, chain};
    struct host_route route;
    int r = host_route_find_claimed(&stage->host, stage_here, &claim, &route, uid);

    drop(stage, &route);
    return r;
}

/* The container here may be left over from before it moved. r[verify hub.route.uid] */
static void a_call_with_a_uid_goes_to_the_router_whatever_the_container_here_says(void **state)
{
    struct stage *stage = stage_open();
    struct host_chain_seat *seat;
    struct rapahub_uid uid;
    uint64_t chain;

    (void)state;
    hub_list_init(&stage->life.chains.seats);
    hub_list_init(&stage->life.chains.begun);
    host_chains_open(&stage->host.names);
    seat = host_chains_join(&stage->host, 0, (struct rapahub_uid){7, 8});
    assert_non_null(seat);
    chain = host_chains_take(seat, &stage->life);
    stage->container->state = HOST_CONTAINER_PLUGGED;
    assert_int_equal(find_claimed(stage, chain, &uid), RAPAHUB_EPLUGGED);
    hub_store_relaxed(&stage->host.router.set, 1);
    assert_int_equal(find_claimed(stage, chain, &uid), HOST_ROUTE_AWAY);
    assert_true(uid.origin == 7 && uid.number == 8);
    stage->container->state = HOST_CONTAINER_READY;
    stage->container->managed = true;
    hub_store_relaxed64(&stage->host.process.lease.word, hub_lease_word(0));
    assert_int_equal(find_claimed(stage, chain, &uid), HOST_ROUTE_AWAY);
    assert_int_equal(find_claimed(stage, 0, &uid), RAPAHUB_EFENCED);
    host_chains_leave(&seat);
    stage_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_that_nobody_has_is_not_there),
        cmocka_unit_test(a_route_holds_all_that_a_call_uses),
        cmocka_unit_test(one_that_goes_tells_an_owner_that_waits_for_it),
        cmocka_unit_test(only_one_of_several_containers_is_named_to_its_guest),
        cmocka_unit_test(an_offer_has_methods_and_no_life),
        cmocka_unit_test(a_plugged_container_is_refused_whatever_its_guest_does),
        cmocka_unit_test(a_managed_container_is_found_for_calls_only_under_a_lease),
        cmocka_unit_test(where_no_call_can_go_now_the_floor_above_says_why),
        cmocka_unit_test(the_owner_starts_a_guest_that_only_a_call_starts),
        cmocka_unit_test(a_call_is_counted_once_where_its_guest_is_being_replaced),
        cmocka_unit_test(calls_to_a_managed_container_wait_until_it_is_begun_again),
        cmocka_unit_test(a_call_of_a_chain_that_runs_there_passes_until_no_call_is_open),
        cmocka_unit_test(a_call_without_a_timeout_has_that_of_the_host),
        cmocka_unit_test(a_call_goes_to_the_router_where_there_is_one),
        cmocka_unit_test(a_query_is_for_the_router_alone),
        cmocka_unit_test(a_call_with_a_uid_goes_to_the_router_whatever_the_container_here_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
