/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that misuses the segment of a client hurts nobody. */
#include <sys/mman.h>
#include <sys/socket.h>

#include "cluster/link/connection.h"
#include "host/socket/listener.h"
#include "tests/cluster/shared_stage.h"

/* A connection of which nothing but frames is known. */
struct peer {
    struct hub_closer *closer;
    struct cluster_connection *connection;
    unsigned helloed, shared;
    int status, over, descriptors[2];
};

static int note(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct peer *peer = user;

    peer->helloed += frame->type == CLUSTER_FRAME_HELLO_OK;
    if (frame->type != CLUSTER_FRAME_SHARED)
        return 0;
    peer->shared++;
    peer->status = body->shared.status;
    if (peer->status == 0)
        assert_true(cluster_connection_take_descriptors(peer->connection, peer->descriptors));
    return 0;
}

static void no_credit(void *user)
{
    (void)user;
}

static void settle_peer(struct peer *peer, const unsigned *until, unsigned count)
{
    for (int ms = 0; ms < 5000 && *until < count && peer->over == 0; ms++) {
        peer->over = cluster_connection_dispatch(peer->connection, 0);
        pause_ms(1);
    }
    assert_int_equal(*until, count);
}

static void ask_for_segment(struct peer *peer)
{
    const struct cluster_body body = {.share = {1024}};

    assert_done(cluster_connection_put(
        peer->connection, &(struct cluster_frame){.type = CLUSTER_FRAME_SHARE}, &body));
    settle_peer(peer, &peer->shared, peer->shared + 1);
}

static void open_peer(const struct stage *stage, struct peer *peer, uint64_t number)
{
    static const struct cluster_connection_hooks hooks = {note, no_credit};
    struct cluster_connection_options options = {.body_max = 1 << 20, .descriptors = true};
    const struct cluster_body body = {.hello = {.protocol_least = 1,
                                                .protocol_most = 1,
                                                .role = CLUSTER_ROLE_CLIENT,
                                                .origin = UINT64_C(1) << 63 | number}};
    int fd;

    *peer = (struct peer){.over = 0};
    assert_done(hub_closer_create(&peer->closer));
    options.closer = peer->closer;
    assert_done(host_listener_connect(stage->address + strlen("unix:"), &fd));
    assert_done(cluster_connection_create(fd, &options, &hooks, peer, &peer->connection));
    assert_done(cluster_connection_put(
        peer->connection, &(struct cluster_frame){.type = CLUSTER_FRAME_HELLO}, &body));
    settle_peer(peer, &peer->helloed, 1);
    ask_for_segment(peer);
    assert_int_equal(peer->status, 0);
}

static void drop_descriptors(struct peer *peer)
{
    close(peer->descriptors[0]);
    close(peer->descriptors[1]);
}

static void close_peer(struct peer *peer)
{
    cluster_connection_release(&peer->connection);
    hub_closer_release(&peer->closer);
}

/* Writes at random places of its segment, and rings. */
static void scribble(const struct peer *peer, unsigned seed)
{
    struct stat status;
    uint32_t *words;

    assert_int_equal(fstat(peer->descriptors[0], &status), 0);
    words = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                 peer->descriptors[0], 0);
    assert_true(words != MAP_FAILED);
    for (unsigned i = 0; i < 20000; i++) {
        size_t most = rand_r(&seed) % 4 ? 4096 : (size_t)status.st_size;

        words[(size_t)rand_r(&seed) % (most / 4)] = (uint32_t)rand_r(&seed);
        if (i % 500 == 0 && send(peer->descriptors[1], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            pause_ms(1);
    }
    munmap(words, (size_t)status.st_size);
}

/* r[verify cluster.client.broken] r[verify cluster.client.shared] */
static void peers_that_do_as_they_like_hurt_nobody(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *client = open_client(stage, RAPAHUB_CLIENT_SHARED_MEMORY);
    struct caller callers[THREADS];
    struct peer quiet, wild;
    atomic_bool ends = false;

    begin_callers(callers, stage, client, &ends);
    open_peer(stage, &quiet, 1); /* it has its segment, and never attaches */
    for (unsigned i = 0; i < 20; i++) {
        open_peer(stage, &wild, 100 + i);
        scribble(&wild, i + 1);
        if (i % 2) {
            ask_for_segment(&wild); /* too soon, and what it had is gone */
            assert_int_equal(wild.status, RAPAHUB_EBUSY);
        }
        drop_descriptors(&wild);
        close_peer(&wild);
        assert_done(add(client, stage->target, NULL, i));
    }
    drop_descriptors(&quiet);
    close_peer(&quiet);
    await_figure(stage, "shared_memory_clients", 1);
    ends = true;
    end_callers(callers);
    assert_int_equal(rapahub_client_current_transport(client), RAPAHUB_CLIENT_SHARED_MEMORY);
    rapahub_client_close(client);
}

/* r[verify cluster.shared.request] */
static void who_has_no_segment_makes_no_request(void **state)
{
    static const char bytes[] = "anything";
    struct stage *stage = *state;
    const struct rapahub_bytes given = {bytes, sizeof bytes};
    const struct rapahub_call call = {.target = {{UINT32_MAX, 17}, 0},
                                      .method = "call(bytes) -> bytes",
                                      .arguments = (const void *const[]){&given, NULL}};
    struct rapahub_client *client = open_client(stage, RAPAHUB_CLIENT_SHARED_MEMORY);
    struct rapahub_bytes got;

    assert_int_equal(rapahub_host_call(stage->on.host, &call, &got), RAPAHUB_EACCES);
    assert_int_equal(rapahub_client_call(client, &call, &got), RAPAHUB_ENOPOOL);
    assert_done(add(client, stage->target, NULL, 1));
    rapahub_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(peers_that_do_as_they_like_hurt_nobody),
        TEST(who_has_no_segment_makes_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
