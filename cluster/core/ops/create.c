/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/create.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/ops/placement.h"
#include "hub/base/check.h"

/* ---- the order ---- */

static bool is_same(struct rapahub_bytes one, struct rapahub_bytes other)
{
    return one.size == other.size && memcmp(one.data, other.data, one.size) == 0;
}

static bool is_same_text(struct rapahub_string one, struct rapahub_string other)
{
    return is_same((struct rapahub_bytes){one.data, one.size},
                   (struct rapahub_bytes){other.data, other.size});
}

/* r[impl cluster.create.module] */
static int check_module(const struct cluster_pool_spec *spec,
                        const struct cluster_orders_order *order)
{
    struct cluster_record record;
    int status = cluster_record_read(CLUSTER_KEY_MODULE, order->manifest, &record);

    if (status < 0)
        return status;
    if (order->module_revision == 0)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.create.module",
                            "its manifest is of no record of the metastore");
    if (!is_same_text(spec->module, record.module.name) ||
        !is_same_text(spec->version, record.module.version) ||
        !is_same(spec->digest, record.module.digest))
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.create.module",
                            "the spec names another module than its manifest");
    return 0;
}

/* Leaves the text as it is where it has no space for all of it. */
static size_t append(char *to, size_t size, size_t most, const char *text)
{
    size_t length = strlen(text);

    if (size + length + 1 > most)
        return size;
    memcpy(to + size, text, length + 1);
    return size + length;
}

/* Says in which keys two specs differ. */
static int refuse_other(const struct cluster_pools_pool *pool, struct rapahub_bytes has,
                        struct rapahub_bytes wanted)
{
    const char *keys[CLUSTER_POOL_SPEC_KEYS];
    char names[CLUSTER_OPERATIONS_TEXT_MAX] = "";
    struct cluster_pool_spec specs[2];
    uint32_t count;
    size_t size = 0;

    ENSURE(cluster_pool_spec_read(has, &specs[0]) == 0 &&
           cluster_pool_spec_read(wanted, &specs[1]) == 0); /* both were read before */
    count = cluster_pool_spec_differ(&specs[0], &specs[1], keys);
    for (uint32_t i = 0; i < count; i++) {
        size = append(names, size, sizeof names, i == 0 ? "" : ", ");
        size = append(names, size, sizeof names, keys[i]);
    }
    return rapahub_fail(RAPAHUB_EDIFFERS, "cluster.pool.differ",
                        "pool %s is there with another spec, which differs in: %s", pool->name,
                        names);
}

static int find_made(const struct cluster_context *context,
                     const struct cluster_operations *operations,
                     const struct cluster_pools_pool *pool,
                     const struct cluster_orders_order *order, uint32_t *out)
{
    struct rapahub_bytes has = cluster_pools_record(context->pools, pool).spec;

    if (pool->state == CLUSTER_POOL_DESTROYING)
        return rapahub_fail(RAPAHUB_EAGAIN, "cluster.create.name", "pool %s is being removed",
                            pool->name);
    if (!is_same(has, order->spec))
        return refuse_other(pool, has, order->spec);
    *out = cluster_operations_last(operations, CLUSTER_OPERATION_CREATE, pool->pool,
                                   (struct rapahub_string){pool->name, strlen(pool->name)});
    return 0;
}

/* r[impl cluster.create.number] */
static int add_pool(struct cluster_context *context, const struct cluster_orders_order *order,
                    uint32_t containers, uint64_t *out)
{
    const struct cluster_record_pool record = {.state = CLUSTER_POOL_CREATING,
                                               .containers = containers,
                                               .slots_count =
                                                   cluster_pool_new_slots(containers).count,
                                               .digest = order->digest,
                                               .spec = order->spec,
                                               .manifest = order->manifest};

    *out = cluster_ids_pool((struct rapahub_pool_id){(uint32_t)context->next_pool, 0});
    if (context->next_pool >= UINT32_MAX || !cluster_ids_is_pool(*out))
        return rapahub_fail(RAPAHUB_EFULL, "cluster.create.number",
                            "all numbers of pools are used");
    if (cluster_pools_find(context->pools, *out))
        return rapahub_fail(RAPAHUB_EAGAIN, "cluster.create.number",
                            "the next number of a pool is not known yet");
    return cluster_pools_put(context->pools, *out, 0, &record);
}

static int add(struct cluster_context *context, struct cluster_operations *operations,
               const struct cluster_orders_order *order, uint32_t containers, uint32_t *out)
{
    uint64_t pool;
    int status = add_pool(context, order, containers, &pool);

    if (status < 0)
        return status;
    *out = cluster_operations_add(operations, CLUSTER_OPERATION_CREATE, pool, 0,
                                  cluster_pools_find(context->pools, pool)->name);
    if (*out == 0) {
        cluster_pools_remove(context->pools, pool);
        return rapahub_fail(RAPAHUB_EFULL, "cluster.operation.bounds",
                            "at most %u operations are open", CLUSTER_OPERATIONS_MAX);
    }
    cluster_operations_at(operations, *out)->budget_ms =
        CLUSTER_CREATE_BUDGET_MS + CLUSTER_CREATE_BUDGET_EACH_MS * containers;
    cluster_operations_at(operations, *out)->module_revision = order->module_revision;
    context->next_pool++;
    return 0;
}

