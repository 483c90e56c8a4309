/* SPDX-License-Identifier: Apache-2.0 */
/* client_end: the clients of a node with a core that does what the test says, and programs that are
 * its clients, made of connections. All of it is on one thread. */
#ifndef TESTS_UNIT_CLUSTER_NODE_CLIENT_END_H
#define TESTS_UNIT_CLUSTER_NODE_CLIENT_END_H

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/link/connection.h"
#include "cluster/node/clients.h"
#include "host/socket/listener.h"
#include "host/socket/role.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define HERE       __attribute__((unused)) static
#define SESSION    UINT64_C(77)
#define ORIGIN(n)  (UINT64_C(1) << 63 | (n))
#define POOL       (UINT64_C(300) << 32)
#define OFFER      ((uint64_t)UINT32_MAX << 32 | 16)
#define BEGUN_MAX  8192
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Who the next clients are, whatever the kernel says. */
static struct host_role_peer next_peer;
int __wrap_host_role_judge(int fd, const struct host_role_group *group, struct host_role_peer *out);
int __wrap_host_role_judge(int fd, const struct host_role_group *group, struct host_role_peer *out)
{
    (void)fd, (void)group;
    *out = next_peer;
    return 0;
}

struct node {
    struct cluster_clients *clients;
    char folder[64], path[96];
    int refuse; /* what the core returns for the next call; 0: it takes it */
    bool answer_at_once;
    bool cancel_ends; /* a call that is cancelled is answered in that moment */
    int members;      /* what it says of the containers of a call */
    unsigned begun, cancelled, ended, resolved;
    uint64_t numbers[BEGUN_MAX]; /* of the calls that have begun */
    struct cluster_frame frame;  /* of the last one */
    struct cluster_clients_call call;
    struct cluster_body_call body;
    uint32_t first_member;
    uint64_t first_lineage, last_cancelled, last_ended;
    int refuse_share; /* what is returned for the next segment; 0: there is one */
    unsigned shares, unshares, responses;
    uint32_t shared_client;
    uint64_t responded;         /* the last request */
    uint8_t response_type;      /* and its answer: */
    struct cluster_body answer; /* only its numbers */
    struct cluster_body_member answer_member;
    size_t answer_size;
};

/* A program that is a client. */
struct program {
    struct hub_closer *closer;
    struct cluster_connection *connection;
    unsigned helloed, results, each, nacks, resolved, closes, shared;
    int descriptors[2]; /* that came with a SHARED */
    int over;           /* what dispatch returned when it was over */
    struct cluster_frame frame;
    struct cluster_body body; /* of the last frame; only its numbers */
    char text[256];
    uint64_t payload_size;
    unsigned order; /* the frames in which RESOLVED and RESULT came, as digits */
};

HERE int on_resolve(void *user, const struct cluster_clients_call *call,
                    struct cluster_body_member *out)
{
    struct node *node = user;

    (void)call;
    node->resolved++;
    for (int i = 0; i < node->members; i++)
        out[i] = (struct cluster_body_member){(uint32_t)i + 5, 3u << 16};
    return node->members < 0 ? rapahub_fail(node->members, "", "no such pool") : node->members;
}

HERE int on_call(void *user, const struct cluster_clients_call *call)
{
    struct node *node = user;

    if (node->refuse < 0)
        return rapahub_fail(node->refuse, "", "the core says no");
    node->numbers[node->begun % BEGUN_MAX] = call->number;
    node->begun++;
    node->call = *call;
    node->frame = *call->frame;
    node->body = *call->body;
    node->first_member = call->members_count > 0 ? call->members[0].container : 0;
    node->first_lineage = call->members_count > 0 ? call->members[0].lineage : 0;
    if (node->answer_at_once)
        assert_true(cluster_clients_answer(
            node->clients, call->number, &(struct cluster_clients_answer){.payload = {"now", 3}}));
    return 0;
}

HERE void on_cancel(void *user, uint64_t number)
{
    struct node *node = user;

    node->cancelled++;
    node->last_cancelled = number;
    if (node->cancel_ends)
        (void)cluster_clients_answer(node->clients, number,
                                     &(struct cluster_clients_answer){.status = -ECANCELED});
}

