/* SPDX-License-Identifier: Apache-2.0 */
/* peer_stage: the core of node 1, with a pool of four containers: 0 is its own, 1 and 2 are of node
 * 2, and 3 of node 3. The links to both are up. */
#ifndef TESTS_UNIT_CLUSTER_CORE_PEER_STAGE_H
#define TESTS_UNIT_CLUSTER_CORE_PEER_STAGE_H

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/calls/look.h"
#include "cluster/core/check.h"
#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "cluster/wire/body.h"
#include "tests/unit/cluster-core/pool_records.h"

#define STAGE_POOL       UINT64_C(0x0000010000000000)
#define STAGE_CLIENT     (UINT64_C(1) << 63)
#define STAGE_CONTAINERS 4
#define STAGE_ONCE       7
#define STAGE_REPEATS    80
#define STAGE_MS         UINT64_C(1000000)
#define STAGE_SECOND     (1000 * STAGE_MS)
#define STAGE_REVISION   50 /* the map's */

struct peer_stage {
    struct cluster_core *core;
    struct cluster_effects out; /* of the last event */
    uint64_t now;
    struct pool_records records;
};

static const struct cluster_limits peer_stage_limits = {.pools = 2,
                                                        .entries = STAGE_CONTAINERS,
                                                        .containers = STAGE_CONTAINERS,
                                                        .calls = 16,
                                                        .payloads = 100,
                                                        .effects = 600,
                                                        .parked = 8,
                                                        .parked_container = 4,
                                                        .parked_bytes = 10000,
                                                        .parked_container_bytes = 4000,
                                                        .dedup = 40,
                                                        .dedup_container = 20,
                                                        .dedup_bytes = 90000,
                                                        .dedup_container_bytes = 50000,
                                                        .retries = 16,
                                                        .retry_bytes = 10000,
                                                        .peers = 2,
                                                        .peer_calls = 4,
                                                        .peer_bytes = 4000};

static inline int peer_stage_tell(struct peer_stage *stage, struct cluster_event event)
{
    int status;

    event.now_ns = stage->now;
    status = cluster_core_step(stage->core, &event, &stage->out);
    assert_null(cluster_check_core(cluster_core_parts(stage->core)));
    return status;
}

static inline void peer_stage_pass(struct peer_stage *stage, uint64_t ms)
{
    stage->now += ms * STAGE_MS;
    (void)peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
}

static inline struct cluster_entry peer_stage_entry(uint32_t owner, uint64_t epoch)
{
    return (struct cluster_entry){.state = CLUSTER_ENTRY_ACTIVE,
                                  .owner = owner,
                                  .session = owner,
                                  .epoch = epoch,
                                  .lineage = cluster_ids_lineage(epoch, 0)};
}

/* The map is read anew, and has this owner and epoch for each container. */
static inline void peer_stage_map(struct peer_stage *stage, uint64_t revision,
                                  const uint32_t owners[STAGE_CONTAINERS], uint64_t epoch)
{
    struct cluster_dispatch *parts =
        (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(stage->core);

    cluster_catch_up_doubt(&parts->catch_up);
    (void)peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    assert_int_equal(peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_READING,
                                                                   .revision = revision}),
                     0);
    for (uint32_t c = 0; c < STAGE_CONTAINERS; c++) {
        const struct cluster_entry entry = peer_stage_entry(owners[c], epoch);

        assert_int_equal(peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_ENTRY,
                                                                       .pool = STAGE_POOL,
                                                                       .container = c,
                                                                       .revision = revision,
                                                                       .entry = &entry}),
                         0);
    }
    assert_int_equal(peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_READ}), 0);
}

static inline int peer_stage_link(struct peer_stage *stage, uint32_t node, uint8_t change,
                                  uint64_t session)
{
    return peer_stage_tell(
        stage, (struct cluster_event){
                   .kind = CLUSTER_EVENT_PEER, .change = change, .node = node, .session = session});
}

