/* SPDX-License-Identifier: Apache-2.0 */
/* two_cores: two nodes in one program: their cores, with the queues, bodies and frames of a real
 * node, and a link between them in memory. Pool `kv` has container 0 on node 1 and container 1 on
 * node 2.
 */
#ifndef TESTS_UNIT_CLUSTER_NODE_TWO_CORES_H
#define TESTS_UNIT_CLUSTER_NODE_TWO_CORES_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/check.h"
#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "cluster/node/calls/peering.h"
#include "hub/base/clock.h"
#include "tests/unit/cluster-core/pool_records.h"

#define POOL     UINT64_C(0x0000010000000000)
#define REVISION 50
#define METHOD   7
#define LARGE    300000
#define FRAMES   64
#define WAIT_NS  (20 * HUB_SECOND)

struct frame {
    struct cluster_frame header;
    uint8_t *bytes;
};

/* An end of the link, and the frames that have left there. */
struct node {
    uint32_t number;
    struct cluster_core *core;
    struct cluster_event_queue *events;
    struct cluster_buffers *buffers;
    struct cluster_peering *peering;
    struct cluster_peering_links links;
    struct cluster_effects out;
    struct pool_records records;
    struct frame frames[FRAMES];
    unsigned first, last;
    unsigned full; /* frames more for which there is no room */
    /* what the core wanted */
    uint64_t runs[8];
    unsigned runs_count, answers, refused;
    size_t run_size; /* bytes of the last run's arguments */
    int status;      /* of the last answer */
    size_t answer_size;
    uint8_t answer[LARGE];
};

static struct node nodes[2]; /* node 1, node 2 */
static bool up;
static uint8_t large[LARGE];

/* ---- the link ---- */

static inline struct node *other_of(const struct node *node)
{
    return &nodes[node->number == 1];
}

static inline int send(void *user, uint32_t to, const struct cluster_frame *header,
                       struct rapahub_bytes body)
{
    struct node *node = user;
    struct frame *frame = &node->frames[node->last % FRAMES];

    assert_int_equal(to, other_of(node)->number);
    if (!up)
        return rapahub_fail(-ENOTCONN, "", "no link");
    if (node->full > 0) {
        node->full--;
        return rapahub_fail(RAPAHUB_EFULL, "", "full");
    }
    assert_true(node->last - node->first < FRAMES);
    frame->header = *header;
    frame->bytes = malloc(body.size + 1);
    assert_non_null(frame->bytes);
    memcpy(frame->bytes, body.data, body.size);
    node->last++;
    return 0;
}

static inline void drop_frames(struct node *node)
{
    while (node->first != node->last)
        free(node->frames[node->first++ % FRAMES].bytes);
}

static inline void cut(void)
{
    if (!up)
        return;
    up = false;
    for (unsigned i = 0; i < 2; i++) {
        drop_frames(&nodes[i]);
        cluster_peering_lost(nodes[i].peering, other_of(&nodes[i])->number);
    }
}

static inline void end(void *user, uint32_t node)
{
    (void)user;
    (void)node;
    cut();
}

static inline void mend(void)
{
    up = true;
    for (unsigned i = 0; i < 2; i++)
        cluster_peering_up(nodes[i].peering, other_of(&nodes[i])->number,
                           11 * other_of(&nodes[i])->number, 1);
}

static inline void deliver_one(struct node *from)
{
    const struct frame *frame = &from->frames[from->first++ % FRAMES];

    if (cluster_peering_frame(other_of(from)->peering, from->number, &frame->header,
                              (struct rapahub_bytes){frame->bytes, frame->header.body_size}) < 0)
        cut();
    free(frame->bytes);
}

/* ---- the turns of a node ---- */

static inline struct rapahub_bytes body_of(const struct node *node,
                                           const struct cluster_effect *effect)
{
    return effect->payload != 0 ? cluster_buffers_bytes(node->buffers, effect->payload)
                                : effect->body;
}

static inline void carry_out(struct node *node, const struct cluster_effect *effect)
{
    struct rapahub_bytes body = body_of(node, effect);

    if (effect->kind == CLUSTER_EFFECT_SEND)
        cluster_peering_send(node->peering, effect);
    else if (effect->kind == CLUSTER_EFFECT_DROP)
        cluster_buffers_drop(node->buffers, effect->payload);
    if (effect->kind == CLUSTER_EFFECT_RUN) {
        assert_int_equal(effect->container, node->number - 1);
        node->runs[node->runs_count++ % 8] = effect->id;
        node->run_size = body.size;
        assert_true(body.size == 0 || memcmp(body.data, large, body.size) == 0);
    } else if (effect->kind == CLUSTER_EFFECT_ANSWER) {
        node->answers++;
        node->status = effect->status;
        node->answer_size = body.size;
        assert_true(body.size <= sizeof node->answer);
        memcpy(node->answer, body.data ? body.data : "", body.size);
    }
}

static inline int tell(struct node *node, struct cluster_event event)
{
    int status;

    event.now_ns = hub_clock_now();
    status = cluster_core_step(node->core, &event, &node->out);
    if (status < 0 && event.kind == CLUSTER_EVENT_ARRIVED) {
        node->refused++;
        cluster_peering_refused(node->peering, &event);
    }
    for (uint32_t i = 0; i < node->out.count; i++)
        carry_out(node, &node->out.effects[i]);
    assert_null(cluster_check_core(cluster_core_parts(node->core)));
    return status;
}

