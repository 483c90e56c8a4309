/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host/process/guest.h"
#include "host/process/process.h"
#include "tests/support/testing.h"

#define GUESTS 3

/* The registry of a host with two guests, between them a free place. */
struct bench {
    struct host_process host;
    struct host_guest first, second, *guests[GUESTS];
};

static const struct rapahub_guest_id id = {.group = 1, .peer = 2, .epoch = 3};

static struct host_routes *routes_of(struct bench *bench)
{
    return &bench->host.owner.registry.routes;
}

static struct bench *open_bench(void)
{
    struct bench *bench = test_calloc(1, sizeof *bench);

    host_routes_init(routes_of(bench));
    bench->host.owner.registry.guests = bench->guests;
    bench->host.owner.registry.guests_max = GUESTS;
    bench->guests[0] = &bench->first;
    bench->guests[2] = &bench->second;
    bench->first.host = bench->second.host = &bench->host;
    memcpy(bench->second.name, "kv", sizeof "kv");
    bench->second.id = id;
    return bench;
}

static void close_bench(struct bench *bench)
{
    host_routes_fini(routes_of(bench));
    test_free(bench);
}

static void only_the_whole_id_leads_to_a_guest(void **state)
{
    struct bench *bench = open_bench();
    struct rapahub_guest_id other = id;

    (void)state;
    assert_ptr_equal(host_guest_find(&bench->host, id), &bench->second);
    other.group++;
    assert_null(host_guest_find(&bench->host, other));
    other = id;
    other.peer++;
    assert_null(host_guest_find(&bench->host, other));
    other = id;
    other.epoch++;
    assert_null(host_guest_find(&bench->host, other));
    bench->host.owner.registry.guests_max = GUESTS - 1;
    assert_null(host_guest_find(&bench->host, id));
    close_bench(bench);
}

/* The id of such a guest is zero. */
static void one_that_never_lived_is_not_found(void **state)
{
    struct bench *bench = open_bench();

    (void)state;
    assert_null(host_guest_find(&bench->host, (struct rapahub_guest_id){0}));
    close_bench(bench);
}

static void a_change_of_state_is_seen_by_calls_and_by_those_who_wait(void **state)
{
    struct bench *bench = open_bench();
    struct host_routes *routes = routes_of(bench);

    (void)state;
    bench->second.state = HOST_GUEST_STOPPED;
    host_guest_move(&bench->second, HOST_GUEST_STARTING, "");
    assert_int_equal(bench->second.state, HOST_GUEST_STARTING);
    assert_int_equal(hub_observe(&routes->version), 2);
    assert_int_equal(hub_observe(&routes->changes), 1);
    host_guest_show(&bench->second, HOST_GUEST_FAILED, true);
    assert_int_equal(bench->second.state, HOST_GUEST_FAILED);
    assert_true(bench->second.child.over);
    assert_int_equal(hub_observe(&routes->version), 3);
    assert_int_equal(hub_observe(&routes->changes), 2);
    host_guest_show(&bench->second, HOST_GUEST_STARTING, false);
    assert_false(bench->second.child.over);
    assert_int_equal(bench->first.state, HOST_GUEST_STOPPED);
    assert_int_equal(pthread_rwlock_trywrlock(&routes->lock), 0);
    pthread_rwlock_unlock(&routes->lock);
    close_bench(bench);
}

static void on_change(void *user)
{
    (void)user;
}

static void those_that_listen_are_told_of_each_change_of_a_guest(void **state)
{
    struct host_listener listener = {.on_change = on_change};
    struct bench *bench = open_bench();
    struct host_owner *owner = &bench->host.owner;

    (void)state;
    owner->depth = 1; /* it need not be woken */
    host_changes_init(&owner->changes);
    host_guest_move(&bench->first, HOST_GUEST_STARTING, "");
    host_guest_show(&bench->first, HOST_GUEST_READY, false);
    host_guest_tell(&bench->first);
    assert_int_equal(hub_exchange(&owner->changes.told, 0), 0); /* nobody listens */
    host_changes_listen(&owner->changes, &listener);
    host_guest_move(&bench->second, HOST_GUEST_STARTING, "");
    assert_int_equal(hub_exchange(&owner->changes.told, 0), 1);
    host_guest_show(&bench->second, HOST_GUEST_READY, false);
    assert_int_equal(hub_exchange(&owner->changes.told, 0), 1);
    host_guest_tell(&bench->second);
    assert_int_equal(hub_exchange(&owner->changes.told, 0), 1);
    host_changes_forget(&listener);
    host_guest_tell(&bench->second);
    assert_int_equal(hub_exchange(&owner->changes.told, 0), 0);
    close_bench(bench);
}

/* A guest in this state, as a status shows it. */
struct shown {
    enum host_guest_state state;
    const char *word, *restarted, *over;
    bool up;
};

static void a_status_tells_the_state_in_a_word(void **state)
{
    static const struct shown all[] = {
        {HOST_GUEST_STOPPED, "stopped", "stopped", "stopped", false},
        {HOST_GUEST_STARTING, "starting", "restarting", "starting", false},
        {HOST_GUEST_ATTACHED, "starting", "restarting", "starting", false},
        {HOST_GUEST_READY, "ready", "ready", "ready", true},
        {HOST_GUEST_DEGRADED, "degraded", "degraded", "degraded", true},
        {HOST_GUEST_STOPPING, "stopping", "stopping", "stopping", false},
        {HOST_GUEST_EXITED, "restarting", "restarting", "restarting", false},
        {HOST_GUEST_BACKOFF, "restarting", "restarting", "restarting", false},
        {HOST_GUEST_FAILED, "failed", "failed", "ended", false},
        {HOST_GUEST_CLOSED, "stopped", "stopped", "stopped", false},
    };
    struct host_guest *guest = test_calloc(1, sizeof *guest);

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        guest->state = (uint32_t)all[i].state;
        assert_string_equal(host_guest_state_word(guest), all[i].word);
        assert_int_equal(host_guest_is_up(guest), all[i].up);
        guest->totals.restarts = 1;
        assert_string_equal(host_guest_state_word(guest), all[i].restarted);
        guest->totals.restarts = 0;
        guest->child.over = true;
        assert_string_equal(host_guest_state_word(guest), all[i].over);
        guest->child.over = false;
    }
    test_free(guest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_whole_id_leads_to_a_guest),
        cmocka_unit_test(one_that_never_lived_is_not_found),
        cmocka_unit_test(a_change_of_state_is_seen_by_calls_and_by_those_who_wait),
        cmocka_unit_test(those_that_listen_are_told_of_each_change_of_a_guest),
        cmocka_unit_test(a_status_tells_the_state_in_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