/* r[impl cluster.create.name] */
int cluster_create_order(struct cluster_context *context, struct cluster_operations *operations,
                         const struct cluster_orders_order *order, uint32_t *out)
{
    const struct cluster_pools_pool *pool;
    struct cluster_pool_spec spec;
    uint32_t containers;
    int status = cluster_pool_spec_read(order->spec, &spec);

    if (status < 0)
        return status;
    pool = cluster_pools_named(context->pools, spec.name);
    if (pool)
        return find_made(context, operations, pool, order, out);
    if (order->digest.size != CLUSTER_RECORD_DIGEST)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.create.module", "a digest has 32 bytes");
    status = check_module(&spec, order);
    if (status == 0)
        status = cluster_placement_check(context, &spec, &containers);
    return status < 0 ? status : add(context, operations, order, containers, out);
}

int cluster_create_take_next(struct cluster_context *context, uint64_t next, uint64_t revision)
{
    if (next < CLUSTER_POOL_MAJOR_LEAST || next > UINT32_MAX)
        return rapahub_fail(RAPAHUB_EFORMAT, "cluster.create.number", "no pool has this number");
    if (revision > context->next_pool_revision)
        context->next_pool_revision = revision;
    if (next > context->next_pool)
        context->next_pool = next;
    return 0;
}

void cluster_create_forget(struct cluster_context *context, struct cluster_operations *operations,
                           uint32_t place)
{
    cluster_pools_remove(context->pools, cluster_operations_at(operations, place)->pool);
    cluster_operations_remove(operations, place);
}

/* ---- its steps ---- */

/* Returns how many entries are written: they are written in their order. */
static uint32_t placed(const struct cluster_context *context, const struct cluster_pools_pool *pool)
{
    uint32_t c = 0;

    while (c < pool->containers && cluster_address_map_find(context->map, pool->pool, c))
        c++;
    return c;
}

static void plan_entries(const struct cluster_context *context,
                         const struct cluster_operations_row *row, uint32_t place,
                         const struct cluster_pools_pool *pool, struct cluster_plan *plan)
{
    struct cluster_entry entry = {.state = CLUSTER_ENTRY_STARTING,
                                  .epoch = 1,
                                  .lineage = cluster_ids_lineage(1, 0),
                                  .op = row->number};
    struct cluster_placement placement;
    uint32_t c = placed(context, pool);

    cluster_placement_begin(context, pool, &placement);
    for (; c < pool->containers && cluster_plan_space(plan) > 0; c++) {
        entry.owner = cluster_placement_next(context, &placement, c);
        if (entry.owner == 0)
            break;
        entry.session = cluster_context_session(context, entry.owner);
        cluster_plan_entry(plan, pool->pool, c, &entry);
    }
    if (c == pool->containers)
        cluster_plan_move(plan, place, CLUSTER_OPERATION_BEGINNING, 0, "");
    else if (row->state == CLUSTER_OPERATION_NEW)
        cluster_plan_move(plan, place, CLUSTER_OPERATION_PLACING, 0, "");
    if (row->state == CLUSTER_OPERATION_NEW)
        cluster_plan_put_pool(plan, row->pool, CLUSTER_POOL_CREATING);
}

/* A guest that died may have been killed; a container that refuses is asked once. Says whether one
 * has failed. */
static bool find_failed(const struct cluster_context *context,
                        const struct cluster_restart_parts *parts,
                        const struct cluster_pools_pool *pool, struct cluster_report *out)
{
    for (uint32_t c = 0; c < pool->containers; c++) {
        const struct cluster_address *address =
            cluster_address_map_find(context->map, pool->pool, c);

        if (!address)
            continue;
        *out = cluster_owners_report(parts->owners, context, parts->lives, address);
        if (out->step == CLUSTER_STEP_FAILED)
            return true;
    }
    return false;
}

static void plan_undoing(const struct cluster_operations_row *row, uint32_t place,
                         const struct cluster_report *failed, struct cluster_plan *plan)
{
    cluster_plan_move(plan, place, CLUSTER_OPERATION_UNDOING,
                      failed ? failed->status : RAPAHUB_ETIMEDOUT,
                      failed ? failed->text : "its containers have not begun in time");
    cluster_plan_put_pool(plan, row->pool, CLUSTER_POOL_DESTROYING);
}

/* A container of another node was held when its entry became active. */
static bool has_begun(const struct cluster_context *context, const struct cluster_address *address)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(context->locals, address->pool, address->container);

    return address->entry.state == CLUSTER_ENTRY_ACTIVE &&
           address->entry.session == cluster_context_session(context, address->entry.owner) &&
           (address->entry.owner != context->node || (local && local->state == CLUSTER_LOCAL_HELD));
}

static bool all_have_begun(const struct cluster_context *context,
                           const struct cluster_pools_pool *pool)
{
    for (uint32_t c = 0; c < pool->containers; c++) {
        const struct cluster_address *address =
            cluster_address_map_find(context->map, pool->pool, c);

        if (!address || !has_begun(context, address))
            return false;
    }
    return true;
}

/* r[impl cluster.create.whole] */
void cluster_create_step(const struct cluster_context *context,
                         const struct cluster_restart_parts *parts,
                         const struct cluster_operations *operations, uint32_t place,
                         struct cluster_plan *plan)
{
    const struct cluster_operations_row *row = cluster_operations_at(operations, place);
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, row->pool);
    struct cluster_report failure;
    bool failed;

    if (!pool || !plan)
        return;
    failed = find_failed(context, parts, pool, &failure);
    if (row->state != CLUSTER_OPERATION_NEW && (failed || context->now_ns >= row->deadline_ns))
        plan_undoing(row, place, failed ? &failure : NULL, plan);
    else if (row->state != CLUSTER_OPERATION_BEGINNING)
        plan_entries(context, row, place, pool, plan);
    else if (all_have_begun(context, pool)) {
        cluster_plan_move(plan, place, CLUSTER_OPERATION_DONE, 0, "");
        cluster_plan_put_pool(plan, row->pool, CLUSTER_POOL_ACTIVE);
    }
}
