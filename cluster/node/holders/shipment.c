/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/holders/shipment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

#define RULE  "cluster.copy.ship"
#define AHEAD ((uint64_t)CLUSTER_COPY_SHIPMENTS_AHEAD * CLUSTER_COPY_BODY_PIECE)

const struct hub_states cluster_shipment_states = {
    "shipment",
    {[CLUSTER_SHIPMENT_WAITING] = {"Waiting", HUB_TO(CLUSTER_SHIPMENT_SENDING)},
     [CLUSTER_SHIPMENT_SENDING] = {"Sending", HUB_TO(CLUSTER_SHIPMENT_WAITING) |
                                                  HUB_TO(CLUSTER_SHIPMENT_SENT)},
     [CLUSTER_SHIPMENT_SENT] = {"Sent",
                                HUB_TO(CLUSTER_SHIPMENT_WAITING) | HUB_TO(CLUSTER_SHIPMENT_KEPT)},
     [CLUSTER_SHIPMENT_KEPT] = {"Kept", 0}}};

struct cluster_shipment *cluster_shipment_new(struct cluster_peer_links *links,
                                              const struct cluster_copy_shipment_order *order,
                                              const struct cluster_holders_row *row, uint32_t own)
{
    const struct rapahub_bytes state = order->copy.state, dedup = order->copy.dedup;
    uint64_t size = state.size + dedup.size;
    struct cluster_shipment *shipment = malloc(sizeof *shipment + size);

    if (!shipment)
        return NULL;
    *shipment = (struct cluster_shipment){.links = links,
                                          .pool = order->pool,
                                          .container = order->container,
                                          .size = size,
                                          .copy = order->copy,
                                          .deadline_ns = order->deadline_ns,
                                          .on_done = order->on_done,
                                          .user = order->user};
    shipment->copy.state.data = shipment->copy.dedup.data = NULL;
    shipment->alarm_ns = hub_clock_after(CLUSTER_COPY_SHIPMENTS_ALARM_NS);
    if (state.size > 0)
        memcpy(shipment->bytes, state.data, state.size);
    if (dedup.size > 0)
        memcpy(shipment->bytes + state.size, dedup.data, dedup.size);
    for (uint32_t i = 0; i < row->count; i++)
        if (row->nodes[i] != own)
            shipment->targets[shipment->count++].node = row->nodes[i];
    if (row->joining != 0 && row->joining != own)
        shipment->targets[shipment->count++].node = row->joining;
    return shipment;
}

void cluster_shipment_move(struct cluster_shipment_target *target, enum cluster_shipment_state to,
                           const char *why)
{
    hub_states_move(&cluster_shipment_states, &target->state, to, "shipment", why);
}

void cluster_shipment_end(struct cluster_shipment *shipment, int status, const char *text)
{
    if (shipment->ended)
        return;
    shipment->ended = true;
    shipment->status = status;
    snprintf(shipment->text, sizeof shipment->text, "%s", text);
}

static void look_whether_kept(struct cluster_shipment *shipment)
{
    for (uint32_t i = 0; i < shipment->count; i++)
        if (shipment->targets[i].state != CLUSTER_SHIPMENT_KEPT)
            return;
    cluster_shipment_end(shipment, 0, "");
}

/* ---- pieces ---- */

static void compute_digest(struct cluster_shipment *shipment)
{
    struct cluster_digest digest;

    if (shipment->has_digest)
        return;
    if (cluster_digest_begin(&digest) < 0) {
        cluster_shipment_end(shipment, RAPAHUB_ENOMEM, "no memory for a digest");
        return;
    }
    cluster_digest_add(&digest, shipment->bytes, shipment->size);
    cluster_digest_end(&digest, shipment->digest);
    shipment->has_digest = true;
}

/* Returns false where it cannot be sent: the link ends, which `lost` tells. */
static bool send_piece(struct cluster_shipment *shipment, struct cluster_shipment_target *target)
{
    const struct cluster_copy *copy = &shipment->copy;
    uint64_t left = shipment->size - target->sent;
    struct cluster_body body = {.copy_put = {.pool = shipment->pool,
                                             .container = shipment->container,
                                             .token = copy->token,
                                             .seq = copy->seq,
                                             .base_token = copy->base_token,
                                             .base_seq = copy->base_seq,
                                             .module = copy->module,
                                             .state_version = copy->state_version,
                                             .state_size = copy->state.size,
                                             .dedup_size = copy->dedup.size,
                                             .offset = target->sent}};

    body.copy_put.piece =
        (struct rapahub_bytes){shipment->bytes + target->sent,
                               left < CLUSTER_COPY_BODY_PIECE ? left : CLUSTER_COPY_BODY_PIECE};
    if (body.copy_put.piece.size == left) {
        compute_digest(shipment);
        body.copy_put.digest = (struct rapahub_bytes){shipment->digest, sizeof shipment->digest};
    }
    if (cluster_peer_links_put(shipment->links, target->node, CLUSTER_FRAME_COPY_PUT, &body) < 0) {
        rapahub_clear_error();
        return false;
    }
    target->sent += body.copy_put.piece.size;
    return true;
}

