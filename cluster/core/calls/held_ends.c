/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/held_ends.h"

#include "cluster/core/calls/admitted.h"
#include "hub/base/check.h"

static struct cluster_admitted_history *find(struct cluster_dedup *dedup, uint64_t pool,
                                             uint32_t container)
{
    struct cluster_payload *payload;
    const struct cluster_admitted *all = cluster_dedup_rows(dedup, &payload);
    uint32_t place = cluster_admitted_find(all, pool, container);

    return place != 0 ? cluster_admitted_at(all, place) : NULL;
}

void cluster_held_ends_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container)
{
    struct cluster_admitted_history *history = find(dedup, pool, container);

    CHECK(history);
    history->holds = true;
}

void cluster_held_ends_cover(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                             uint64_t covered)
{
    struct cluster_admitted_history *history = find(dedup, pool, container);

    if (history && covered > history->covered)
        history->covered = covered;
}

/* r[impl cluster.copy.acked] */
bool cluster_held_ends_take(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                            uint64_t *asker, struct cluster_dedup_answer *answer)
{
    struct cluster_payload *payload;
    struct cluster_admitted *all = cluster_dedup_rows(dedup, &payload);
    const struct cluster_admitted_history *history = find(dedup, pool, container);
    uint32_t place = history ? history->first_held : 0;
    struct cluster_admitted_call *call;

    if (place == 0 || cluster_admitted_call_at(all, place)->end > history->covered)
        return false;
    call = cluster_admitted_call_at(all, place);
    cluster_admitted_let_go(all, place);
    *asker = call->asker;
    *answer = (struct cluster_dedup_answer){call->status, call->application, call->payload};
    if (call->state == CLUSTER_DEDUP_LOST)
        call->payload = 0;
    else if (call->payload != 0)
        cluster_payload_retain(payload, call->payload);
    return true;
}

/* r[impl cluster.copy.nested] */
bool cluster_held_ends_chain_runs(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                                  uint64_t chain)
{
    struct cluster_payload *payload;
    const struct cluster_admitted *all = cluster_dedup_rows(dedup, &payload);
    uint32_t place = cluster_admitted_find(all, pool, container);

    return place != 0 && chain != 0 && cluster_admitted_chain_runs(all, place, chain);
}
