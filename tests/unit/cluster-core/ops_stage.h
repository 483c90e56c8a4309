/* SPDX-License-Identifier: Apache-2.0 */
/* ops_stage: the operations of a node with the parts that they use, and a metastore that carries
 * out each transaction as the test says. */
#ifndef TESTS_UNIT_CLUSTER_CORE_OPS_STAGE_H
#define TESTS_UNIT_CLUSTER_CORE_OPS_STAGE_H

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/copies/holders.h"
#include "cluster/core/ops/ops.h"
#include "tests/unit/cluster-core/pool_records.h"

#define STAGE_NODE        1
#define STAGE_SESSION     100
#define STAGE_MS          UINT64_C(1000000)
#define STAGE_EFFECTS     600
#define STAGE_NODE_RECORD 33 /* revision of the record of any other node */
#define STAGE_MODULE      90 /* revision of the record of each module */

struct ops_stage {
    struct cluster_ops *ops;
    struct cluster_context context;
    struct cluster_holders *holders;
    struct cluster_catch_up catch_up;
    struct cluster_effects out; /* of the last step */
    uint64_t now, revision, orders;
    uint32_t begun, served, down, gone, closed; /* how often the hooks were called */
    int begun_status;                           /* of the hook */
    struct pool_records records;
    const struct cluster_effect *txn; /* the transaction that is under way, or NULL */
    struct cluster_effect last_txn;
};

static inline int ops_stage_begun(void *user, uint64_t pool, uint32_t container, uint64_t lineage,
                                  uint64_t covered)
{
    struct ops_stage *stage = user;

    (void)pool;
    (void)container;
    (void)lineage;
    (void)covered;
    stage->begun++;
    return stage->begun_status;
}

static inline void ops_stage_serves(void *user, uint64_t pool, uint32_t container)
{
    (void)pool;
    (void)container;
    ((struct ops_stage *)user)->served++;
}

static inline void ops_stage_down(void *user, uint64_t pool, uint32_t container)
{
    (void)pool;
    (void)container;
    ((struct ops_stage *)user)->down++;
}

static inline void ops_stage_gone(void *user, uint64_t pool, uint32_t container)
{
    (void)pool;
    (void)container;
    ((struct ops_stage *)user)->gone++;
}

static inline void ops_stage_closes(void *user, uint64_t pool)
{
    (void)pool;
    ((struct ops_stage *)user)->closed++;
}

static inline void ops_stage_step(struct ops_stage *stage)
{
    cluster_ops_set_time(stage->ops, stage->now);
    cluster_ops_step(stage->ops);
    cluster_effects_take(stage->context.effects, stage->now, &stage->out);
    for (uint32_t i = 0; i < stage->out.count; i++)
        if (stage->out.effects[i].kind == CLUSTER_EFFECT_TXN) {
            assert_null(stage->txn);
            stage->last_txn = stage->out.effects[i];
            stage->txn = &stage->last_txn;
        }
}

static inline void ops_stage_pass(struct ops_stage *stage, uint64_t ms)
{
    stage->now += ms * STAGE_MS;
    ops_stage_step(stage);
}

/* Returns the effect of the last step of this kind, which is there as often as `times` says. */
static inline const struct cluster_effect *ops_stage_effect(const struct ops_stage *stage,
                                                            uint8_t kind, uint32_t times)
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

static inline void ops_stage_read_map(struct ops_stage *stage)
{
    assert_int_equal(cluster_catch_up_read(&stage->catch_up, stage->catch_up.revision), 0);
    cluster_catch_up_read_end(&stage->catch_up);
    cluster_ops_changed(stage->ops);
}

static inline void ops_stage_open(struct ops_stage *stage, const struct cluster_limits *limits)
{
    static const struct cluster_context_hooks hooks = {
        ops_stage_begun, ops_stage_serves, ops_stage_down, ops_stage_gone, ops_stage_closes};
    struct cluster_context *context = &stage->context;

    *stage = (struct ops_stage){.now = 1000 * STAGE_MS, .revision = STAGE_SESSION};
    assert_int_equal(cluster_holders_create(limits->entries, 1, &stage->holders), 0);
    *context = (struct cluster_context){.limits = limits,
                                        .node = STAGE_NODE,
                                        .catch_up = &stage->catch_up,
                                        .holders = stage->holders,
                                        .hooks = &hooks,
                                        .user = stage};
    assert_int_equal(cluster_pools_create(limits->pools, 1, &context->pools), 0);
    assert_int_equal(cluster_address_map_create(limits->entries, 1, &context->map), 0);
    assert_int_equal(cluster_local_containers_create(limits->containers, 1, &context->locals), 0);
    assert_int_equal(cluster_pending_create(limits->containers + 8, &context->pending), 0);
    assert_int_equal(cluster_effects_create(STAGE_EFFECTS, &context->effects), 0);
    cluster_catch_up_init(&stage->catch_up, context->map);
    assert_int_equal(cluster_ops_create(context, 7, &stage->ops), 0);
    ops_stage_read_map(stage);
}

