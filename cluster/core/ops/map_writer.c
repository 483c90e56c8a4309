/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/map_writer.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"

const struct hub_states cluster_map_writer_states = {
    "cluster.map_writer",
    {[CLUSTER_MAP_WRITER_IDLE] = {"IDLE", HUB_TO(CLUSTER_MAP_WRITER_SENT)},
     [CLUSTER_MAP_WRITER_SENT] = {"SENT", HUB_TO(CLUSTER_MAP_WRITER_IDLE) |
                                              HUB_TO(CLUSTER_MAP_WRITER_APPLYING) |
                                              HUB_TO(CLUSTER_MAP_WRITER_PAUSED) |
                                              HUB_TO(CLUSTER_MAP_WRITER_CLOSED)},
     [CLUSTER_MAP_WRITER_APPLYING] = {"APPLYING", HUB_TO(CLUSTER_MAP_WRITER_IDLE)},
     [CLUSTER_MAP_WRITER_PAUSED] = {"PAUSED", HUB_TO(CLUSTER_MAP_WRITER_IDLE)},
     [CLUSTER_MAP_WRITER_CLOSED] = {"CLOSED", 0}}};

int cluster_map_writer_init(struct cluster_map_writer *writer)
{
    *writer = (struct cluster_map_writer){.state = CLUSTER_MAP_WRITER_IDLE};
    return cluster_txns_create(1, &writer->txns);
}

void cluster_map_writer_fini(struct cluster_map_writer *writer)
{
    cluster_txns_release(&writer->txns);
}

static void move(struct cluster_map_writer *writer, enum cluster_map_writer_state to)
{
    CHECK(hub_states_may(&cluster_map_writer_states, writer->state, to));
    writer->state = to;
}

/* A delta that does not come is read with the map. */
static void wait_for_map(struct cluster_map_writer *writer, struct cluster_context *context)
{
    if (context->catch_up->revision >= writer->revision) {
        move(writer, CLUSTER_MAP_WRITER_IDLE);
        return;
    }
    if (context->now_ns >= writer->until_ns) {
        cluster_catch_up_doubt(context->catch_up);
        writer->until_ns = context->now_ns + CLUSTER_MAP_WRITER_DELTA_NS;
    }
    cluster_context_wake(context, writer->until_ns);
}

bool cluster_map_writer_is_ready(struct cluster_map_writer *writer, struct cluster_context *context)
{
    if (writer->state == CLUSTER_MAP_WRITER_APPLYING)
        wait_for_map(writer, context);
    if (writer->state == CLUSTER_MAP_WRITER_PAUSED && context->now_ns >= writer->until_ns)
        move(writer, CLUSTER_MAP_WRITER_IDLE);
    if (writer->state == CLUSTER_MAP_WRITER_PAUSED)
        cluster_context_wake(context, writer->until_ns);
    return writer->state == CLUSTER_MAP_WRITER_IDLE &&
           context->catch_up->state == CLUSTER_CATCH_UP_CURRENT &&
           cluster_effects_space(context->effects) > 0 &&
           cluster_pending_space(context->pending) > 0;
}

bool cluster_map_writer_changes(const struct cluster_map_writer *writer,
                                const struct cluster_address *address)
{
    bool busy =
        writer->state == CLUSTER_MAP_WRITER_SENT || writer->state == CLUSTER_MAP_WRITER_APPLYING;

    for (uint32_t i = 0; busy && i < writer->plan.changes_count; i++)
        if (writer->plan.changes[i].pool == address->pool &&
            writer->plan.changes[i].container == address->container)
            return true;
    return false;
}

/* ---- building ---- */

/* A node that has ended since gets nothing. Each is compared once. */
static void expect_destination(struct cluster_map_writer *writer,
                               const struct cluster_context *context, uint32_t at)
{
    const struct cluster_plan *plan = &writer->plan;
    const struct cluster_entry *entry = &plan->changes[at].entry;
    const struct cluster_key session = {.kind = CLUSTER_KEY_SESSION, .node = entry->owner};

    if (entry->state != CLUSTER_ENTRY_RECOVERING || entry->owner == context->node)
        return;
    for (uint32_t i = 0; i < at; i++)
        if (plan->changes[i].entry.state == CLUSTER_ENTRY_RECOVERING &&
            plan->changes[i].entry.owner == entry->owner)
            return;
    cluster_txns_expect_created(writer->txns, writer->place, &session, entry->session);
}

