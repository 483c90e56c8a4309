/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/holders/copy_shipments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/core/dispatch.h"
#include "cluster/node/holders/shipment.h"
#include "hub/base/clock.h"

#define RULE "cluster.copy.ship"

struct cluster_copy_shipments {
    const struct cluster_dispatch *core;
    struct cluster_peer_links *links;
    struct hub_list all; /* in their order */
    uint64_t bytes;
    bool hurries, stopped;
};

#define SHIPMENT_OF(at) HUB_LIST_ITEM(at, struct cluster_shipment, link)

int cluster_copy_shipments_create(const struct cluster_core *core, struct cluster_peer_links *links,
                                  struct cluster_copy_shipments **out)
{
    struct cluster_copy_shipments *shipments = calloc(1, sizeof *shipments);

    *out = shipments;
    if (!shipments)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for copies that go to other nodes");
    shipments->core = cluster_core_parts(core);
    shipments->links = links;
    hub_list_init(&shipments->all);
    return 0;
}

void cluster_copy_shipments_release(struct cluster_copy_shipments **shipments)
{
    free(*shipments);
    *shipments = NULL;
}

static const struct cluster_holders_row *record_of(const struct cluster_copy_shipments *shipments,
                                                   uint64_t pool, uint32_t container)
{
    return cluster_holders_find(shipments->core->holders, pool, container);
}

/* ---- its turn ---- */

static bool is_under_way(const struct cluster_shipment_target *target)
{
    return target->state == CLUSTER_SHIPMENT_SENDING || target->state == CLUSTER_SHIPMENT_SENT;
}

static void count_under_way(struct cluster_shipment *shipment, uint32_t node, uint32_t *open,
                            uint32_t *large)
{
    const struct cluster_shipment_target *target = cluster_shipment_target(shipment, node);

    if (!target || shipment->ended)
        return;
    *open += is_under_way(target);
    *large += target->state == CLUSTER_SHIPMENT_SENDING;
}

/* Sends to a node what may be: one large copy at a time, and a number of small ones. All that are
 * under way count, also those that wait longer.
 * r[impl cluster.copy.ship] */
static void pump(struct cluster_copy_shipments *shipments, uint32_t node, uint64_t now_ns)
{
    uint32_t open = 0, large = 0;

    if (cluster_peer_links_session(shipments->links, node) == 0)
        return;
    HUB_LIST_EACH (&shipments->all, at)
        count_under_way(SHIPMENT_OF(at), node, &open, &large);
    HUB_LIST_EACH (&shipments->all, at) {
        struct cluster_shipment *shipment = SHIPMENT_OF(at);
        struct cluster_shipment_target *target = cluster_shipment_target(shipment, node);

        if (!target || shipment->ended || target->state != CLUSTER_SHIPMENT_WAITING ||
            now_ns < target->after_ns || open >= CLUSTER_COPY_SHIPMENTS_OPEN ||
            (large > 0 && shipment->size > CLUSTER_COPY_BODY_PIECE))
            continue;
        cluster_shipment_send(shipment, target);
        count_under_way(shipment, node, &open, &large);
    }
}

/* ---- its end ---- */

/* A node that joins has a whole state, with all that was answered, whether or not others keep it.
 * Whether this node's disk has it the owner of the copy knows. */
static uint32_t find_joined(const struct cluster_copy_shipments *shipments,
                            const struct cluster_shipment *shipment, uint32_t joining)
{
    if (joining == shipments->core->node)
        return joining;
    for (uint32_t i = 0; i < shipment->count; i++)
        if (shipment->targets[i].state == CLUSTER_SHIPMENT_KEPT &&
            shipment->targets[i].node == joining)
            return joining;
    return 0;
}

/* The owner of it may begin another one at once. Where it was under way its place is free. */
static void tell(struct cluster_copy_shipments *shipments, struct cluster_shipment *shipment)
{
    const struct cluster_holders_row *row =
        record_of(shipments, shipment->pool, shipment->container);
    struct cluster_copy_shipment_end end = {
        .status = shipment->status, .text = shipment->text, .whole = shipment->whole};
    uint32_t nodes[CLUSTER_SHIPMENT_TARGETS_MAX], count = 0;

    for (uint32_t i = 0; i < shipment->count; i++)
        if (is_under_way(&shipment->targets[i]))
            nodes[count++] = shipment->targets[i].node;
    if (row)
        end.joined = find_joined(shipments, shipment, row->joining);
    hub_list_remove(&shipment->link);
    shipments->bytes -= shipment->size;
    if (shipment->alarmed && shipment->status == 0)
        rapahub_log(RAPAHUB_LOG_WARN, "node",
                    "container %" PRIu32 " of pool %016" PRIx64
                    " goes on: all holders keep its copy",
                    shipment->container, shipment->pool);
    shipment->on_done(shipment->user, &end);
    free(shipment);
    for (uint32_t i = 0; i < count; i++)
        pump(shipments, nodes[i], hub_clock_now());
}

