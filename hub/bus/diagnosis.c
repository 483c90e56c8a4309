/* SPDX-License-Identifier: Apache-2.0 */
/* diagnosis: what is wrong with a region, and what to do. Takes no lock and writes nothing: it
 * looks at regions that others use, and at damaged ones. r[impl region.action] */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hub/base/lock.h"
#include "hub/bus/blocker.h"
#include "hub/bus/fanin_diagnosis.h"
#include "hub/bus/fanout_diagnosis.h"
#include "hub/bus/region.h"
#include "hub/bus/region_check.h"
#include "hub/bus/region_lease.h"
#include "hub/bus/resume.h"
#include "hub/bus/sequencer_diagnosis.h"
#include "hub/bus/state_diagnosis.h"

#define SCAN_MAX 65536 /* cells; of larger rings the counters are believed */

/* A region that is mapped read-only, and holds nothing. */
static int look(const char *name, bool foreign, struct rapahub_region *region)
{
    const struct hub_mapping_order order = {
        .read_only = true, .foreign = foreign, .own_only = !hub_region_is_path(name)};
    char path[RAPAHUB_REGION_PATH_MAX];
    int r = hub_region_path(name, path);

    memset(region, 0, sizeof *region);
    return r == 0 ? hub_mapping_open_named(path, &order, 0, &region->mapping) : r;
}

static enum rapahub_region_detail detail_of(const struct rapahub_region *region,
                                            const struct hub_region_found *found)
{
    bool unlocked = hub_lock_free(region->mapping.fd, HUB_REGION_LOCK_INIT, 1) == 1;

    if (found->initialized == HUB_REGION_INIT_RETIRED)
        return RAPAHUB_REGION_RETIRED;
    if (found->initialized != HUB_REGION_INIT_BUSY)
        return RAPAHUB_REGION_NONE;
    return unlocked ? RAPAHUB_REGION_BUSY_DEAD : RAPAHUB_REGION_BUSY_ALIVE;
}

static void report_header(const struct hub_region_found *found, struct rapahub_region_report *out)
{
    const struct hub_region_shape *shape = &found->shape;

    out->kind = (enum rapahub_region_kind)shape->kind;
    out->profile =
        shape->caps_required & HUB_CAP_LEASES ? RAPAHUB_REGION_HARDENED : RAPAHUB_REGION_V1;
    out->caps_required = shape->caps_required;
    out->caps_optional = shape->caps_optional;
    out->id = found->id;
    out->generation = found->generation;
    out->init_pid = (int32_t)found->init_pid;
    out->cell_bytes = shape->cell_bytes;
    out->cells = shape->cell_count;
    out->leases = shape->lease_count;
    out->message_max =
        shape->cell_bytes > HUB_REGION_CELL_MIN - 1 ? hub_region_shape_message_max(shape) : 0;
}

/* Positions are read from the cells, which are exact; a ring that others use moves meanwhile. */
static int report_positions(const struct rapahub_region *region, struct rapahub_region_report *out)
{
    const struct hub_ring_view *view = &region->view;
    int r = 0;

    out->head = hub_load_relaxed64(&view->ring->head);
    out->tail = hub_observe64(&view->ring->tail);
    if (region->shape.cell_count <= SCAN_MAX)
        r = hub_resume_head(view, &out->head);
    if (r == 0 && !hub_region_shape_claims(&region->shape) && region->shape.cell_count <= SCAN_MAX)
        r = hub_resume_tail(view, &out->tail);
    if (out->tail < out->head)
        out->tail = out->head;
    if (r == 0 && out->tail - out->head > region->shape.cell_count)
        r = rapahub_fail(RAPAHUB_ECORRUPT, "region.cell",
                         "its tail %" PRIu64 " is too far from its head %" PRIu64, out->tail,
                         out->head);
    out->stuck =
        r == 0 && hub_region_shape_claims(&region->shape) && out->tail > out->head &&
        hub_observe64(&hub_ring_view_cell(view, out->head)->state) == hub_cell_free(out->head);
    return r;
}

static bool has_role(const struct rapahub_region *region, enum hub_lease_role role, uint64_t lock)
{
    if (hub_lock_free(region->mapping.fd, lock, 1) == 0)
        return true;
    for (uint32_t i = 0; i < region->shape.lease_count; i++) {
        uint64_t owner = hub_observe64(&hub_region_lease_at(region, i)->owner);
        struct hub_dead dead;

        if (hub_region_lease_role(owner) == role &&
            hub_region_lease_state(owner) == HUB_LEASE_HELD &&
            !hub_region_lease_prove(region, i, &dead))
            return true;
    }
    return false;
}

