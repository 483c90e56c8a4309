/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/node_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/check.h"
#include "tests/simulation/cluster/node_orders.h"

struct world node_rules_world;
struct node_world_figures node_rules_figures;
static struct cluster_effects effects;
static char report[300];

const char *node_rules_report(void)
{
    return node_rules_world.broken ? report : NULL;
}

void node_rules_broke(const char *format, ...)
{
    va_list list;
    int size;

    if (node_rules_world.broken)
        return;
    node_rules_world.broken = true;
    size = snprintf(report, sizeof report,
                    "seed %llu, event %llu: ", (unsigned long long)node_rules_world.seed,
                    (unsigned long long)node_rules_figures.events);
    va_start(list, format);
    vsnprintf(report + size, sizeof report - (size_t)size, format, list);
    va_end(list);
}

uint32_t node_rules_draw(uint32_t below)
{
    return (uint32_t)hub_random_below(&node_rules_world.random, below);
}

/* ---- effects ---- */

static void mix(uint64_t bits)
{
    for (int i = 0; i < 8; i++, bits >>= 8)
        node_rules_figures.trace =
            (node_rules_figures.trace ^ (bits & 0xff)) * UINT64_C(0x100000001B3);
}

static bool means(const struct call *call, uint32_t container)
{
    return container >= call->first && container < call->first + call->count;
}

/* The first call with this uid: the others repeat it. */
uint32_t node_rules_first(struct cluster_uid uid)
{
    uint32_t at = 0;

    while (node_rules_world.calls[at].asked.uid.origin != uid.origin ||
           node_rules_world.calls[at].asked.uid.number != uid.number)
        at++;
    return at;
}

static void start_run(const struct cluster_effect *effect)
{
    uint32_t at = node_rules_first(effect->uid), c = effect->container;
    const struct call *call = &node_rules_world.calls[at];
    bool maybe = false;

    for (uint32_t i = at; i < node_rules_world.calls_count; i++)
        maybe |=
            node_rules_world.calls[i].told_maybe &&
            memcmp(&node_rules_world.calls[i].asked.uid, &effect->uid, sizeof effect->uid) == 0;
    if (!means(call, c))
        node_rules_broke("target: call %u runs in container %u", at, c);
    if (!node_rules_world.actors[c].serving)
        node_rules_broke("target: call %u runs in container %u, which does not serve", at, c);
    if (++node_rules_world.starts[at][c] > 1 && call->asked.method != POOL_RECORD_REPEATS)
        node_rules_broke("twice: call %u runs again in container %u", at, c);
    if (maybe && call->asked.method != POOL_RECORD_REPEATS && call->count == 1)
        node_rules_broke("maybe: call %u runs after its caller was told that it may have run", at);
    node_orders_check(effect->uid, c);
    if (node_rules_world.runs_count < RUNS)
        node_rules_world.runs[node_rules_world.runs_count++] =
            (struct run){effect->id, c, true, false};
    node_rules_figures.runs++;
}

static void count_end(int status)
{
    const int known[] = {0,
                         RAPAHUB_EMAYBE,
                         RAPAHUB_ETIMEDOUT,
                         RAPAHUB_ENETTIMEOUT,
                         RAPAHUB_ECANCELED,
                         RAPAHUB_EBUSY,
                         RAPAHUB_ENOTLOCAL};
    uint32_t i = 0;

    while (i < 7 && known[i] != status)
        i++;
    node_rules_figures.ended[i]++;
}

static void end_each(const struct cluster_effect *effect)
{
    struct call *call = &node_rules_world.calls[effect->number];
    uint32_t bit = UINT32_C(1) << effect->container;

    if (effect->number >= node_rules_world.calls_count || !call->open ||
        !means(call, effect->container) || (call->each & bit) != 0)
        node_rules_broke("answer: call %u ends in container %u", (unsigned)effect->number,
                         effect->container);
    call->each |= bit;
}

static void end_call(const struct cluster_effect *effect)
{
    struct call *call = &node_rules_world.calls[effect->number];

    if (effect->number >= node_rules_world.calls_count || !call->open)
        node_rules_broke("answer: call %u ends, and is not open", (unsigned)effect->number);
    if (effect->status == 0 && call->asked.query.mode == CLUSTER_MODE_BROADCAST &&
        call->each != (UINT32_C(1) << CONTAINERS) - 1)
        node_rules_broke("answer: call %u ends without all of its containers",
                         (unsigned)effect->number);
    call->open = false;
    call->told_maybe = effect->status == RAPAHUB_EMAYBE;
    count_end(effect->status);
}

static void carry_out(const struct cluster_effect *effect)
{
    mix(effect->kind);
    mix(effect->number);
    mix(effect->id);
    mix(effect->at_ns);
    mix((uint64_t)effect->status << 32 | effect->container);
    switch (effect->kind) {
    case CLUSTER_EFFECT_TIMER:
        if (effect->at_ns > node_rules_world.now)
            node_rules_world.timer = effect->at_ns;
        break;
    case CLUSTER_EFFECT_RANGE:
        node_rules_world.wants_reading = true;
        break;
    case CLUSTER_EFFECT_RUN:
        start_run(effect);
        break;
    case CLUSTER_EFFECT_EACH:
        end_each(effect);
        break;
    case CLUSTER_EFFECT_ANSWER:
        end_call(effect);
        break;
    default:
        break;
    }
}

/* ---- conditions ---- */

static bool is_same(const struct cluster_entry *one, const struct cluster_entry *other)
{
    return one->state == other->state && one->owner == other->owner && one->epoch == other->epoch &&
           one->lineage == other->lineage && one->session == other->session;
}

static void check_map(const struct cluster_dispatch *parts)
{
    uint64_t revision = parts->catch_up.revision;
    const struct cluster_entry none = {.state = CLUSTER_ENTRY_NONE};

    if (revision < node_rules_world.seen)
        node_rules_broke("forward: the map goes back");
    node_rules_world.seen = revision;
    for (uint32_t c = 0; c < CONTAINERS && parts->catch_up.state == CLUSTER_CATCH_UP_CURRENT; c++) {
        const struct cluster_address *address = cluster_address_map_find(parts->map, POOL, c);

        if (!is_same(address ? &address->entry : &none, &node_rules_world.snapshots[revision][c]))
            node_rules_broke("map: container %u is another one at revision %llu", c,
                             (unsigned long long)revision);
    }
}

static void check_calls(void)
{
    for (uint32_t i = 0; i < node_rules_world.calls_count; i++)
        if (node_rules_world.calls[i].open &&
            node_rules_world.now >
                node_rules_world.calls[i].asked.deadline_ns + CLUSTER_RETRY_MOST_NS)
            node_rules_broke("late: call %u is open after its deadline", i);
}

void node_rules_check(void)
{
    const struct cluster_dispatch *parts = cluster_core_parts(node_rules_world.core);
    const char *broken = cluster_check_core(parts);

    if (broken)
        node_rules_broke("bounds: %s", broken);
    check_map(parts);
    check_calls();
}

int node_rules_tell(struct cluster_event event)
{
    int status;
    bool more = true;

    event.now_ns = node_rules_world.now;
    node_rules_figures.events++;
    status = cluster_core_step(node_rules_world.core, &event, &effects);
    while (more && !node_rules_world.broken) {
        more = effects.count == CLUSTER_EFFECTS_MAX;
        for (uint32_t i = 0; i < effects.count; i++)
            carry_out(&effects.effects[i]);
        if (more)
            (void)cluster_core_step(node_rules_world.core,
                                    &(struct cluster_event){.now_ns = node_rules_world.now},
                                    &effects);
    }
    return status;
}
