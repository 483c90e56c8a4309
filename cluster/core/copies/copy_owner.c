/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/copies/copy_owner.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "cluster/core/base/timers.h"
#include "hub/base/check.h"

const struct hub_states cluster_copy_owner_states = {
    "cluster.copy",
    {[CLUSTER_COPY_IDLE] = {"IDLE", HUB_TO(CLUSTER_COPY_DRAINING) | HUB_TO(CLUSTER_COPY_SAVING)},
     [CLUSTER_COPY_DRAINING] = {"DRAINING",
                                HUB_TO(CLUSTER_COPY_SAVING) | HUB_TO(CLUSTER_COPY_IDLE)},
     [CLUSTER_COPY_SAVING] = {"SAVING", HUB_TO(CLUSTER_COPY_STORING) | HUB_TO(CLUSTER_COPY_IDLE)},
     [CLUSTER_COPY_STORING] = {"STORING", HUB_TO(CLUSTER_COPY_IDLE)}}};

struct row {
    struct cluster_copy_owner_life life;
    struct cluster_copy_owner_figures figures;
    uint64_t question;    /* id of the copy that is under way, of this life or an earlier */
    uint64_t mark;        /* the last end in it */
    uint64_t base;        /* the last end in the copy before, if that is durable */
    uint64_t began_ns;    /* the last copy, or the life */
    uint64_t earliest_ns; /* the next one, after a failure */
    uint64_t drain_ns;    /* DRAINING: until then */
    uint64_t timer;
    uint32_t state;
    bool up;     /* its life lasts */
    bool used;   /* calls have ended since the last copy was taken */
    bool whole;  /* the next one is a whole state */
    bool wanted; /* another node waits for a whole state */
    bool held;   /* new calls wait */
    bool stale;  /* the copy that is under way is of an earlier life */
    bool late;   /* calls did not end in time: the next one is due when none runs */
};

struct cluster_copy_owner {
    struct cluster_copy_owner_parts parts;
    struct cluster_table rows;
    struct cluster_index index;
    struct cluster_timers *timers;
    bool stops; /* no copy waits for its interval */
};

int cluster_copy_owner_create(uint32_t max, uint64_t secret,
                              const struct cluster_copy_owner_parts *parts,
                              struct cluster_copy_owner **out)
{
    struct cluster_copy_owner *owner = calloc(1, sizeof *owner);

    *out = owner;
    if (owner) {
        owner->parts = *parts;
        if (cluster_table_init(&owner->rows, max, sizeof(struct row)) == 0 &&
            cluster_index_init(&owner->index, max, secret) == 0 &&
            cluster_timers_create(max, &owner->timers) == 0)
            return 0;
    }
    cluster_copy_owner_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the copies of %u containers", max);
}

void cluster_copy_owner_release(struct cluster_copy_owner **owner)
{
    if (*owner) {
        cluster_timers_release(&(*owner)->timers);
        cluster_index_fini(&(*owner)->index);
        cluster_table_fini(&(*owner)->rows);
    }
    free(*owner);
    *owner = NULL;
}

static struct row *row_at(const struct cluster_copy_owner *owner, uint32_t place)
{
    return cluster_table_at(&owner->rows, place);
}

static uint32_t hash_of(const struct cluster_copy_owner *owner, uint64_t pool, uint32_t container)
{
    return cluster_index_hash(&owner->index, pool, container, 0);
}

static uint32_t seek(const struct cluster_copy_owner *owner, uint64_t pool, uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&owner->index, hash_of(owner, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&owner->index, &cursor))
        if (row_at(owner, place)->life.pool == pool &&
            row_at(owner, place)->life.container == container)
            break;
    return place;
}

static void move(struct row *row, enum cluster_copy_owner_state to)
{
    CHECK(hub_states_may(&cluster_copy_owner_states, row->state, to));
    row->state = to;
    row->figures.state = to;
}

static void set_timer(struct cluster_copy_owner *owner, uint32_t place, uint64_t at_ns)
{
    struct row *row = row_at(owner, place);

    (void)cluster_timers_clear(owner->timers, row->timer);
    row->timer =
        cluster_timers_set(owner->timers, &(struct cluster_timer){.at_ns = at_ns, .number = place});
}

