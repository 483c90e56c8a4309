/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/owners.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "hub/base/printable.h"

struct row {
    uint64_t pool, epoch, session;
    uint32_t container, node;
    int32_t status;
    uint8_t step;
    char text[CLUSTER_BODY_STEP_TEXT_MAX + 1];
};

struct cluster_owners {
    struct cluster_table rows;
    struct cluster_index index;
};

int cluster_owners_create(uint64_t secret, struct cluster_owners **out)
{
    struct cluster_owners *owners = calloc(1, sizeof *owners);

    *out = owners;
    if (owners && cluster_table_init(&owners->rows, CLUSTER_OWNERS_MAX, sizeof(struct row)) == 0 &&
        cluster_index_init(&owners->index, CLUSTER_OWNERS_MAX, secret) == 0)
        return 0;
    cluster_owners_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for what other nodes tell");
}

void cluster_owners_release(struct cluster_owners **owners)
{
    if (*owners) {
        cluster_index_fini(&(*owners)->index);
        cluster_table_fini(&(*owners)->rows);
    }
    free(*owners);
    *owners = NULL;
}

/* ---- the table ---- */

static uint32_t hash_of(const struct cluster_owners *owners, uint64_t pool, uint32_t container)
{
    return cluster_index_hash(&owners->index, pool, container, 0);
}

static struct row *find(const struct cluster_owners *owners, uint64_t pool, uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&owners->index, hash_of(owners, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&owners->index, &cursor)) {
        struct row *row = cluster_table_at(&owners->rows, place);

        if (row->pool == pool && row->container == container)
            return row;
    }
    return NULL;
}

/* NULL: there are too many. */
static struct row *add(struct cluster_owners *owners, uint64_t pool, uint32_t container)
{
    uint32_t place = cluster_table_take(&owners->rows);

    if (place == 0)
        return NULL;
    cluster_index_put(&owners->index, hash_of(owners, pool, container), place);
    return cluster_table_at(&owners->rows, place);
}

static void forget(struct cluster_owners *owners, uint32_t place)
{
    const struct row *row = cluster_table_at(&owners->rows, place);

    cluster_index_remove(&owners->index, hash_of(owners, row->pool, row->container), place);
    cluster_table_give(&owners->rows, place);
}

/* Why a container was put aside is kept as long as there is space. */
static bool is_of_use(const struct row *row, const struct cluster_context *context, bool full)
{
    const struct cluster_address *address =
        cluster_address_map_find(context->map, row->pool, row->container);

    return address &&
           (address->entry.epoch == row->epoch || (!full && row->step == CLUSTER_STEP_FAILED));
}

void cluster_owners_sweep(struct cluster_owners *owners, const struct cluster_context *context)
{
    bool full = owners->rows.count == owners->rows.max;
    uint32_t place = 0;

    while ((place = cluster_table_after(&owners->rows, place)) != 0)
        if (!is_of_use(cluster_table_at(&owners->rows, place), context, full))
            forget(owners, place);
}

/* ---- reports ---- */

/* Says whether what a node told in its session is of the entry as it is now. A container that goes
 * may have begun in a session before. */
static bool is_so(const struct row *row, const struct cluster_context *context,
                  const struct cluster_address *address)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, address->pool);
    const struct cluster_entry *entry = &address->entry;

    return pool && entry->epoch == row->epoch && cluster_entry_holder(entry) == row->node &&
           row->session == cluster_nodes_session(context->nodes, row->node) &&
           (row->step == CLUSTER_STEP_REMOVED || entry->session == row->session) &&
           cluster_reports_fit(row->step, entry, pool->state);
}

static void copy_text(struct row *row, struct rapahub_string text)
{
    if (text.size > 0)
        memcpy(row->text, text.data, text.size);
    row->text[text.size] = 0;
    hub_printable_mend(row->text);
}

/* r[impl cluster.step.checked] r[impl cluster.step.bounds] */
int cluster_owners_take(struct cluster_owners *owners, const struct cluster_context *context,
                        uint32_t node, uint64_t session, const struct cluster_body_step_done *done)
{
    const struct cluster_address *address =
        cluster_address_map_find(context->map, done->pool, done->container);
    struct row told = {.pool = done->pool,
                       .epoch = done->epoch,
                       .session = session,
                       .container = done->container,
                       .node = node,
                       .status = done->status,
                       .step = done->step};
    struct row *row;

    if (!cluster_context_leads(context) || node == context->node || session == 0 || !address ||
        !is_so(&told, context, address))
        return rapahub_fail(RAPAHUB_ESTALE, "cluster.step.checked",
                            "what node %u tells of container %u is not of its entry", node,
                            done->container);
    row = find(owners, done->pool, done->container);
    if (!row)
        row = add(owners, done->pool, done->container);
    if (!row)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.step.bounds", "at most %u reports are kept",
                            CLUSTER_OWNERS_MAX);
    copy_text(&told, done->text);
    *row = told;
    return 0;
}

struct cluster_report cluster_owners_report(const struct cluster_owners *owners,
                                            const struct cluster_context *context,
                                            const struct cluster_lives *lives,
                                            const struct cluster_address *address)
{
    const struct row *row;

    if (cluster_context_holds(context, &address->entry))
        return cluster_reports_of(context, lives, address);
    row = find(owners, address->pool, address->container);
    return row && is_so(row, context, address)
               ? (struct cluster_report){row->step, row->status, row->text}
               : (struct cluster_report){CLUSTER_STEP_NONE, 0, ""};
}

struct cluster_report cluster_owners_failure(const struct cluster_owners *owners,
                                             const struct cluster_lives *lives, uint64_t pool,
                                             uint32_t container)
{
    const struct cluster_life *life = cluster_lives_find(lives, pool, container);
    const struct row *row = find(owners, pool, container);

    if (life && life->failed)
        return (struct cluster_report){CLUSTER_STEP_FAILED, life->status, life->text};
    return row && row->step == CLUSTER_STEP_FAILED
               ? (struct cluster_report){CLUSTER_STEP_FAILED, row->status, row->text}
               : (struct cluster_report){CLUSTER_STEP_FAILED, 0, ""};
}
