/* SPDX-License-Identifier: Apache-2.0 */
/* recover_stage: a node that leads, one that owns all containers of a pool and dies, and a third
 * one.
 */
#ifndef TESTS_CLUSTER_CORE_RECOVER_STAGE_H
#define TESTS_CLUSTER_CORE_RECOVER_STAGE_H

#include "cluster/core/ops/recover.h"
#include "tests/unit/cluster-core/ops_stage.h"

#define RECOVER __attribute__((unused)) static

#define POOL       UINT64_C(0x0000010000000000)
#define DEAD       2 /* the node that dies */
#define OTHER      3
#define SESSION    50 /* its session */
#define CONTAINERS 100

static struct ops_stage stage;
static const struct cluster_limits limits = {.pools = 8,
                                             .entries = 200,
                                             .containers = 200,
                                             .calls = 8,
                                             .payloads = 8,
                                             .effects = 600,
                                             .peers = 4};

static const struct cluster_entry lost = {.state = CLUSTER_ENTRY_ACTIVE,
                                          .owner = DEAD,
                                          .session = SESSION,
                                          .epoch = 4,
                                          .lineage =
                                              (UINT64_C(2) << 16) | 1}; /* life 1 of epoch 2 */

/* ---- the stage ---- */

/* Brings entries of the dead node into the map. */
RECOVER void put_entries(uint32_t count, const struct cluster_entry *entry)
{
    stage.catch_up.state = CLUSTER_CATCH_UP_READING;
    stage.catch_up.target = 60;
    for (uint32_t c = 0; c < count; c++)
        assert_int_equal(cluster_catch_up_entry(&stage.catch_up, POOL, c, 60, entry), 0);
    cluster_catch_up_read_end(&stage.catch_up);
}

RECOVER void put_pool(uint32_t containers, uint8_t durability, uint8_t on_daemon_death)
{
    bool copied = durability >= CLUSTER_DURABILITY_CHECKPOINT;
    struct ops_stage_pool kv = {.name = "kv", .containers = containers, .durability = durability};
    struct cluster_orders_order order = ops_stage_spec(&stage, &kv);
    struct cluster_record_pool record;
    struct cluster_pool_spec spec;
    uint8_t bytes[512];
    struct hub_writer writer;

    assert_int_equal(cluster_pool_spec_read(order.spec, &spec), 0);
    spec.on_daemon_death = on_daemon_death;
    spec.copies = spec.min_copies = copied;
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_pool_spec_put(&writer, &spec), 0);
    record = (struct cluster_record_pool){.state = CLUSTER_POOL_ACTIVE,
                                          .containers = containers,
                                          .slots_count = cluster_pool_new_slots(containers).count,
                                          .digest = order.digest,
                                          .spec = {bytes, writer.size},
                                          .manifest = order.manifest};
    assert_int_equal(cluster_pools_put(stage.context.pools, POOL, 40, &record), 0);
}

/* Nodes 1, which leads, 2, which owns all containers, and, if it is there, 3. */
RECOVER void open_pool(uint32_t containers, uint8_t durability, uint8_t on_daemon_death)
{
    ops_stage_open(&stage, &limits);
    put_pool(containers, durability, on_daemon_death);
    put_entries(containers, &lost);
    ops_stage_node(&stage, DEAD, SESSION, CLUSTER_NODE_ACTIVE);
    ops_stage_node(&stage, OTHER, 70, CLUSTER_NODE_ACTIVE);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_null(stage.txn);
}

RECOVER int tell_death(uint64_t session, bool final)
{
    int status = cluster_ops_take_death(stage.ops, DEAD, session, final);

    ops_stage_step(&stage);
    return status;
}

RECOVER int say_dead(uint32_t node, bool discard)
{
    const struct cluster_orders_order order = {
        .kind = CLUSTER_ORDER_DEAD, .number = ++stage.orders, .node = node, .discard = discard};

    return ops_stage_order(&stage, &order);
}

RECOVER bool deletes(enum cluster_keys_kind kind)
{
    const struct cluster_write *write = ops_stage_write(&stage, kind, 0);

    return write && write->kind == CLUSTER_DELETE;
}

/* Says whether the transaction that is under way compares this key with this last put. */
RECOVER bool compares(enum cluster_keys_kind kind, uint32_t node, uint64_t rev)
{
    struct cluster_key key;

    for (uint32_t i = 0; stage.txn && i < stage.txn->txn->compares_count; i++) {
        const struct cluster_compare *compare = &stage.txn->txn->compares[i];

        assert_int_equal(cluster_keys_parse(compare->key, &key), 0);
        if (key.kind == kind && key.node == node &&
            (rev == 0 ? compare->kind == CLUSTER_ABSENT : compare->rev == rev))
            return true;
    }
    return false;
}

/* The transaction under way fences the dead node; its effect comes to be known. */
RECOVER void is_fenced(void)
{
    assert_true(deletes(CLUSTER_KEY_SESSION));
    assert_true(compares(CLUSTER_KEY_SESSION, DEAD, SESSION));
    assert_true(compares(CLUSTER_KEY_NODE, DEAD, STAGE_NODE_RECORD));
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_NODE, 0).node.state, CLUSTER_NODE_FENCED);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_RECOVERY, 0).operation.kind,
                     CLUSTER_OPERATION_RECOVER);
    ops_stage_commit(&stage);
    ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_FENCED);
}

RECOVER uint32_t count_owned(uint32_t node)
{
    const struct cluster_address *address;
    uint32_t place = 0, count = 0;

    while ((address = cluster_address_map_after(stage.context.map, &place)))
        count += address->entry.owner == node;
    return count;
}

RECOVER struct cluster_entry entry_of(uint32_t container)
{
    const struct cluster_address *address =
        cluster_address_map_find(stage.context.map, POOL, container);

    assert_non_null(address);
    return address->entry;
}

RECOVER const struct cluster_recovery *recovery(void)
{
    return cluster_recoveries_find(cluster_ops_context(stage.ops)->recoveries, DEAD);
}

#endif