static inline void turn(struct node *node)
{
    const struct cluster_event *event;

    while ((event = cluster_event_queue_take(node->events))) {
        (void)tell(node, *event);
        cluster_event_queue_done(node->events);
    }
    (void)tell(node, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
}

static inline void turn_both(void)
{
    turn(&nodes[0]);
    turn(&nodes[1]);
}

/* All frames that are under way come, and what follows from them. */
static inline void settle(void)
{
    turn_both();
    while (nodes[0].first != nodes[0].last || nodes[1].first != nodes[1].last) {
        for (unsigned i = 0; i < 2; i++)
            while (nodes[i].first != nodes[i].last)
                deliver_one(&nodes[i]);
        turn_both();
    }
}

/* ---- the stage ---- */

static inline void read_map(struct node *node)
{
    assert_int_equal(
        tell(node, (struct cluster_event){.kind = CLUSTER_EVENT_READING, .revision = REVISION}), 0);
    for (uint32_t c = 0; c < 2; c++) {
        const struct cluster_entry entry = {.state = CLUSTER_ENTRY_ACTIVE,
                                            .owner = c + 1,
                                            .session = c + 1,
                                            .epoch = 1,
                                            .lineage = cluster_ids_lineage(1, 0)};

        assert_int_equal(tell(node, (struct cluster_event){.kind = CLUSTER_EVENT_ENTRY,
                                                           .pool = POOL,
                                                           .container = c,
                                                           .revision = REVISION,
                                                           .entry = &entry}),
                         0);
    }
    assert_int_equal(tell(node, (struct cluster_event){.kind = CLUSTER_EVENT_READ}), 0);
}

/* What operations do with the container of the node, without them. */
static inline void serve(struct node *node)
{
    struct cluster_dispatch *parts =
        (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(node->core);
    uint32_t container = node->number - 1;
    uint64_t lineage = cluster_ids_lineage(1, 0);

    assert_int_equal(cluster_local_containers_begin(parts->locals, POOL, container,
                                                    cluster_ids_token(0, 1, 0), lineage),
                     0);
    assert_int_equal(cluster_dispatch_hooks.begun(parts, POOL, container, lineage, 0), 0);
    (void)tell(node, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    cluster_local_containers_move(parts->locals, POOL, container, CLUSTER_LOCAL_SERVING);
    cluster_dispatch_hooks.serves(parts, POOL, container);
}

static inline void open_node(struct node *node, uint32_t number)
{
    static const uint64_t methods[] = {METHOD};
    const struct pool_records_pool kv = {
        .name = "kv", .containers = 2, .methods = methods, .methods_count = 1};
    struct cluster_limits limits = CLUSTER_LIMITS_DEFAULT;
    struct cluster_peering_parts parts = {.links = &node->links};

    limits.pools = limits.entries = limits.containers = 4;
    limits.calls = limits.payloads = limits.dedup = limits.retries = limits.parked = 100;
    limits.effects = 1000;
    memset(node, 0, sizeof *node);
    node->number = number;
    node->links = (struct cluster_peering_links){send, end, node};
    assert_int_equal(cluster_core_create(&limits, number, 5, &node->core), 0);
    assert_int_equal(cluster_event_queue_create(&node->events), 0);
    assert_int_equal(cluster_buffers_create(100, 4 * LARGE, &node->buffers), 0);
    parts.events = node->events;
    parts.buffers = node->buffers;
    assert_int_equal(cluster_peering_create(&parts, &node->peering), 0);
    assert_int_equal(
        tell(node, (struct cluster_event){.kind = CLUSTER_EVENT_POOL,
                                          .pool = POOL,
                                          .revision = 1,
                                          .record = pool_records_of(&kv, &node->records)}),
        0);
    read_map(node);
    serve(node);
}

static inline int open_stage(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (uint8_t)(i * 7 + i / 251);
    open_node(&nodes[0], 1);
    open_node(&nodes[1], 2);
    mend();
    settle();
    return 0;
}

static inline void end_runs(struct node *node, struct rapahub_bytes answer)
{
    while (node->runs_count > 0) {
        struct cluster_payload_body body;

        assert_int_equal(cluster_buffers_keep(node->buffers, answer, &body), 0);
        assert_int_equal(tell(node, (struct cluster_event){.kind = CLUSTER_EVENT_RUN,
                                                           .id = node->runs[--node->runs_count % 8],
                                                           .body = body}),
                         0);
    }
}

/* Nothing of a call is left but what the histories of the containers have. */
static inline int close_stage(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct node *node = &nodes[i];
        const struct cluster_dispatch *parts = cluster_core_parts(node->core);

        assert_int_equal(cluster_send_figures(parts->send).calls, 0);
        assert_int_equal(cluster_peers_figures(parts->peers).came, 0);
        assert_int_equal(cluster_peers_figures(parts->peers).sent, 0);
        drop_frames(node);
        cluster_peering_release(&node->peering);
        cluster_core_release(&node->core);
        cluster_event_queue_release(&node->events);
        cluster_buffers_release(&node->buffers);
    }
    return 0;
}

#endif