static bool is_all_sent(const struct cluster_shipment *shipment,
                        const struct cluster_shipment_target *target)
{
    return target->sent == shipment->size;
}

static void send_some(struct cluster_shipment *shipment, struct cluster_shipment_target *target)
{
    do {
        if (!send_piece(shipment, target)) {
            cluster_shipment_move(target, CLUSTER_SHIPMENT_WAITING, "no link");
            target->after_ns = hub_clock_after(CLUSTER_SHIPMENT_LATER_NS);
            return;
        }
        if (is_all_sent(shipment, target)) {
            cluster_shipment_move(target, CLUSTER_SHIPMENT_SENT, "its last piece");
            return;
        }
    } while (target->sent - target->taken < AHEAD);
}

void cluster_shipment_send(struct cluster_shipment *shipment,
                           struct cluster_shipment_target *target)
{
    target->sent = target->taken = 0;
    cluster_shipment_move(target, CLUSTER_SHIPMENT_SENDING, "its turn");
    send_some(shipment, target);
}

struct cluster_shipment_target *cluster_shipment_target(struct cluster_shipment *shipment,
                                                        uint32_t node)
{
    for (uint32_t i = 0; i < shipment->count; i++)
        if (shipment->targets[i].node == node)
            return &shipment->targets[i];
    return NULL;
}

static void forget_target(struct cluster_shipment *shipment, uint32_t at)
{
    for (uint32_t i = at + 1; i < shipment->count; i++)
        shipment->targets[i - 1] = shipment->targets[i];
    shipment->count--;
}

/* r[impl cluster.copy.named] */
void cluster_shipment_look(struct cluster_shipment *shipment, const struct cluster_holders_row *row)
{
    for (uint32_t i = shipment->count; i-- > 0;)
        if (!row || !cluster_holders_waits_for(row, shipment->targets[i].node))
            forget_target(shipment, i);
    look_whether_kept(shipment);
}

static int refuse(uint32_t from)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "node %" PRIu32 " says of a copy what cannot be",
                        from);
}

/* A holder that had some of it from before the link was lost goes on from there. */
static int take_more(struct cluster_shipment *shipment, struct cluster_shipment_target *target,
                     uint64_t offset)
{
    if (offset >= shipment->size ||
        (target->state == CLUSTER_SHIPMENT_SENT && offset > target->sent))
        return refuse(target->node);
    if (offset > target->taken)
        target->taken = offset;
    if (target->state != CLUSTER_SHIPMENT_SENDING)
        return 0;
    if (offset > target->sent)
        target->sent = offset;
    if (target->sent - target->taken < AHEAD)
        send_some(shipment, target);
    return 0;
}

static void refused(struct cluster_shipment *shipment, uint32_t node, struct rapahub_string text)
{
    char why[CLUSTER_SHIPMENT_TEXT_MAX];

    snprintf(why, sizeof why, "node %" PRIu32 " does not keep it: %.*s", node, (int)text.size,
             text.data ? text.data : "");
    cluster_shipment_end(shipment, RAPAHUB_ESTALE, why);
}

/* r[impl cluster.copy.taken] */
int cluster_shipment_taken(struct cluster_shipment *shipment,
                           struct cluster_shipment_target *target,
                           const struct cluster_body_copy_taken *taken)
{
    switch ((enum cluster_copy_taken)taken->how) {
    case CLUSTER_COPY_TAKEN_MORE:
        return take_more(shipment, target, taken->offset);
    case CLUSTER_COPY_TAKEN_KEPT:
        if (target->state != CLUSTER_SHIPMENT_SENT)
            return refuse(target->node);
        cluster_shipment_move(target, CLUSTER_SHIPMENT_KEPT, "it keeps it");
        look_whether_kept(shipment);
        return 0;
    case CLUSTER_COPY_TAKEN_WHOLE:
        if (shipment->copy.base_token == 0)
            return refuse(target->node);
        shipment->whole = true;
        cluster_shipment_end(shipment, RAPAHUB_ESTALE,
                             "a holder has no copy that these changes follow");
        return 0;
    case CLUSTER_COPY_TAKEN_LATER:
        cluster_shipment_move(target, CLUSTER_SHIPMENT_WAITING, "later");
        target->after_ns = hub_clock_after(CLUSTER_SHIPMENT_LATER_NS);
        return 0;
    default:
        refused(shipment, target->node, taken->text);
        return 0;
    }
}