/* What operations do with container 0, without them. */
static inline void peer_stage_begin(struct peer_stage *stage, uint64_t epoch, uint32_t life)
{
    struct cluster_dispatch *parts =
        (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(stage->core);
    uint64_t lineage = cluster_ids_lineage(epoch, life);

    assert_int_equal(cluster_local_containers_begin(parts->locals, STAGE_POOL, 0,
                                                    cluster_ids_token(0, epoch, life), lineage),
                     0);
    assert_int_equal(cluster_dispatch_hooks.begun(parts, STAGE_POOL, 0, lineage, 0), 0);
    (void)peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
}

static inline void peer_stage_serve(struct peer_stage *stage)
{
    struct cluster_dispatch *parts =
        (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(stage->core);

    cluster_local_containers_move(parts->locals, STAGE_POOL, 0, CLUSTER_LOCAL_SERVING);
    cluster_dispatch_hooks.serves(parts, STAGE_POOL, 0);
    (void)peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
}

static inline void peer_stage_kill(struct peer_stage *stage)
{
    assert_int_equal(peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_CONTAINER,
                                                                   .change = CLUSTER_CONTAINER_DOWN,
                                                                   .pool = STAGE_POOL}),
                     0);
}

static inline void peer_stage_open(struct peer_stage *stage)
{
    static const uint64_t methods[] = {STAGE_ONCE, STAGE_REPEATS};
    static const struct cluster_pool_method said = {.id = STAGE_REPEATS, .repeat = true};
    static const uint32_t owners[STAGE_CONTAINERS] = {1, 2, 2, 3};
    const struct pool_records_pool kv = {.name = "kv",
                                         .containers = STAGE_CONTAINERS,
                                         .methods = methods,
                                         .methods_count = 2,
                                         .said = &said,
                                         .said_count = 1};

    *stage = (struct peer_stage){.now = 1000 * STAGE_MS};
    assert_int_equal(cluster_core_create(&peer_stage_limits, 1, 5, &stage->core), 0);
    assert_int_equal(peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_POOL,
                                                                   .pool = STAGE_POOL,
                                                                   .revision = 1,
                                                                   .record = pool_records_of(
                                                                       &kv, &stage->records)}),
                     0);
    peer_stage_map(stage, STAGE_REVISION, owners, 1);
    peer_stage_begin(stage, 1, 0);
    peer_stage_serve(stage);
    assert_int_equal(peer_stage_link(stage, 2, CLUSTER_PEER_UP, 22), 0);
    assert_int_equal(peer_stage_link(stage, 3, CLUSTER_PEER_UP, 33), 0);
}

/* Nothing of a call is left. */
static inline void peer_stage_close(struct peer_stage *stage)
{
    const struct cluster_dispatch *parts = cluster_core_parts(stage->core);

    stage->now += 60 * STAGE_SECOND;
    (void)peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    assert_int_equal(cluster_send_figures(parts->send).members, 0);
    assert_int_equal(cluster_peers_figures(parts->peers).came, 0);
    assert_int_equal(cluster_peers_figures(parts->peers).sent, 0);
    assert_int_equal(cluster_payload_count(parts->payload),
                     cluster_dedup_figures(parts->dedup, 0, 0).calls -
                         cluster_dedup_figures(parts->dedup, 0, 0).running);
    cluster_core_release(&stage->core);
}

/* Returns the effect of this kind, which is there as often as `times` says; the last of them. */
static inline const struct cluster_effect *peer_stage_effect(const struct peer_stage *stage,
                                                             uint8_t kind, unsigned times)
{
    const struct cluster_effect *found = NULL;

    for (uint32_t i = 0; i < stage->out.count; i++)
        if (stage->out.effects[i].kind == kind) {
            assert_true(times-- > 0);
            found = &stage->out.effects[i];
        }
    assert_int_equal(times, 0);
    return found;
}

