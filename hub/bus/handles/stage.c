/* SPDX-License-Identifier: Apache-2.0 */
/* stage: the public handle of a stage of a sequencer: role, gate, wait, gaps.
 *
 * What another process evicts is told once: the stage itself by `untold` in its gate, which it
 * clears with the call after, and those that follow it by the count of its evictions. */
#include <inttypes.h>
#include <stdlib.h>

#include <rapahub/sequencer.h>

#include "hub/base/clock.h"
#include "hub/bus/blocker.h"
#include "hub/bus/bus_wait.h"
#include "hub/bus/reap.h"
#include "hub/bus/role.h"
#include "hub/bus/sequencer/sequencer_claim.h"

#define EMPTY_LOOKS                                                                              \
    64                 /* looks without a wait that find nothing before the others are looked at \
                        */
#define AGAIN_MOST 128 /* looks in a row that tell to look again: more than there are stages */

enum gap_state { NO_GAP, GAP_TO_TELL, GAP_TOLD };

struct rapahub_stage {
    struct hub_role role;
    struct hub_sequencer_view view;
    struct hub_region_stage_gate *gate;
    struct hub_sleep cursor, space;
    struct hub_role_counterpart other; /* the one that it waited for last */
    struct rapahub_region_blocker blocker;
    struct rapahub_stage_gap gap;
    enum gap_state own_gap;
    uint32_t told[HUB_SEQUENCER_STAGES_MAX]; /* evictions of each stage that it knows of */
    uint64_t seq;                            /* the next position to be done */
    uint64_t ready;                          /* before which all can be done, as it knows */
    uint64_t skipped;
    uint32_t empty; /* looks that found nothing */
    bool followed;  /* there are stages that follow one */
    bool spins;
};

/* ---- the gate ---- */

static bool is_in(const struct rapahub_stage *stage)
{
    return hub_observe(&stage->gate->state) == HUB_STAGE_GATING;
}

/* An eviction that left out nothing is no gap. */
static void note_own_gap(struct rapahub_stage *stage)
{
    uint64_t from = hub_observe64(&stage->gate->gap_from);

    stage->own_gap = NO_GAP;
    if (!hub_observe(&stage->gate->untold))
        return;
    stage->own_gap = from < stage->seq ? GAP_TO_TELL : GAP_TOLD;
    stage->gap = (struct rapahub_stage_gap){stage->role.index, from, stage->seq};
}

/* Takes up the gate, or takes it up again. */
static int join(struct rapahub_stage *stage)
{
    struct rapahub_region *region = stage->role.region;
    int r = hub_region_table_enter(region, hub_clock_after(region->wait_ns));
    uint64_t seq;

    if (r < 0)
        return r;
    r = hub_region_current(region);
    if (r == 0)
        r = hub_sequencer_gate_join(&stage->view, stage->role.index, &seq);
    hub_region_table_leave(region);
    if (r < 0)
        return r;
    stage->seq = stage->ready = seq;
    note_own_gap(stage);
    return 0;
}

/* ---- opening ---- */

/* It knows of no eviction before; also where the stage has come back since. But where nothing of
 * the last one concerns it, it is told of none. */
static void learn_evictions(struct rapahub_stage *stage)
{
    for (uint32_t i = 0; i < stage->view.stage_count; i++) {
        const struct hub_region_stage_gate *gate = &stage->view.gates[i];
        uint32_t evictions = hub_observe(&gate->evictions);
        bool concerned = hub_observe64(&gate->dead_at) > stage->seq;

        stage->told[i] = concerned ? 0 : evictions;
        stage->followed |= stage->view.stages[i].after != 0;
    }
}

static int begin(struct rapahub_stage *stage, struct rapahub_region *region, uint32_t index)
{
    int r = hub_role_take(region, HUB_LEASE_CONSUMER, index, &stage->role);

    if (r < 0)
        return r;
    stage->view = region->sequencer;
    stage->gate = &stage->view.gates[index];
    stage->cursor = hub_region_sequencer_cursor(region);
    stage->space = hub_region_sequencer_space(region);
    stage->other = (struct hub_role_counterpart){.region = region, .index = HUB_STAGE_NONE};
    stage->spins = true;
    r = join(stage);
    if (r < 0)
        hub_role_drop(&stage->role);
    else
        learn_evictions(stage);
    return r;
}