static inline void ops_stage_start(struct ops_stage *stage, uint64_t session)
{
    const struct cluster_ops_start start = {.session = session, .boot = 1};

    assert_int_equal(cluster_ops_start(stage->ops, &start), 0);
    ops_stage_step(stage);
}

/* Starts it under a node that leads. */
static inline void ops_stage_follow(struct ops_stage *stage, uint32_t lead)
{
    const struct cluster_ops_start start = {
        .session = STAGE_SESSION, .boot = 1, .lead = lead, .term = 90};

    assert_int_equal(cluster_ops_start(stage->ops, &start), 0);
    ops_stage_step(stage);
}

/* The metastore has a node in this session, in this state. */
static inline void ops_stage_node(struct ops_stage *stage, uint32_t node, uint64_t session,
                                  uint8_t node_state)
{
    const struct cluster_record_node record = {.state = node_state,
                                               .capacity = 1,
                                               .uuid = {POOL_RECORDS_DIGEST, 16},
                                               .name = pool_records_text("other")};
    const struct cluster_ops_node told = {node, session, STAGE_NODE_RECORD, &record};

    assert_int_equal(cluster_ops_take_node(stage->ops, &told), 0);
    ops_stage_step(stage);
}

static inline void ops_stage_close(struct ops_stage *stage)
{
    cluster_ops_release(&stage->ops);
    cluster_holders_release(&stage->holders);
    cluster_effects_release(&stage->context.effects);
    cluster_pending_release(&stage->context.pending);
    cluster_local_containers_release(&stage->context.locals);
    cluster_address_map_release(&stage->context.map);
    cluster_pools_release(&stage->context.pools);
}

/* ---- the metastore ---- */

static inline const struct cluster_write *ops_stage_write(const struct ops_stage *stage,
                                                          enum cluster_keys_kind kind, uint32_t at)
{
    struct cluster_key key;

    for (uint32_t i = 0; stage->txn && i < stage->txn->txn->then_count; i++) {
        const struct cluster_write *write = &stage->txn->txn->then[i];

        assert_int_equal(cluster_keys_parse(write->key, &key), 0);
        if (key.kind == kind && at-- == 0)
            return write;
    }
    return NULL;
}

static inline struct cluster_record ops_stage_record(const struct ops_stage *stage,
                                                     enum cluster_keys_kind kind, uint32_t at)
{
    const struct cluster_write *write = ops_stage_write(stage, kind, at);
    struct cluster_record record;

    assert_non_null(write);
    assert_int_equal(cluster_record_read(kind, write->value, &record), 0);
    return record;
}

/* The transaction that is under way ends; the delta, if it has one and happened, is applied if
 * `delta` is set. */
static inline void ops_stage_end_txn(struct ops_stage *stage, int status, bool delta)
{
    const struct cluster_write *log = ops_stage_write(stage, CLUSTER_KEY_LOG, 0);
    uint8_t bytes[8192];
    size_t size = log ? log->value.size : 0;
    struct cluster_delta changes;
    uint64_t revision = status == CLUSTER_TXN_OK ? ++stage->revision : 0;

    assert_non_null(stage->txn);
    if (size > 0)
        memcpy(bytes, log->value.data, size);
    stage->txn = NULL;
    cluster_ops_set_time(stage->ops, stage->now);
    assert_int_equal(cluster_ops_stored(stage->ops, stage->last_txn.id, status, revision), 0);
    if (status == CLUSTER_TXN_OK && delta && size > 0) {
        assert_int_equal(cluster_delta_read((struct rapahub_bytes){bytes, size}, &changes), 0);
        assert_int_equal(cluster_catch_up_apply(&stage->catch_up, revision, &changes),
                         CLUSTER_DELTA_APPLY);
        cluster_ops_changed(stage->ops);
    }
    ops_stage_step(stage);
}

static inline void ops_stage_commit(struct ops_stage *stage)
{
    ops_stage_end_txn(stage, CLUSTER_TXN_OK, true);
}

/* ---- containers ---- */

static inline void ops_stage_end_begin(struct ops_stage *stage, uint64_t id, int status)
{
    const struct cluster_lives_answer answer = {
        .id = id, .status = status, .text = {"it failed", status < 0 ? 9 : 0}};

    cluster_ops_set_time(stage->ops, stage->now);
    assert_int_equal(cluster_ops_begun(stage->ops, &answer), 0);
    ops_stage_step(stage);
}

static inline void ops_stage_end_removal(struct ops_stage *stage, uint64_t id, int status)
{
    const struct cluster_lives_answer answer = {
        .id = id, .status = status, .text = {"it stays", status < 0 ? 8 : 0}};

    assert_int_equal(cluster_ops_removed(stage->ops, &answer), 0);
    ops_stage_step(stage);
}