/* ---- begun ---- */

static bool has_others(const struct cluster_copy_shipments *shipments,
                       const struct cluster_holders_row *row)
{
    return row && (cluster_holders_names_others(row, shipments->core->node) ||
                   (row->joining != 0 && row->joining != shipments->core->node));
}

int cluster_copy_shipments_begin(struct cluster_copy_shipments *shipments,
                                 const struct cluster_copy_shipment_order *order)
{
    const struct cluster_holders_row *row = record_of(shipments, order->pool, order->container);
    uint64_t size = order->copy.state.size + order->copy.dedup.size;
    struct cluster_shipment *shipment;

    if (!has_others(shipments, row))
        return 0;
    if (shipments->stopped)
        return rapahub_fail(-ECANCELED, "", "the node stops");
    if (size > CLUSTER_COPY_BODY_MAX ||
        (shipments->bytes > 0 && shipments->bytes + size > CLUSTER_COPY_SHIPMENTS_BYTES))
        return rapahub_fail(RAPAHUB_EBUSY, RULE,
                            "copies of %" PRIu64
                            " bytes are on their way to other nodes, and %" PRIu64
                            " more are not taken",
                            shipments->bytes, size);
    shipment = cluster_shipment_new(shipments->links, order, row, shipments->core->node);
    if (!shipment)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a copy of %" PRIu64 " bytes", size);
    shipments->bytes += size;
    hub_list_append(&shipments->all, &shipment->link);
    for (uint32_t i = 0; i < shipment->count; i++)
        pump(shipments, shipment->targets[i].node, hub_clock_now());
    return 1;
}

/* ---- the record changes, a life ends ---- */

void cluster_copy_shipments_look(struct cluster_copy_shipments *shipments, uint64_t pool,
                                 uint32_t container)
{
    const struct cluster_holders_row *row = record_of(shipments, pool, container);

    HUB_LIST_EACH (&shipments->all, at)
        if (SHIPMENT_OF(at)->pool == pool && SHIPMENT_OF(at)->container == container)
            cluster_shipment_look(SHIPMENT_OF(at), row);
}

void cluster_copy_shipments_cancel(struct cluster_copy_shipments *shipments, uint64_t pool,
                                   uint32_t container)
{
    HUB_LIST_EACH (&shipments->all, at)
        if (SHIPMENT_OF(at)->pool == pool && SHIPMENT_OF(at)->container == container)
            cluster_shipment_end(SHIPMENT_OF(at), -ECANCELED, "its life has ended");
}

/* ---- the links tell ---- */

void cluster_copy_shipments_up(struct cluster_copy_shipments *shipments, uint32_t node)
{
    HUB_LIST_EACH (&shipments->all, at) {
        struct cluster_shipment_target *target = cluster_shipment_target(SHIPMENT_OF(at), node);

        if (target)
            target->after_ns = 0;
    }
    pump(shipments, node, hub_clock_now());
}

void cluster_copy_shipments_lost(struct cluster_copy_shipments *shipments, uint32_t node)
{
    HUB_LIST_EACH (&shipments->all, at) {
        struct cluster_shipment_target *target = cluster_shipment_target(SHIPMENT_OF(at), node);

        if (target && is_under_way(target))
            cluster_shipment_move(target, CLUSTER_SHIPMENT_WAITING, "the link is lost");
    }
}

static struct cluster_shipment *find(const struct cluster_copy_shipments *shipments,
                                     const struct cluster_body_copy_taken *taken)
{
    HUB_LIST_EACH (&shipments->all, at) {
        struct cluster_shipment *shipment = SHIPMENT_OF(at);

        if (shipment->pool == taken->pool && shipment->container == taken->container &&
            shipment->copy.token == taken->token && shipment->copy.seq == taken->seq &&
            !shipment->ended)
            return shipment;
    }
    return NULL;
}

/* Words about a copy that has ended here are of no use. r[impl cluster.copy.taken] */
int cluster_copy_shipments_taken(struct cluster_copy_shipments *shipments, uint32_t from,
                                 const struct cluster_body_copy_taken *taken)
{
    struct cluster_shipment *shipment = find(shipments, taken);
    struct cluster_shipment_target *target =
        shipment ? cluster_shipment_target(shipment, from) : NULL;
    int status = 0;

    if (target && is_under_way(target))
        status = cluster_shipment_taken(shipment, target, taken);
    if (status == 0)
        pump(shipments, from, hub_clock_now());
    return status;
}

