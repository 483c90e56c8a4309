/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/peer_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/check.h"

struct world peer_rules_world;
struct peer_world_figures peer_rules_figures;
static char report[300];

#define world peer_rules_world
#define broke peer_rules_broke

const char *peer_rules_report(void)
{
    return world.broken ? report : NULL;
}

void peer_rules_broke(const char *format, ...)
{
    va_list list;
    int size;

    if (world.broken)
        return;
    world.broken = true;
    size =
        snprintf(report, sizeof report, "seed %llu, event %llu: ", (unsigned long long)world.seed,
                 (unsigned long long)peer_rules_figures.events);
    va_start(list, format);
    vsnprintf(report + size, sizeof report - (size_t)size, format, list);
    va_end(list);
}

uint32_t peer_rules_draw(uint32_t below)
{
    return (uint32_t)hub_random_below(&world.random, below);
}

void peer_rules_mix(uint64_t bits)
{
    for (int i = 0; i < 8; i++, bits >>= 8)
        peer_rules_figures.trace =
            (peer_rules_figures.trace ^ (bits & 0xff)) * UINT64_C(0x100000001B3);
}

uint32_t peer_rules_owner(uint32_t container)
{
    return 1 + container % world.nodes;
}

uint64_t peer_rules_clock(uint32_t node)
{
    return world.now + world.node[node].offset;
}

/* ---- runs ---- */

static bool means(const struct call *call, uint32_t container)
{
    return container >= call->first && container < call->first + call->count;
}

static bool is_same(struct cluster_uid one, struct cluster_uid other)
{
    return one.origin == other.origin && one.number == other.number;
}

/* The first call with this uid: the others repeat it. */
static struct call *first_of(struct cluster_uid uid)
{
    uint32_t at = 0;

    while (!is_same(world.calls[at].asked.uid, uid))
        at++;
    return &world.calls[at];
}

/* What tells a client so does not call back what else is open under the same uid, on this node or
 * on another one. */
static bool was_told_maybe(struct cluster_uid uid)
{
    uint32_t node = first_of(uid)->node;
    bool told = false;

    for (uint32_t i = 0; i < world.calls_count; i++)
        if (is_same(world.calls[i].asked.uid, uid)) {
            told |= world.calls[i].told_maybe;
            if (world.calls[i].node != node || world.calls[i].overlaps)
                return false;
        }
    return told;
}

/* One that must not run twice has ended where it ran before, whether its caller knows or not. */
static bool may_run(const struct call *call, uint32_t c)
{
    return call->starts[c] == 0 || call->asked.method == POOL_RECORD_REPEATS;
}

/* Calls of clients come by any node, so only those that a node makes itself have an order here. */
static void check_order(const struct call *first, uint32_t c, uint64_t token)
{
    const struct cluster_send_call *asked = &first->asked;

    for (uint32_t i = 0; asked->order != 0 && i < world.calls_count; i++) {
        const struct call *call = &world.calls[i];

        if (call->open && call->asked.order == asked->order &&
            call->asked.uid.origin == asked->uid.origin &&
            call->asked.uid.number < asked->uid.number && means(call, c) &&
            call->asked.query.mode != CLUSTER_MODE_PHYSICAL &&
            (call->each & UINT32_C(1) << c) == 0 && call->ran[c] != token && may_run(call, c))
            broke("order: call %u runs in container %u before call %u", (unsigned)asked->uid.number,
                  c, (unsigned)call->asked.uid.number);
    }
}

