/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/lead_effects.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/bytes.h"
#include "tests/simulation/cluster/lead_rules.h"

#define world lead_rules_world
#define draw  lead_rules_draw
#define broke lead_rules_broke

/* ---- reports ---- */

static void add_told(struct told *told, uint64_t after)
{
    if (world.reports_count == TOLD)
        return;
    told->at_ns = world.now + after;
    world.reports[world.reports_count++] = *told;
}

/* A report that is repeated may come after its link is gone, and after its node is. */
static void send_report(uint32_t n, const struct cluster_effect *effect)
{
    const struct cluster_body body = {.step_done = {.pool = effect->pool,
                                                    .container = effect->container,
                                                    .epoch = effect->epoch,
                                                    .step = effect->how,
                                                    .status = effect->status,
                                                    .text = effect->text}};
    struct told told = {.from = n, .link = world.node[n].link, .session = world.node[n].session};
    struct hub_writer writer;

    lead_rules_figures.reports++;
    hub_writer_init(&writer, told.bytes, sizeof told.bytes);
    if (n == LEADER || effect->number != LEADER ||
        cluster_body_put(&writer, CLUSTER_FRAME_STEP_DONE, &body) < 0) {
        broke("leads: a report of node %u is none", n);
        return;
    }
    told.size = (uint32_t)writer.size;
    if (told.link == 0 || lead_rules_fails(15)) {
        lead_rules_figures.lost++;
        return;
    }
    add_told(&told, draw(world.healed ? 1 : 60) * MS);
    if (!lead_rules_fails(8))
        return;
    lead_rules_figures.repeated++;
    told.link = 0;
    add_told(&told, draw(20000) * MS);
}

static void take(const struct told *told)
{
    struct cluster_body body;

    if (cluster_body_read(CLUSTER_FRAME_STEP_DONE, (struct rapahub_bytes){told->bytes, told->size},
                          &body) < 0)
        abort();
    if (world.node[LEADER].core && (told->link == 0 || told->link == world.node[told->from].link) &&
        lead_effects_tell(LEADER, (struct cluster_event){.kind = CLUSTER_EVENT_REPORTED,
                                                         .node = told->from,
                                                         .session = told->session,
                                                         .done = &body.step_done}) < 0)
        lead_rules_figures.stale++;
}

void lead_effects_deliver(void)
{
    static struct told told;

    for (uint32_t i = 0; i < world.reports_count && !world.broken; i++)
        if (world.reports[i].at_ns <= world.now) {
            told = world.reports[i];
            world.reports[i--] = world.reports[--world.reports_count];
            take(&told);
        }
}

uint64_t lead_effects_next(void)
{
    uint64_t next = UINT64_MAX;

    for (uint32_t i = 0; i < world.reports_count; i++)
        next = world.reports[i].at_ns < next ? world.reports[i].at_ns : next;
    return next;
}

/* A node tells of a container that it does not hold, or of another epoch than the entry's. */
void lead_effects_forge(uint32_t n)
{
    const struct container *of =
        world.containers_count > 0 ? &world.containers[draw(world.containers_count)] : NULL;
    struct cluster_body_step_done done = {.step = (uint8_t)(1 + draw(CLUSTER_STEPS - 1))};
    struct cluster_entry entry;

    if (!of || n == LEADER || !world.node[LEADER].core ||
        !lead_rules_entry(of->pool, of->container, &entry))
        return;
    done.pool = of->pool;
    done.container = of->container;
    done.epoch = entry.epoch;
    if (cluster_entry_holder(&entry) == n)
        done.epoch += 1 + draw(3);
    lead_rules_figures.forged++;
    (void)lead_effects_tell(LEADER, (struct cluster_event){.kind = CLUSTER_EVENT_REPORTED,
                                                           .node = n,
                                                           .session = world.node[n].session,
                                                           .done = &done});
}

/* ---- effects ---- */

static void add_work(uint32_t n, const struct cluster_effect *effect)
{
    if (effect->kind == CLUSTER_EFFECT_BEGIN)
        lead_rules_begins(n, effect);
    if (world.works_count == WORKS)
        abort();
    world.works[world.works_count++] = (struct work){*effect, n, false};
}

static void add_txn(uint32_t n, const struct cluster_effect *effect)
{
    if (n != LEADER)
        broke("leads: node %u writes, and does not lead", n);
    if (world.transaction.txn)
        broke("written: two transactions at a time");
    world.transaction = (struct transaction){.txn = effect->txn, .id = effect->id};
}

static void carry_out(uint32_t n, const struct cluster_effect *effect)
{
    lead_rules_mix((uint64_t)n << 8 | effect->kind);
    lead_rules_mix(effect->number);
    lead_rules_mix(effect->id);
    lead_rules_mix(effect->at_ns);
    lead_rules_mix(effect->token ^ effect->epoch);
    lead_rules_mix((uint64_t)effect->status << 32 | effect->container);
    switch (effect->kind) {
    case CLUSTER_EFFECT_TIMER:
        world.node[n].timer = effect->at_ns;
        break;
    case CLUSTER_EFFECT_RANGE:
        world.node[n].wants_reading = true;
        break;
    case CLUSTER_EFFECT_TXN:
        add_txn(n, effect);
        break;
    case CLUSTER_EFFECT_BEGIN:
    case CLUSTER_EFFECT_REMOVE:
        add_work(n, effect);
        break;
    case CLUSTER_EFFECT_RELEASE:
        lead_rules_releases(n, effect);
        break;
    case CLUSTER_EFFECT_HOLD:
        lead_rules_container(effect->pool, effect->container)->on[n].released = false;
        break;
    case CLUSTER_EFFECT_ORDERED:
        lead_rules_ordered(effect);
        break;
    case CLUSTER_EFFECT_REPORT:
        send_report(n, effect);
        break;
    default:
        break;
    }
}

int lead_effects_tell(uint32_t n, struct cluster_event event)
{
    static struct cluster_effects effects;
    struct node *node = &world.node[n];
    bool more = true;
    int status;

    event.now_ns = world.now;
    lead_rules_figures.events++;
    status = cluster_core_step(node->core, &event, &effects);
    while (more && !world.broken) {
        more = effects.count == CLUSTER_EFFECTS_MAX;
        for (uint32_t i = 0; i < effects.count; i++)
            carry_out(n, &effects.effects[i]);
        if (more)
            (void)cluster_core_step(node->core, &(struct cluster_event){.now_ns = world.now},
                                    &effects);
    }
    return status;
}