HERE void on_origin_ended(void *user, uint64_t origin)
{
    struct node *node = user;

    node->ended++;
    node->last_ended = origin;
}

/* The descriptors are those of a pipe. */
HERE int on_share(void *user, uint32_t client, int fd, struct cluster_clients_segment *out)
{
    struct node *node = user;

    assert_true(fd >= 0);
    if (node->refuse_share < 0)
        return rapahub_fail(node->refuse_share, "", "no segment is left");
    node->shares++;
    node->shared_client = client;
    *out = (struct cluster_clients_segment){.peer = 7, .waiting = 2};
    assert_int_equal(pipe2(out->descriptors, O_CLOEXEC), 0);
    return 0;
}

HERE void on_unshare(void *user, uint32_t client)
{
    struct node *node = user;

    assert_int_equal(client, node->shared_client);
    node->unshares++;
}

HERE void on_respond(void *user, uint64_t request, uint8_t type, const struct cluster_body *body)
{
    struct node *node = user;

    node->responses++;
    node->responded = request;
    node->response_type = type;
    node->answer = *body;
    if (type == CLUSTER_FRAME_RESULT)
        node->answer_size = body->result.payload.size;
    if (type == CLUSTER_FRAME_RESOLVED)
        node->answer_member = *(const struct cluster_body_member *)body->resolved.members.of;
}

static const struct cluster_clients_hooks node_hooks = {
    on_resolve, on_call, on_cancel, on_origin_ended, on_share, on_unshare, on_respond, NULL, NULL};
static const uint8_t uuid[CLUSTER_BODY_UUID] = "0123456789abcde";

HERE int set_up(void **state)
{
    struct node *node = calloc(1, sizeof *node);
    struct cluster_clients_options options;

    assert_non_null(node);
    next_peer = (struct host_role_peer){geteuid(), RAPAHUB_CONTROL_ADMIN};
    snprintf(node->folder, sizeof node->folder, "/tmp/rapahub-test-XXXXXX");
    assert_non_null(mkdtemp(node->folder));
    snprintf(node->path, sizeof node->path, "%s/n.node", node->folder);
    options = (struct cluster_clients_options){.path = node->path,
                                               .node = 4,
                                               .boot = 2,
                                               .cluster = uuid,
                                               .session = SESSION,
                                               .shares = true,
                                               .hooks = &node_hooks,
                                               .user = node};
    assert_int_equal(cluster_clients_open(&options, &node->clients), 0);
    *state = node;
    return 0;
}

HERE int tear_down(void **state)
{
    struct node *node = *state;

    cluster_clients_release(&node->clients);
    assert_int_equal(access(node->path, F_OK), -1);
    rmdir(node->folder);
    free(node);
    return 0;
}

/* Serves what has come, and what becomes due within a moment. */
HERE void serve(struct node *node)
{
    struct pollfd poll_for = {.fd = cluster_clients_fd(node->clients), .events = POLLIN};

    for (unsigned i = 0; i < 200 && poll(&poll_for, 1, 0) > 0; i++)
        assert_int_equal(cluster_clients_dispatch(node->clients), 0);
}

HERE void answer(struct node *node, unsigned call, const char *text)
{
    const struct cluster_clients_answer is = {.lineage = 3u << 16, .payload = {text, strlen(text)}};

    assert_true(cluster_clients_answer(node->clients, node->numbers[call], &is));
}

/* ---- the program ---- */