static int report_roles(const struct rapahub_region *region, struct rapahub_region_report *out)
{
    int r;

    out->producer = has_role(region, HUB_LEASE_PRODUCER, HUB_REGION_LOCK_PRODUCER);
    out->consumer = has_role(region, HUB_LEASE_CONSUMER, HUB_REGION_LOCK_CONSUMER);
    r = region->shape.kind == HUB_REGION_FANIN ? hub_fanin_diagnosis_report(region, SCAN_MAX, out)
        : region->shape.kind == HUB_REGION_SEQUENCER ? hub_sequencer_diagnosis_report(region, out)
                                                     : report_positions(region, out);
    if (r == 0 && region->shape.kind == HUB_REGION_FANOUT)
        r = hub_fanout_diagnosis_report(region, SCAN_MAX, out);
    if (out->stuck)
        hub_blocker_find(region, out->head, &out->blocker);
    return r;
}

static int report_body(struct rapahub_region *region, struct rapahub_region_report *out)
{
    const struct hub_region_header *header = hub_region_header(region);

    hub_region_set_views(region);
    out->poisoned = hub_load_relaxed64(&header->poisoned_total);
    out->decode_errors = hub_load_relaxed64(&header->decode_errors);
    out->reaped = hub_load_relaxed64(&header->reaped_total);
    if (!hub_region_shape_is_state(&region->shape))
        return report_roles(region, out);
    out->writer = has_role(region, HUB_LEASE_WRITER, HUB_REGION_LOCK_WRITER);
    return hub_state_diagnosis_report(region, out);
}

/* ---- the action ---- */

static const char anew[] = "recreate the region: rapahub region recreate %s";

static const char *action_for_detail(enum rapahub_region_detail detail)
{
    return detail == RAPAHUB_REGION_BUSY_ALIVE ? "wait; its initialiser is alive"
           : detail == RAPAHUB_REGION_BUSY_DEAD
               ? "recreate the region: rapahub region recreate %s, or with --in-place"
           : detail == RAPAHUB_REGION_RETIRED ? "open the region that has its name now"
                                              : anew;
}

static const char *action_for_verdict(const struct rapahub_region_report *report)
{
    if (report->verdict == RAPAHUB_ENOTINITIALIZED)
        return action_for_detail(report->detail);
    return rapahub_region_class(report->verdict) == RAPAHUB_REGION_CLASS_INCOMPATIBLE
               ? "recreate with the expected version and capabilities, or upgrade one side"
               : anew;
}

/* An action that has no "%s" in it takes no name. */
static void put_action(struct rapahub_region_report *report, const char *action, const char *name)
{
    const char *mark = strstr(action, "%s");
    int before = mark ? (int)(mark - action) : (int)strlen(action);

    snprintf(report->action, sizeof report->action, "%.*s%s%s", before, action, mark ? name : "",
             mark ? mark + 2 : "");
}

static void set_stuck_action(struct rapahub_region_report *report, const char *name)
{
    const struct rapahub_region_blocker *b = &report->blocker;

    if (!b->known)
        put_action(report, report->profile == RAPAHUB_REGION_V1 ? anew : "look again: it moves",
                   name);
    else
        snprintf(report->action, sizeof report->action,
                 "lease %" PRIu32 " (%s, pid %" PRId32 ") at position %" PRIu64
                 ": continue or kill it",
                 b->lease, b->name, b->pid, b->position);
}

static void set_action(struct rapahub_region_report *report, const char *name)
{
    const char *text = "none";

    if (report->verdict == 0 && hub_state_diagnosis_action(report))
        return;
    if (report->stuck) {
        set_stuck_action(report, name);
        return;
    }
    if (report->verdict == 0 &&
        (hub_fanout_diagnosis_action(report, name) || hub_fanin_diagnosis_action(report) ||
         hub_sequencer_diagnosis_action(report, name)))
        return;
    if (report->verdict < 0)
        text = action_for_verdict(report);
    else if (report->kind != RAPAHUB_REGION_FANIN && report->cells > 0 &&
             report->tail - report->head >= report->cells)
        text = report->consumer ? "it is full: drop, back off, or make it larger"
                                : "it is full: start the consumer again";
    put_action(report, text, name);
}

int rapahub_region_inspect(const char *name, bool foreign, struct rapahub_region_report *out)
{
    struct rapahub_region region;
    struct hub_region_found found;
    int r = look(name, foreign, &region);

    if (r < 0)
        return r;
    memset(out, 0, sizeof *out);
    (void)hub_region_path(name, out->path);
    out->bytes = region.mapping.size;
    out->verdict = hub_region_check(region.mapping.data, region.mapping.size, 0, &found);
    out->verdict = hub_region_explain_init(region.mapping.fd, found.initialized, out->verdict);
    out->detail = detail_of(&region, &found);
    report_header(&found, out);
    region.shape = found.shape;
    if (out->verdict == 0)
        out->verdict = report_body(&region, out);
    set_action(out, name);
    hub_mapping_fini(&region.mapping);
    return 0;
}