static void clear_timer(struct cluster_copy_owner *owner, struct row *row)
{
    (void)cluster_timers_clear(owner->timers, row->timer);
    row->timer = 0;
}

/* A copy is due at once where answers wait for it. r[impl cluster.copy.checkpoint] */
static void plan(struct cluster_copy_owner *owner, uint32_t place, uint64_t now_ns)
{
    const struct row *row = row_at(owner, place);
    uint64_t at = row->life.acked || owner->stops || row->wanted
                      ? now_ns
                      : row->began_ns + CLUSTER_COPY_INTERVAL_NS;

    if (!row->up || !row->used || row->question != 0 || row->state != CLUSTER_COPY_IDLE)
        return;
    set_timer(owner, place, at > row->earliest_ns ? at : row->earliest_ns);
}

/* ---- lives ---- */

static uint32_t add(struct cluster_copy_owner *owner, uint64_t pool, uint32_t container)
{
    uint32_t place = cluster_table_take(&owner->rows);

    if (place != 0)
        cluster_index_put(&owner->index, hash_of(owner, pool, container), place);
    return place;
}

/* r[impl cluster.copy.life] */
int cluster_copy_owner_begin(struct cluster_copy_owner *owner,
                             const struct cluster_copy_owner_life *life, uint64_t now_ns)
{
    uint32_t place = seek(owner, life->pool, life->container);
    uint64_t question;
    struct row *row;

    if (place == 0)
        place = add(owner, life->pool, life->container);
    if (place == 0)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.map.bounds",
                            "a node copies the states of at most %u containers", owner->rows.max);
    row = row_at(owner, place);
    CHECK(!row->up);
    question = row->question;
    *row = (struct row){.life = *life,
                        .figures = {.token = life->token},
                        .question = question,
                        .began_ns = now_ns,
                        .up = true,
                        .whole = true,
                        .stale = question != 0};
    return 0;
}

static void end_life(struct cluster_copy_owner *owner, struct row *row)
{
    clear_timer(owner, row);
    row->up = row->held = false;
    row->stale = row->question != 0;
    row->state = CLUSTER_COPY_IDLE; /* from any: it is no step of the copy */
    row->figures.state = CLUSTER_COPY_IDLE;
}

void cluster_copy_owner_down(struct cluster_copy_owner *owner, uint64_t pool, uint32_t container)
{
    uint32_t place = seek(owner, pool, container);

    if (place != 0)
        end_life(owner, row_at(owner, place));
}

void cluster_copy_owner_remove(struct cluster_copy_owner *owner, uint64_t pool, uint32_t container)
{
    uint32_t place = seek(owner, pool, container);

    if (place == 0)
        return;
    end_life(owner, row_at(owner, place));
    cluster_index_remove(&owner->index, hash_of(owner, pool, container), place);
    cluster_table_give(&owner->rows, place);
}

static uint32_t running(const struct cluster_copy_owner *owner, const struct row *row)
{
    return owner->parts.hooks->running(owner->parts.user, row->life.pool, row->life.container);
}

void cluster_copy_owner_used(struct cluster_copy_owner *owner, uint64_t pool, uint32_t container,
                             uint64_t now_ns)
{
    uint32_t place = seek(owner, pool, container);
    struct row *row = place != 0 ? row_at(owner, place) : NULL;

    if (!row || !row->up)
        return;
    row->used = true;
    if (row->late && running(owner, row) == 0) {
        row->late = false;
        row->earliest_ns = 0;
        plan(owner, place, now_ns);
    }
    if (row->state == CLUSTER_COPY_DRAINING)
        set_timer(owner, place, now_ns); /* perhaps none runs any more */
    else if (row->timer == 0)
        plan(owner, place, now_ns);
}

void cluster_copy_owner_want_whole(struct cluster_copy_owner *owner, uint64_t pool,
                                   uint32_t container, uint64_t now_ns)
{
    uint32_t place = seek(owner, pool, container);
    struct row *row = place != 0 ? row_at(owner, place) : NULL;

    if (!row || !row->up)
        return;
    row->wanted = row->used = true;
    plan(owner, place, now_ns);
}

