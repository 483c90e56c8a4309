/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/socket.h>

#include "host/socket/listener.h"
#include "hub/base/clock.h"
#include "tests/support/linger.h"
#include "tests/unit/host-control/fixture.h"

/* An embedder's loop watches this one descriptor. */
static void the_descriptor_says_when_there_is_something_to_do(void **state)
{
    const struct fixture *f = *state;
    struct pollfd control = {.fd = rapahub_control_fd(f->control), .events = POLLIN};
    int client;

    assert_true(control.fd > STDERR_FILENO);
    assert_int_equal(poll(&control, 1, 0), 0);
    assert_int_equal(host_listener_connect(f->path, &client), 0);
    assert_int_equal(poll(&control, 1, 10000), 1);
    assert_int_equal(rapahub_control_dispatch(f->control), 1);
    assert_int_equal(poll(&control, 1, 0), 0);
    close(client);
}

static void guests_are_listed(void **state)
{
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    ask(f, client, HOST_FRAME_LIST, &none);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_int_equal(kind, HOST_FRAME_GUEST);
    assert_memory_equal(record.guest.name.data, "calc", 4);
    assert_memory_equal(record.guest.host.data, "h", 1);
    assert_int_equal(record.guest.pid, 4177);
    assert_int_equal(end_of(client), 0);
    host_client_release(&client);
}

static void figures_of_a_guest_are_told_one_by_one(void **state)
{
    const struct control_name all = {rapahub_string_of("")}, calc = {rapahub_string_of("calc")},
                              nobody = {rapahub_string_of("nobody")};
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    ask(f, client, HOST_FRAME_STATS, &all);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_int_equal(kind, HOST_FRAME_FIGURE);
    assert_memory_equal(record.figure.guest.data, "calc", 4);
    assert_memory_equal(record.figure.name.data, "messages_sent", 13);
    assert_int_equal(record.figure.value, 12);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_memory_equal(record.figure.rule.data, "shm.ring.capacity", 17);
    assert_int_equal(end_of(client), 0);
    ask(f, client, HOST_FRAME_STATS, &calc);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_int_equal(end_of(client), 0);
    ask(f, client, HOST_FRAME_STATS, &nobody);
    assert_int_equal(end_of(client), RAPAHUB_ENOENT);
    host_client_release(&client);
}

static void children_are_told_with_their_supervisors(void **state)
{
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    ask(f, client, HOST_FRAME_TREE, &none);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_int_equal(kind, HOST_FRAME_CHILD);
    assert_true(record.child.is_supervisor);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_memory_equal(record.child.state.data, "backoff", 7);
    assert_int_equal(record.child.number, 7);
    assert_int_equal(record.child.parent, 1);
    assert_int_equal(record.child.incarnation, 3);
    assert_int_equal(record.child.failures_max, 5);
    assert_int_equal(record.child.due_ns, 99);
    assert_int_equal(end_of(client), 0);
    host_client_release(&client);
}

/* The supervisor has the same name, and comes first. */
static void a_restart_reaches_the_guest_of_that_name(void **state)
{
    const struct control_name calc = {rapahub_string_of("calc")},
                              nobody = {rapahub_string_of("nobody")};
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_RESTART, &calc);
    assert_int_equal(f->host.restarts, 1);
    finish_end(&f->host, 0);
    assert_int_equal(end_of(client), 0);
    ask(f, client, HOST_FRAME_RESTART, &nobody);
    assert_int_equal(end_of(client), RAPAHUB_ENOENT);
    assert_int_equal(f->host.restarts, 1);
    host_client_release(&client);
}

/* Where a guest can come back it is not ended for good. */
static void a_stop_may_be_a_rest(void **state)
{
    const struct control_name calc = {rapahub_string_of("calc")};
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    f->control->host.rest = fake_restart;
    ask(f, client, HOST_FRAME_STOP, &calc);
    assert_int_equal(f->host.restarts, 1);
    assert_int_equal(f->host.stops, 0);
    finish_end(&f->host, 0);
    assert_int_equal(end_of(client), 0);
    host_client_release(&client);
}

