/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/state_diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "hub/bus/blocker.h"
#include "hub/bus/region_lease.h"

/* For people: the writer, as its lease tells. */
static void report_writer(const struct rapahub_region *region, struct rapahub_region_blocker *out)
{
    uint32_t lease = hub_observe(region->state.writer_lease);

    if (lease == 0 || lease > region->shape.lease_count)
        return;
    out->known = true;
    out->lease = lease - 1;
    out->pid = hub_region_lease_pid(hub_observe64(&hub_region_lease_at(region, out->lease)->owner));
    out->since_ns = hub_load_relaxed64(&hub_region_lease_at(region, out->lease)->since_ns);
    hub_blocker_name(region, out->lease, out->name);
}

/* A value that has no room is told by its size. */
int hub_state_diagnosis_report(const struct rapahub_region *region,
                               struct rapahub_region_report *out)
{
    size_t size = 0;
    int r = hub_state_view_read(&region->state, NULL, 0, &size, &out->version);

    out->value_bytes = region->shape.state.value_bytes;
    out->buffers = region->shape.state.buffers;
    out->value_size = (uint32_t)size;
    if (r == RAPAHUB_EWRITERBUSY) {
        out->version = hub_state_view_version(&region->state);
        out->stuck = hub_state_view_is_odd(&region->state);
    }
    if (out->stuck && out->writer)
        report_writer(region, &out->blocker);
    out->blocker.position = out->version + 1;
    return r == RAPAHUB_ECORRUPT ? r : 0;
}

bool hub_state_diagnosis_action(struct rapahub_region_report *report)
{
    const struct rapahub_region_blocker *b = &report->blocker;

    if (report->value_bytes == 0 || !report->stuck)
        return false;
    if (!report->writer)
        snprintf(report->action, sizeof report->action,
                 "the writer died while it wrote: start a writer");
    else if (b->known)
        snprintf(report->action, sizeof report->action,
                 "lease %" PRIu32 " (%s, pid %" PRId32 ") is writing version %" PRIu64
                 ": look again; if it stays, continue or kill it",
                 b->lease, b->name, b->pid, b->position);
    else
        snprintf(report->action, sizeof report->action,
                 "version %" PRIu64 " is being written: look again; if it stays, continue or kill "
                 "the writer",
                 b->position);
    return true;
}