static inline void ops_stage_kill(struct ops_stage *stage, uint64_t pool, uint32_t container)
{
    cluster_ops_set_time(stage->ops, stage->now);
    cluster_ops_down(stage->ops, pool, container);
    ops_stage_step(stage);
}

/* ---- people ---- */

struct ops_stage_pool {
    const char *name;
    uint32_t containers;
    uint8_t durability;
    const char *params;
    uint32_t only; /* node; 0: any */
};

static inline struct cluster_orders_order ops_stage_spec(struct ops_stage *stage,
                                                         const struct ops_stage_pool *pool)
{
    const struct pool_records_pool module = {.name = pool->name, .containers = pool->containers};
    bool copied = pool->durability >= CLUSTER_DURABILITY_CHECKPOINT;
    struct cluster_pool_spec spec = {.name = pool_records_text(pool->name),
                                     .module = pool_records_text("counter"),
                                     .version = pool_records_text("1.0"),
                                     .digest = {POOL_RECORDS_DIGEST, 32},
                                     .containers = pool->containers,
                                     .durability = pool->durability,
                                     .copies = copied,
                                     .min_copies = copied,
                                     .nodes = {.of = &pool->only, .count = pool->only != 0}};
    struct hub_writer writer;

    if (pool->params)
        spec.params = pool_records_text(pool->params);
    hub_writer_init(&writer, stage->records.spec, sizeof stage->records.spec);
    assert_int_equal(cluster_pool_spec_put(&writer, &spec), 0);
    return (struct cluster_orders_order){.kind = CLUSTER_ORDER_APPLY,
                                         .number = ++stage->orders,
                                         .spec = {stage->records.spec, writer.size},
                                         .digest = {POOL_RECORDS_DIGEST, 32},
                                         .manifest =
                                             pool_records_manifest(&module, &stage->records),
                                         .module_revision = STAGE_MODULE};
}

static inline int ops_stage_order(struct ops_stage *stage, const struct cluster_orders_order *order)
{
    int status = cluster_ops_order(stage->ops, order);

    ops_stage_step(stage);
    return status;
}

static inline int ops_stage_apply(struct ops_stage *stage, const struct ops_stage_pool *pool)
{
    const struct cluster_orders_order order = ops_stage_spec(stage, pool);

    return ops_stage_order(stage, &order);
}

static inline int ops_stage_ask(struct ops_stage *stage, uint8_t kind, const char *pool,
                                uint32_t container)
{
    const struct cluster_orders_order order = {.kind = kind,
                                               .number = ++stage->orders,
                                               .container = container,
                                               .pool = pool_records_text(pool)};

    return ops_stage_order(stage, &order);
}

static inline int ops_stage_wait(struct ops_stage *stage, uint64_t operation)
{
    const struct cluster_orders_order order = {
        .kind = CLUSTER_ORDER_WAIT, .number = ++stage->orders, .operation = operation};

    return ops_stage_order(stage, &order);
}

/* The order with the highest number has ended in the last step: with this status, and this
 * operation. */
static inline void ops_stage_ordered(const struct ops_stage *stage, int status, uint64_t operation)
{
    const struct cluster_effect *effect = ops_stage_effect(stage, CLUSTER_EFFECT_ORDERED, 1);

    assert_int_equal(effect->number, stage->orders);
    assert_int_equal(effect->status, status);
    assert_int_equal(effect->body.size, 8);
    assert_int_equal(((const uint8_t *)effect->body.data)[0], operation);
}

static inline const struct cluster_operations_row *ops_stage_operation(
    const struct ops_stage *stage, uint64_t number)
{
    const struct cluster_operations *all = cluster_ops_operations(stage->ops);
    uint32_t place = cluster_operations_find(all, number);

    return place != 0 ? cluster_operations_at(all, place) : NULL;
}

static inline uint8_t ops_stage_state(const struct ops_stage *stage, uint64_t pool,
                                      uint32_t container)
{
    const struct cluster_address *address =
        cluster_address_map_find(stage->context.map, pool, container);

    return address ? address->entry.state : CLUSTER_ENTRY_NONE;
}

/* Brings a pool with one container, pool 256, to where it serves. Returns its number. */
static inline uint64_t ops_stage_pool(struct ops_stage *stage, const struct ops_stage_pool *pool)
{
    uint64_t number = cluster_ids_pool((struct rapahub_pool_id){256, 0});

    assert_int_equal(ops_stage_apply(stage, pool), 0);
    ops_stage_commit(stage); /* the entry; it begins */
    ops_stage_end_begin(stage, ops_stage_effect(stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    ops_stage_commit(stage); /* its entry is active */
    ops_stage_commit(stage); /* and the pool is */
    (void)ops_stage_effect(stage, CLUSTER_EFFECT_RELEASE, 1);
    return number;
}

#endif