void cluster_copy_owner_stop(struct cluster_copy_owner *owner, uint64_t now_ns)
{
    owner->stops = true;
    for (uint32_t place = 0; (place = cluster_table_after(&owner->rows, place)) != 0;)
        plan(owner, place, now_ns);
}

uint32_t cluster_copy_owner_due(const struct cluster_copy_owner *owner)
{
    uint32_t due = 0;

    for (uint32_t place = 0; (place = cluster_table_after(&owner->rows, place)) != 0;) {
        const struct row *row = row_at(owner, place);

        due += row->question != 0 || (row->up && row->used && row->figures.failures == 0);
    }
    return due;
}

/* ---- a copy ---- */

/* A delay that doubles with each failure. r[impl cluster.copy.failure] */
static void fail(struct cluster_copy_owner *owner, uint32_t place, uint64_t now_ns)
{
    struct row *row = row_at(owner, place);
    uint64_t delay = CLUSTER_COPY_FIRST_NS;

    for (uint32_t i = 0; i < row->figures.failures && delay < CLUSTER_COPY_MOST_NS; i++)
        delay *= 2;
    row->figures.failures++;
    row->earliest_ns = now_ns + (delay < CLUSTER_COPY_MOST_NS ? delay : CLUSTER_COPY_MOST_NS);
    row->used = true;
    plan(owner, place, now_ns);
}

static void release(struct cluster_copy_owner *owner, struct row *row)
{
    if (row->held)
        owner->parts.hooks->release(owner->parts.user, row->life.pool, row->life.container);
    row->held = false;
}

static void ask(struct cluster_copy_owner *owner, uint32_t place, uint64_t now_ns)
{
    struct row *row = row_at(owner, place);
    const struct cluster_pending_question question = {CLUSTER_EFFECT_COPY, place};
    const struct cluster_effect effect = {
        .kind = CLUSTER_EFFECT_COPY,
        .id = cluster_pending_add(owner->parts.pending, &question),
        .at_ns = now_ns + CLUSTER_COPY_SAVE_NS,
        .pool = row->life.pool,
        .container = row->life.container,
        .token = row->life.token,
        .number = ++row->figures.seq,
        .how = row->whole ? CLUSTER_COPY_WHOLE : CLUSTER_COPY_CHANGES};

    CHECK(effect.id != 0);
    row->wanted = false;
    move(row, CLUSTER_COPY_SAVING);
    row->question = effect.id;
    row->began_ns = now_ns;
    row->used = false;
    row->mark = owner->parts.hooks->last_end(owner->parts.user);
    if (row->whole)
        row->base = 0;
    cluster_effects_add(owner->parts.effects, &effect);
}

static bool has_space(const struct cluster_copy_owner *owner)
{
    return cluster_effects_space(owner->parts.effects) > 0 &&
           cluster_pending_space(owner->parts.pending) > 0;
}

/* The state is taken when no call runs. */
static void drain(struct cluster_copy_owner *owner, uint32_t place, uint64_t now_ns)
{
    struct row *row = row_at(owner, place);

    if (running(owner, row) == 0 && has_space(owner)) {
        ask(owner, place, now_ns);
        return;
    }
    if (now_ns < row->drain_ns) {
        set_timer(owner, place, row->drain_ns);
        return;
    }
    row->figures.late++;
    row->late = running(owner, row) > 0;
    move(row, CLUSTER_COPY_IDLE);
    fail(owner, place, now_ns);
    release(owner, row);
}

/* A call may not be half in a state that has exactly the calls noted beside it; and while a whole
 * state is taken, its module may have closed what calls need. */
static bool drains(const struct row *row)
{
    return row->life.acked || row->whole;
}

static void act(struct cluster_copy_owner *owner, uint32_t place, uint64_t now_ns)
{
    struct row *row = row_at(owner, place);

    row->timer = 0;
    row->whole = row->whole || row->wanted;
    if (row->state == CLUSTER_COPY_IDLE && drains(row)) {
        move(row, CLUSTER_COPY_DRAINING);
        row->late = false;
        row->drain_ns = now_ns + CLUSTER_COPY_DRAIN_NS;
        row->held = true;
        owner->parts.hooks->hold(owner->parts.user, row->life.pool, row->life.container);
    }
    if (row->state == CLUSTER_COPY_DRAINING)
        drain(owner, place, now_ns);
    else if (has_space(owner))
        ask(owner, place, now_ns);
    else
        fail(owner, place, now_ns);
}

