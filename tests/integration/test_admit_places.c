/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets and the places of guests whose process the host did not start: each ticket is good
 * once, each place for one at a time, and no place is a guest's that the host starts. */
#include "tests/integration/admitting.h"

/* ---- tickets ---- */

/* r[verify hub.admit.end] */
static void one_that_never_attaches_loses_its_place(void **state)
{
    struct rapahub_admit_options options;
    struct client client;
    struct hosting on;

    (void)state;
    open_host(&on, three);
    client_open(&client, client_never, NULL);
    options = client_options(&client);
    options.attach_timeout_ns = 100000000;
    client_admit(&on, &client, &options);
    assert_true(until(&on, &client.deaths, 1));
    assert_string_equal(client.cause, "not ready in time, cut off");
    assert_int_equal(rapahub_host_kill(on.host, client.ticket.guest), RAPAHUB_ESTALE);
    assert_int_equal(client_kill(&client), 1000 + SIGKILL);
    close_host(&on);
}

/* Its own process comes second. r[verify hub.admit.ticket] */
static void a_ticket_is_good_for_one(void **state)
{
    struct rapahub_admit_options options;
    struct client client, thief;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_host(&on, three);
    offer(on.host, HOST_POOL);
    client_open(&client, client_serve, MODULE("caller"));
    client_open(&thief, client_serve, MODULE("caller"));
    options = client_options(&client);
    assert_done(rapahub_host_admit(on.host, &options, &client.ticket));
    client_send(&client, &client.ticket);
    assert_true(until(&on, &on.told.attached, 1));
    client_send(&thief, &client.ticket);
    assert_int_equal(client_end(&thief), 70); /* the ticket is spent */
    client_drop_ticket(&client);
    assert_done(rapahub_host_add_container(
        on.host, client.ticket.guest,
        &(const struct rapahub_container_options){.id = here, .pool_name = "test"}));
    assert_done(ask_pool(&on, HOST_POOL, 21, &result));
    assert_int_equal(result, 42);
    assert_done(rapahub_host_stop(on.host, client.ticket.guest));
    assert_int_equal(client_end(&client), 0);
    close_host(&on);
}

/* One that was stolen ends with its owner, not with the thief. r[verify hub.admit.end] */
static void a_ticket_ends_with_the_process_that_was_admitted(void **state)
{
    struct rapahub_admit_options options;
    struct client client, thief;
    struct hosting on;

    (void)state;
    open_host(&on, three);
    client_open(&client, client_never, NULL);
    client_open(&thief, client_serve, MODULE("caller"));
    options = client_options(&client);
    assert_done(rapahub_host_admit(on.host, &options, &client.ticket));
    client_send(&thief, &client.ticket);
    client_drop_ticket(&client);
    assert_true(until(&on, &on.told.attached, 1));
    kill(client.pid, SIGKILL);
    assert_true(until(&on, &client.deaths, 1));
    assert_int_equal(client_end(&thief), 75);
    assert_int_equal(client_end(&client), 1000 + SIGKILL);
    close_host(&on);
}

/* ---- places ---- */

/* r[verify hub.admit.bound] */
static void places_of_guests_are_not_theirs(void **state)
{
    struct rapahub_container_id id = {.pool = {4, 0}};
    struct rapahub_admit_options options;
    struct client clients[3], more;
    struct hosting on;

    (void)state;
    open_host(&on, three);
    for (int i = 0; i < 3; i++) {
        client_open(&clients[i], client_never, NULL);
        options = client_options(&clients[i]);
        client_admit(&on, &clients[i], &options);
    }
    client_open(&more, client_never, NULL);
    options = client_options(&more);
    for (int i = 0; i < 100; i++)
        assert_refused(rapahub_host_admit(on.host, &options, &more.ticket), RAPAHUB_EFULL,
                       "has admitted 3 guests");
    assert_done(start(&on, CALC, id, NULL));
    id.pool.major++;
    assert_done(start(&on, CALC, id, NULL));
    id.pool.major++;
    assert_int_equal(start(&on, CALC, id, NULL), RAPAHUB_EFULL);
    assert_int_equal(client_kill(&clients[0]), 1000 + SIGKILL);
    assert_true(until(&on, &clients[0].deaths, 1));
    client_admit(&on, &more, &options); /* its place is free again */
    for (int i = 1; i < 3; i++)
        assert_int_equal(client_kill(&clients[i]), 1000 + SIGKILL);
    assert_int_equal(client_kill(&more), 1000 + SIGKILL);
    close_host(&on);
}

static const struct rapahub_container_id slow = {.pool = {9, 0}};