void peer_rules_start(uint32_t node, const struct cluster_effect *effect)
{
    struct call *call = first_of(effect->uid);
    uint32_t c = effect->container, at = (uint32_t)(call - world.calls);
    bool once = call->asked.method != POOL_RECORD_REPEATS;

    if (!means(call, c) || peer_rules_owner(c) != node)
        broke("target: call %u runs in container %u of node %u", at, c, node);
    if (!world.actors[c].serving)
        broke("target: call %u runs in container %u, which does not serve", at, c);
    if (++call->starts[c] > 1 && once)
        broke("twice: call %u runs again in container %u", at, c);
    if (once && !call->several && was_told_maybe(effect->uid))
        broke("maybe: call %u runs after its caller was told that it may have run", at);
    check_order(call, c, world.actors[c].token);
    call->ran[c] = world.actors[c].token;
    if (world.runs_count < RUNS)
        world.runs[world.runs_count++] = (struct run){.id = effect->id,
                                                      .token = world.actors[c].token,
                                                      .node = node,
                                                      .boot = world.node[node].boot,
                                                      .container = c,
                                                      .call = at,
                                                      .open = true};
    peer_rules_figures.runs++;
}

/* ---- ends ---- */

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
    peer_rules_figures.ended[i]++;
}

static struct call *open_call(uint32_t node, const struct cluster_effect *effect)
{
    struct call *call = &world.calls[effect->number % CALLS];

    if (effect->number < world.calls_count && call->open && call->node == node &&
        call->boot == world.node[node].boot)
        return call;
    broke("answer: call %u ends at node %u, and is not open there", (unsigned)effect->number, node);
    return NULL;
}

/* The answer of a run is its number. */
static void check_answer(uint32_t node, const struct call *call,
                         const struct cluster_effect *effect)
{
    const struct cluster_address *address;
    const struct run *run;
    uint32_t at = RUNS;

    if (effect->body.size >= sizeof at)
        memcpy(&at, effect->body.data, sizeof at);
    if (at >= world.runs_count) {
        broke("answer: call %u gets one that no run gave", (unsigned)effect->number);
        return;
    }
    run = &world.runs[at];
    if (!run->ended || run->dead || !means(call, run->container) ||
        !is_same(world.calls[run->call].asked.uid, call->asked.uid))
        broke("answer: call %u gets that of run %u", (unsigned)effect->number, at);
    if (run->node == node)
        return;
    peer_rules_figures.remote++;
    address = cluster_address_map_find(cluster_core_parts(world.node[node].core)->map, POOL,
                                       run->container);
    if (!address || address->entry.epoch > cluster_ids_epoch(run->token))
        broke("token: call %u gets the answer of an epoch that is over", (unsigned)effect->number);
}

void peer_rules_each(uint32_t node, const struct cluster_effect *effect)
{
    struct call *call = open_call(node, effect);
    uint32_t bit = UINT32_C(1) << effect->container;

    if (!call)
        return;
    if (!means(call, effect->container) || (call->each & bit) != 0)
        broke("answer: call %u ends in container %u", (unsigned)effect->number, effect->container);
    if (effect->status == 0)
        check_answer(node, call, effect);
    call->each |= bit;
}

void peer_rules_answer(uint32_t node, const struct cluster_effect *effect)
{
    struct call *call = open_call(node, effect);

    if (!call)
        return;
    if (effect->status == 0 && !call->several)
        check_answer(node, call, effect);
    if (effect->status == 0 && call->several &&
        call->each != ((UINT32_C(1) << call->count) - 1) << call->first)
        broke("answer: call %u ends without all of its containers", (unsigned)effect->number);
    call->open = false;
    call->given_up = effect->status != 0;
    call->told_maybe = effect->status == RAPAHUB_EMAYBE;
    count_end(effect->status);
}

/* ---- after an event ---- */

void peer_rules_check(uint32_t node)
{
    const char *broken = cluster_check_core(cluster_core_parts(world.node[node].core));

    if (broken)
        broke("bounds: node %u: %s", node, broken);
}

void peer_rules_check_late(void)
{
    for (uint32_t i = 0; i < world.calls_count; i++)
        if (world.calls[i].open && peer_rules_clock(world.calls[i].node) >
                                       world.calls[i].asked.deadline_ns + CLUSTER_RETRY_MOST_NS)
            broke("late: call %u is open after its deadline", i);
}