static void put_entries(struct cluster_map_writer *writer, const struct cluster_context *context)
{
    const struct cluster_plan *plan = &writer->plan;
    const struct cluster_key log = {.kind = CLUSTER_KEY_LOG};
    const struct cluster_delta delta = {context->catch_up->revision,
                                        {.of = plan->changes, .count = plan->changes_count}};
    uint8_t bytes[CLUSTER_DELTA_CHANGES_MAX * 128];
    struct hub_writer to;

    hub_writer_init(&to, bytes, sizeof bytes);
    ENSURE(cluster_delta_put(&to, &delta) == 0);
    cluster_txns_expect(writer->txns, writer->place, &log, context->catch_up->revision);
    cluster_txns_put(writer->txns, writer->place, &log, (struct rapahub_bytes){bytes, to.size});
    for (uint32_t i = 0; i < plan->changes_count; i++) {
        const struct cluster_delta_change *change = &plan->changes[i];
        const struct cluster_key key = {
            .kind = CLUSTER_KEY_ENTRY, .pool = change->pool, .container = change->container};

        cluster_txns_expect(writer->txns, writer->place, &key, plan->revisions[i]);
        expect_destination(writer, context, i);
        if (change->entry.state == CLUSTER_ENTRY_NONE)
            cluster_txns_delete(writer->txns, writer->place, &key);
        else
            cluster_txns_put_record(writer->txns, writer->place, &key,
                                    &(struct cluster_record){.entry = change->entry});
    }
}

static void put_operation(struct cluster_map_writer *writer,
                          const struct cluster_operations_row *row,
                          const struct cluster_plan_operation *planned)
{
    const struct cluster_key key = {.kind = CLUSTER_KEY_OPERATION, .number = row->number};
    uint8_t arguments[CLUSTER_OPERATIONS_ARGUMENTS];
    struct cluster_record record;

    cluster_txns_expect(writer->txns, writer->place, &key, row->revision);
    if (planned->state == CLUSTER_OPERATION_NEW) {
        cluster_txns_delete(writer->txns, writer->place, &key);
        return;
    }
    record.operation =
        cluster_operations_record(row, planned->state, planned->result, planned->text, arguments);
    cluster_txns_put_record(writer->txns, writer->place, &key, &record);
}

/* A module that was removed, or pushed anew, since the order was given is not the pool's.
 * r[impl cluster.create.module] */
static void expect_module(struct cluster_map_writer *writer, struct rapahub_bytes spec_bytes,
                          uint64_t revision)
{
    struct cluster_key key = {.kind = CLUSTER_KEY_MODULE};
    struct cluster_pool_spec spec;

    ENSURE(cluster_pool_spec_read(spec_bytes, &spec) == 0); /* it was read when it was ordered */
    key.text = spec.module;
    key.version = spec.version;
    cluster_txns_expect(writer->txns, writer->place, &key, revision);
}

/* A pool that is not in the metastore yet takes its name, and its number for ever. */
static void put_new_pool(struct cluster_map_writer *writer, const struct cluster_context *context,
                         const struct cluster_key *name)
{
    const struct cluster_key next = {.kind = CLUSTER_KEY_NEXT_POOL};
    const struct cluster_record named = {.name = {writer->plan.pool}};
    const struct cluster_record counted = {.counter = {context->next_pool}};

    cluster_txns_expect(writer->txns, writer->place, name, 0);
    cluster_txns_put_record(writer->txns, writer->place, name, &named);
    cluster_txns_expect(writer->txns, writer->place, &next, context->next_pool_revision);
    cluster_txns_put_record(writer->txns, writer->place, &next, &counted);
}

