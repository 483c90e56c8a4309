/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/dedup.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/calls/admitted.h"
#include "hub/base/check.h"

const struct hub_states cluster_dedup_states = {
    "cluster.dedup",
    {[CLUSTER_DEDUP_RUNNING] = {"RUNNING", HUB_TO(CLUSTER_DEDUP_DONE) | HUB_TO(CLUSTER_DEDUP_LOST)},
     [CLUSTER_DEDUP_DONE] = {"DONE", 0},
     [CLUSTER_DEDUP_LOST] = {"LOST", 0}}};

struct cluster_dedup {
    struct cluster_admitted all;
    struct cluster_payload *payload;
    uint64_t ends; /* counts up */
};

int cluster_dedup_create(const struct cluster_limits *limits, uint64_t secret,
                         struct cluster_payload *payload, struct cluster_dedup **out)
{
    int status;

    *out = calloc(1, sizeof **out);
    if (!*out)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for histories of calls");
    (*out)->payload = payload;
    status = cluster_admitted_init(&(*out)->all, limits, secret);
    if (status < 0)
        cluster_dedup_release(out);
    return status;
}

static void remove_call(struct cluster_dedup *dedup, uint32_t place)
{
    const struct cluster_admitted_call *call = cluster_admitted_call_at(&dedup->all, place);

    if (call->payload != 0)
        cluster_payload_drop(dedup->payload, call->payload);
    if (call->state == CLUSTER_DEDUP_RUNNING)
        cluster_admitted_stop(&dedup->all, place);
    if (call->held)
        cluster_admitted_let_go(&dedup->all, place);
    cluster_admitted_remove_call(&dedup->all, place);
}

/* Removes the calls of an origin for which `goes` says so. */
static void sift(struct cluster_dedup *dedup, uint32_t origin, uint64_t bound,
                 bool (*goes)(const struct cluster_admitted_call *call, uint64_t bound))
{
    uint32_t place = cluster_admitted_origin_at(&dedup->all, origin)->first;

    while (place != 0) {
        const struct cluster_admitted_call *call = cluster_admitted_call_at(&dedup->all, place);
        uint32_t next = call->next;

        if (goes(call, bound))
            remove_call(dedup, place);
        place = next;
    }
}

static bool any_call(const struct cluster_admitted_call *call, uint64_t bound)
{
    (void)call;
    (void)bound;
    return true;
}

static bool not_covered(const struct cluster_admitted_call *call, uint64_t covered)
{
    return call->state == CLUSTER_DEDUP_RUNNING || call->end > covered;
}

/* Removes the calls below a number that have ended. They lie in the order of their numbers.
 * r[impl cluster.dedup.ended] */
static void drop_below(struct cluster_dedup *dedup, uint32_t origin, uint64_t bound)
{
    uint32_t place = cluster_admitted_origin_at(&dedup->all, origin)->first;

    while (place != 0) {
        const struct cluster_admitted_call *call = cluster_admitted_call_at(&dedup->all, place);
        uint32_t next = call->next;

        if (call->uid.number >= bound)
            return;
        if (call->state != CLUSTER_DEDUP_RUNNING)
            remove_call(dedup, place);
        place = next;
    }
}

static bool has_ended(const struct cluster_admitted_call *call, uint64_t bound)
{
    (void)bound;
    return call->state != CLUSTER_DEDUP_RUNNING;
}

static void sift_all(struct cluster_dedup *dedup, uint32_t history, uint64_t bound,
                     bool (*goes)(const struct cluster_admitted_call *call, uint64_t bound))
{
    uint32_t place = cluster_admitted_at(&dedup->all, history)->origins;

    for (; place != 0; place = cluster_admitted_origin_at(&dedup->all, place)->next)
        sift(dedup, place, bound, goes);
}

/* An origin that has ended is kept for the calls of it that still run. */
static void drop_ended(struct cluster_dedup *dedup, uint32_t place)
{
    const struct cluster_admitted_origin *origin = cluster_admitted_origin_at(&dedup->all, place);

    if (origin->ended && origin->first == 0)
        cluster_admitted_remove_origin(&dedup->all, place);
}

static void drop_all_ended(struct cluster_dedup *dedup, uint32_t history)
{
    uint32_t place = cluster_admitted_at(&dedup->all, history)->origins;

    while (place != 0) {
        uint32_t next = cluster_admitted_origin_at(&dedup->all, place)->next;

        drop_ended(dedup, place);
        place = next;
    }
}