/* Returns the place of the container with the copy of this id, which is under way in its life, or
 * 0. */
static uint32_t find(const struct cluster_copy_owner *owner, uint64_t id)
{
    uint64_t place;

    if (!cluster_pending_find(owner->parts.pending, id, CLUSTER_EFFECT_COPY, &place) ||
        !cluster_table_has(&owner->rows, (uint32_t)place) ||
        row_at(owner, (uint32_t)place)->question != id || row_at(owner, (uint32_t)place)->stale)
        return 0;
    return (uint32_t)place;
}

bool cluster_copy_owner_saved(struct cluster_copy_owner *owner, uint64_t id)
{
    uint32_t place = find(owner, id);
    struct row *row = place != 0 ? row_at(owner, place) : NULL;

    if (!row || row->state != CLUSTER_COPY_SAVING)
        return false;
    move(row, CLUSTER_COPY_STORING);
    release(owner, row);
    return true;
}

static void take(struct cluster_copy_owner *owner, uint32_t place,
                 const struct cluster_copy_owner_copied *copied, uint64_t now_ns)
{
    struct row *row = row_at(owner, place);

    row->base = row->mark;
    row->whole = copied->whole || copied->changes_size > copied->state_size;
    row->earliest_ns = 0;
    row->figures.failures = row->figures.late = 0;
    row->figures.durable_seq = row->figures.seq;
    row->figures.durable_ns = now_ns;
    row->figures.state_size = copied->state_size;
    row->figures.changes_size = copied->changes_size;
    owner->parts.hooks->covered(owner->parts.user, row->life.pool, row->life.container, row->mark);
}

/* After a failure it is unknown which changes the module has given up: the next one is whole.
 */
static void end_copy(struct cluster_copy_owner *owner, uint32_t place,
                     const struct cluster_copy_owner_copied *copied, uint64_t now_ns)
{
    struct row *row = row_at(owner, place);

    move(row, CLUSTER_COPY_IDLE);
    if (copied->status < 0) {
        row->whole = true;
        fail(owner, place, now_ns);
    } else {
        take(owner, place, copied, now_ns);
    }
    release(owner, row);
}

bool cluster_copy_owner_copied(struct cluster_copy_owner *owner,
                               const struct cluster_copy_owner_copied *copied, uint64_t now_ns)
{
    uint64_t subject;
    uint32_t place;
    struct row *row;

    if (!cluster_pending_end(owner->parts.pending, copied->id, CLUSTER_EFFECT_COPY, &subject))
        return false;
    place = (uint32_t)subject;
    row = cluster_table_has(&owner->rows, place) ? row_at(owner, place) : NULL;
    if (!row || row->question != copied->id)
        return true; /* the container is gone */
    row->question = 0;
    if (row->stale)
        row->stale = false;
    else
        end_copy(owner, place, copied, now_ns);
    plan(owner, place, now_ns);
    return true;
}

bool cluster_copy_owner_span(const struct cluster_copy_owner *owner, uint64_t id,
                             struct cluster_copy_owner_span *out)
{
    uint32_t place = find(owner, id);
    const struct row *row = place != 0 ? row_at(owner, place) : NULL;

    if (row)
        *out = (struct cluster_copy_owner_span){row->life.pool, row->life.container, row->base,
                                                row->mark};
    return row != NULL;
}

/* ---- time, and figures ---- */

void cluster_copy_owner_tick(struct cluster_copy_owner *owner, uint64_t now_ns)
{
    struct cluster_timer timer;

    while (cluster_timers_take(owner->timers, now_ns, &timer))
        act(owner, (uint32_t)timer.number, now_ns);
}

uint64_t cluster_copy_owner_next(const struct cluster_copy_owner *owner)
{
    return cluster_timers_next(owner->timers);
}

bool cluster_copy_owner_figures(const struct cluster_copy_owner *owner, uint64_t pool,
                                uint32_t container, struct cluster_copy_owner_figures *out)
{
    uint32_t place = seek(owner, pool, container);

    if (place != 0)
        *out = row_at(owner, place)->figures;
    return place != 0;
}
