/* SPDX-License-Identifier: Apache-2.0 */
/* The server with a host that is made of three variables, and real sockets in a folder of its own.
 * Both ends live on one thread: what a client sends is served by the next dispatch. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "host/control/client.h"
#include "host/control/listener.h"
#include "host/control/server.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"
#include "tests/unit/host-control/fake_host.h"

struct fixture {
    struct rapahub_host host;
    struct rapahub_control *control;
    char folder[64], path[96];
};

static void finish_call(struct rapahub_host *host, int status, const void *result)
{
    rapahub_on_done *done = host->done;

    host->done = NULL;
    done(host->done_user, status, result);
}

static void count_host_stop(void *user)
{
    ((struct rapahub_host *)user)->host_stops++;
}

static const struct control_none none = {1};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct rapahub_control_options options;

    assert_non_null(f);
    snprintf(f->folder, sizeof f->folder, "/tmp/rapahub-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/h.sock", f->folder);
    options =
        (struct rapahub_control_options){.path = f->path,
                                         .name = "h",
                                         .host = {&f->host, fake_guests, fake_methods, fake_call,
                                                  fake_cancel, fake_stop, fake_kill, fake_figures},
                                         .on_stop = count_host_stop,
                                         .user = &f->host};
    assert_int_equal(rapahub_control_open(&options, &f->control), 0);
    assert_int_equal(rapahub_control_offer(f->control, "calc", (struct rapahub_pool_id){5, 0}), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    rapahub_control_close(f->control);
    assert_int_equal(rmdir(f->folder), 0);
    free(f);
    return 0;
}

static struct host_client *connect_to(const struct fixture *f)
{
    struct host_client *client = NULL;

    assert_int_equal(host_client_open(f->path, &client), 0);
    return client;
}

static void serve(const struct fixture *f)
{
    int n;

    do {
        n = rapahub_control_dispatch(f->control);
        assert_true(n >= 0);
    } while (n > 0);
}

static void ask(const struct fixture *f, struct host_client *client, enum host_frame_kind kind,
                const void *record)
{
    assert_int_equal(host_client_send(client, kind, record, hub_clock_after(HUB_SECOND)), 0);
    serve(f);
}

static int answer(struct host_client *client, enum host_frame_kind *kind,
                  union host_frame_record *record)
{
    return host_client_receive(client, hub_clock_after(20 * HUB_MILLISECOND), -1, kind, record);
}

static int end_of(struct host_client *client)
{
    union host_frame_record record;
    enum host_frame_kind kind;
    int r;

    do
        r = answer(client, &kind, &record);
    while (r > 0);
    return r;
}

static struct control_call add_call(const char *signature)
{
    return (struct control_call){.guest = rapahub_string_of("calc"),
                                 .signature = rapahub_string_of(signature),
                                 .container = 2,
                                 .timeout_ns = HUB_SECOND,
                                 .arguments = {"\x50\x04", 2}};
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

/* Streams are descriptors of the client; the host has its own copies, until the call has ended. */
static void a_stream_is_a_descriptor_of_the_client(void **state)
{
    struct control_call call = add_call("copy(source, sink) -> u64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    uint64_t count = 3;
    int in = open("/dev/zero", O_RDONLY | O_CLOEXEC), out[2];
    char got[4];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    call.arguments = (struct rapahub_bytes){"\0\1", 2};
    host_client_attach(client, (const int[]){in, out[1]}, 2);
    ask(f, client, HOST_FRAME_CALL, &call);
    close(in);
    close(out[1]);
    assert_int_equal(f->host.calls, 1);
    assert_int_equal(rapahub_source_read((void *)(uintptr_t)f->host.arguments[0], got, 3), 3);
    assert_int_equal(rapahub_sink_write((void *)(uintptr_t)f->host.arguments[1], got, 3), 0);
    finish_call(&f->host, 0, &count);
    serve(f);
    assert_int_equal(end_of(client), 0);
    assert_int_equal(read(out[0], got, 4), 3);
    assert_int_equal(read(out[0], got, 4), 0); /* nobody holds the other end any more */
    close(out[0]);
    host_client_release(&client);
}

static void a_stream_without_its_descriptor_is_refused(void **state)
{
    static const char *const bad[] = {"\0\1", "\0\0"};
    struct control_call call = add_call("copy(source, sink) -> u64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < 2; i++) {
        call.arguments = (struct rapahub_bytes){bad[i], 2};
        host_client_attach(client, &fd, 1);
        ask(f, client, HOST_FRAME_CALL, &call);
        assert_int_equal(end_of(client), RAPAHUB_EARGUMENTS);
    }
    assert_int_equal(f->host.calls, 0);
    close(fd);
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
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_STOP, &guest);
    assert_int_equal(end_of(client), 0);
    assert_int_equal(f->host.stops, 1);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(guests_are_listed),
        TEST(figures_of_a_guest_are_told_one_by_one),
        TEST(the_methods_of_a_name_are_those_of_its_pool),
        TEST(a_call_is_answered_while_others_are_served),
        TEST(the_methods_own_error_keeps_code_and_text),
        TEST(a_refusal_keeps_its_rule),
        TEST(arguments_that_do_not_fit_reach_no_guest),
        TEST(a_stream_is_a_descriptor_of_the_client),
        TEST(a_stream_without_its_descriptor_is_refused),
        TEST(an_unknown_name_is_refused),
        TEST(stop_reaches_the_guest_or_the_host),
        TEST(a_cancel_reaches_the_host),
        TEST(a_client_that_hangs_up_cancels_its_call),
        TEST(a_call_may_end_after_the_socket_is_closed),
        TEST(a_request_while_a_call_is_open_drops_the_client),
        TEST(garbage_drops_the_client_and_nobody_else),
        TEST(a_client_that_does_not_read_is_dropped),
        TEST(the_idlest_client_makes_room_for_a_new_one),
        TEST(kept_lines_are_given_by_level),
        TEST(a_follower_gets_lines_as_they_come),
        TEST(an_option_of_a_later_release_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
