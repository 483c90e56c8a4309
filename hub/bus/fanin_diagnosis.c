/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/fanin_diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "hub/base/lock.h"
#include "hub/bus/resume.h"

int hub_fanin_diagnosis_ring(const struct rapahub_region *region, uint32_t index, uint32_t scan_max,
                             struct rapahub_region_queue *out)
{
    struct hub_ring_view view = hub_region_ring_view(region->mapping.data, &region->shape, index);
    int held = hub_lock_free(region->mapping.fd, HUB_REGION_LOCK_PRODUCER + index, 1);
    int r;

    *out = (struct rapahub_region_queue){
        .index = index, .held = held == 0, .credit_max = region->shape.cell_count};
    r = hub_resume_ends(&view, region->shape.cell_count <= scan_max, &out->head, &out->tail);
    out->delivered = out->head;
    return r;
}

int hub_fanin_diagnosis_report(const struct rapahub_region *region, uint32_t scan_max,
                               struct rapahub_region_report *out)
{
    struct rapahub_region_queue ring;
    int r = 0;

    out->producers = region->shape.producers;
    out->full_queue = RAPAHUB_PRODUCER_ANY;
    for (uint32_t i = 0; i < out->producers && r == 0; i++) {
        r = hub_fanin_diagnosis_ring(region, i, scan_max, &ring);
        out->producer |= ring.held;
        out->head += ring.head;
        out->tail += ring.tail;
        if (out->full_queue == RAPAHUB_PRODUCER_ANY && ring.tail - ring.head >= out->cells)
            out->full_queue = i;
    }
    out->full_held = out->consumer;
    return r;
}

bool hub_fanin_diagnosis_action(struct rapahub_region_report *report)
{
    if (report->kind != RAPAHUB_REGION_FANIN || report->full_queue == RAPAHUB_PRODUCER_ANY)
        return false;
    snprintf(report->action, sizeof report->action, "the ring of producer %" PRIu32 " is full: %s",
             report->full_queue,
             report->full_held ? "drop, back off, or make it larger" : "start the consumer again");
    return true;
}