static void put_pool(struct cluster_map_writer *writer, const struct cluster_context *context,
                     const struct cluster_operations *operations)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, writer->plan.pool);
    const struct cluster_key key = {.kind = CLUSTER_KEY_POOL, .pool = writer->plan.pool};
    struct cluster_key name = {.kind = CLUSTER_KEY_NAME};
    struct cluster_record record;

    ENSURE(pool);
    name.text = (struct rapahub_string){pool->name, strlen(pool->name)};
    cluster_txns_expect(writer->txns, writer->place, &key, pool->revision);
    if (writer->plan.with_pool == CLUSTER_PLAN_DELETE_POOL) {
        cluster_txns_delete(writer->txns, writer->place, &key);
        cluster_txns_delete(writer->txns, writer->place, &name);
        return;
    }
    record.pool = cluster_pools_record(context->pools, pool);
    record.pool.state = writer->plan.pool_state;
    cluster_txns_put_record(writer->txns, writer->place, &key, &record);
    writer->counts = pool->revision == 0;
    if (!writer->counts)
        return;
    put_new_pool(writer, context, &name);
    expect_module(
        writer, record.pool.spec,
        cluster_operations_at(operations, writer->plan.operations[0].place)->module_revision);
}

/* Nothing is written by a node that does not lead any more. r[impl cluster.lead.term] */
static void expect_lead(struct cluster_map_writer *writer, const struct cluster_context *context)
{
    const struct cluster_key lead = {.kind = CLUSTER_KEY_LEAD};

    if (context->term != 0)
        cluster_txns_expect(writer->txns, writer->place, &lead, context->term);
}

static struct cluster_key key_of(uint32_t node, uint64_t session)
{
    return (struct cluster_key){.kind = CLUSTER_KEY_RECOVERY, .node = node, .revision = session};
}

static void put_node(struct cluster_map_writer *writer, const struct cluster_context *context,
                     uint32_t number, uint8_t state)
{
    const struct cluster_key key = {.kind = CLUSTER_KEY_NODE, .node = number};
    const struct cluster_nodes_node *node = cluster_nodes_find(context->nodes, number);
    struct cluster_record record;

    ENSURE(node); /* else it was not planned */
    record = cluster_nodes_record(node, state);
    cluster_txns_expect(writer->txns, writer->place, &key, node->revision);
    cluster_txns_put_record(writer->txns, writer->place, &key, &record);
}

/* A node that is to leave is not to come back. r[impl cluster.leave.draining] */
static uint8_t fenced_state(const struct cluster_context *context, uint32_t number)
{
    const struct cluster_nodes_node *node = cluster_nodes_find(context->nodes, number);

    return node && node->state == CLUSTER_NODE_DRAINING ? CLUSTER_NODE_DRAINING
                                                        : CLUSTER_NODE_FENCED;
}

/* The number of a session is the revision of its first put: one that another session has followed
 * is not deleted. r[impl cluster.session.fencer] */
static void end_session(struct cluster_map_writer *writer, const struct cluster_context *context,
                        const struct cluster_recovery *recovery, bool fence)
{
    const struct cluster_key session = {.kind = CLUSTER_KEY_SESSION, .node = recovery->node};

    if (!fence) {
        cluster_txns_expect(writer->txns, writer->place, &session, 0);
        return;
    }
    cluster_txns_expect_created(writer->txns, writer->place, &session, recovery->session);
    cluster_txns_delete(writer->txns, writer->place, &session);
    put_node(writer, context, recovery->node, fenced_state(context, recovery->node));
}

/* A node that has left has no session, and gets none. r[impl cluster.leave.left] */
static void put_leaving(struct cluster_map_writer *writer, const struct cluster_context *context)
{
    const struct cluster_plan *plan = &writer->plan;
    const struct cluster_key session = {.kind = CLUSTER_KEY_SESSION, .node = plan->node};

    if (plan->node_state == CLUSTER_NODE_LEFT)
        cluster_txns_expect(writer->txns, writer->place, &session, 0);
    put_node(writer, context, plan->node, plan->node_state);
}

