/* SPDX-License-Identifier: Apache-2.0 */
/* Guests whose process the host did not start, and which get their segment by descriptors: they are
 * called and call as any other, and go in whatever way. */
#include "tests/integration/admitting.h"
#include "tests/integration/routing.h"

#define CALLS     1000
#define AWAY_POOL 3

/* ---- it calls, and is called ---- */

static void see(void *user, const struct rapahub_guest_status *status)
{
    *(struct rapahub_guest_status *)user = *status;
    assert_string_equal(status->name, "caller");
    assert_string_equal(status->state, "ready");
}

/* Each call of the host makes one of the guest. r[verify hub.admit.ticket] */
static void a_thousand_calls_each_way(void **state)
{
    struct rapahub_guest_status status = {.pid = 0};
    struct client client;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_host(&on, three);
    offer(on.host, HOST_POOL);
    client_begin(&on, &client, MODULE("caller"));
    for (int64_t i = 0; i < CALLS; i++) {
        assert_done(ask_pool(&on, HOST_POOL, i, &result));
        assert_int_equal(result, 2 * i);
    }
    assert_done(rapahub_host_guests(on.host, see, &status));
    assert_true(status.anonymous);
    assert_int_equal(status.pid, client.pid);
    assert_int_equal(on.told.ready, 0);
    assert_done(rapahub_host_stop(on.host, client.ticket.guest));
    assert_int_equal(client_end(&client), 0);
    assert_int_equal(client.deaths, 0);
    assert_int_equal(on.told.down, 1);
    close_host(&on);
}

/* The router learns who calls. r[verify hub.admit.ticket] */
static void its_calls_go_to_the_router_in_its_name(void **state)
{
    struct client client;
    struct hosting on, other;
    struct way way;
    int64_t result = 0;

    (void)state;
    open_host(&other, (struct rapahub_host_options){.own_thread = true});
    open_host(&on, three);
    offer(other.host, AWAY_POOL);
    way_open(&way, on.host, other.host);
    client_begin(&on, &client, MODULE("caller"));
    for (int64_t i = 0; i < 100; i++) {
        assert_done(ask_pool(&on, AWAY_POOL, i, &result));
        assert_int_equal(result, 2 * i);
    }
    assert_int_equal(way.begun, 100);
    assert_int_equal(way.guest.group, client.ticket.guest.group);
    assert_int_equal(way.guest.peer, client.ticket.guest.peer);
    assert_int_equal(way.pool.major, here.pool.major);
    assert_done(rapahub_host_stop(on.host, client.ticket.guest));
    assert_int_equal(client_end(&client), 0);
    way_close(&way);
    close_host(&on);
    close_host(&other);
}

/* It has no container, and is ready at once. */
static void one_that_only_calls_is_ready_when_it_has_attached(void **state)
{
    struct rapahub_admit_options options;
    struct client client;
    struct hosting on;

    (void)state;
    open_host(&on, three);
    client_open(&client, client_serve, CALC);
    options = client_options(&client);
    options.serves = false;
    options.name = "viewer";
    client_admit(&on, &client, &options);
    assert_true(until(&on, &on.told.attached, 1));
    assert_non_null(strstr(on.told.text, "attached viewer"));
    assert_done(rapahub_host_kill(on.host, client.ticket.guest));
    assert_true(until(&on, &on.told.down, 1));
    assert_int_equal(client_end(&client), 75); /* its host is gone: no signal */
    close_host(&on);
}

/* Its calls are served in turns, by the router, and while the host waits for it. r[verify
 * hub.admit.only] */
static void it_calls_nothing_but_the_container_it_was_admitted_for(void **state)
{
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const struct rapahub_container_id only = {{HOST_POOL, 0}, 0};
    struct rapahub_admit_options options;
    struct client client;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_host(&on, three);
    offer(on.host, HOST_POOL);
    offer(on.host, HOST_POOL + 1);
    client_open(&client, client_serve, MODULE("caller"));
    options = client_options(&client);
    options.only = &only;
    client_admit(&on, &client, &options);
    assert_true(until(&on, &on.told.attached, 1));
    assert_done(rapahub_host_add_container(on.host, client.ticket.guest, &container));
    for (int64_t i = 0; i < 10; i++) {
        assert_done(ask_pool(&on, HOST_POOL, i, &result));
        assert_int_equal(result, 2 * i);
        assert_int_equal(ask_pool(&on, HOST_POOL + 1, i, &result), RAPAHUB_EAPPLICATION);
        assert_int_equal(rapahub_last_error()->application, RAPAHUB_EACCES);
        assert_int_equal(ask_pool(&on, AWAY_POOL, i, &result), RAPAHUB_EAPPLICATION);
        assert_int_equal(rapahub_last_error()->application, RAPAHUB_EACCES);
    }
    assert_done(rapahub_host_stop(on.host, client.ticket.guest));
    assert_int_equal(client_end(&client), 0);
    close_host(&on);
}

/* ---- its end ---- */

static void note_end(void *user, int status, const void *result)
{
    struct ends *ends = user;

    (void)result;
    ends->done++;
    if (status != 0)
        assert_int_equal(status, RAPAHUB_EDIED);
    ends->failed += status != 0;
}