void cluster_dedup_forget(struct cluster_dedup *dedup, uint64_t pool, uint32_t container)
{
    uint32_t place = cluster_admitted_find(&dedup->all, pool, container);
    uint32_t origin;

    if (place == 0)
        return;
    sift_all(dedup, place, 0, any_call);
    while ((origin = cluster_admitted_at(&dedup->all, place)->origins) != 0)
        cluster_admitted_remove_origin(&dedup->all, origin);
    cluster_admitted_remove(&dedup->all, place);
}

void cluster_dedup_release(struct cluster_dedup **dedup)
{
    uint32_t place = 0;

    while (*dedup && (place = cluster_table_after(&(*dedup)->all.histories, place)) != 0) {
        const struct cluster_admitted_history *history = cluster_admitted_at(&(*dedup)->all, place);

        cluster_dedup_forget(*dedup, history->pool, history->container);
    }
    if (*dedup)
        cluster_admitted_fini(&(*dedup)->all);
    free(*dedup);
    *dedup = NULL;
}

/* r[impl cluster.dedup.lineage] */
int cluster_dedup_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                        uint64_t lineage, uint64_t covered)
{
    uint32_t place = cluster_admitted_find(&dedup->all, pool, container);
    struct cluster_admitted_history *history;

    if (place == 0)
        place = cluster_admitted_add(&dedup->all, pool, container);
    if (place == 0)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.dedup.bounds",
                            "a node remembers the calls of at most %u containers",
                            dedup->all.limits.containers);
    history = cluster_admitted_at(&dedup->all, place);
    sift_all(dedup, place, covered, history->lineage == lineage ? not_covered : any_call);
    drop_all_ended(dedup, place);
    history->lineage = lineage;
    history->holds = false;
    history->covered = dedup->ends;
    return 0;
}

/* ---- a call ---- */

/* In another lineage nothing is known of what it did before. r[impl cluster.call.lineage] */
static bool may_have_run(const struct cluster_admitted_history *history,
                         const struct cluster_dedup_call *call)
{
    return call->maybe && !call->repeat && call->lineage != history->lineage;
}

static bool is_held(const struct cluster_dedup *dedup, uint32_t place,
                    const struct cluster_admitted_call *call)
{
    const struct cluster_admitted_history *history = cluster_admitted_at(&dedup->all, place);

    return history->holds && call->end > history->covered &&
           !cluster_admitted_chain_runs(&dedup->all, place, call->chain);
}

/* r[impl cluster.dedup.other] */
static enum cluster_dedup_verdict look_at(struct cluster_dedup *dedup, uint32_t place,
                                          const struct cluster_dedup_call *call,
                                          struct cluster_dedup_answer *answer)
{
    struct cluster_admitted_call *row = cluster_admitted_call_at(&dedup->all, place);
    uint32_t history = cluster_admitted_origin_at(&dedup->all, row->origin)->history;

    if (row->method != call->method || row->digest != call->digest)
        return CLUSTER_VERDICT_OTHER;
    if (row->state != CLUSTER_DEDUP_RUNNING && !row->held && is_held(dedup, history, row))
        cluster_admitted_hold(&dedup->all, place);
    if (row->state == CLUSTER_DEDUP_RUNNING || row->held) {
        row->asker = call->asker;
        return CLUSTER_VERDICT_RUNNING;
    }
    if (row->state == CLUSTER_DEDUP_LOST)
        return CLUSTER_VERDICT_LOST;
    *answer = (struct cluster_dedup_answer){row->status, row->application, row->payload};
    if (row->payload != 0)
        cluster_payload_retain(dedup->payload, row->payload);
    return CLUSTER_VERDICT_DONE;
}

/* Calls of the origin that have ended here are dropped. A call that still runs is dropped at its
 * end.
 */
static void note_done_below(struct cluster_dedup *dedup, uint32_t place, uint64_t done_below)
{
    struct cluster_admitted_origin *origin = cluster_admitted_origin_at(&dedup->all, place);

    if (done_below <= origin->done_below)
        return;
    origin->done_below = done_below;
    drop_below(dedup, place, done_below);
}

/* r[impl cluster.dedup.once] */
enum cluster_dedup_verdict cluster_dedup_look(struct cluster_dedup *dedup,
                                              const struct cluster_dedup_call *call,
                                              struct cluster_dedup_answer *answer)
{
    uint32_t history = cluster_admitted_find(&dedup->all, call->pool, call->container);
    uint32_t origin, place = 0;

