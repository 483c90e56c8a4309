/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that only call, admitted by a host that serves others meanwhile, and killed at random
 * instants: while they attach, while they call, while they leave. Each call that one of them saw
 * answered was answered right; at the end no place is taken and nothing is left. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/admit.h>

#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "hub/connection/attach.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "hub/wire/signature.h"
#include "tests/support/leak.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define KILLS   50
#define CLIENTS 4    /* at once */
#define CALLS   1000 /* of one that is left alone */
#define LIFE    3000 /* us until the signal */

#define DONE  10 /* exit status: all calls were right, and it left */
#define WRONG 11

struct client {
    pid_t pid;
    int socket;
    struct rapahub_guest_id guest;
};

struct storm {
    struct leak *leak;
    struct rapahub_host *host;
    struct client clients[CLIENTS];
    struct hub_random random;
};

static const struct rapahub_container_id served = {.pool = {7, 0}};

/* ---- a client ---- */

static void on_nothing(void *user)
{
    (void)user;
}

static void on_hint(void *user)
{
    hub_link_dead(((struct hub_attach *)user)->connection.link);
}

static void on_goodbye(void *user, const char *reason)
{
    (void)user;
    (void)reason;
}

static size_t write_request(uint8_t *to, size_t size, uint64_t chain, int64_t number)
{
    const struct rapahub_type *const types[] = {&rapahub_type_i64, NULL};
    const void *const arguments[] = {&number, NULL};
    uint8_t target[HUB_LIFECYCLE_TARGET_MAX];
    const struct hub_metadata metadata = {
        .chain = chain, .target = {target, hub_lifecycle_put_target(served, target)}};
    struct hub_writer writer;

    hub_writer_init(&writer, to, size);
    hub_metadata_write(&writer, &metadata);
    hub_payload_put_arguments(&writer, types, arguments);
    return writer.size;
}

/* twice(number), as any guest calls it. */
static int call(struct hub_attach *attach, uint64_t method, int64_t number, int64_t *result)
{
    uint8_t payload[256];
    struct hub_answer answer = {0};
    const struct hub_call order = {
        .method_id = method,
        .payload = {.head = {payload, write_request(payload, sizeof payload,
                                                    2 * (uint64_t)number + 1, number)}},
        .deadline_ns = hub_clock_after(10 * HUB_SECOND),
        .answer = &answer};
    struct hub_response response = {.kind = HUB_RESPONSE_OK};
    struct hub_reader reader;
    uint64_t of_call;
    int r = hub_calls_begin(attach->connection.calls, &order, &of_call);

    if (r == 0)
        r = hub_calls_wait(attach->connection.calls, of_call, false);
    if (r == 0) {
        hub_reader_init(&reader, answer.data, answer.size);
        r = hub_response_decode(&reader, &response);
        hub_payload_decode(&reader, &rapahub_type_i64, result);
    }
    hub_responses_fini(&answer);
    return response.kind == HUB_RESPONSE_OK ? r : RAPAHUB_EPROTOCOL;
}

static int run_client(const struct rapahub_admission *ticket)
{
    char path[64];
    struct hub_attach attach = {
        .ticket = {.hub_path = path, .peer = ticket->peer, .doorbell = ticket->doorbell}};
    const struct hub_connection_events events = {on_nothing, on_nothing, on_nothing, on_nothing,
                                                 on_hint,    on_goodbye, &attach,    NULL};
    struct hub_signature *twice = NULL;
    int64_t result = 0;
    int r;

    snprintf(path, sizeof path, "/proc/self/fd/%d", ticket->segment);
    r = hub_attach_open(&attach, &events);
    if (r == 0)
        r = hub_signature_parse("twice(i64) -> i64", &twice);
    for (int64_t i = 0; r == 0 && i < CALLS; i++) {
        r = call(&attach, twice->id, i, &result);
        if (r == 0 && result != 2 * i)
            return WRONG;
    }
    hub_signature_release(&twice);
    if (r == 0)
        hub_link_leave(attach.connection.link);
    hub_attach_close(&attach);
    return r == 0 ? DONE : 1;
}

/* ---- the host ---- */

static int twice(void *self, int64_t number, int64_t *result)
{
    (void)self;
    *result = 2 * number;
    return 0;
}