static void begin_calls(struct hosting *on, struct ends *ends, unsigned count)
{
    const uint32_t pool = HOST_POOL;
    const int64_t number = 1;
    const void *const arguments[] = {&pool, &number, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "ask(u32, i64) -> i64", .arguments = arguments};

    *ends = (struct ends){0, 0};
    for (unsigned i = 0; i < count; i++)
        assert_done(rapahub_host_call_async(on->host, &call, note_end, ends, NULL));
}

/* The instant is another each time: each call has one end, and nothing is left.
 * r[verify hub.admit.end] */
static void one_that_is_killed_ends_its_own_calls_only(void **state)
{
    struct client client;
    struct hosting on;
    struct ends ends;
    int64_t sum = 0;

    (void)state;
    open_host(&on, three);
    offer(on.host, HOST_POOL);
    assert_done(start(&on, CALC, (struct rapahub_container_id){.pool = {9, 0}}, NULL));
    for (unsigned i = 0; i < 50; i++) {
        const int64_t a = i, b = 1;
        const void *const arguments[] = {&a, &b, NULL};
        const struct rapahub_call neighbour = {
            .target = {.pool = {9, 0}}, .method = "add(i64, i64) -> i64", .arguments = arguments};

        client_begin(&on, &client, MODULE("caller"));
        begin_calls(&on, &ends, 100);
        dispatch_for(&on, (uint64_t)i * 100);
        kill(client.pid, SIGKILL);
        assert_true(until(&on, &on.told.down, i + 1));
        assert_true(until(&on, &ends.done, 100));
        assert_int_equal(client.deaths, 1);
        assert_done(rapahub_host_call(on.host, &neighbour, &sum));
        assert_int_equal(sum, i + 1);
        assert_int_equal(client_end(&client), 1000 + SIGKILL);
    }
    assert_int_equal(on.told.restart, 0);
    close_host(&on);
}

/* r[verify hub.admit.end] */
static void one_that_stands_still_for_2_s_goes_on(void **state)
{
    struct client client;
    struct hosting on;
    struct ends ends;
    int64_t result = 0;

    (void)state;
    open_host(&on, three);
    offer(on.host, HOST_POOL);
    client_begin(&on, &client, MODULE("caller"));
    begin_calls(&on, &ends, 50);
    kill(client.pid, SIGSTOP);
    for (int i = 0; i < 20; i++)
        assert_true(rapahub_host_dispatch(on.host, 100) >= 0);
    kill(client.pid, SIGCONT);
    assert_true(until(&on, &ends.done, 50));
    assert_int_equal(ends.failed, 0);
    assert_done(ask_pool(&on, HOST_POOL, 4, &result));
    assert_int_equal(result, 8);
    assert_done(rapahub_host_stop(on.host, client.ticket.guest));
    assert_int_equal(client_end(&client), 0);
    close_host(&on);
}

/* It gets no signal; when it goes on it finds that it has no host. r[verify hub.admit.end] */
static void one_that_stands_still_for_longer_is_cut_off(void **state)
{
    struct rapahub_host_options options = three;
    struct client client;
    struct hosting on;
    struct ends ends;

    (void)state;
    options.heartbeat_ns = 100000000;
    open_host(&on, options);
    offer(on.host, HOST_POOL);
    client_begin(&on, &client, MODULE("caller"));
    kill(client.pid, SIGSTOP);
    begin_calls(&on, &ends, 50);
    assert_true(until(&on, &on.told.down, 1));
    assert_string_equal(client.cause, "no heartbeat, cut off");
    assert_true(until(&on, &ends.done, 50));
    assert_int_equal(waitpid(client.pid, NULL, WNOHANG), 0);
    kill(client.pid, SIGCONT);
    assert_int_equal(client_end(&client), 75);
    close_host(&on);
}

/* One of both is enough. A process that it left behind has the descriptors, and does not count.
 * r[verify hub.admit.end] */
static void its_process_or_its_socket_tells_the_end(void **state)
{
    struct rapahub_admit_options options;
    struct client client;
    struct hosting on;

    (void)state;
    open_host(&on, three);
    for (unsigned by = 0; by < 2; by++) {
        client_open(&client, client_never, NULL);
        options = client_options(&client);
        options.pidfd = by == 0 ? client.pidfd : 0;
        options.hangup = by == 0 ? 0 : client.socket;
        assert_done(rapahub_host_admit(on.host, &options, &client.ticket));
        assert_done(rapahub_host_dispatch(on.host, 0));
        kill(client.pid, SIGKILL); /* this process has its end of the doorbell still */
        assert_true(until(&on, &client.deaths, 1));
        assert_string_equal(client.cause, "its process, or its connection, is gone");
        client_drop_ticket(&client);
        assert_int_equal(client_end(&client), 1000 + SIGKILL);
    }
    assert_int_equal(on.told.down, 0); /* it never served */
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_calls_each_way),
        cmocka_unit_test(its_calls_go_to_the_router_in_its_name),
        cmocka_unit_test(one_that_only_calls_is_ready_when_it_has_attached),
        cmocka_unit_test(it_calls_nothing_but_the_container_it_was_admitted_for),
        cmocka_unit_test(one_that_is_killed_ends_its_own_calls_only),
        cmocka_unit_test(one_that_stands_still_for_2_s_goes_on),
        cmocka_unit_test(one_that_stands_still_for_longer_is_cut_off),
        cmocka_unit_test(its_process_or_its_socket_tells_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
