/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/call/call.h"
#include "host/call/route_cache.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define CHANGES 10000
#define LOOKS   1000 /* for a thread that enters */

static const struct rapahub_container_id here = {{1, 0}, 0};

/* A host as far as a thread that enters looks at it, and where that has called. */
struct place {
    struct host_call host;
    struct host_life lives[2]; /* in turn: a changed life is not called any more */
    struct host_container container;
    struct hub_a32 over;
};

static struct place *make_place(void)
{
    struct place *place = calloc(1, sizeof *place);

    assert_non_null(place);
    place->host.process.owner.loop.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(place->host.process.owner.loop.bell >= 0);
    host_routes_init(&place->host.process.owner.registry.routes);
    assert_int_equal(host_caller_open(&place->host.process.owner.registry.callers), 0);
    return place;
}

static void free_place(struct place *place)
{
    host_caller_close(&place->host.process.owner.registry.callers);
    host_routes_fini(&place->host.process.owner.registry.routes);
    close(place->host.process.owner.loop.bell);
    free(place);
}

static struct host_life *life_of(struct place *place, uint32_t version)
{
    return &place->lives[version % 2];
}

static void note(struct place *place)
{
    struct host_caller *caller = host_caller_get(&place->host.process.owner.registry.callers);
    uint32_t version = hub_observe(&place->host.process.owner.registry.routes.version);

    caller->target = here;
    host_caller_set_place(caller, life_of(place, version), &place->container, version);
}

static bool is_inside(struct place *place, uint32_t version)
{
    return host_caller_inside_life(&place->host.process.owner.registry.callers,
                                   life_of(place, version)) != 0;
}

static void change(struct place *place)
{
    host_routes_write(&place->host.process.owner.registry.routes);
    host_routes_unlock(&place->host.process.owner.registry.routes);
}

static bool is_woken(struct place *place)
{
    return hub_exchange(&place->host.process.owner.loop.woken, 0) != 0;
}

static void one_enters_where_it_called_last_and_nothing_changed(void **state)
{
    struct place *place = make_place();
    struct host_route_use use, inner;

    (void)state;
    assert_false(host_route_cache_enter(&place->host, here, &use));
    note(place);
    assert_false(
        host_route_cache_enter(&place->host, (struct rapahub_container_id){{2, 0}, 0}, &use));
    assert_true(host_route_cache_enter(&place->host, here, &use));
    assert_false(use.owner);
    assert_true(is_inside(place, 1));
    assert_false(host_route_cache_enter(&place->host, here, &inner)); /* a call inside of a call */
    assert_false(host_route_cache_enter_at_rest(&place->host, here, &inner));
    host_route_cache_leave(&place->host, &use);
    assert_false(is_inside(place, 1));
    assert_false(is_woken(place));
    change(place);
    assert_false(host_route_cache_enter(&place->host, here, &use));
    assert_false(host_route_cache_enter_at_rest(&place->host, here, &use));
    free_place(place);
}

/* What is shown may hold the arguments of the next call. */
static void one_to_whom_memory_is_shown_is_not_at_rest(void **state)
{
    struct place *place = make_place();
    struct hub_view view = {.link = NULL};
    struct host_route_use use;

    (void)state;
    note(place);
    assert_true(host_route_cache_enter_at_rest(&place->host, here, &use));
    host_caller_show_view(use.caller, &view, &place->lives[1]);
    host_route_cache_leave(&place->host, &use);
    assert_false(host_route_cache_enter_at_rest(&place->host, here, &use));
    assert_true(host_route_cache_enter(&place->host, here, &use));
    use.caller->life = NULL; /* it has no link, as host_caller_hide needs */
    host_route_cache_leave(&place->host, &use);
    assert_true(host_route_cache_enter_at_rest(&place->host, here, &use));
    host_route_cache_leave(&place->host, &use);
    free_place(place);
}

/* It alone changes the host, and does so in turns only. */
static void the_owner_is_inside_only_while_it_waits(void **state)
{
    struct place *place = make_place();
    struct host_route_use use;

    (void)state;
    hub_store_relaxed64(&place->host.process.owner.threads.owner, (uintptr_t)pthread_self());
    note(place);
    assert_true(host_route_cache_enter(&place->host, here, &use));
    assert_true(use.owner);
    assert_false(is_inside(place, 1));
    host_route_cache_wait(&use);
    assert_true(is_inside(place, 1));
    change(place);
    host_route_cache_waited(&place->host, &use);
    assert_false(is_inside(place, 1));
    assert_true(is_woken(place));
    host_route_cache_leave(&place->host, &use);
    assert_false(is_woken(place));
    free_place(place);
}

