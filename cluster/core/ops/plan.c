/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/plan.h"

#include <string.h>

#include "hub/base/check.h"
#include "hub/base/printable.h"

void cluster_plan_init(struct cluster_plan *plan)
{
    plan->changes_count = plan->operations_count = 0;
    plan->pool = 0;
    plan->with_pool = CLUSTER_PLAN_NO_POOL;
    plan->with_recovery = CLUSTER_PLAN_NO_RECOVERY;
    plan->node_state = 0;
}

bool cluster_plan_is_empty(const struct cluster_plan *plan)
{
    return plan->changes_count == 0 && plan->operations_count == 0 &&
           plan->with_pool == CLUSTER_PLAN_NO_POOL &&
           plan->with_recovery == CLUSTER_PLAN_NO_RECOVERY && plan->node_state == 0;
}

uint32_t cluster_plan_space(const struct cluster_plan *plan)
{
    return CLUSTER_DELTA_CHANGES_MAX - plan->changes_count;
}

static void add(struct cluster_plan *plan, uint64_t revision,
                const struct cluster_delta_change *change)
{
    CHECK(cluster_plan_space(plan) > 0);
    plan->revisions[plan->changes_count] = revision;
    plan->changes[plan->changes_count++] = *change;
}

void cluster_plan_change(struct cluster_plan *plan, const struct cluster_address *address,
                         const struct cluster_entry *after)
{
    struct cluster_delta_change change = {.pool = address->pool,
                                          .container = address->container,
                                          .owner_before = address->entry.owner};

    CHECK(cluster_entry_transition(&address->entry, after));
    if (after)
        change.entry = *after;
    add(plan, address->revision, &change);
}

void cluster_plan_entry(struct cluster_plan *plan, uint64_t pool, uint32_t container,
                        const struct cluster_entry *entry)
{
    CHECK(cluster_entry_transition(NULL, entry));
    add(plan, 0,
        &(struct cluster_delta_change){.pool = pool, .container = container, .entry = *entry});
}

void cluster_plan_move(struct cluster_plan *plan, uint32_t place,
                       enum cluster_operation_state state, int32_t result, const char *text)
{
    struct cluster_plan_operation *operation = &plan->operations[plan->operations_count];
    size_t size = strlen(text);

    CHECK(plan->operations_count < CLUSTER_PLAN_OPERATIONS_MAX);
    plan->operations_count++;
    operation->place = place;
    operation->state = state;
    operation->result = result;
    size = size < CLUSTER_OPERATIONS_TEXT_MAX ? size : CLUSTER_OPERATIONS_TEXT_MAX;
    memcpy(operation->text, text, size);
    operation->text[size] = 0;
    hub_printable_mend(operation->text);
}

void cluster_plan_forget(struct cluster_plan *plan, uint32_t place)
{
    cluster_plan_move(plan, place, CLUSTER_OPERATION_NEW, 0, "");
}

void cluster_plan_recovery(struct cluster_plan *plan, const struct cluster_recovery *recovery,
                           enum cluster_plan_recovery how)
{
    CHECK(plan->with_recovery == CLUSTER_PLAN_NO_RECOVERY);
    plan->with_recovery = (uint8_t)how;
    plan->recovery = recovery->place;
    plan->session = recovery->session;
}

void cluster_plan_node(struct cluster_plan *plan, uint32_t node, uint8_t state)
{
    plan->node = node;
    plan->node_state = state;
}

void cluster_plan_put_pool(struct cluster_plan *plan, uint64_t pool, enum cluster_pool_state state)
{
    CHECK(plan->with_pool == CLUSTER_PLAN_NO_POOL);
    plan->with_pool = CLUSTER_PLAN_PUT_POOL;
    plan->pool = pool;
    plan->pool_state = (uint8_t)state;
}

void cluster_plan_delete_pool(struct cluster_plan *plan, uint64_t pool)
{
    CHECK(plan->with_pool == CLUSTER_PLAN_NO_POOL);
    plan->with_pool = CLUSTER_PLAN_DELETE_POOL;
    plan->pool = pool;
}
