/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/peer_frame.h"

#include <rapahub/error.h>

#include "cluster/wire/body.h"

#define US 1000 /* ns */

/* ---- writing ---- */

static struct rapahub_string text_of(struct rapahub_bytes body)
{
    size_t size = body.size < CLUSTER_BODY_TEXT_MAX ? body.size : CLUSTER_BODY_TEXT_MAX;

    return (struct rapahub_string){body.data, size};
}

static void fill_call(const struct cluster_peer_frame *frame, struct rapahub_bytes body,
                      uint64_t now_ns, struct cluster_body_call *out)
{
    uint64_t left = frame->deadline_ns > now_ns ? frame->deadline_ns - now_ns : 0;

    *out = (struct cluster_body_call){
        .class = frame->repeat ? CLUSTER_CLASS_REPEAT : CLUSTER_CLASS_ONCE,
        .maybe = frame->maybe,
        .mode = frame->pinned ? CLUSTER_MODE_PHYSICAL : CLUSTER_MODE_DIRECT,
        .number = frame->pinned ? frame->node : 0,
        .lineage = frame->lineage,
        .left_us = left / US,
        .method_id = frame->method,
        .root_origin = frame->chain,
        .root_number = frame->chain != 0,
        .order = frame->order,
        .order_prev = frame->order != 0 ? frame->order_previous : 0,
        .done_below = frame->done_below,
        .arguments = body};
}

static void fill_result(const struct cluster_peer_frame *frame, struct rapahub_bytes body,
                        struct cluster_body_result *out)
{
    *out = (struct cluster_body_result){
        .status = frame->status, .application = frame->application, .lineage = frame->lineage};
    if (frame->status == 0)
        out->payload = body;
    else
        out->text = text_of(body);
}

static void fill_nack(const struct cluster_peer_frame *frame, struct rapahub_bytes body,
                      struct cluster_body_nack *out)
{
    *out = (struct cluster_body_nack){.reason = frame->reason,
                                      .owner = frame->owner,
                                      .epoch = frame->epoch,
                                      .lineage = frame->lineage,
                                      .text = text_of(body)};
}

/* r[impl cluster.peer.frames] */
int cluster_peer_frame_put(const struct cluster_peer_frame *frame, struct rapahub_bytes body,
                           uint64_t now_ns, struct cluster_frame *header, struct hub_writer *writer)
{
    struct cluster_body filled = {.nack = {.reason = 0}};
    size_t before = writer->size;
    int status;

    if (frame->type == CLUSTER_FRAME_CALL)
        fill_call(frame, body, now_ns, &filled.call);
    else if (frame->type == CLUSTER_FRAME_RESULT)
        fill_result(frame, body, &filled.result);
    else if (frame->type == CLUSTER_FRAME_NACK)
        fill_nack(frame, body, &filled.nack);
    status = cluster_body_put(writer, frame->type, &filled);
    *header = (struct cluster_frame){.body_size = (uint32_t)(writer->size - before),
                                     .type = frame->type,
                                     .ttl = frame->ttl,
                                     .attempt = (uint8_t)frame->attempt,
                                     .uid = frame->uid,
                                     .pool = frame->pool,
                                     .container = frame->container,
                                     .replica = frame->attempt >> 8,
                                     .token = frame->token,
                                     .revision = frame->revision};
    return status;
}

/* ---- reading ---- */

/* FNV-1a: it tells two calls apart that have one uid. */
static uint64_t digest_of(struct rapahub_bytes arguments)
{
    uint64_t digest = UINT64_C(0xCBF29CE484222325);
    const uint8_t *at = arguments.data;

    for (size_t i = 0; i < arguments.size; i++)
        digest = (digest ^ at[i]) * UINT64_C(0x100000001B3);
    return digest;
}

static uint64_t deadline_of(uint64_t now_ns, uint64_t left_us)
{
    uint64_t most = UINT64_MAX - 1 - now_ns;

    return left_us > most / US ? UINT64_MAX - 1 : now_ns + left_us * US;
}

static int refuse(const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.peer.frames", "a frame of a node %s", why);
}

/* r[impl cluster.peer.frames] */
static int take_call(const struct cluster_body_call *call, uint64_t now_ns,
                     struct cluster_peer_frame *out)
{
    if (call->mode != CLUSTER_MODE_DIRECT && call->mode != CLUSTER_MODE_PHYSICAL)
        return refuse("has a call that was not resolved");
    if (out->token == 0)
        return refuse("has a call for no life of its container");
    if (call->sources != 0 || call->sinks != 0 || call->members.count != 0)
        return refuse("has a call with what goes between clients and nodes alone");
    out->repeat = call->class == CLUSTER_CLASS_REPEAT;
    out->maybe = call->maybe;
    out->pinned = call->mode == CLUSTER_MODE_PHYSICAL;
    out->lineage = call->lineage;
    out->deadline_ns = deadline_of(now_ns, call->left_us);
    out->method = call->method_id;
    out->chain = call->root_number != 0 ? call->root_origin : 0;
    out->order = call->order;
    out->order_previous = call->order_prev;
    out->done_below = call->done_below;
    out->digest = digest_of(call->arguments);
    return 0;
}

static int take_result(const struct cluster_body_result *result, struct cluster_peer_frame *out)
{
    if (result->status > 0)
        return refuse("has a result whose status is none");
    out->status = result->status;
    out->application = result->application;
    out->lineage = result->lineage;
    return 0;
}

static void take_nack(const struct cluster_body_nack *nack, struct cluster_peer_frame *out)
{
    out->reason = nack->reason;
    out->owner = nack->owner;
    out->epoch = nack->epoch;
    out->lineage = nack->lineage;
}

static struct rapahub_bytes bytes_of(struct rapahub_string text)
{
    return (struct rapahub_bytes){text.data, text.size};
}

/* Takes what is of the type. A CANCEL has no body. */
static int take_body(const struct cluster_body *read, uint64_t now_ns,
                     struct cluster_peer_frame *out, struct rapahub_bytes *body)
{
    switch (out->type) {
    case CLUSTER_FRAME_CALL:
        *body = read->call.arguments;
        return take_call(&read->call, now_ns, out);
    case CLUSTER_FRAME_RESULT:
        *body = read->result.status == 0 ? read->result.payload : bytes_of(read->result.text);
        return take_result(&read->result, out);
    case CLUSTER_FRAME_NACK:
        *body = bytes_of(read->nack.text);
        take_nack(&read->nack, out);
        return 0;
    default:
        return 0;
    }
}

int cluster_peer_frame_read(const struct cluster_peer_frame_came *came, uint64_t now_ns,
                            struct cluster_peer_frame *out, struct rapahub_bytes *body)
{
    const struct cluster_frame *header = came->header;
    struct cluster_body read;
    int status;

    *body = (struct rapahub_bytes){NULL, 0};
    *out = (struct cluster_peer_frame){.node = came->from,
                                       .type = header->type,
                                       .ttl = header->ttl,
                                       .attempt = header->replica << 8 | header->attempt,
                                       .uid = header->uid,
                                       .pool = header->pool,
                                       .container = header->container,
                                       .token = header->token,
                                       .revision = header->revision};
    if (header->type != CLUSTER_FRAME_CALL && header->type != CLUSTER_FRAME_RESULT &&
        header->type != CLUSTER_FRAME_NACK && header->type != CLUSTER_FRAME_CANCEL)
        return refuse("is none of a call");
    if (!cluster_ids_is_pool(header->pool))
        return refuse("is of no pool of the cluster");
    status = cluster_body_read(header->type, came->body, &read);
    return status < 0 ? status : take_body(&read, now_ns, out, body);
}
