/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/runner_effects.h"

#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/core/dispatch.h"
#include "cluster/node/node_peering.h"
#include "cluster/node/runner.h"
#include "hub/base/check.h"
#include "hub/base/own.h"

static void set_timer(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    runner->timer_ns = effect->at_ns;
}

static void read_map(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    (void)effect;
    cluster_map_reading_begin(&runner->reading);
}

static void run_call(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_router_run(runner->router, effect);
}

static void tell_each(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_router_each(runner->router, effect);
}

static void answer_call(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_router_answer(runner->router, effect);
}

static void drop_body(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_buffers_drop(runner->buffers, effect->payload);
}

static void tell_stored(struct cluster_runner *runner, uint64_t id, int status, uint64_t revision)
{
    const struct cluster_event event = {
        .kind = CLUSTER_EVENT_STORE, .id = id, .status = status, .revision = revision};

    if (cluster_event_queue_add(runner->events, &event) < 0)
        cluster_event_queue_lose(runner->events);
}

struct stored {
    struct cluster_runner *runner;
    uint64_t id;
};

static void on_stored(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                      size_t count)
{
    OWN(hub_memory) struct stored *stored = user;

    (void)gets;
    (void)count;
    tell_stored(stored->runner, stored->id, status, rev);
}

static void store(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    struct stored *stored = malloc(sizeof *stored);

    if (stored) {
        *stored = (struct stored){runner, effect->id};
        if (cluster_marker_submit(runner->boot->marker, effect->txn, on_stored, stored) == 0)
            return;
    }
    free(stored);
    rapahub_clear_error();
    tell_stored(runner, effect->id, CLUSTER_TXN_NOT_APPLIED, 0);
}

static void begin_container(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_container_steps_begin(runner->steps, effect);
}

static void hold_container(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_container_steps_hold(runner->steps, effect, effect->kind == CLUSTER_EFFECT_HOLD);
}

static void remove_container(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_container_steps_remove(runner->steps, effect);
}

static void copy_state(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_container_steps_copy(runner->steps, effect);
}

static void end_order(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_services_ordered(runner->services, effect);
}

static void send_frame(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_peering_send(runner->peering, effect);
}

static void report_step(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_node_peering_report(runner, effect);
}

static void report_held(struct cluster_runner *runner, const struct cluster_effect *effect)
{
    cluster_copy_links_held(runner->copies, effect);
}

static void (*const carry_out[CLUSTER_EFFECT_KINDS])(struct cluster_runner *runner,
                                                     const struct cluster_effect *effect) = {
    [CLUSTER_EFFECT_TIMER] = set_timer,
    [CLUSTER_EFFECT_RANGE] = read_map,
    [CLUSTER_EFFECT_RUN] = run_call,
    [CLUSTER_EFFECT_EACH] = tell_each,
    [CLUSTER_EFFECT_ANSWER] = answer_call,
    [CLUSTER_EFFECT_DROP] = drop_body,
    [CLUSTER_EFFECT_TXN] = store,
    [CLUSTER_EFFECT_BEGIN] = begin_container,
    [CLUSTER_EFFECT_HOLD] = hold_container,
    [CLUSTER_EFFECT_RELEASE] = hold_container,
    [CLUSTER_EFFECT_REMOVE] = remove_container,
    [CLUSTER_EFFECT_ORDERED] = end_order,
    [CLUSTER_EFFECT_COPY] = copy_state,
    [CLUSTER_EFFECT_SEND] = send_frame,
    [CLUSTER_EFFECT_REPORT] = report_step,
    [CLUSTER_EFFECT_HELD] = report_held};

void cluster_runner_effects_carry_out(struct cluster_runner *runner)
{
    for (uint32_t i = 0; i < runner->effects->count; i++) {
        const struct cluster_effect *effect = &runner->effects->effects[i];

        CHECK(effect->kind < CLUSTER_EFFECT_KINDS && carry_out[effect->kind]);
        carry_out[effect->kind](runner, effect);
    }
}

/* ---- a snapshot of the map ---- */

static void on_snapshot(void *user, struct cluster_disk_result *result)
{
    (void)user;
    if (result->status < 0)
        rapahub_log(RAPAHUB_LOG_WARN, "node", "no snapshot of the map: %s", result->text);
}

void cluster_runner_effects_snapshot(struct cluster_runner *runner)
{
    const struct cluster_dispatch *parts = cluster_core_parts(runner->core);
    uint32_t count = cluster_address_map_count(parts->map), place = 0, at = 0;
    struct cluster_delta_change *entries = calloc(count > 0 ? count : 1, sizeof *entries);
    const struct cluster_address *address;

    runner->watch.wants_snapshot = false;
    if (!entries)
        return;
    while (at < count && (address = cluster_address_map_after(parts->map, &place)))
        entries[at++] = (struct cluster_delta_change){
            .pool = address->pool, .container = address->container, .entry = address->entry};
    if (cluster_store_thread_snapshot(
            runner->disk, &(struct cluster_disk_entries){parts->catch_up.revision, entries, at},
            on_snapshot, NULL) < 0) {
        rapahub_clear_error(); /* it is asked for again with the next delta */
        free(entries);
    }
}