static void the_methods_of_a_name_are_those_of_its_pool(void **state)
{
    const struct control_name name = {rapahub_string_of("calc")};
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    ask(f, client, HOST_FRAME_METHODS, &name);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_memory_equal(record.name.name.data, "add(i64, i64) -> i64", 20);
    assert_int_equal(end_of(client), 0);
    assert_int_equal(f->host.target.pool.major, 5);
    host_client_release(&client);
}

static void a_call_is_answered_while_others_are_served(void **state)
{
    const struct control_call call = add_call("add(i64, i64) -> i64");
    const int64_t sum = 42;
    struct fixture *f = *state;
    struct host_client *client = connect_to(f), *other = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    ask(f, client, HOST_FRAME_CALL, &call);
    assert_int_equal(f->host.calls, 1);
    assert_int_equal(f->host.target.pool.major, 5);
    assert_int_equal(f->host.target.container, 2);
    assert_int_equal(f->host.arguments[0], 40);
    assert_int_equal(f->host.arguments[1], 2);
    ask(f, other, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(other), 0);
    assert_int_equal(answer(client, &kind, &record), RAPAHUB_ETIMEDOUT);
    finish_call(&f->host, 0, &sum);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_int_equal(kind, HOST_FRAME_RESULT);
    assert_int_equal(record.result.payload.size, 1);
    assert_memory_equal(record.result.payload.data, "\x54", 1);
    assert_int_equal(record.result.pid, 4177);
    assert_int_equal(end_of(client), 0);
    host_client_release(&client);
    host_client_release(&other);
}

static void the_methods_own_error_keeps_code_and_text(void **state)
{
    const struct control_call call = add_call("add(i64, i64) -> i64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_CALL, &call);
    finish_call(&f->host, rapahub_fail_application(-22, "division by zero"), NULL);
    rapahub_clear_error();
    assert_int_equal(end_of(client), RAPAHUB_EAPPLICATION);
    assert_string_equal(rapahub_last_error()->text, "division by zero");
    assert_int_equal(rapahub_last_error()->application, -22);
    host_client_release(&client);
}

static void a_refusal_keeps_its_rule(void **state)
{
    const struct control_name name = {rapahub_string_of("calc")};
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_KILL, &name);
    rapahub_clear_error();
    assert_int_equal(end_of(client), RAPAHUB_ESTALE);
    assert_string_equal(rapahub_last_error()->rule, "shm.slot.free");
    assert_string_equal(rapahub_last_error()->text, "that life has ended");
    host_client_release(&client);
}

static void arguments_that_do_not_fit_reach_no_guest(void **state)
{
    const struct control_call call = add_call("add(i64) -> i64");
    struct control_call bad = add_call("add(i64, i64 -> i64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_CALL, &call);
    assert_int_equal(end_of(client), RAPAHUB_EARGUMENTS);
    ask(f, client, HOST_FRAME_CALL, &bad);
    assert_int_equal(end_of(client), RAPAHUB_EINVAL);
    assert_int_equal(f->host.calls, 0);
    host_client_release(&client);
}

static void an_unknown_name_is_refused(void **state)
{
    const struct control_name name = {rapahub_string_of("kv")};
    struct control_call call = add_call("add(i64, i64) -> i64");
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    call.guest = name.name;
    ask(f, client, HOST_FRAME_CALL, &call);
    assert_int_equal(end_of(client), RAPAHUB_ENOENT);
    ask(f, client, HOST_FRAME_STOP, &name);
    assert_int_equal(end_of(client), RAPAHUB_ENOENT);
    assert_string_equal(rapahub_last_error()->text, "host 'h' has no guest named 'kv'");
    host_client_release(&client);
}

static void stop_reaches_the_guest_or_the_host(void **state)
{
    const struct control_name guest = {rapahub_string_of("calc")}, host = {rapahub_string_of("")};
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_STOP, &guest);
    assert_int_equal(f->host.stops, 1);
    finish_end(&f->host, 0);
    assert_int_equal(end_of(client), 0);
    ask(f, client, HOST_FRAME_STOP, &host);
    assert_int_equal(end_of(client), 0);
    assert_int_equal(f->host.host_stops, 1);
    host_client_release(&client);
}