/* Returns the one frame that was sent, which is of this type and goes to this node. */
static inline const struct cluster_peer_frame *peer_stage_sent(const struct peer_stage *stage,
                                                               uint8_t type, uint32_t node)
{
    const struct cluster_effect *effect = peer_stage_effect(stage, CLUSTER_EFFECT_SEND, 1);

    assert_int_equal(effect->frame->type, type);
    assert_int_equal(effect->frame->node, node);
    return effect->frame;
}

static inline void peer_stage_silent(const struct peer_stage *stage)
{
    (void)peer_stage_effect(stage, CLUSTER_EFFECT_SEND, 0);
    (void)peer_stage_effect(stage, CLUSTER_EFFECT_ANSWER, 0);
}

static inline void peer_stage_answered(const struct peer_stage *stage, uint64_t number, int status)
{
    const struct cluster_effect *effect = peer_stage_effect(stage, CLUSTER_EFFECT_ANSWER, 1);

    assert_int_equal(effect->number, number);
    assert_int_equal(effect->status, status);
}

/* ---- calls of this node ---- */

static inline struct cluster_send_call peer_stage_asked(uint64_t number, uint32_t container)
{
    return (struct cluster_send_call){.number = number,
                                      .pool = STAGE_POOL,
                                      .query = {.offset = container},
                                      .uid = {STAGE_CLIENT, number},
                                      .method = STAGE_ONCE,
                                      .deadline_ns = 4 * STAGE_SECOND,
                                      .reserve = 100,
                                      .body = {.bytes = {"hello", 5}}};
}

static inline int peer_stage_ask(struct peer_stage *stage, const struct cluster_send_call *asked)
{
    return peer_stage_tell(stage,
                           (struct cluster_event){.kind = CLUSTER_EVENT_CALL, .call = asked});
}

/* Returns the CALL that a call to a container of another node becomes. */
static inline struct cluster_peer_frame peer_stage_call(struct peer_stage *stage, uint64_t number,
                                                        uint32_t container)
{
    const struct cluster_send_call asked = peer_stage_asked(number, container);

    assert_int_equal(peer_stage_ask(stage, &asked), 0);
    return *peer_stage_sent(stage, CLUSTER_FRAME_CALL, container == 3 ? 3 : 2);
}

/* ---- frames of other nodes ---- */

static inline int peer_stage_arrive(struct peer_stage *stage,
                                    const struct cluster_peer_frame *frame, const char *body)
{
    return peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_ARRIVED,
                                                         .frame = frame,
                                                         .body = {.bytes = {body, strlen(body)}}});
}

/* What the node of a container says to a call that was sent to it. */
static inline struct cluster_peer_frame peer_stage_reply(const struct cluster_peer_frame *call,
                                                         uint8_t type)
{
    return (struct cluster_peer_frame){.node = call->node,
                                       .type = type,
                                       .attempt = call->attempt,
                                       .uid = call->uid,
                                       .pool = call->pool,
                                       .container = call->container,
                                       .token = call->token,
                                       .lineage = call->lineage,
                                       .revision = STAGE_REVISION};
}

/* A call of node 2 to container 0. */
static inline struct cluster_peer_frame peer_stage_arrival(const struct peer_stage *stage,
                                                           uint64_t number)
{
    return (struct cluster_peer_frame){.node = 2,
                                       .type = CLUSTER_FRAME_CALL,
                                       .ttl = CLUSTER_FRAME_TTL,
                                       .attempt = (uint32_t)number,
                                       .uid = {22, number},
                                       .pool = STAGE_POOL,
                                       .token = cluster_ids_token(0, 1, 0),
                                       .lineage = cluster_ids_lineage(1, 0),
                                       .revision = STAGE_REVISION,
                                       .method = STAGE_ONCE,
                                       .digest = 5,
                                       .deadline_ns = stage->now + STAGE_SECOND};
}

static inline void peer_stage_end_run(struct peer_stage *stage, uint64_t id, const char *answer)
{
    assert_int_equal(
        peer_stage_tell(stage, (struct cluster_event){.kind = CLUSTER_EVENT_RUN,
                                                      .id = id,
                                                      .body = {.bytes = {answer, strlen(answer)}}}),
        0);
}

#endif