    CHECK(history != 0);
    origin = cluster_admitted_find_origin(&dedup->all, history, call->uid.origin);
    if (origin != 0) {
        struct cluster_admitted_origin *row = cluster_admitted_origin_at(&dedup->all, origin);

        row->unheard = false;
        cluster_admitted_note_until(&dedup->all, origin, call->until_ns);
        note_done_below(dedup, origin, call->done_below);
        if (row->ended || call->uid.number < row->done_below)
            return CLUSTER_VERDICT_ENDED;
        place = cluster_admitted_find_call(&dedup->all, origin, call->uid.number);
    }
    if (place != 0)
        return look_at(dedup, place, call, answer);
    if (call->uid.number < call->done_below)
        return CLUSTER_VERDICT_ENDED;
    return may_have_run(cluster_admitted_at(&dedup->all, history), call) ? CLUSTER_VERDICT_MAYBE
                                                                         : CLUSTER_VERDICT_NEW;
}

bool cluster_dedup_has(const struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                       struct cluster_uid uid)
{
    uint32_t history = cluster_admitted_find(&dedup->all, pool, container);
    uint32_t origin =
        history != 0 ? cluster_admitted_find_origin(&dedup->all, history, uid.origin) : 0;

    return origin != 0 &&
           (uid.number < cluster_admitted_origin_at(&dedup->all, origin)->done_below ||
            cluster_admitted_find_call(&dedup->all, origin, uid.number) != 0);
}

static int refuse(const char *full)
{
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.dedup.bounds", "the limit is reached of %s", full);
}

/* Bit 63 is set, so that it is not 0. */
uint64_t cluster_dedup_chain(const struct cluster_dedup *dedup,
                             const struct cluster_dedup_call *call)
{
    const struct cluster_index *index = &dedup->all.by_chain;
    struct cluster_uid uid = call->uid;

    if (call->chain != 0)
        return call->chain;
    return UINT64_C(1) << 63 |
           (uint64_t)cluster_index_hash(index, uid.origin, uid.number, 1) << 32 |
           cluster_index_hash(index, uid.origin, uid.number, 2);
}

static uint64_t add(struct cluster_dedup *dedup, uint32_t origin,
                    const struct cluster_dedup_call *call, uint64_t weight)
{
    uint32_t place = cluster_admitted_add_call(&dedup->all, origin, call->uid.number, weight);
    struct cluster_admitted_call *row = cluster_admitted_call_at(&dedup->all, place);

    row->method = call->method;
    row->digest = call->digest;
    row->asker = call->asker;
    row->state = CLUSTER_DEDUP_RUNNING;
    cluster_admitted_start(&dedup->all, place, cluster_dedup_chain(dedup, call));
    return row->number;
}

/* r[impl cluster.dedup.bounds] */
int cluster_dedup_admit(struct cluster_dedup *dedup, const struct cluster_dedup_call *call,
                        uint64_t *out)
{
    uint64_t weight = sizeof(struct cluster_admitted_call) + call->reserve;
    uint32_t history = cluster_admitted_find(&dedup->all, call->pool, call->container);
    uint32_t origin = cluster_admitted_find_origin(&dedup->all, history, call->uid.origin);
    bool known = origin != 0;
    const char *full;

    if (!known)
        origin = cluster_admitted_add_origin(&dedup->all, history, call->uid.origin, call->peer);
    if (origin == 0)
        return refuse("the origins of the calls that a node remembers");
    full = cluster_admitted_full(&dedup->all, origin, 1, weight);
    if (full && !known)
        cluster_admitted_remove_origin(&dedup->all, origin);
    if (full)
        return refuse(full);
    cluster_admitted_note_until(&dedup->all, origin, call->until_ns);
    note_done_below(dedup, origin, call->done_below);
    *out = add(dedup, origin, call, weight);
    return 0;
}

/* Keeps the answer, if there is room for it beside all that is reserved; one that is held stays in
 * any case until it is given out. */