static enum rapahub_region_role role_of(uint64_t owner)
{
    uint32_t role = hub_region_lease_role(owner);

    return role <= HUB_LEASE_WRITER ? (enum rapahub_region_role)role : RAPAHUB_REGION_ROLE_NONE;
}

/* A region has queues of consumers, or rings of producers, or neither. */
static int look_at_queue(const struct rapahub_region *region, uint32_t index,
                         struct rapahub_region_queue *out)
{
    return region->shape.kind == HUB_REGION_FANIN
               ? hub_fanin_diagnosis_ring(region, index, SCAN_MAX, out)
               : hub_fanout_diagnosis_queue(region, index, SCAN_MAX, out);
}

int rapahub_region_queues(const char *name, bool foreign,
                          int (*visit)(void *user, const struct rapahub_region_queue *queue),
                          void *user)
{
    struct rapahub_region region;
    struct hub_region_found found;
    struct rapahub_region_queue queue;
    int r = look(name, foreign, &region);

    if (r < 0)
        return r;
    r = hub_region_check(region.mapping.data, region.mapping.size, 0, &found);
    region.shape = found.shape;
    for (uint32_t i = 0; r == 0 && i < region.shape.fanout.consumers + region.shape.producers;
         i++) {
        r = look_at_queue(&region, i, &queue);
        if (r == 0)
            r = visit(user, &queue);
    }
    hub_mapping_fini(&region.mapping);
    return r;
}

int rapahub_region_stages(const char *name, bool foreign,
                          int (*visit)(void *user, const struct rapahub_region_stage_report *stage),
                          void *user)
{
    struct rapahub_region region;
    struct hub_region_found found;
    struct rapahub_region_stage_report stage;
    int r = look(name, foreign, &region);

    if (r < 0)
        return r;
    r = hub_region_check(region.mapping.data, region.mapping.size, 0, &found);
    region.shape = found.shape;
    if (r == 0)
        hub_region_set_views(&region);
    for (uint32_t i = 0; r == 0 && i < region.sequencer.stage_count; i++) {
        hub_sequencer_diagnosis_stage(&region, i, &stage);
        r = visit(user, &stage);
    }
    hub_mapping_fini(&region.mapping);
    return r;
}

int rapahub_region_leases(const char *name, bool foreign,
                          int (*visit)(void *user, const struct rapahub_region_participant *who),
                          void *user)
{
    struct rapahub_region region;
    struct hub_region_found found;
    int r = look(name, foreign, &region);

    if (r < 0)
        return r;
    r = hub_region_check(region.mapping.data, region.mapping.size, 0, &found);
    region.shape = found.shape;
    for (uint32_t i = 0; r == 0 && i < region.shape.lease_count; i++) {
        const struct hub_region_lease *lease = hub_region_lease_at(&region, i);
        uint64_t owner = hub_observe64(&lease->owner);
        struct rapahub_region_participant who = {.lease = i,
                                                 .pid = hub_region_lease_pid(owner),
                                                 .role = role_of(owner),
                                                 .since_ns = hub_load_relaxed64(&lease->since_ns)};
        struct hub_dead dead;

        if (hub_region_lease_state(owner) == HUB_LEASE_FREE)
            continue;
        who.alive = !hub_region_lease_prove(&region, i, &dead);
        hub_blocker_name(&region, i, who.name);
        r = visit(user, &who);
    }
    hub_mapping_fini(&region.mapping);
    return r;
}

/* r[impl region.class] */
enum rapahub_region_class rapahub_region_class(int code)
{
    switch (code) {
    case RAPAHUB_EFULL:
    case RAPAHUB_EEMPTY:
    case RAPAHUB_EBLOCKED:
    case RAPAHUB_EWRITERBUSY:
    case RAPAHUB_ENOTINITIALIZED:
        return RAPAHUB_REGION_CLASS_TRANSIENT;
    case RAPAHUB_EROLETAKEN:
    case RAPAHUB_ERETIRED:
    case RAPAHUB_EGAP:
    case RAPAHUB_ESTALE:
        return RAPAHUB_REGION_CLASS_POLICY;
    case RAPAHUB_EBADMAGIC:
    case RAPAHUB_EBADENDIAN:
    case RAPAHUB_EBADVERSION:
    case RAPAHUB_EBADKIND:
    case RAPAHUB_ECAPS:
        return RAPAHUB_REGION_CLASS_INCOMPATIBLE;
    case RAPAHUB_ETRUNCATED:
    case RAPAHUB_ELAYOUTBYTES:
    case RAPAHUB_ECORRUPT:
        return RAPAHUB_REGION_CLASS_CORRUPTED;
    case RAPAHUB_EPEERDEAD:
        return RAPAHUB_REGION_CLASS_PEER_DEAD;
    default:
        return RAPAHUB_REGION_CLASS_OTHER;
    }
}