bool cluster_copy_shipments_has(const struct cluster_copy_shipments *shipments, uint64_t pool,
                                uint32_t container, uint32_t node, bool *has)
{
    HUB_LIST_EACH (&shipments->all, at) {
        struct cluster_shipment *shipment = SHIPMENT_OF(at);
        const struct cluster_shipment_target *target = cluster_shipment_target(shipment, node);

        if (shipment->pool != pool || shipment->container != container || !target)
            continue;
        *has = target->state == CLUSTER_SHIPMENT_KEPT;
        return true;
    }
    return false;
}

/* ---- steps ---- */

void cluster_copy_shipments_hurry(struct cluster_copy_shipments *shipments)
{
    shipments->hurries = true;
}

/* r[impl cluster.copy.alarm] */
static void raise_alarm(const struct cluster_copy_shipments *shipments,
                        struct cluster_shipment *shipment, uint32_t node)
{
    const struct cluster_pools_pool *pool =
        cluster_pools_find(shipments->core->pools, shipment->pool);

    shipment->alarmed = true;
    rapahub_log(RAPAHUB_LOG_WARN, "node",
                "ALARM: container %" PRIu32 " of pool '%s' waits for node %" PRIu32
                ", which keeps a copy of its state: %s",
                shipment->container, pool ? pool->name : "?", node,
                cluster_peer_links_session(shipments->links, node) == 0
                    ? "there is no link to it: is it running?"
                    : "it has not said that it has it");
}

static void look_at_time(const struct cluster_copy_shipments *shipments,
                         struct cluster_shipment *shipment, uint64_t now_ns)
{
    char text[CLUSTER_SHIPMENT_TEXT_MAX];

    for (uint32_t i = 0; i < shipment->count && !shipment->ended; i++) {
        const struct cluster_shipment_target *target = &shipment->targets[i];
        bool alone = cluster_peer_links_session(shipments->links, target->node) == 0;

        if (target->state == CLUSTER_SHIPMENT_KEPT)
            continue;
        if (now_ns >= shipment->deadline_ns || (alone && shipments->hurries)) {
            snprintf(text, sizeof text, "node %" PRIu32 " has not said in time that it keeps it",
                     target->node);
            cluster_shipment_end(shipment, RAPAHUB_ETIMEDOUT, text);
        } else if (now_ns >= shipment->alarm_ns && !shipment->alarmed) {
            raise_alarm(shipments, shipment, target->node);
        }
    }
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t due_of(const struct cluster_shipment *shipment)
{
    uint64_t due_ns = shipment->alarmed ? shipment->deadline_ns
                                        : least(shipment->deadline_ns, shipment->alarm_ns);

    for (uint32_t i = 0; i < shipment->count; i++)
        if (shipment->targets[i].state == CLUSTER_SHIPMENT_WAITING &&
            shipment->targets[i].after_ns > 0)
            due_ns = least(due_ns, shipment->targets[i].after_ns);
    return shipment->ended ? 0 : due_ns;
}

static void retry(struct cluster_copy_shipments *shipments, struct cluster_shipment *shipment,
                  uint64_t now_ns)
{
    for (uint32_t i = 0; i < shipment->count; i++) {
        struct cluster_shipment_target *target = &shipment->targets[i];

        if (target->state != CLUSTER_SHIPMENT_WAITING || target->after_ns == 0 ||
            now_ns < target->after_ns)
            continue;
        target->after_ns = 0;
        pump(shipments, target->node, now_ns);
    }
}

static void tell_ended(struct cluster_copy_shipments *shipments)
{
    struct hub_list *at = shipments->all.next;

    while (at != &shipments->all) {
        struct cluster_shipment *shipment = SHIPMENT_OF(at);

        at = at->next;
        if (shipment->ended)
            tell(shipments, shipment);
    }
}

uint64_t cluster_copy_shipments_step(struct cluster_copy_shipments *shipments, uint64_t now_ns)
{
    uint64_t next_ns = HUB_NEVER;

    HUB_LIST_EACH (&shipments->all, at) {
        look_at_time(shipments, SHIPMENT_OF(at), now_ns);
        retry(shipments, SHIPMENT_OF(at), now_ns);
    }
    tell_ended(shipments);
    HUB_LIST_EACH (&shipments->all, at)
        next_ns = least(next_ns, due_of(SHIPMENT_OF(at)));
    return next_ns;
}

void cluster_copy_shipments_stop(struct cluster_copy_shipments *shipments)
{
    if (!shipments)
        return;
    shipments->stopped = true;
    HUB_LIST_EACH (&shipments->all, at)
        cluster_shipment_end(SHIPMENT_OF(at), -ECANCELED, "the node stops");
    tell_ended(shipments);
}
