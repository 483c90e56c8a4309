/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/reports.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"

#define AGAIN_NS UINT64_C(1000000)

/* ---- how far it is ---- */

/* r[impl cluster.restart.quarantine] */
static bool has_failed_too_often(const struct cluster_life *life, uint8_t pool_state)
{
    if (!life || !life->failed)
        return false;
    return life->failures >= CLUSTER_LIVES_FAILURES_MAX ||
           (pool_state == CLUSTER_POOL_CREATING && life->status != RAPAHUB_EDIED);
}

/* It is not up. */
static uint8_t step_of_down(const struct cluster_context *context, const struct cluster_life *life,
                            const struct cluster_address *address, uint8_t pool_state)
{
    bool active = address->entry.state == CLUSTER_ENTRY_ACTIVE;
    bool spent = cluster_lives_are_spent(context, address);
    bool often = has_failed_too_often(life, pool_state);

    if (often && pool_state == CLUSTER_POOL_CREATING)
        return CLUSTER_STEP_FAILED;
    if (active && (spent || (life && life->failed)))
        return CLUSTER_STEP_DOWN;
    if (often)
        return CLUSTER_STEP_FAILED;
    return spent ? CLUSTER_STEP_SPENT : CLUSTER_STEP_NONE;
}

static uint8_t step_of(const struct cluster_context *context, const struct cluster_life *life,
                       const struct cluster_address *address, uint8_t pool_state)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(context->locals, address->pool, address->container);

    if (pool_state == CLUSTER_POOL_DESTROYING)
        return life && life->removed ? CLUSTER_STEP_REMOVED : CLUSTER_STEP_NONE;
    if (life && life->asked != 0)
        return CLUSTER_STEP_NONE;
    if (!local || local->state == CLUSTER_LOCAL_DOWN)
        return step_of_down(context, life, address, pool_state);
    return local->state == CLUSTER_LOCAL_HELD && address->entry.state != CLUSTER_ENTRY_ACTIVE
               ? CLUSTER_STEP_BEGUN
               : CLUSTER_STEP_NONE;
}

/* r[impl cluster.step.done] */
struct cluster_report cluster_reports_of(const struct cluster_context *context,
                                         const struct cluster_lives *lives,
                                         const struct cluster_address *address)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, address->pool);
    const struct cluster_life *life = cluster_lives_find(lives, address->pool, address->container);
    struct cluster_report report = {.step = CLUSTER_STEP_NONE, .text = ""};

    if (!pool)
        return report;
    report.step = step_of(context, life, address, pool->state);
    if (life && life->failed && report.step != CLUSTER_STEP_NONE &&
        report.step != CLUSTER_STEP_BEGUN && report.step != CLUSTER_STEP_SPENT) {
        report.status = life->status;
        report.text = life->text;
    }
    return report;
}

bool cluster_reports_fit(uint8_t step, const struct cluster_entry *entry, uint8_t pool_state)
{
    bool active = entry->state == CLUSTER_ENTRY_ACTIVE;
    bool begins = entry->state == CLUSTER_ENTRY_STARTING ||
                  entry->state == CLUSTER_ENTRY_RESTARTING ||
                  entry->state == CLUSTER_ENTRY_RECOVERING;

    if ((step == CLUSTER_STEP_REMOVED) != (pool_state == CLUSTER_POOL_DESTROYING))
        return false;
    switch (step) {
    case CLUSTER_STEP_BEGUN:
    case CLUSTER_STEP_SPENT:
        return begins;
    case CLUSTER_STEP_FAILED:
        return begins || (active && pool_state == CLUSTER_POOL_CREATING);
    case CLUSTER_STEP_DOWN:
        return active;
    default:
        return step == CLUSTER_STEP_REMOVED;
    }
}

/* ---- telling ---- */

/* A new report is told at once, and all are again once the link to the node that leads has come
 * back.
 */
static void begin_telling(struct cluster_life *life, const struct cluster_context *context,
                          const struct cluster_address *address, uint8_t step)
{
    if (life->told == step && life->told_epoch == address->entry.epoch &&
        life->told_link == context->link)
        return;
    life->told = step;
    life->told_epoch = address->entry.epoch;
    life->told_link = context->link;
    life->tellings = 0;
    life->tell_ns = context->now_ns;
}

static void put_off(struct cluster_life *life, const struct cluster_context *context)
{
    uint64_t ns = CLUSTER_REPORTS_LEAST_NS;

    for (uint32_t i = 0; i < life->tellings && ns < CLUSTER_REPORTS_MOST_NS; i++)
        ns *= 2;
    life->tellings += ns < CLUSTER_REPORTS_MOST_NS;
    life->tell_ns = context->now_ns + (ns < CLUSTER_REPORTS_MOST_NS ? ns : CLUSTER_REPORTS_MOST_NS);
}

/* r[impl cluster.step.again] */
void cluster_reports_tell(struct cluster_context *context, const struct cluster_lives *lives,
                          const struct cluster_address *address)
{
    const struct cluster_report report = cluster_reports_of(context, lives, address);
    struct cluster_life *life = cluster_lives_find(lives, address->pool, address->container);

    if (report.step == CLUSTER_STEP_NONE || !life || !context->lead_up)
        return;
    begin_telling(life, context, address, report.step);
    if (context->now_ns >= life->tell_ns) {
        if (context->reports == CLUSTER_REPORTS_AT_ONCE ||
            cluster_effects_space(context->effects) < 2) {
            cluster_context_wake(context, context->now_ns + AGAIN_NS);
            return;
        }
        context->reports++;
        cluster_effects_add(context->effects,
                            &(struct cluster_effect){.kind = CLUSTER_EFFECT_REPORT,
                                                     .number = context->lead,
                                                     .pool = address->pool,
                                                     .container = address->container,
                                                     .epoch = address->entry.epoch,
                                                     .how = report.step,
                                                     .status = report.status,
                                                     .text = {report.text, strlen(report.text)}});
        put_off(life, context);
    }
    cluster_context_wake(context, life->tell_ns);
}