static void put_recovery(struct cluster_map_writer *writer, const struct cluster_context *context)
{
    const struct cluster_plan *plan = &writer->plan;
    struct cluster_recovery *recovery = cluster_recoveries_at(context->recoveries, plan->recovery);
    const struct cluster_key key = key_of(recovery->node, recovery->session);
    const struct cluster_key before = key_of(recovery->node, recovery->before);
    uint8_t arguments[CLUSTER_RECOVERIES_ARGUMENTS];
    const struct cluster_record record = {.operation =
                                              cluster_recoveries_record(recovery, arguments)};

    cluster_txns_expect(writer->txns, writer->place, &key, recovery->revision);
    if (plan->with_recovery == CLUSTER_PLAN_END_RECOVERY) {
        cluster_txns_delete(writer->txns, writer->place, &key);
        return;
    }
    cluster_txns_put_record(writer->txns, writer->place, &key, &record);
    if (plan->with_recovery == CLUSTER_PLAN_PUT_RECOVERY)
        return;
    end_session(writer, context, recovery, plan->with_recovery == CLUSTER_PLAN_FENCE);
    if (recovery->before == 0)
        return;
    cluster_txns_expect(writer->txns, writer->place, &before, recovery->before_revision);
    cluster_txns_delete(writer->txns, writer->place, &before);
}

/* r[impl cluster.session.compare] */
static int build(struct cluster_map_writer *writer, const struct cluster_context *context,
                 const struct cluster_operations *operations, const struct cluster_txn **out)
{
    const struct cluster_key session = {.kind = CLUSTER_KEY_SESSION, .node = context->node};
    const struct cluster_plan *plan = &writer->plan;

    writer->counts = false;
    cluster_txns_expect_created(writer->txns, writer->place, &session, context->session.revision);
    expect_lead(writer, context);
    if (plan->changes_count > 0)
        put_entries(writer, context);
    for (uint32_t i = 0; i < plan->operations_count; i++)
        put_operation(writer, cluster_operations_at(operations, plan->operations[i].place),
                      &plan->operations[i]);
    if (plan->with_pool != CLUSTER_PLAN_NO_POOL)
        put_pool(writer, context, operations);
    if (plan->with_recovery != CLUSTER_PLAN_NO_RECOVERY)
        put_recovery(writer, context);
    if (plan->node_state != 0)
        put_leaving(writer, context);
    return cluster_txns_end(writer->txns, writer->place, out);
}

/* r[impl cluster.operation.txn] */
int cluster_map_writer_send(struct cluster_map_writer *writer, struct cluster_context *context,
                            const struct cluster_operations *operations)
{
    struct cluster_effect effect = {.kind = CLUSTER_EFFECT_TXN};
    int status;

    CHECK(!cluster_plan_is_empty(&writer->plan));
    writer->place = cluster_txns_take(writer->txns);
    ENSURE(writer->place != 0);
    status = build(writer, context, operations, &effect.txn);
    if (status < 0) {
        cluster_txns_give(writer->txns, writer->place);
        return status;
    }
    effect.id = cluster_pending_add(context->pending,
                                    &(struct cluster_pending_question){CLUSTER_EFFECT_TXN, 0});
    ENSURE(effect.id != 0);
    cluster_effects_add(context->effects, &effect);
    move(writer, CLUSTER_MAP_WRITER_SENT);
    return 0;
}

void cluster_map_writer_leave(struct cluster_map_writer *writer)
{
    cluster_plan_init(&writer->plan);
    writer->counts = false;
}

/* ---- outcomes ---- */

static void change_operations(const struct cluster_plan *plan,
                              struct cluster_operations *operations, uint64_t revision)
{
    for (uint32_t i = 0; i < plan->operations_count; i++) {
        const struct cluster_plan_operation *planned = &plan->operations[i];
        struct cluster_operations_row *row = cluster_operations_at(operations, planned->place);

        if (planned->state == CLUSTER_OPERATION_NEW) {
            cluster_operations_remove(operations, planned->place);
            continue;
        }
        if (row->revision >= revision) /* a reading has told of it before */
            continue;
        row->revision = revision;
        cluster_operations_move(row, planned->state, planned->result, planned->text);
    }
}

