/* SPDX-License-Identifier: Apache-2.0 */
/* fake_node: a node without core and pools. Its methods echo, late or never; fail; end the node. It
 * runs on a thread, or is all that a program does. */
#ifndef TESTS_UNIT_CLUSTER_CLIENT_FAKE_NODE_H
#define TESTS_UNIT_CLUSTER_CLIENT_FAKE_NODE_H

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/link/orders.h"
#include "cluster/node/clients.h"
#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/wire/signature.h"

#define FAKE         __attribute__((unused)) static
#define FAKE_LATE_MS 20
#define FAKE_LATE    16384 /* answers that wait */
#define FAKE_POOL    ((struct rapahub_pool_id){300, 7})
#define FAKE_TARGET  ((struct rapahub_container_id){FAKE_POOL, 2})

struct fake_late {
    uint64_t number, due_ns;
    size_t size;
    uint8_t *bytes;
};

struct fake_node {
    struct cluster_clients *clients;
    const char *path;
    uint64_t session;
    pthread_t thread;
    int wake;
    struct hub_a32 stop;
    bool dies; /* by itself, as a process */
    uint64_t echo, late, never, die, fail, each, pool_id;
    unsigned late_first, late_count;
    struct fake_late delayed[FAKE_LATE];
    /* what came, for the test */
    struct hub_a32 calls; /* that the node knows now */
    struct hub_a32 begun, cancelled, ended, maybe, members, resolved, named;
    struct hub_a64 lineage, order_prev, done_below, left_us;
};

FAKE void fake_answer(struct fake_node *node, uint64_t number, int status,
                      struct rapahub_bytes payload, const char *text)
{
    (void)cluster_clients_answer(
        node->clients, number,
        &(struct cluster_clients_answer){
            .status = status, .application = 42, .text = text, .payload = payload});
}

FAKE int fake_resolve(void *user, const struct cluster_clients_call *call,
                      struct cluster_body_member *out)
{
    struct fake_node *node = user;
    const struct cluster_body_call *body = call->body;
    bool range = body->mode == CLUSTER_MODE_RANGE;
    int count = range ? (int)body->count : 1;

    hub_add(&node->resolved, 1);
    if (call->frame->pool == cluster_ids_pool(CLUSTER_ORDERS_POOL))
        return 0;
    if (call->frame->pool != cluster_ids_pool(FAKE_POOL))
        return rapahub_fail(RAPAHUB_ENOPOOL, "", "the fake has one pool");
    for (int i = 0; i < count; i++)
        out[i] = (struct cluster_body_member){range ? body->offset + (uint32_t)i
                                                    : call->frame->container,
                                              cluster_ids_lineage(node->session, 0)};
    return count;
}

FAKE void fake_note(struct fake_node *node, const struct cluster_clients_call *call)
{
    hub_add(&node->begun, 1);
    hub_publish(&node->maybe, call->body->maybe);
    hub_publish(&node->named, call->body->members.count); /* by the client itself */
    hub_publish(&node->members, call->members_count);
    hub_publish64(&node->lineage, call->members_count > 0 ? call->members[0].lineage : 0);
    hub_publish64(&node->order_prev, call->body->order_prev);
    hub_publish64(&node->done_below, call->body->done_below);
    hub_publish64(&node->left_us, call->body->left_us);
}

FAKE void fake_pool_id(struct fake_node *node, const struct cluster_clients_call *call)
{
    /* a string is its length and its bytes; 300 << 32 | 7 as a number of POSTCARD */
    static const uint8_t number[] = {0x87, 0x80, 0x80, 0x80, 0xc0, 0x25};
    struct rapahub_bytes name = call->body->arguments;

    if (name.size == 3 && memcmp(name.data, "\2kv", 3) == 0)
        fake_answer(node, call->number, 0, (struct rapahub_bytes){number, sizeof number}, NULL);
    else
        fake_answer(node, call->number, RAPAHUB_ENOPOOL, (struct rapahub_bytes){NULL, 0},
                    "there is no such pool; did you mean 'kv'?");
}

FAKE void fake_each(struct fake_node *node, const struct cluster_clients_call *call)
{
    for (uint32_t i = call->members_count; i-- > 0;) {
        const uint8_t bytes[] = {1, (uint8_t)call->members[i].container};
        struct cluster_clients_answer answer = {.container = call->members[i].container,
                                                .replica = i,
                                                .payload = {bytes, sizeof bytes}};

        if (call->members[i].container == 13)
            answer = (struct cluster_clients_answer){
                .container = 13, .replica = i, .status = RAPAHUB_EAPPLICATION, .text = "13"};
        (void)cluster_clients_each(node->clients, call->number, &answer);
        (void)cluster_clients_each(node->clients, call->number, &answer); /* a second time */
    }
    fake_answer(node, call->number, 0, (struct rapahub_bytes){"\0", 1}, NULL);
}

