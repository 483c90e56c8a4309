/* SPDX-License-Identifier: Apache-2.0 */
/* A client that breaks the rules of streams, at a node that serves others on. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cluster/link/connection.h"
#include "hub/wire/signature.h"
#include "tests/cluster/client_streams_stage.h"

struct hostile {
    struct hub_closer *closer;
    struct cluster_connection *connection;
};

static int hear(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    (void)user;
    (void)frame;
    (void)body;
    return 0;
}

static void no_credit(void *user)
{
    (void)user;
}

static void reach(struct hostile *hostile)
{
    static const struct cluster_connection_hooks hooks = {hear, no_credit};
    struct cluster_connection_options options = {.body_max = 1 << 20, .streams = true};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", network.local + 5);
    assert_int_equal(connect(fd, (const void *)&address, sizeof address), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(hub_closer_create(&hostile->closer), 0);
    options.closer = hostile->closer;
    assert_int_equal(cluster_connection_create(fd, &options, &hooks, hostile, &hostile->connection),
                     0);
}

static void put(struct hostile *hostile, const struct cluster_frame *frame,
                const struct cluster_body *body)
{
    assert_int_equal(cluster_connection_put(hostile->connection, frame, body), 0);
}

/* A call of `compress`, whose streams are opened. */
static void put_call(struct hostile *hostile, uint64_t origin, const struct stage *stage)
{
    const struct cluster_body body = {.call = {.left_us = 60000000,
                                               .method_id = hub_signature_hash(COMPRESS),
                                               .sources = 1,
                                               .sinks = 2,
                                               .arguments = {"\0\1", 2}}};
    struct cluster_frame frame = {.type = CLUSTER_FRAME_CALL,
                                  .ttl = CLUSTER_FRAME_TTL,
                                  .uid = {origin, 1},
                                  .pool = (uint64_t)stage->target.pool.major << 32 |
                                          stage->target.pool.minor};

    put(hostile, &frame, &body);
    frame.type = CLUSTER_FRAME_BULK_OPEN;
    for (uint32_t i = 0; i < 2; i++) {
        frame.stream = i + 1;
        put(hostile, &frame, &(struct cluster_body){.bulk_open = {i, i == 1}});
    }
}

/* Sends and hears until the node has cut it off. */
static bool is_cut_off(void *user)
{
    const struct hostile *hostile = user;

    return cluster_connection_dispatch(hostile->connection, hub_clock_now()) < 0;
}

static bool has_counted(void *user)
{
    const struct rapahub_call call = {.target = {{UINT32_MAX, 16}, 0},
                                      .method = "status() -> string"};
    struct rapahub_string text = {NULL, 0};

    assert_int_equal(rapahub_client_call(((struct stage *)user)->client, &call, &text), 0);
    return memmem(text.data, text.size, "cluster.stream.credit", 21) != NULL;
}

/* r[verify cluster.stream.credit] r[verify cluster.client.broken] */
static void a_client_that_ignores_credit_is_cut_off_and_counted(void **state)
{
    static const struct cluster_body hello = {.hello = {.protocol_least = CLUSTER_BODY_PROTOCOL,
                                                        .protocol_most = CLUSTER_BODY_PROTOCOL,
                                                        .role = CLUSTER_ROLE_CLIENT,
                                                        .origin = UINT64_C(1) << 63 | 4711,
                                                        .retry_ns = SECOND}};
    struct hostile hostile;
    struct stage stage;

    (void)state;
    open_stage(&stage, network.local);
    reach(&hostile);
    put(&hostile, &(struct cluster_frame){.type = CLUSTER_FRAME_HELLO}, &hello);
    put_call(&hostile, hello.hello.origin, &stage);
    for (size_t sent = 0; sent < SIZE / 8; sent += PIECE)
        memcpy(cluster_connection_put_data(hostile.connection, 1, PIECE), plain + sent, PIECE);
    assert_true(process_until(is_cut_off, &hostile, 30 * SECOND));
    assert_true(process_until(has_counted, &stage, 30 * SECOND));
    works(&stage, PIECE); /* nobody else loses anything */
    cluster_connection_release(&hostile.connection);
    hub_closer_release(&hostile.closer);
    rapahub_client_close(stage.client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_ignores_credit_is_cut_off_and_counted),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
