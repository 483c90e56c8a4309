/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of a node by shared memory: what they call comes back, over deaths too, and who gets no
 * segment calls by the socket. */
#include "tests/cluster/shared_stage.h"

#define LARGE   (200u * 1024)
#define OPENERS 4u

/* ---- calls ---- */

static void count_end(void *user, int status, const void *result)
{
    if (status == 0 && *(const int64_t *)result == 3)
        atomic_fetch_add((atomic_uint *)user, 1);
}

static void call_async(struct rapahub_client *client, struct rapahub_container_id target)
{
    const int64_t one = 1, two = 2;
    const void *const arguments[] = {&one, &two, NULL};
    const struct rapahub_call call = {
        .target = target, .method = "add(i64, i64) -> i64", .arguments = arguments};
    atomic_uint ended = 0;

    for (unsigned i = 0; i < 100; i++)
        assert_done(rapahub_client_call_async(client, &call, count_end, &ended, NULL));
    for (int ms = 0; ms < 10000 && ended < 100; ms++)
        pause_ms(1);
    assert_int_equal(ended, 100);
}

/* r[verify cluster.shared.request] r[verify cluster.client.resolved] */
static void calls_of_each_kind_come_back(void **state)
{
    static const enum rapahub_query_mode modes[] = {RAPAHUB_QUERY_DIRECT, RAPAHUB_QUERY_LOCAL,
                                                    RAPAHUB_QUERY_HASH, RAPAHUB_QUERY_BROADCAST};
    struct stage *stage = *state;
    struct rapahub_client *client = open_client(stage, RAPAHUB_CLIENT_SHARED_MEMORY);
    const int64_t zero = 0;
    const struct rapahub_call divide = {.target = stage->target,
                                        .method = "divide(i64, i64) -> i64",
                                        .arguments = (const void *const[]){&zero, &zero, NULL}};
    int64_t result = 0;

    assert_int_equal(rapahub_client_current_transport(client), RAPAHUB_CLIENT_SHARED_MEMORY);
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
        const struct rapahub_query query = {.mode = modes[i], .number = i};

        for (int64_t j = 0; j < 20; j++)
            assert_done(add(client, stage->target, &query, j));
    }
    for (size_t size = 0; size <= LARGE; size = size * 3 + 1)
        assert_done(echo(client, stage->target, size));
    assert_int_equal(rapahub_client_call(client, &divide, &result), RAPAHUB_EAPPLICATION);
    call_async(client, stage->target);
    stage->target.container = 77;
    assert_true(add(client, stage->target, NULL, 1) < 0);
    stage->target.container = 0;
    assert_int_equal(rapahub_client_current_transport(client), RAPAHUB_CLIENT_SHARED_MEMORY);
    rapahub_client_close(client);
}

static void threads_call_at_once(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *client = open_client(stage, RAPAHUB_CLIENT_SHARED_MEMORY);
    struct caller callers[THREADS];

    begin_callers(callers, stage, client, NULL);
    end_callers(callers);
    assert_int_equal(rapahub_client_current_transport(client), RAPAHUB_CLIENT_SHARED_MEMORY);
    rapahub_client_close(client);
}

/* ---- places ---- */

/* r[verify cluster.client.shared] */
static void who_finds_no_place_calls_by_the_socket(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *clients[PLACES + 2], *other = NULL;

    for (unsigned i = 0; i < PLACES + 2; i++) {
        clients[i] = open_client(stage, RAPAHUB_CLIENT_AUTOMATIC);
        assert_int_equal(rapahub_client_current_transport(clients[i]),
                         i < PLACES ? RAPAHUB_CLIENT_SHARED_MEMORY : RAPAHUB_CLIENT_SOCKET);
        assert_done(add(clients[i], stage->target, NULL, i));
    }
    assert_int_equal(figure(stage, "shared_memory_clients"), PLACES);
    assert_int_equal(figure(stage, "shared_memory_refused"), 2);
    assert_int_equal(try_open(stage, RAPAHUB_CLIENT_SHARED_MEMORY, &other), RAPAHUB_ENOTSUP);
    rapahub_client_close(clients[0]);
    await_figure(stage, "shared_memory_clients", PLACES - 1);
    for (int ms = 0; try_open(stage, RAPAHUB_CLIENT_SHARED_MEMORY, &other) < 0; ms += 10) {
        assert_true(ms < 10000);
        pause_ms(10);
    }
    assert_done(add(other, stage->target, NULL, 1));
    for (unsigned i = 1; i < PLACES + 2; i++) {
        assert_done(add(clients[i], stage->target, NULL, i));
        rapahub_client_close(clients[i]);
    }
    rapahub_client_close(other);
    clients[0] = open_client(stage, RAPAHUB_CLIENT_SOCKET);
    assert_int_equal(rapahub_client_current_transport(clients[0]), RAPAHUB_CLIENT_SOCKET);
    rapahub_client_close(clients[0]);
}