/* However it ends. */
static void count_end(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    ((struct ends *)user)->done++;
}

/* One place, and a client in it whose call runs in another guest. */
static void begin_slow(struct hosting *on, struct client *client, uint32_t ms, struct ends *ends)
{
    const void *const arguments[] = {&slow.pool.major, &ms, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "hold(u32, u32) -> void", .arguments = arguments};
    struct rapahub_host_options options = three;

    options.admitted_max = 1;
    open_host(on, options);
    assert_done(start(on, CALC, slow, NULL));
    client_begin(on, client, MODULE("caller"));
    *ends = (struct ends){0, 0};
    assert_done(rapahub_host_call_async(on->host, &call, count_end, ends, NULL));
    dispatch_for(on, 100000);
}

/* So the calls that its former lives have left are bounded, however often it comes.
 * r[verify hub.admit.bound] */
static void a_place_is_free_when_all_has_ended_that_was_asked_from_it(void **state)
{
    struct rapahub_admit_options options;
    struct client client, next;
    struct hosting on;
    struct ends ends;
    uint64_t begun;
    int r;

    (void)state;
    begin_slow(&on, &client, 600, &ends);
    assert_int_equal(client_kill(&client), 1000 + SIGKILL);
    assert_true(until(&on, &on.told.down, 1));
    begun = now_ms();
    client_open(&next, client_never, NULL);
    options = client_options(&next);
    assert_int_equal(rapahub_host_admit(on.host, &options, &next.ticket), RAPAHUB_EFULL);
    while ((r = rapahub_host_admit(on.host, &options, &next.ticket)) == RAPAHUB_EFULL &&
           now_ms() < begun + 5000)
        assert_true(rapahub_host_dispatch(on.host, 10) >= 0);
    assert_done(r);
    client_drop_ticket(&next);
    assert_int_equal(client_kill(&next), 1000 + SIGKILL);
    close_host(&on);
}

/* r[verify hub.admit.end] */
static void a_host_that_ends_meanwhile_ends_all(void **state)
{
    struct client client;
    struct hosting on;
    struct ends ends;

    (void)state;
    for (int dead = 0; dead <= 1; dead++) {
        begin_slow(&on, &client, 300, &ends);
        if (dead)
            kill(client.pid, SIGKILL);
        rapahub_host_destroy(on.host);
        assert_int_equal(ends.done, 1);
        assert_int_equal(client_end(&client), dead ? 1000 + SIGKILL : 0);
        leak_assert_none(on.leak);
    }
}

/* r[verify hub.admit.bound] r[verify hub.admit.end] */
static void options_are_checked(void **state)
{
    struct rapahub_admit_options options = {0};
    struct rapahub_admission ticket;
    struct rapahub_host *host = NULL;
    struct hosting on;
    int datagrams[2];

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_refused(rapahub_host_admit(on.host, &options, &ticket), RAPAHUB_EINVAL,
                   "nothing would tell");
    options.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    assert_refused(rapahub_host_admit(on.host, &options, &ticket), RAPAHUB_EFULL,
                   "has admitted 0 guests");
    close(options.pidfd);
    close_host(&on);
    open_host(&on, three);
    options.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    options.reserved[0] = 1;
    assert_refused(rapahub_host_admit(on.host, &options, &ticket), RAPAHUB_EINVAL, "admitted");
    options.reserved[0] = 0;
    options.name = "two words";
    assert_refused(rapahub_host_admit(on.host, &options, &ticket), RAPAHUB_EINVAL, "name");
    options.name = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, datagrams), 0);
    options.hangup = datagrams[0];
    assert_refused(rapahub_host_admit(on.host, &options, &ticket), -EBADF, "no connected socket");
    close(options.pidfd);
    options = (struct rapahub_admit_options){.pidfd = datagrams[0]};
    assert_refused(rapahub_host_admit(on.host, &options, &ticket), -EBADF, "no pidfd");
    close(datagrams[0]);
    close(datagrams[1]);
    close_host(&on);
    assert_refused(
        rapahub_host_create(&(const struct rapahub_host_options){.admitted_max = 256}, &host),
        RAPAHUB_EINVAL, "admitted_max");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_never_attaches_loses_its_place),
        cmocka_unit_test(a_ticket_is_good_for_one),
        cmocka_unit_test(a_ticket_ends_with_the_process_that_was_admitted),
        cmocka_unit_test(places_of_guests_are_not_theirs),
        cmocka_unit_test(a_place_is_free_when_all_has_ended_that_was_asked_from_it),
        cmocka_unit_test(a_host_that_ends_meanwhile_ends_all),
        cmocka_unit_test(options_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
