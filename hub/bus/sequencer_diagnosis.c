/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/sequencer_diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "hub/base/lock.h"
#include "hub/bus/sequencer/sequencer_claim.h"

static bool is_held(const struct rapahub_region *region, uint32_t index)
{
    return hub_lock_free(region->mapping.fd, HUB_REGION_LOCK_CONSUMER + index, 1) == 0;
}

static uint64_t seq_of(const struct rapahub_region *region, uint32_t index)
{
    return hub_observe64(&region->sequencer.gates[index].seq);
}

/* Follows the chain of stages that wait for each other to its end. */
static uint32_t root_of(const struct rapahub_region *region, uint32_t index)
{
    for (uint32_t steps = 0; steps < region->sequencer.stage_count; steps++) {
        struct hub_sequencer_bound bound = hub_sequencer_gate_bound(&region->sequencer, index);

        if (bound.behind == HUB_STAGE_NONE || bound.position > seq_of(region, index))
            break;
        index = bound.behind;
    }
    return index;
}

/* Read-only: without the fence of the producers, so the gates may move meanwhile. */
static uint32_t slowest_of(const struct rapahub_region *region)
{
    uint64_t least = UINT64_MAX;
    uint32_t slowest = RAPAHUB_STAGE_NONE;

    for (uint32_t i = 0; i < region->sequencer.stage_count; i++) {
        uint32_t state = hub_observe(&region->sequencer.gates[i].state);
        uint64_t seq = seq_of(region, i);

        if (state == HUB_STAGE_FREE || state == HUB_STAGE_EVICTED || seq >= least)
            continue;
        least = seq;
        slowest = i;
    }
    return slowest;
}

int hub_sequencer_diagnosis_report(const struct rapahub_region *region,
                                   struct rapahub_region_report *out)
{
    const struct hub_sequencer_view *view = &region->sequencer;

    out->ring_size = view->ring_size;
    out->user_bytes = view->user_bytes;
    out->stages = view->stage_count;
    out->shared = view->avail != NULL;
    for (uint32_t i = 0; i < view->stage_count; i++)
        out->consumer |= is_held(region, i);
    out->slowest_stage = out->waits_for = slowest_of(region);
    if (out->slowest_stage != RAPAHUB_STAGE_NONE) {
        out->head = seq_of(region, out->slowest_stage);
        out->waits_for = root_of(region, out->slowest_stage);
        out->waits_held = is_held(region, out->waits_for);
    }
    out->tail = hub_sequencer_view_claims(view);
    if (out->slowest_stage == RAPAHUB_STAGE_NONE)
        out->head = out->tail;
    out->stuck = hub_sequencer_claim_is_missing(view, out->head);
    return out->head <= out->tail
               ? 0
               : rapahub_fail(RAPAHUB_ECORRUPT, "region.stage.wrap",
                              "stage %" PRIu32 " is at position %" PRIu64 ", which nobody claimed",
                              out->slowest_stage, out->head);
}

bool hub_sequencer_diagnosis_action(struct rapahub_region_report *report, const char *name)
{
    if (report->stages == 0)
        return false;
    if (report->slowest_stage == RAPAHUB_STAGE_NONE) {
        snprintf(report->action, sizeof report->action, "%s",
                 report->producer ? "no stage takes part: open one" : "none");
        return true;
    }
    if (report->waits_held && report->tail - report->head >= report->ring_size)
        snprintf(report->action, sizeof report->action,
                 "it is full: stage %" PRIu32 " is slow: wait, or make it larger",
                 report->waits_for);
    else if (!report->waits_held && report->tail > report->head)
        snprintf(report->action, sizeof report->action,
                 "stage %" PRIu32 " is not there: start it, or rapahub region evict %s %" PRIu32,
                 report->waits_for, name, report->waits_for);
    else
        return false;
    return true;
}

void hub_sequencer_diagnosis_stage(const struct rapahub_region *region, uint32_t index,
                                   struct rapahub_region_stage_report *out)
{
    const struct hub_region_stage_gate *gate = &region->sequencer.gates[index];
    const struct hub_sequencer_stage *stage = &region->sequencer.stages[index];
    uint32_t state = hub_observe(&gate->state);
    uint64_t claims = hub_sequencer_view_claims(&region->sequencer);

    *out = (struct rapahub_region_stage_report){
        .index = index,
        .state = state <= HUB_STAGE_JOINING ? (enum rapahub_stage_state)state : RAPAHUB_STAGE_FREE,
        .held = is_held(region, index),
        .position = hub_observe64(&gate->seq),
        .after = stage->after,
        .on_death = (enum rapahub_stage_on_death)stage->on_death,
        .freeze_ns = stage->freeze_ns,
        .evictions = hub_observe(&gate->evictions)};
    out->behind = claims > out->position ? claims - out->position : 0;
}