/* ---- deaths ---- */

/* r[verify cluster.client.again] r[verify cluster.client.transport] */
static void calls_last_over_a_node_that_begins_again(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *client = open_client(stage, RAPAHUB_CLIENT_SHARED_MEMORY);
    struct caller callers[THREADS];
    atomic_bool ends = false;

    begin_callers(callers, stage, client, &ends);
    for (unsigned i = 0; i < 6; i++) {
        pause_ms(50);
        living_stop(&stage->on, false);
        living_start(&stage->on);
        await_transport(client, RAPAHUB_CLIENT_SHARED_MEMORY);
    }
    ends = true;
    end_callers(callers);
    rapahub_client_close(client);
}

struct opener {
    pthread_t thread;
    const struct stage *stage;
    atomic_bool *ends;
    unsigned opened;
    int result;
};

static void *open_again_and_again(void *user)
{
    struct opener *opener = user;

    while (opener->result == 0 && !*opener->ends) {
        struct rapahub_client *client = NULL;

        opener->result = try_open(opener->stage, RAPAHUB_CLIENT_SHARED_MEMORY, &client);
        opener->opened++;
        if (opener->result == 0)
            rapahub_client_close(client);
        else if (strstr(rapahub_last_error()->text, "may admit no more"))
            opener->result = 0; /* clients that have closed still have the places */
        else
            fprintf(stderr, "%s: %s\n", rapahub_error_name(opener->result),
                    rapahub_last_error()->text);
    }
    return NULL;
}

/* A node that ends between its answer and the client's first look into the segment is away, and not
 * without shared memory. r[verify cluster.client.shared] */
static void an_open_lasts_over_a_node_that_begins_again(void **state)
{
    struct stage *stage = *state;
    struct opener openers[OPENERS];
    atomic_bool ends = false;

    for (unsigned i = 0; i < OPENERS; i++) {
        openers[i] = (struct opener){.stage = stage, .ends = &ends};
        assert_int_equal(
            pthread_create(&openers[i].thread, NULL, open_again_and_again, &openers[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        pause_ms(i);
        living_stop(&stage->on, false);
        living_start(&stage->on);
    }
    ends = true;
    for (unsigned i = 0; i < OPENERS; i++) {
        assert_int_equal(pthread_join(openers[i].thread, NULL), 0);
        assert_done(openers[i].result);
        assert_true(openers[i].opened > 0);
    }
}

static void find_client(void *user, const struct rapahub_guest_status *status)
{
    if (strncmp(status->name, "client", strlen("client")) == 0)
        *(struct rapahub_guest_id *)user = status->guest;
}

static void cut_off(struct living *on)
{
    struct rapahub_guest_id guest = {0, 0, 0};

    assert_done(rapahub_host_guests(on->host, find_client, &guest));
    assert_done(rapahub_host_kill(on->host, guest));
}

/* Its connection stays. r[verify cluster.client.transport] */
static void calls_last_over_a_segment_that_is_cut_off(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *client = open_client(stage, RAPAHUB_CLIENT_SHARED_MEMORY);
    struct caller callers[THREADS];
    atomic_bool ends = false;

    begin_callers(callers, stage, client, &ends);
    for (unsigned i = 0; i < 3; i++) {
        pause_ms(30);
        atomic_store(&stage->on.job, cut_off);
        await_transport(client, RAPAHUB_CLIENT_SOCKET);
        await_transport(client, RAPAHUB_CLIENT_SHARED_MEMORY);
    }
    ends = true;
    end_callers(callers);
    assert_int_equal(figure(stage, "shared_memory_refused"), 0);
    rapahub_client_close(client);
}

static void calls_last_over_a_guest_that_dies(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *client = open_client(stage, RAPAHUB_CLIENT_SHARED_MEMORY);
    struct caller callers[THREADS];
    atomic_bool ends = false;

    begin_callers(callers, stage, client, &ends);
    for (unsigned i = 0; i < 2; i++) {
        pause_ms(50);
        living_kill(&stage->on);
        assert_done(add(client, stage->target, NULL, i));
    }
    ends = true;
    end_callers(callers);
    assert_int_equal(rapahub_client_current_transport(client), RAPAHUB_CLIENT_SHARED_MEMORY);
    rapahub_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_of_each_kind_come_back),
        TEST(threads_call_at_once),
        TEST(who_finds_no_place_calls_by_the_socket),
        TEST(calls_last_over_a_node_that_begins_again),
        TEST(an_open_lasts_over_a_node_that_begins_again),
        TEST(calls_last_over_a_segment_that_is_cut_off),
        TEST(calls_last_over_a_guest_that_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