static int check_options(const struct rapahub_region *region,
                         const struct rapahub_stage_options *options)
{
    uint64_t reserved = 0;

    if (!hub_region_shape_is_sequencer(&region->shape))
        return rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                            "only a region of kind SEQUENCER has stages");
    for (size_t i = 0; i < sizeof options->reserved / sizeof *options->reserved; i++)
        reserved |= options->reserved[i];
    if (reserved != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "reserved options of a stage must be 0");
    return options->index < region->sequencer.stage_count
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "region.again",
                              "the region has no stage %" PRIu32 ": it has %" PRIu32,
                              options->index, region->sequencer.stage_count);
}

int rapahub_stage_open(struct rapahub_region *region, const struct rapahub_stage_options *options,
                       struct rapahub_stage **out)
{
    static const struct rapahub_stage_options none;
    struct rapahub_stage *stage;
    int r = check_options(region, options ? options : &none);

    if (r < 0)
        return r;
    stage = calloc(1, sizeof *stage);
    if (!stage)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a stage");
    r = begin(stage, region, options ? options->index : 0);
    if (r < 0) {
        free(stage);
        return r;
    }
    *out = stage;
    return 0;
}

/* ---- positions ---- */

static void move_to(struct rapahub_stage *stage, uint64_t seq)
{
    stage->seq = seq;
    hub_publish64(&stage->gate->seq, seq);
    hub_sleep_wake(&stage->space);
    if (stage->followed)
        hub_sleep_wake(&stage->cursor);
}

/* The stage may have been evicted, and the producers have gone on: then the word is a later one. */
static int refuse_lapped(struct rapahub_stage *stage)
{
    if (!is_in(stage))
        return RAPAHUB_EAGAIN;
    return rapahub_fail(RAPAHUB_ECORRUPT, "region.cell",
                        "the word of position %" PRIu64
                        " has a value which the protocol does not allow",
                        stage->ready);
}

/* Moves `ready` as far as positions are published one after the other. */
static enum hub_sequencer_look look_ahead(struct rapahub_stage *stage, uint64_t bound)
{
    enum hub_sequencer_look look = HUB_SEQUENCER_NOT_YET;
    uint64_t cursor;

    if (!stage->view.avail) {
        cursor = hub_sequencer_view_claims(&stage->view);
        bound = bound < cursor ? bound : cursor;
        stage->ready = stage->ready > bound ? stage->ready : bound;
        return look;
    }
    while (stage->ready < bound &&
           (look = hub_sequencer_view_look(&stage->view, stage->ready)) == HUB_SEQUENCER_THERE)
        stage->ready++;
    return look;
}

/* r[impl region.sequencer.claim.dead] */
static int find(struct rapahub_stage *stage, uint64_t bound)
{
    for (;;) {
        enum hub_sequencer_look look = look_ahead(stage, bound);

        if (stage->ready > stage->seq)
            return 0;
        if (look == HUB_SEQUENCER_LAPPED)
            return refuse_lapped(stage);
        if (look != HUB_SEQUENCER_SKIP)
            return RAPAHUB_EEMPTY;
        stage->skipped++;
        stage->ready++;
        move_to(stage, stage->ready);
    }
}

/* Says whether a stage that it follows was evicted since it was told last; and where. */
static bool find_gap(const struct rapahub_stage *stage, uint64_t followed, uint32_t *which)
{
    for (; followed != 0; followed &= followed - 1) {
        *which = (uint32_t)__builtin_ctzll(followed);
        if (hub_observe(&stage->view.gates[*which].evictions) != stage->told[*which])
            return true;
    }
    return false;
}

/* Under TABLE: the count of an eviction that is under way would be that of the one before, whose
 * gap it has overwritten. */
static int read_gap(struct rapahub_region *region, const struct hub_region_stage_gate *gate,
                    struct rapahub_stage_gap *gap, uint32_t *evictions)
{
    int r = hub_region_table_enter(region, hub_clock_after(region->wait_ns));

    if (r < 0)
        return r;
    *evictions = hub_observe(&gate->evictions);
    gap->from = hub_observe64(&gate->gap_from);
    gap->to = hub_observe64(&gate->dead_at);
    hub_region_table_leave(region);
    return 0;
}

/* The gate has only the last gap: where there was more than one, all may be left out that the stage
 * has not done. r[impl region.stage.gap] */