static void a_cancel_reaches_the_host(void **state)
{
    const struct control_call call = add_call("add(i64, i64) -> i64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_CALL, &call);
    ask(f, client, HOST_FRAME_CANCEL, &none);
    assert_int_equal(f->host.cancels, 1);
    finish_call(&f->host, RAPAHUB_ECANCELED, NULL);
    assert_int_equal(end_of(client), RAPAHUB_ECANCELED);
    host_client_release(&client);
}

static void a_client_that_hangs_up_cancels_its_call(void **state)
{
    const struct control_call call = add_call("add(i64, i64) -> i64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_CALL, &call);
    host_client_release(&client);
    serve(f);
    assert_int_equal(f->host.cancels, 1);
    finish_call(&f->host, RAPAHUB_ECANCELED, NULL);
}

static void a_call_may_end_after_the_socket_is_closed(void **state)
{
    const struct control_call call = add_call("add(i64, i64) -> i64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_CALL, &call);
    rapahub_control_close(f->control);
    f->control = NULL;
    finish_call(&f->host, RAPAHUB_EDIED, NULL);
    assert_int_equal(end_of(client), RAPAHUB_ECLOSED);
    host_client_release(&client);
}

static void a_request_while_a_call_is_open_drops_the_client(void **state)
{
    const struct control_call call = add_call("add(i64, i64) -> i64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_CALL, &call);
    ask(f, client, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(client), RAPAHUB_ECLOSED);
    assert_int_equal(f->host.cancels, 1);
    finish_call(&f->host, RAPAHUB_ECANCELED, NULL);
    host_client_release(&client);
}

static void garbage_drops_the_client_and_nobody_else(void **state)
{
    const struct fixture *f = *state;
    struct host_client *other = connect_to(f);
    char byte;
    int fd;

    assert_int_equal(host_listener_connect(f->path, &fd), 0);
    assert_int_equal(send(fd, "\xff\xff\xff\xffgarbage", 11, 0), 11);
    serve(f);
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
    close(fd);
    ask(f, other, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(other), 0);
    host_client_release(&other);
}

/* Too many, with what is a request and with what is none; and of one that has hung up: each would
 * take 20 s to close. r[verify hub.descriptor.elsewhere] */
static void descriptors_that_take_long_to_close_hold_up_nobody(void **state)
{
    const struct fixture *f = *state;
    struct host_client *other = connect_to(f);
    uint64_t start_ns = hub_clock_now();

    for (unsigned count = 1; count <= 40; count += 13) {
        int peer, last = linger_open(20, &peer), fd;

        assert_int_equal(host_listener_connect(f->path, &fd), 0);
        assert_int_equal(linger_send(fd, last, count, 0), 0);
        assert_int_equal(linger_send(fd, last, count, MSG_OOB), 0);
        close(last);
        serve(f);
        close(fd);
        serve(f);
        close(peer);
    }
    ask(f, other, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(other), 0);
    assert_true(hub_clock_now() - start_ns < 3 * HUB_SECOND);
    host_client_release(&other);
}

static void a_client_that_does_not_read_is_dropped(void **state)
{
    const struct fixture *f = *state;
    struct host_frame_buffer out = {0};
    int fd, r = 1;

    assert_int_equal(host_listener_connect(f->path, &fd), 0);
    for (unsigned i = 0; i < 200000 && r >= 0; i++) {
        assert_int_equal(host_frame_put(&out, HOST_FRAME_LIST, &none), 0);
        r = host_frame_flush(&out, fd);
        if (i % 64 == 0)
            serve(f);
    }
    assert_int_equal(r, RAPAHUB_ECLOSED);
    host_frame_fini(&out);
    close(fd);
}

static void the_idlest_client_makes_room_for_a_new_one(void **state)
{
    const struct fixture *f = *state;
    struct host_client *clients[HOST_SERVER_CLIENTS + 1];

    for (unsigned i = 0; i < HOST_SERVER_CLIENTS; i++) {
        clients[i] = connect_to(f);
        serve(f);
    }
    ask(f, clients[0], HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(clients[0]), 0);
    clients[HOST_SERVER_CLIENTS] = connect_to(f);
    serve(f);
    ask(f, clients[HOST_SERVER_CLIENTS], HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(clients[HOST_SERVER_CLIENTS]), 0);
    assert_int_equal(end_of(clients[1]), RAPAHUB_ECLOSED);
    ask(f, clients[0], HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(clients[0]), 0);
    for (unsigned i = 0; i <= HOST_SERVER_CLIENTS; i++)
        host_client_release(&clients[i]);
}

static void kept_lines_are_given_by_level(void **state)
{
    const struct control_logs logs = {.since_ns = UINT64_MAX, .level = RAPAHUB_LOG_WARN};
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    rapahub_control_log(f->control, RAPAHUB_LOG_INFO, "run", "nothing much");
    rapahub_control_log(f->control, RAPAHUB_LOG_WARN, "guest.calc", "bad \xff byte");
    ask(f, client, HOST_FRAME_LOGS, &logs);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_int_equal(kind, HOST_FRAME_LINE);
    assert_int_equal(record.line.text.size, 10);
    assert_memory_equal(record.line.text.data, "bad ? byte", 10);
    assert_int_equal(end_of(client), 0);
    host_client_release(&client);
}

static void a_follower_gets_lines_as_they_come(void **state)
{
    const struct control_logs logs = {.since_ns = 0, .level = RAPAHUB_LOG_DEBUG, .follow = true};
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    rapahub_control_log(f->control, RAPAHUB_LOG_INFO, "run", "too old");
    ask(f, client, HOST_FRAME_LOGS, &logs);
    assert_int_equal(answer(client, &kind, &record), RAPAHUB_ETIMEDOUT);
    rapahub_control_log(f->control, RAPAHUB_LOG_DEBUG, "run", "fresh");
    serve(f);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_memory_equal(record.line.text.data, "fresh", 5);
    host_client_release(&client);
}

static void an_option_of_a_later_release_is_refused(void **state)
{
    struct fixture *f = *state;
    struct rapahub_control_options options = {.path = f->path, .name = "x", .reserved = {1}};
    struct rapahub_control *control;

    assert_int_equal(rapahub_control_open(&options, &control), RAPAHUB_EINVAL);
    options.reserved[0] = 0;
    options.host = f->control->host;
    assert_int_equal(rapahub_control_open(&options, &control), RAPAHUB_EEXIST);
    assert_int_equal(rapahub_control_offer(f->control, "calc", (struct rapahub_pool_id){6, 0}),
                     RAPAHUB_EEXIST);
}

static void a_name_that_is_withdrawn_may_be_offered_anew(void **state)
{
    struct rapahub_control *control = ((struct fixture *)*state)->control;
    const struct rapahub_pool_id pool = {6, 0};

    assert_int_equal(rapahub_control_offer(control, "other", pool), 0);
    rapahub_control_withdraw(control, "calc");
    rapahub_control_withdraw(control, "calc");
    assert_int_equal(rapahub_control_offer(control, "other", pool), RAPAHUB_EEXIST);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(rapahub_control_offer(control, "calc", pool), 0);
        rapahub_control_withdraw(control, "calc");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_name_that_is_withdrawn_may_be_offered_anew),
        TEST(the_descriptor_says_when_there_is_something_to_do),
        TEST(guests_are_listed),
        TEST(figures_of_a_guest_are_told_one_by_one),
        TEST(children_are_told_with_their_supervisors),
        TEST(a_restart_reaches_the_guest_of_that_name),
        TEST(a_stop_may_be_a_rest),
        TEST(the_methods_of_a_name_are_those_of_its_pool),
        TEST(a_call_is_answered_while_others_are_served),
        TEST(the_methods_own_error_keeps_code_and_text),
        TEST(a_refusal_keeps_its_rule),
        TEST(arguments_that_do_not_fit_reach_no_guest),
        TEST(an_unknown_name_is_refused),
        TEST(stop_reaches_the_guest_or_the_host),
        TEST(a_cancel_reaches_the_host),
        TEST(a_client_that_hangs_up_cancels_its_call),
        TEST(a_call_may_end_after_the_socket_is_closed),
        TEST(a_request_while_a_call_is_open_drops_the_client),
        TEST(garbage_drops_the_client_and_nobody_else),
        TEST(descriptors_that_take_long_to_close_hold_up_nobody),
        TEST(a_client_that_does_not_read_is_dropped),
        TEST(the_idlest_client_makes_room_for_a_new_one),
        TEST(kept_lines_are_given_by_level),
        TEST(a_follower_gets_lines_as_they_come),
        TEST(an_option_of_a_later_release_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