static void change_pool(const struct cluster_map_writer *writer, struct cluster_context *context,
                        uint64_t revision)
{
    const struct cluster_plan *plan = &writer->plan;
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, plan->pool);

    if (writer->counts && revision > context->next_pool_revision)
        context->next_pool_revision = revision;
    if (plan->with_pool == CLUSTER_PLAN_NO_POOL || !pool)
        return;
    if (plan->with_pool == CLUSTER_PLAN_DELETE_POOL)
        cluster_pools_remove(context->pools, plan->pool);
    else if (revision > pool->revision)
        cluster_pools_set_state(context->pools, plan->pool, revision, plan->pool_state);
    if (plan->with_pool == CLUSTER_PLAN_PUT_POOL && plan->pool_state == CLUSTER_POOL_DESTROYING)
        context->hooks->closes(context->user, plan->pool);
}

static void change_recovery(const struct cluster_plan *plan, struct cluster_context *context,
                            uint64_t revision)
{
    struct cluster_recovery *recovery;

    if (plan->with_recovery == CLUSTER_PLAN_NO_RECOVERY)
        return;
    recovery = cluster_recoveries_at(context->recoveries, plan->recovery);
    if (plan->with_recovery == CLUSTER_PLAN_END_RECOVERY && recovery->session == plan->session)
        cluster_recoveries_remove(context->recoveries, plan->recovery);
    else
        cluster_recoveries_written(recovery, plan->session,
                                   plan->with_recovery == CLUSTER_PLAN_END_RECOVERY ? 0 : revision);
}

static void happened(struct cluster_map_writer *writer, struct cluster_context *context,
                     struct cluster_operations *operations, uint64_t revision)
{
    writer->attempts = 0;
    change_operations(&writer->plan, operations, revision);
    change_pool(writer, context, revision);
    change_recovery(&writer->plan, context, revision);
    if (writer->plan.node_state != 0)
        cluster_nodes_written(context->nodes, writer->plan.node, writer->plan.node_state, revision);
    if (writer->plan.changes_count == 0) {
        move(writer, CLUSTER_MAP_WRITER_IDLE);
        return;
    }
    writer->revision = revision;
    writer->until_ns = context->now_ns + CLUSTER_MAP_WRITER_DELTA_NS;
    move(writer, CLUSTER_MAP_WRITER_APPLYING);
}

/* Nothing was done. The plan may have been made from a map that is not so any more. */
static void put_off(struct cluster_map_writer *writer, struct cluster_context *context)
{
    uint64_t ns = CLUSTER_MAP_WRITER_LEAST_NS;

    for (uint32_t i = 0; i < writer->attempts && ns < CLUSTER_MAP_WRITER_MOST_NS; i++)
        ns *= 2;
    writer->attempts++;
    writer->until_ns =
        context->now_ns + (ns < CLUSTER_MAP_WRITER_MOST_NS ? ns : CLUSTER_MAP_WRITER_MOST_NS);
    if (writer->status == CLUSTER_TXN_CONFLICT)
        cluster_catch_up_doubt(context->catch_up);
    move(writer, CLUSTER_MAP_WRITER_PAUSED);
}

/* r[impl cluster.operation.again] */
int cluster_map_writer_stored(struct cluster_map_writer *writer, struct cluster_context *context,
                              struct cluster_operations *operations,
                              const struct cluster_map_writer_outcome *outcome)
{
    uint64_t subject;

    if (!cluster_pending_end(context->pending, outcome->id, CLUSTER_EFFECT_TXN, &subject))
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.core.answer", "no transaction has this id");
    cluster_txns_give(writer->txns, writer->place);
    writer->status = outcome->status;
    context->changed = true;
    switch (outcome->status) {
    case CLUSTER_TXN_OK:
        happened(writer, context, operations, outcome->revision);
        break;
    case CLUSTER_TXN_CONFLICT:
    case CLUSTER_TXN_NOT_APPLIED:
    case CLUSTER_TXN_NO_SPACE:
        put_off(writer, context);
        break;
    default:
        move(writer, CLUSTER_MAP_WRITER_CLOSED);
        break;
    }
    return 0;
}
