/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/copies_rules.h"

#include <stdarg.h>
#include <stdio.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/check.h"

struct world copies_rules_world;
struct node_copies_figures copies_rules_figures;

const struct cluster_limits copies_rules_limits = {.pools = 2,
                                                   .entries = CONTAINERS,
                                                   .containers = CONTAINERS,
                                                   .calls = 1000,
                                                   .payloads = 2000,
                                                   .effects = 6000,
                                                   .parked = 1000,
                                                   .parked_container = 1000,
                                                   .parked_bytes = 10000000,
                                                   .parked_container_bytes = 10000000,
                                                   .dedup = 2400,
                                                   .dedup_container = 600,
                                                   .dedup_bytes = 8000000,
                                                   .dedup_container_bytes = 2000000,
                                                   .retries = 1000,
                                                   .retry_bytes = 10000000};

static struct cluster_effects effects;
static char report[300];

const char *copies_rules_report(void)
{
    return copies_rules_world.broken ? report : NULL;
}

void copies_rules_broke(const char *format, ...)
{
    va_list list;
    int size;

    if (copies_rules_world.broken)
        return;
    copies_rules_world.broken = true;
    size = snprintf(report, sizeof report,
                    "seed %llu, event %llu: ", (unsigned long long)copies_rules_world.seed,
                    (unsigned long long)copies_rules_figures.events);
    va_start(list, format);
    vsnprintf(report + size, sizeof report - (size_t)size, format, list);
    va_end(list);
}

uint32_t copies_rules_draw(uint32_t below)
{
    return (uint32_t)hub_random_below(&copies_rules_world.random, below);
}

/* ---- effects ---- */

uint32_t copies_rules_find(struct cluster_uid uid)
{
    uint32_t at = 0;

    while (copies_rules_world.calls[at].asked.uid.origin != uid.origin ||
           copies_rules_world.calls[at].asked.uid.number != uid.number)
        at++;
    return at;
}

static void start_job(const struct cluster_effect *effect)
{
    const struct actor *actor = &copies_rules_world.actors[effect->container];

    if (!actor->serves)
        copies_rules_broke("target: a call runs in container %u, which does not serve",
                           effect->container);
    if (actor->copying != 0 && !actor->saved)
        copies_rules_broke("exact: a call runs in container %u while its state is taken",
                           effect->container);
    if (copies_rules_world.jobs_count == JOBS)
        return;
    copies_rules_world.jobs[copies_rules_world.jobs_count++] =
        (struct job){.id = effect->id,
                     .chain = effect->chain,
                     .call = copies_rules_find(effect->uid),
                     .container = effect->container,
                     .open = true};
}

static void end_call(const struct cluster_effect *effect)
{
    struct call *call = &copies_rules_world.calls[effect->number];

    if (!call->open)
        copies_rules_broke("answer: call %u ends, and is not open", (unsigned)effect->number);
    call->open = false;
    call->answered |= effect->status == 0;
    if (effect->status == 0 && call->parent == 0)
        copies_rules_figures.answered++;
    if (effect->status == RAPAHUB_EMAYBE)
        copies_rules_broke("maybe: call %u ends, and nobody knows whether it ran",
                           (unsigned)effect->number);
    for (uint32_t i = 0; i < copies_rules_world.jobs_count; i++)
        if (copies_rules_world.jobs[i].waits &&
            copies_rules_world.calls[copies_rules_world.jobs[i].call].nested == effect->number + 1)
            copies_rules_world.jobs[i].waits = false;
}

static void start_copy(const struct cluster_effect *effect)
{
    struct actor *actor = &copies_rules_world.actors[effect->container];

    if (actor->copying != 0)
        copies_rules_broke("copy: container %u has two copies under way", effect->container);
    if (effect->token != cluster_ids_token(0, 1, actor->life) || effect->number != actor->seq + 1)
        copies_rules_broke("copy: container %u has copy %llu after %llu", effect->container,
                           (unsigned long long)effect->number, (unsigned long long)actor->seq);
    if (effect->how == CLUSTER_COPY_CHANGES && actor->durable_seq != actor->seq)
        copies_rules_broke("copy: container %u has changes of a copy that failed",
                           effect->container);
    if (effect->how == CLUSTER_COPY_CHANGES && actor->seq == 0)
        copies_rules_broke("copy: the first copy of a life of container %u is not whole",
                           effect->container);
    actor->copying = effect->id;
    actor->seq = effect->number;
    actor->saved = false;
    actor->whole =
        effect->how == CLUSTER_COPY_WHOLE || copies_rules_draw(8) == 0 || actor->count == DISK;
    copies_rules_figures.copies++;
    copies_rules_figures.changes += !actor->whole;
}

static void carry_out(const struct cluster_effect *effect)
{
    switch (effect->kind) {
    case CLUSTER_EFFECT_TIMER:
        if (effect->at_ns > copies_rules_world.now)
            copies_rules_world.timer = effect->at_ns;
        break;
    case CLUSTER_EFFECT_RUN:
        start_job(effect);
        break;
    case CLUSTER_EFFECT_ANSWER:
        end_call(effect);
        break;
    case CLUSTER_EFFECT_COPY:
        start_copy(effect);
        break;
    default:
        break;
    }
}

int copies_rules_tell(struct cluster_event event)
{
    const char *wrong;
    int status;
    bool more = true;

    event.now_ns = copies_rules_world.now;
    copies_rules_figures.events++;
    status = cluster_core_step(copies_rules_world.core, &event, &effects);
    while (more && !copies_rules_world.broken) {
        more = effects.count == CLUSTER_EFFECTS_MAX;
        for (uint32_t i = 0; i < effects.count; i++)
            carry_out(&effects.effects[i]);
        if (more)
            (void)cluster_core_step(copies_rules_world.core,
                                    &(struct cluster_event){.now_ns = copies_rules_world.now},
                                    &effects);
    }
    wrong = cluster_check_core(cluster_core_parts(copies_rules_world.core));
    if (wrong)
        copies_rules_broke("bounds: %s", wrong);
    return status;
}

/* ---- lives ---- */

void copies_rules_end_life(uint32_t c)
{
    copies_rules_world.actors[c].serves = false;
    (void)copies_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_CONTAINER,
                                                   .change = CLUSTER_CONTAINER_DOWN,
                                                   .pool = POOL,
                                                   .container = c});
}

static struct cluster_dispatch *parts_of_core(void)
{
    (void)copies_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    return (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(copies_rules_world.core);
}

void copies_rules_begin_life(uint32_t c)
{
    struct cluster_dispatch *parts = parts_of_core();
    uint64_t token = cluster_ids_token(0, 1, copies_rules_world.actors[c].life);

    if (cluster_local_containers_begin(parts->locals, POOL, c, token, LINEAGE) < 0)
        copies_rules_broke("container %u is not begun", c);
}

void copies_rules_serve(uint32_t c, uint64_t covered)
{
    struct cluster_dispatch *parts = parts_of_core();

    if (cluster_dispatch_hooks.begun(parts, POOL, c, LINEAGE, covered) < 0)
        copies_rules_broke("container %u has not begun", c);
    copies_rules_world.actors[c].serves = true;
    cluster_local_containers_move(parts->locals, POOL, c, CLUSTER_LOCAL_SERVING);
    cluster_dispatch_hooks.serves(parts, POOL, c);
    (void)copies_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
}