static int tell_gap_of(struct rapahub_stage *stage, uint32_t which)
{
    struct rapahub_stage_gap gap = {.stage = which};
    uint32_t evictions;
    int r = read_gap(stage->role.region, &stage->view.gates[which], &gap, &evictions);

    if (r < 0)
        return r;
    if (gap.from < stage->seq || evictions - stage->told[which] > 1)
        gap.from = stage->seq;
    stage->told[which] = evictions;
    if (gap.from >= gap.to)
        return RAPAHUB_EAGAIN;
    stage->gap = gap;
    return rapahub_fail(RAPAHUB_EGAP, "region.stage.gap",
                        "stage %" PRIu32 ", which it follows, was evicted, and may have left out "
                        "the positions %" PRIu64 " to %" PRIu64,
                        which, gap.from, gap.to - 1);
}

static int tell_own_gap(struct rapahub_stage *stage)
{
    if (stage->own_gap == GAP_TOLD)
        hub_publish(&stage->gate->untold, 0);
    if (stage->own_gap != GAP_TO_TELL) {
        stage->own_gap = NO_GAP;
        return 0;
    }
    stage->own_gap = GAP_TOLD;
    return rapahub_fail(RAPAHUB_EGAP, "region.stage.gap",
                        "the stage was evicted, and leaves out the positions %" PRIu64
                        " to %" PRIu64,
                        stage->gap.from, stage->gap.to - 1);
}

/* -EAGAIN: look again at once. */
static int look(struct rapahub_stage *stage)
{
    struct hub_sequencer_bound bound;
    uint32_t which;
    int r = is_in(stage) ? 0 : join(stage);

    if (r == 0)
        r = tell_own_gap(stage);
    if (r < 0)
        return r;
    bound = hub_sequencer_gate_bound(&stage->view, stage->role.index);
    if (find_gap(stage, bound.followed, &which))
        return tell_gap_of(stage, which);
    return find(stage, bound.position);
}

/* ---- the wait ---- */

static bool has_something(const void *user)
{
    const struct rapahub_stage *stage = user;
    struct hub_sequencer_bound bound = hub_sequencer_gate_bound(&stage->view, stage->role.index);
    uint32_t which;

    return !is_in(stage) || find_gap(stage, bound.followed, &which) ||
           (bound.position > stage->seq &&
            hub_sequencer_view_look(&stage->view, stage->seq) != HUB_SEQUENCER_NOT_YET);
}

/* Returns whether the other one died, by its role; another one than before is looked at anew. */
static bool died(struct rapahub_stage *stage, enum hub_lease_role role, uint32_t index)
{
    struct hub_role_counterpart *other = &stage->other;

    if (other->role != role || other->index != index)
        *other = (struct hub_role_counterpart){
            .region = stage->role.region, .role = role, .index = index};
    return hub_role_counterpart_died(other);
}

/* r[impl region.peer.dead] */
static int look_at_others(void *user)
{
    struct rapahub_stage *stage = user;
    struct rapahub_region *region = stage->role.region;
    struct hub_sequencer_bound bound = hub_sequencer_gate_bound(&stage->view, stage->role.index);
    uint32_t behind = bound.behind;
    bool held = behind != HUB_STAGE_NONE && bound.position <= stage->seq, dead;

    if (!held && hub_sequencer_claim_is_missing(&stage->view, stage->seq) &&
        hub_blocker_is_dead(region, stage->seq))
        (void)hub_reap_try(region);
    dead = held ? died(stage, HUB_LEASE_CONSUMER, behind)
                : !stage->view.avail && died(stage, HUB_LEASE_PRODUCER, 0);
    hub_reap_stages(region);
    if (!dead || (held && stage->view.stages[behind].on_death != HUB_STAGE_HOLD))
        return 0;
    if (!held)
        return rapahub_fail(RAPAHUB_EPEERDEAD, "region.peer.dead",
                            "there is no position to do, and the producer is dead");
    return rapahub_fail(RAPAHUB_EPEERDEAD, "region.stage.dead",
                        "stage %" PRIu32 ", which is waited for, is dead: start it again, or evict "
                        "it",
                        behind);
}

static int wait(struct rapahub_stage *stage, uint64_t deadline_ns)
{
    const struct hub_bus_wait wait = {.region = stage->role.region,
                                      .sleep = &stage->cursor,
                                      .ready = has_something,
                                      .look = look_at_others,
                                      .user = stage,
                                      .spins = &stage->spins};
    int r = hub_bus_wait_until(&wait, deadline_ns);

    return r == RAPAHUB_ETIMEDOUT && hub_sequencer_claim_is_missing(&stage->view, stage->seq) &&
                   hub_sequencer_gate_bound(&stage->view, stage->role.index).position > stage->seq
               ? hub_blocker_refuse(stage->role.region, stage->seq, &stage->blocker)
               : r;
}

