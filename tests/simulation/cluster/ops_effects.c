/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/ops_effects.h"

#include <stdlib.h>

#include "tests/simulation/cluster/ops_rules.h"

#define world ops_rules_world
#define draw  ops_rules_draw

static struct cluster_effects effects;

bool ops_effects_fails(uint32_t once_in)
{
    return !world.healed && draw(once_in) == 0;
}

static void mix(uint64_t bits)
{
    for (int i = 0; i < 8; i++, bits >>= 8)
        ops_rules_figures.trace =
            (ops_rules_figures.trace ^ (bits & 0xff)) * UINT64_C(0x100000001B3);
}

static void add_work(const struct cluster_effect *effect)
{
    struct actor *actor = ops_rules_actor(effect->pool, effect->container);

    if (effect->kind == CLUSTER_EFFECT_BEGIN) {
        ops_rules_begins(effect);
        actor->up = true;
        actor->begun = actor->released = false;
        ops_rules_figures.begins++;
    }
    if (world.works_count == WORKS)
        abort();
    world.works[world.works_count++] = (struct work){*effect, false};
}

static void carry_out(const struct cluster_effect *effect)
{
    mix(effect->kind);
    mix(effect->number);
    mix(effect->id);
    mix(effect->at_ns);
    mix(effect->token);
    mix((uint64_t)effect->status << 32 | effect->container);
    switch (effect->kind) {
    case CLUSTER_EFFECT_TIMER:
        if (effect->at_ns <= world.now && effects.count < CLUSTER_EFFECTS_MAX)
            ops_rules_broke("timer: what was due is not done");
        world.timer = effect->at_ns;
        break;
    case CLUSTER_EFFECT_RANGE:
        world.wants_reading = true;
        break;
    case CLUSTER_EFFECT_TXN:
        if (world.transaction.txn)
            ops_rules_broke("written: two transactions at a time");
        world.transaction = (struct transaction){.txn = effect->txn, .id = effect->id};
        break;
    case CLUSTER_EFFECT_BEGIN:
    case CLUSTER_EFFECT_REMOVE:
        add_work(effect);
        break;
    case CLUSTER_EFFECT_RELEASE:
        ops_rules_releases(effect);
        break;
    case CLUSTER_EFFECT_HOLD:
        ops_rules_actor(effect->pool, effect->container)->released = false;
        break;
    case CLUSTER_EFFECT_ORDERED:
        ops_rules_ordered(effect);
        break;
    default:
        break;
    }
}

int ops_effects_tell(struct cluster_event event)
{
    int status;
    bool more = true;

    event.now_ns = world.now;
    ops_rules_figures.events++;
    status = cluster_core_step(world.core, &event, &effects);
    while (more && !world.broken) {
        more = effects.count == CLUSTER_EFFECTS_MAX;
        for (uint32_t i = 0; i < effects.count; i++)
            carry_out(&effects.effects[i]);
        if (more)
            (void)cluster_core_step(world.core, &(struct cluster_event){.now_ns = world.now},
                                    &effects);
    }
    return status;
}