static void keep(struct cluster_dedup *dedup, uint32_t place,
                 const struct cluster_dedup_answer *answer, uint64_t weight)
{
    struct cluster_admitted_call *call = cluster_admitted_call_at(&dedup->all, place);
    uint64_t total = sizeof *call + weight;
    bool fits = answer->payload != 0 &&
                (total <= call->weight ||
                 !cluster_admitted_full(&dedup->all, call->origin, 0, total - call->weight));
    uint32_t state = fits ? CLUSTER_DEDUP_DONE : CLUSTER_DEDUP_LOST;

    CHECK(hub_states_may(&cluster_dedup_states, call->state, state));
    call->state = state;
    call->status = answer->status;
    call->application = answer->application;
    call->payload = fits || call->held ? answer->payload : 0;
    if (call->payload != 0)
        cluster_payload_retain(dedup->payload, call->payload);
    cluster_admitted_weigh(&dedup->all, place, fits ? total : sizeof *call);
}

static struct cluster_admitted_call *call_of(const struct cluster_dedup *dedup, uint64_t number)
{
    uint32_t place = (uint32_t)number;
    struct cluster_admitted_call *call = cluster_table_has(&dedup->all.calls, place)
                                             ? cluster_admitted_call_at(&dedup->all, place)
                                             : NULL;

    return call && call->number == number ? call : NULL;
}

bool cluster_dedup_where(const struct cluster_dedup *dedup, uint64_t number, uint64_t *pool,
                         uint32_t *container)
{
    const struct cluster_admitted_call *call = call_of(dedup, number);
    const struct cluster_admitted_history *history;

    if (!call)
        return false;
    history = cluster_admitted_at(&dedup->all,
                                  cluster_admitted_origin_at(&dedup->all, call->origin)->history);
    *pool = history->pool;
    *container = history->container;
    return true;
}

uint64_t cluster_dedup_end(struct cluster_dedup *dedup, uint64_t number,
                           const struct cluster_dedup_answer *answer, uint64_t weight,
                           uint64_t *asker)
{
    struct cluster_admitted_call *call = call_of(dedup, number);
    const struct cluster_admitted_origin *origin;
    uint32_t place = (uint32_t)number;

    if (!call || call->state != CLUSTER_DEDUP_RUNNING)
        return 0;
    origin = cluster_admitted_origin_at(&dedup->all, call->origin);
    *asker = call->asker;
    call->end = ++dedup->ends;
    if (origin->ended || call->uid.number < origin->done_below) {
        uint32_t at = call->origin;

        remove_call(dedup, place);
        drop_ended(dedup, at);
        return dedup->ends;
    }
    cluster_admitted_stop(&dedup->all, place);
    if (is_held(dedup, origin->history, call)) {
        cluster_admitted_hold(&dedup->all, place);
        *asker = 0;
    }
    keep(dedup, place, answer, weight);
    return dedup->ends;
}

uint64_t cluster_dedup_last_end(const struct cluster_dedup *dedup)
{
    return dedup->ends;
}

void cluster_dedup_end_origin(struct cluster_dedup *dedup, uint64_t origin)
{
    uint32_t history = 0;

    while ((history = cluster_table_after(&dedup->all.histories, history)) != 0) {
        uint32_t place = cluster_admitted_find_origin(&dedup->all, history, origin);

        if (place == 0)
            continue;
        cluster_admitted_origin_at(&dedup->all, place)->ended = true;
        sift(dedup, place, 0, has_ended);
        drop_ended(dedup, place);
    }
}

uint32_t cluster_dedup_running(const struct cluster_dedup *dedup, uint64_t pool, uint32_t container)
{
    uint32_t place = cluster_admitted_find(&dedup->all, pool, container);

    return place != 0 ? cluster_admitted_at(&dedup->all, place)->running : 0;
}

struct cluster_dedup_figures cluster_dedup_figures(const struct cluster_dedup *dedup, uint64_t pool,
                                                   uint32_t container)
{
    struct cluster_dedup_figures figures = {0};
    uint32_t place = 0;

    while ((place = cluster_table_after(&dedup->all.histories, place)) != 0) {
        const struct cluster_admitted_history *history = cluster_admitted_at(&dedup->all, place);

        if (pool != 0 && (history->pool != pool || history->container != container))
            continue;
        figures.calls += history->calls;
        figures.running += history->running;
        figures.held += history->held;
        figures.bytes += history->bytes;
        for (uint32_t at = history->origins; at != 0;
             at = cluster_admitted_origin_at(&dedup->all, at)->next)
            figures.origins++;
    }
    return figures;
}

struct cluster_admitted *cluster_dedup_rows(struct cluster_dedup *dedup,
                                            struct cluster_payload **payload)
{
    *payload = dedup->payload;
    return &dedup->all;
}

bool cluster_dedup_is_sound(const struct cluster_dedup *dedup)
{
    return cluster_admitted_is_sound(&dedup->all);
}