static const struct rapahub_method offered[] = {
    RAPAHUB_METHOD(twice, twice, i64, i64),
    RAPAHUB_METHOD_END,
};

static void drop_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static void open_storm(struct storm *storm)
{
    const struct rapahub_host_options options = {
        .own_thread = true, .admitted_max = CLIENTS, .slot_size = 4096, .slot_count = 16};
    const struct rapahub_container_options container = {.id = served, .pool_name = "offered"};

    memset(storm, 0, sizeof *storm);
    storm->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_ERROR);
    hub_random_init(&storm->random, hub_random_nonce());
    assert_int_equal(rapahub_host_create(&options, &storm->host), 0);
    assert_int_equal(rapahub_host_offer(storm->host, &container, offered, NULL), 0);
}

static void close_storm(struct storm *storm)
{
    rapahub_host_destroy(storm->host);
    leak_assert_none(storm->leak);
}

/* A place is free a moment after the end of who had it. */
static void admit(struct storm *storm, const struct rapahub_admit_options *options,
                  struct rapahub_admission *ticket)
{
    uint64_t until = hub_clock_after(10 * HUB_SECOND);
    int r;

    while ((r = rapahub_host_admit(storm->host, options, ticket)) == RAPAHUB_EFULL &&
           hub_clock_left(until) > 0)
        pause_ms(1);
    assert_int_equal(r, 0);
}

/* It inherits its ticket. The socket is what the host knows it by. */
static void open_client(struct storm *storm, struct client *client)
{
    struct rapahub_admission ticket;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    admit(storm, &(const struct rapahub_admit_options){.hangup = ends[0]}, &ticket);
    client->pid = fork();
    assert_true(client->pid >= 0);
    if (client->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        for (int i = 0; i < CLIENTS; i++) /* else the others would not hang up */
            if (&storm->clients[i] != client && storm->clients[i].pid != 0)
                close(storm->clients[i].socket);
        _exit(run_client(&ticket));
    }
    close(ends[1]);
    close(ticket.segment);
    close(ticket.doorbell);
    client->socket = ends[0];
    client->guest = ticket.guest;
}

static int close_client(struct client *client)
{
    int status = 0;

    assert_int_equal(waitpid(client->pid, &status, 0), client->pid);
    close(client->socket);
    client->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void count(void *user, const struct rapahub_guest_status *status)
{
    (void)status;
    ++*(unsigned *)user;
}

static bool is_deserted(void *user)
{
    unsigned guests = 0;

    assert_int_equal(rapahub_host_guests(user, count, &guests), 0);
    return guests == 0;
}

static void await_desertion(struct storm *storm)
{
    uint64_t until = hub_clock_after(10 * HUB_SECOND);

    while (!is_deserted(storm->host) && hub_clock_left(until) > 0)
        pause_ms(1);
    assert_true(is_deserted(storm->host));
}

/* ---- tests ---- */

/* r[verify hub.admit.ticket] */
static void one_without_containers_makes_a_thousand_calls(void **state)
{
    struct storm storm;

    (void)state;
    open_storm(&storm);
    for (int i = 0; i < CLIENTS; i++)
        open_client(&storm, &storm.clients[i]);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(close_client(&storm.clients[i]), DONE);
    await_desertion(&storm);
    close_storm(&storm);
}

/* r[verify hub.admit.end] */
static void those_that_are_killed_leave_nothing_behind(void **state)
{
    struct storm storm;
    int status;

    (void)state;
    open_storm(&storm);
    for (int i = 0; i < CLIENTS; i++)
        open_client(&storm, &storm.clients[i]);
    for (int i = 0; i < KILLS; i++) {
        struct client *client = &storm.clients[i % CLIENTS];

        pause_ns((uint64_t)hub_random_below(&storm.random, LIFE) * 1000);
        kill(client->pid, SIGKILL);
        status = close_client(client);
        assert_true(status == -1 || status == DONE);
        open_client(&storm, client);
    }
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(close_client(&storm.clients[i]), DONE);
    await_desertion(&storm);
    close_storm(&storm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_without_containers_makes_a_thousand_calls),
        cmocka_unit_test(those_that_are_killed_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
