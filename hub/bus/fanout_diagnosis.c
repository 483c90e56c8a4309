/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/fanout_diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "hub/base/lock.h"
#include "hub/bus/fanout.h"
#include "hub/bus/resume.h"

static bool is_locked(const struct rapahub_region *region, uint64_t lock)
{
    return hub_lock_free(region->mapping.fd, lock, 1) == 0;
}

int hub_fanout_diagnosis_queue(const struct rapahub_region *region, uint32_t index,
                               uint32_t scan_max, struct rapahub_region_queue *out)
{
    struct hub_ring_view view = hub_region_queue_view(region->mapping.data, &region->shape, index);
    const struct hub_region_consumer *entry = hub_fanout_consumer(region, index);
    uint32_t flags = hub_observe(&entry->flags);
    int r;

    *out =
        (struct rapahub_region_queue){.index = index,
                                      .subscribed = flags & HUB_CONSUMER_SUBSCRIBED,
                                      .detached = flags & HUB_CONSUMER_DETACHED,
                                      .held = is_locked(region, HUB_REGION_LOCK_CONSUMER + index),
                                      .credit_max = region->shape.fanout.credit_max,
                                      .delivered = hub_load_relaxed64(&entry->delivered),
                                      .dropped = hub_load_relaxed64(&entry->dropped)};
    r = hub_resume_ends(&view, region->shape.cell_count <= scan_max, &out->head, &out->tail);
    return r;
}

/* The consumer that a person should look at first: dead before slow. */
static void note_full(const struct rapahub_region_queue *queue, struct rapahub_region_report *out)
{
    bool full =
        queue->subscribed && !queue->detached && queue->tail - queue->head >= queue->credit_max;

    if (!full || (out->full_queue != RAPAHUB_CONSUMER_ANY && (queue->held || !out->full_held)))
        return;
    out->full_queue = queue->index;
    out->full_held = queue->held;
}

int hub_fanout_diagnosis_report(const struct rapahub_region *region, uint32_t scan_max,
                                struct rapahub_region_report *out)
{
    const struct hub_region_fanout *body = hub_fanout_body(region);
    struct rapahub_region_queue queue;
    int r = 0;

    out->router = is_locked(region, HUB_REGION_LOCK_ROUTER);
    out->mode = (enum rapahub_region_mode)region->shape.fanout.mode;
    out->credit = (enum rapahub_region_credit)region->shape.fanout.credit;
    out->consumers = region->shape.fanout.consumers;
    out->credit_max = region->shape.fanout.credit_max;
    out->detach_after_ns = region->shape.fanout.detach_after_ns;
    out->routed = hub_load_relaxed64(&body->routed);
    out->dropped = hub_load_relaxed64(&body->dropped);
    out->full_queue = RAPAHUB_CONSUMER_ANY;
    for (uint32_t i = 0; i < out->consumers && r == 0; i++) {
        r = hub_fanout_diagnosis_queue(region, i, scan_max, &queue);
        out->consumer |= queue.held;
        note_full(&queue, out);
    }
    return r;
}

/* r[impl region.unrouted] */
bool hub_fanout_diagnosis_action(struct rapahub_region_report *report, const char *name)
{
    bool used = report->tail > report->head || report->producer || report->consumer;

    if (report->kind != RAPAHUB_REGION_FANOUT)
        return false;
    if (!report->router && used)
        snprintf(report->action, sizeof report->action,
                 "restart the router: rapahub region route %s", name);
    else if (report->full_queue == RAPAHUB_CONSUMER_ANY)
        return false;
    else
        snprintf(report->action, sizeof report->action,
                 "consumer %" PRIu32 " is %s and its queue full: %s, or rapahub region detach %s "
                 "%" PRIu32,
                 report->full_queue, report->full_held ? "slow" : "dead",
                 report->full_held ? "wait" : "start it again", name, report->full_queue);
    return true;
}