/* ---- the handle ---- */

static int look_enough(struct rapahub_stage *stage)
{
    for (int i = 0; i < AGAIN_MOST; i++) {
        int r = look(stage);

        if (r != RAPAHUB_EAGAIN)
            return r;
    }
    return RAPAHUB_EEMPTY;
}

/* A wait may end again and again without anything to do, as long as another process wants it: it
 * writes the gates. So there is one look after the deadline, and no wait. */
int rapahub_stage_next(struct rapahub_stage *stage, uint64_t timeout_ns, uint64_t *first,
                       uint32_t *count)
{
    uint64_t deadline = timeout_ns ? hub_clock_after(timeout_ns) : 0, ready;
    bool late = false;
    int r;

    while ((r = look_enough(stage)) == RAPAHUB_EEMPTY) {
        if (timeout_ns == 0 && ++stage->empty % EMPTY_LOOKS == 0)
            (void)look_at_others(stage);
        if (timeout_ns == 0)
            return r;
        if (late)
            return RAPAHUB_ETIMEDOUT;
        r = wait(stage, deadline);
        if (r < 0)
            return r;
        late = hub_clock_left(deadline) == 0;
    }
    if (r < 0)
        return r;
    ready = stage->ready - stage->seq;
    *first = stage->seq;
    *count = ready < UINT32_MAX ? (uint32_t)ready : UINT32_MAX;
    return 0;
}

int rapahub_stage_advance(struct rapahub_stage *stage, uint32_t count)
{
    if (count > stage->ready - stage->seq)
        return rapahub_fail(RAPAHUB_EINVAL, "region.stage",
                            "%" PRIu32 " positions are done, and %" PRIu64 " were given", count,
                            stage->ready - stage->seq);
    if (!is_in(stage)) {
        stage->gap = (struct rapahub_stage_gap){stage->role.index, stage->seq, stage->seq + count};
        return rapahub_fail(RAPAHUB_EGAP, "region.stage.evict",
                            "the stage was evicted while it worked: nobody waited for it");
    }
    if (count > 0)
        move_to(stage, stage->seq + count);
    return 0;
}

void rapahub_stage_gap(const struct rapahub_stage *stage, struct rapahub_stage_gap *out)
{
    *out = stage->gap;
}

uint64_t rapahub_stage_skipped(const struct rapahub_stage *stage)
{
    return stage->skipped;
}

void rapahub_stage_blocked(const struct rapahub_stage *stage, struct rapahub_region_blocker *out)
{
    *out = stage->blocker;
}

void rapahub_stage_close(struct rapahub_stage *stage)
{
    if (!stage)
        return;
    hub_sequencer_gate_leave(&stage->view, stage->role.index);
    hub_sleep_wake(&stage->space);
    hub_role_drop(&stage->role);
    free(stage);
}

/* ---- the region ---- */

int rapahub_region_evict(struct rapahub_region *region, uint32_t stage)
{
    struct hub_sleep cursor, space;
    int r;

    if (!hub_region_shape_is_sequencer(&region->shape))
        return rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                            "only a region of kind SEQUENCER has stages");
    if (stage >= region->sequencer.stage_count)
        return rapahub_fail(RAPAHUB_EINVAL, "region.stage.evict",
                            "the region has no stage %" PRIu32 ": it has %" PRIu32, stage,
                            region->sequencer.stage_count);
    r = hub_region_table_enter(region, hub_clock_after(region->wait_ns));
    if (r < 0)
        return r;
    r = hub_region_current(region);
    if (r == 0)
        hub_sequencer_gate_evict(&region->sequencer, stage);
    hub_region_table_leave(region);
    cursor = hub_region_sequencer_cursor(region);
    space = hub_region_sequencer_space(region);
    hub_sleep_wake_all(&cursor);
    hub_sleep_wake_all(&space);
    return r;
}

void *rapahub_region_user(const struct rapahub_region *region, uint64_t position)
{
    const struct hub_sequencer_view *view = &region->sequencer;

    if (!view->user)
        return NULL;
    return view->user + (position & (view->ring_size - 1)) * (uint64_t)view->user_bytes;
}