HERE int note(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct program *program = user;
    struct rapahub_string text = {NULL, 0};

    program->frame = *frame;
    program->body = *body;
    program->helloed += frame->type == CLUSTER_FRAME_HELLO_OK;
    program->results += frame->type == CLUSTER_FRAME_RESULT;
    program->each += frame->type == CLUSTER_FRAME_EACH;
    program->nacks += frame->type == CLUSTER_FRAME_NACK;
    program->resolved += frame->type == CLUSTER_FRAME_RESOLVED;
    program->closes += frame->type == CLUSTER_FRAME_CLOSE;
    program->shared += frame->type == CLUSTER_FRAME_SHARED;
    if (frame->type == CLUSTER_FRAME_SHARED && body->shared.status == 0)
        assert_true(cluster_connection_take_descriptors(program->connection, program->descriptors));
    if (frame->type == CLUSTER_FRAME_RESULT || frame->type == CLUSTER_FRAME_EACH) {
        text = body->result.text;
        program->payload_size = body->result.payload.size;
    }
    if (frame->type == CLUSTER_FRAME_NACK)
        text = body->nack.text;
    if (frame->type == CLUSTER_FRAME_CLOSE)
        text = body->close.text;
    snprintf(program->text, sizeof program->text, "%.*s", (int)text.size,
             text.size ? text.data : "");
    return 0;
}

HERE void no_credit(void *user)
{
    (void)user;
}

static const struct cluster_connection_hooks program_hooks = {note, no_credit};

HERE int connect_fd(const struct node *node)
{
    int fd;

    assert_int_equal(host_listener_connect(node->path, &fd), 0);
    return fd;
}

HERE void connect_program(struct node *node, struct program *program)
{
    struct cluster_connection_options options = {
        .body_max = 80u << 20, .descriptors = true, .streams = true};

    *program = (struct program){.over = 0};
    assert_int_equal(hub_closer_create(&program->closer), 0);
    options.closer = program->closer;
    assert_int_equal(cluster_connection_create(connect_fd(node), &options, &program_hooks, program,
                                               &program->connection),
                     0);
}

HERE void disconnect(struct node *node, struct program *program)
{
    cluster_connection_release(&program->connection);
    hub_closer_release(&program->closer);
    serve(node);
}

/* Both sides do what there is to do. */
HERE void settle(struct node *node, struct program *program)
{
    for (unsigned i = 0; i < 100; i++) {
        if (program->over == 0)
            program->over = cluster_connection_dispatch(program->connection, hub_clock_now());
        serve(node);
    }
}

HERE struct cluster_body hello_of(uint64_t origin)
{
    return (struct cluster_body){.hello = {.protocol_least = 1,
                                           .protocol_most = 1,
                                           .role = CLUSTER_ROLE_CLIENT,
                                           .origin = origin,
                                           .retry_ns = 60 * HUB_SECOND}};
}

HERE void put(struct program *program, struct cluster_frame frame, const struct cluster_body *body)
{
    assert_int_equal(cluster_connection_put(program->connection, &frame, body), 0);
}

HERE void say_hello(struct node *node, struct program *program, uint64_t origin)
{
    const struct cluster_body body = hello_of(origin);

    put(program, (struct cluster_frame){.type = CLUSTER_FRAME_HELLO}, &body);
    settle(node, program);
}

HERE void come(struct node *node, struct program *program, uint64_t origin)
{
    connect_program(node, program);
    say_hello(node, program, origin);
    assert_int_equal(program->helloed, 1);
}

HERE struct cluster_frame frame_of(uint8_t type, uint64_t origin, uint64_t number)
{
    return (struct cluster_frame){.type = type,
                                  .ttl = type == CLUSTER_FRAME_CALL ? CLUSTER_FRAME_TTL : 0,
                                  .uid = {origin, number},
                                  .pool = POOL,
                                  .container = 5};
}

HERE void put_call(struct program *program, uint64_t origin, uint64_t number)
{
    const struct cluster_body body = {
        .call = {.left_us = 10000000, .method_id = 9, .arguments = {"abc", 3}}};

    put(program, frame_of(CLUSTER_FRAME_CALL, origin, number), &body);
}

HERE void put_of_call(struct program *program, uint8_t type, uint64_t origin, uint64_t number)
{
    put(program, frame_of(type, origin, number), &(struct cluster_body){0});
}

HERE uint64_t times_broken(const struct node *node, const char *rule)
{
    const struct cluster_client_counts *counts = cluster_clients_counts(node->clients);

    for (uint32_t i = 0; i < counts->broken.count; i++)
        if (strcmp(rule, counts->broken.all[i].rule) == 0)
            return counts->broken.all[i].times;
    return 0;
}

#endif