static void who_leaves_wakes_the_owner_where_the_host_changed(void **state)
{
    struct place *place = make_place();
    struct host_route_use use;

    (void)state;
    note(place);
    assert_true(host_route_cache_enter(&place->host, here, &use));
    change(place);
    assert_false(is_woken(place));
    assert_int_equal(hub_observe(&place->host.process.owner.changes.told), 0);
    host_route_cache_leave(&place->host, &use);
    assert_true(is_woken(place));
    assert_int_equal(hub_observe(&place->host.process.owner.changes.told), 1);
    free_place(place);
}

static void *enter_and_leave(void *user)
{
    struct place *place = user;

    while (hub_observe(&place->over) == 0) {
        struct host_route_use use;

        if (host_route_cache_enter(&place->host, here, &use))
            host_route_cache_leave(&place->host, &use);
        else
            note(place);
    }
    return NULL;
}

static bool is_woken_soon(struct place *place)
{
    uint64_t deadline = hub_clock_after(10 * HUB_SECOND);

    while (!is_woken(place))
        if (hub_clock_left(deadline) == 0)
            return false;
    return true;
}

/* The owner changes the version and then checks which threads are inside; a thread that leaves says
 * so and then checks the version. One of the two must see the other. */
static void no_wake_up_is_lost(void **state)
{
    struct place *place = make_place();
    pthread_t thread;

    (void)state;
    pthread_create(&thread, NULL, enter_and_leave, place);
    for (uint32_t i = 0; i < CHANGES; i++) {
        uint32_t before = hub_load_relaxed(&place->host.process.owner.registry.routes.version);

        for (int n = 0; n < LOOKS && !is_inside(place, before); n++)
            hub_pause();
        (void)is_woken(place);
        change(place);
        if (is_inside(place, before))
            assert_true(is_woken_soon(place));
    }
    hub_publish(&place->over, 1);
    pthread_join(thread, NULL);
    free_place(place);
}

/* Such a call is looked at each time, because the lease may end at any time. */
static void a_managed_container_is_known_by_heart_only_where_the_lease_has_no_end(void **state)
{
    struct place *place = make_place();
    struct host_route route = {.host = &place->host,
                               .container = &place->container,
                               .life = &place->lives[0],
                               .version =
                                   hub_observe(&place->host.process.owner.registry.routes.version)};
    struct host_caller *caller = host_caller_get(&place->host.process.owner.registry.callers);

    (void)state;
    place->container.managed = true;
    place->host.process.lease.word.word = 1;
    host_route_cache_note(&place->host, &route);
    assert_int_equal(caller->version, 0);
    place->host.process.lease.word.word = 0;
    host_route_cache_note(&place->host, &route);
    assert_int_equal(caller->version, route.version);
    host_routes_expire(&place->host.process.owner.registry.routes);
    assert_true(hub_observe(&place->host.process.owner.registry.routes.version) != route.version);
    free_place(place);
}

/* A call that passes a held container is let in by its chain; the next one may be in none. */
static void a_route_that_passes_is_not_known_by_heart(void **state)
{
    struct place *place = make_place();
    struct host_route route = {.host = &place->host,
                               .container = &place->container,
                               .life = &place->lives[0],
                               .version = 1,
                               .passes = true};
    const struct host_caller *caller = host_caller_get(&place->host.process.owner.registry.callers);

    (void)state;
    host_route_cache_note(&place->host, &route);
    assert_int_equal(caller->version, 0);
    route.passes = false;
    host_route_cache_note(&place->host, &route);
    assert_int_equal(caller->version, 1);
    free_place(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_enters_where_it_called_last_and_nothing_changed),
        cmocka_unit_test(one_to_whom_memory_is_shown_is_not_at_rest),
        cmocka_unit_test(the_owner_is_inside_only_while_it_waits),
        cmocka_unit_test(who_leaves_wakes_the_owner_where_the_host_changed),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(a_managed_container_is_known_by_heart_only_where_the_lease_has_no_end),
        cmocka_unit_test(a_route_that_passes_is_not_known_by_heart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