FAKE void fake_keep_late(struct fake_node *node, const struct cluster_clients_call *call)
{
    struct fake_late *late = &node->delayed[(node->late_first + node->late_count++) % FAKE_LATE];

    late->number = call->number;
    late->due_ns = hub_clock_after(FAKE_LATE_MS * HUB_MILLISECOND);
    late->size = call->body->arguments.size;
    late->bytes = malloc(late->size + 1);
    memcpy(late->bytes, call->body->arguments.data, late->size);
}

FAKE int fake_call(void *user, const struct cluster_clients_call *call)
{
    struct fake_node *node = user;
    uint64_t method = call->body->method_id;

    fake_note(node, call);
    if (method == node->echo)
        fake_answer(node, call->number, 0, call->body->arguments, NULL);
    else if (method == node->late && node->late_count < FAKE_LATE)
        fake_keep_late(node, call);
    else if (method == node->fail)
        fake_answer(node, call->number, RAPAHUB_EAPPLICATION, (struct rapahub_bytes){NULL, 0},
                    "no luck");
    else if (method == node->each)
        fake_each(node, call);
    else if (method == node->pool_id)
        fake_pool_id(node, call);
    else if (method == node->die && node->dies)
        _exit(3);
    else if (method == node->die)
        hub_publish(&node->stop, 1);
    else if (method != node->never)
        return rapahub_fail(RAPAHUB_ENOMETHOD, "", "the fake has no such method");
    return 0;
}

FAKE void fake_cancel(void *user, uint64_t number)
{
    struct fake_node *node = user;

    (void)number;
    hub_add(&node->cancelled, 1);
}

FAKE void fake_origin_ended(void *user, uint64_t origin)
{
    struct fake_node *node = user;

    (void)origin;
    hub_add(&node->ended, 1);
}

/* It gives no shared memory. */
static const struct cluster_clients_hooks fake_hooks = {
    fake_resolve, fake_call, fake_cancel, fake_origin_ended, NULL, NULL, NULL, NULL, NULL};

FAKE void fake_answer_late(struct fake_node *node, bool all)
{
    uint64_t now_ns = hub_clock_now();

    while (node->late_count > 0 &&
           (all || node->delayed[node->late_first % FAKE_LATE].due_ns <= now_ns)) {
        struct fake_late *late = &node->delayed[node->late_first++ % FAKE_LATE];

        node->late_count--;
        if (!all)
            fake_answer(node, late->number, 0, (struct rapahub_bytes){late->bytes, late->size},
                        NULL);
        free(late->bytes);
    }
}

FAKE int fake_open(struct fake_node *node)
{
    static const uint8_t uuid[CLUSTER_BODY_UUID] = "a fake's cluster";
    const struct cluster_clients_options options = {.path = node->path,
                                                    .node = 1,
                                                    .boot = 1,
                                                    .cluster = uuid,
                                                    .session = node->session,
                                                    .hooks = &fake_hooks,
                                                    .user = node};

    node->echo = hub_signature_hash("echo(bytes) -> bytes");
    node->late = hub_signature_hash("late(bytes) -> bytes");
    node->never = hub_signature_hash("never(bytes) -> bytes");
    node->die = hub_signature_hash("die() -> void");
    node->fail = hub_signature_hash("fail() -> void");
    node->each = hub_signature_hash("each() -> bytes");
    node->pool_id = hub_signature_hash(CLUSTER_ORDERS_POOL_ID);
    return cluster_clients_open(&options, &node->clients);
}

FAKE void *fake_run(void *user)
{
    struct fake_node *node = user;
    struct pollfd fds[] = {{.fd = cluster_clients_fd(node->clients), .events = POLLIN},
                           {.fd = node->wake, .events = POLLIN}};

    while (hub_observe(&node->stop) == 0) {
        (void)poll(fds, 2, node->late_count > 0 ? 1 : 1000);
        if (cluster_clients_dispatch(node->clients) < 0)
            abort();
        fake_answer_late(node, false);
        hub_publish(&node->calls, cluster_clients_figures(node->clients).calls);
    }
    fake_answer_late(node, true); /* forgets them */
    cluster_clients_release(&node->clients);
    return NULL;
}

FAKE void fake_start(struct fake_node *node, const char *path, uint64_t session)
{
    *node = (struct fake_node){.path = path, .session = session};
    node->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fake_open(node) < 0 || pthread_create(&node->thread, NULL, fake_run, node) != 0)
        abort();
}

/* As a death of the node: whatever runs is gone, and nobody is told. */
FAKE void fake_stop(struct fake_node *node)
{
    const uint64_t one = 1;

    hub_publish(&node->stop, 1);
    (void)!write(node->wake, &one, sizeof one);
    pthread_join(node->thread, NULL);
    close(node->wake);
}

#endif
