/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/calls/peering.h"

#include <errno.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/core/base/peer_frame.h"
#include "cluster/wire/body.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define OVERHEAD 4096 /* bytes of a body beside the arguments, the answer or the text, at most */

struct cluster_peering {
    struct cluster_peering_parts parts;
};

int cluster_peering_create(const struct cluster_peering_parts *parts, struct cluster_peering **out)
{
    struct cluster_peering *peering = calloc(1, sizeof *peering);

    *out = peering;
    if (!peering)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the calls between nodes");
    peering->parts = *parts;
    return 0;
}

void cluster_peering_release(struct cluster_peering **peering)
{
    free(*peering);
    *peering = NULL;
}

/* ---- frames that go ---- */

static int put_frame(const struct cluster_peering *peering, const struct cluster_peer_frame *frame,
                     struct rapahub_bytes body)
{
    const struct cluster_peering_links *links = peering->parts.links;
    size_t size = body.size + OVERHEAD;
    OWN(hub_memory) uint8_t *bytes = NULL;
    struct cluster_frame header;
    struct hub_writer writer;
    int status;

    if (!links->send)
        return rapahub_fail(-ENOTCONN, "", "this node has no links to others");
    bytes = malloc(size);
    if (!bytes)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a frame of %zu bytes", size);
    hub_writer_init(&writer, bytes, size);
    status = cluster_peer_frame_put(frame, body, hub_clock_now(), &header, &writer);
    return status < 0 ? status
                      : links->send(links->user, frame->node, &header,
                                    (struct rapahub_bytes){bytes, writer.size});
}

static void tell(struct cluster_peering *peering, const struct cluster_event *event)
{
    if (cluster_event_queue_add(peering->parts.events, event) < 0)
        cluster_event_queue_lose(peering->parts.events);
}

static void end_link(struct cluster_peering *peering, uint32_t node)
{
    const struct cluster_peering_links *links = peering->parts.links;

    if (links->end)
        links->end(links->user, node);
}

/* The node would have said this to a call that did not get there. */
static struct cluster_peer_frame answer_to(const struct cluster_peer_frame *call, uint8_t type)
{
    return (struct cluster_peer_frame){.type = type,
                                       .node = call->node,
                                       .attempt = call->attempt,
                                       .uid = call->uid,
                                       .pool = call->pool,
                                       .container = call->container,
                                       .token = call->token,
                                       .lineage = call->lineage};
}

static void tell_answer(struct cluster_peering *peering, const struct cluster_peer_frame *frame,
                        struct rapahub_bytes text)
{
    tell(peering, &(struct cluster_event){.kind = CLUSTER_EVENT_ARRIVED,
                                          .node = frame->node,
                                          .frame = frame,
                                          .body = {.bytes = text, .size = text.size}});
}

static struct rapahub_bytes too_large(void)
{
    static const char text[] = "it is larger than a link between nodes takes";

    return (struct rapahub_bytes){text, sizeof text - 1};
}

/* The call was not admitted: it is tried again, or could never get there. */
static void fail_call(struct cluster_peering *peering, const struct cluster_peer_frame *call,
                      int status)
{
    struct cluster_peer_frame answer = answer_to(call, CLUSTER_FRAME_NACK);

    answer.reason = CLUSTER_NACK_BUSY;
    if (status != RAPAHUB_EMSGSIZE) {
        tell_answer(peering, &answer, (struct rapahub_bytes){NULL, 0});
        return;
    }
    answer = answer_to(call, CLUSTER_FRAME_RESULT);
    answer.status = status;
    tell_answer(peering, &answer, too_large());
}

/* The other node waits for it. */
static void fail_answer(struct cluster_peering *peering, const struct cluster_peer_frame *frame,
                        int status)
{
    struct cluster_peer_frame instead = *frame;

    instead.status = status;
    instead.application = 0;
    if (frame->type != CLUSTER_FRAME_RESULT || status != RAPAHUB_EMSGSIZE ||
        put_frame(peering, &instead, too_large()) < 0)
        end_link(peering, frame->node);
}

/* r[impl cluster.node.unsent] */
static void fail(struct cluster_peering *peering, const struct cluster_peer_frame *frame,
                 int status)
{
    rapahub_log(RAPAHUB_LOG_DEBUG, "node", "a %s to node %u is not sent: %s",
                cluster_frame_name(frame->type), frame->node, rapahub_last_error()->text);
    rapahub_clear_error();
    if (status == -ENOTCONN)
        cluster_peering_lost(peering, frame->node);
    else if (frame->type == CLUSTER_FRAME_CALL)
        fail_call(peering, frame, status);
    else
        fail_answer(peering, frame, status);
}

void cluster_peering_send(struct cluster_peering *peering, const struct cluster_effect *effect)
{
    struct rapahub_bytes body = effect->payload != 0
                                    ? cluster_buffers_bytes(peering->parts.buffers, effect->payload)
                                    : effect->body;
    int status = put_frame(peering, effect->frame, body);

    if (status < 0)
        fail(peering, effect->frame, status);
}

/* ---- frames that come ---- */

void cluster_peering_refused(struct cluster_peering *peering, const struct cluster_event *event)
{
    cluster_buffers_drop(peering->parts.buffers, event->body.number);
    rapahub_log(RAPAHUB_LOG_WARN, "node", "the link to node %u ends: %s", event->frame->node,
                rapahub_last_error()->text);
    end_link(peering, event->frame->node);
}

/* There is no room for a call of another node, which is to try it again. */
static int refuse_call(struct cluster_peering *peering, const struct cluster_peer_frame *call)
{
    struct cluster_peer_frame nack = answer_to(call, CLUSTER_FRAME_NACK);

    nack.reason = CLUSTER_NACK_BUSY;
    return put_frame(peering, &nack, (struct rapahub_bytes){NULL, 0});
}

/* r[impl cluster.node.frames] */
int cluster_peering_frame(void *user, uint32_t from, const struct cluster_frame *header,
                          struct rapahub_bytes body)
{
    struct cluster_peering *peering = user;
    const struct cluster_peer_frame_came came = {from, header, body};
    struct cluster_peer_frame frame;
    struct cluster_event event = {.kind = CLUSTER_EVENT_ARRIVED, .node = from, .frame = &frame};
    struct rapahub_bytes view;
    int status = cluster_peer_frame_read(&came, hub_clock_now(), &frame, &view);

    if (status < 0)
        return status;
    status = cluster_buffers_keep(peering->parts.buffers, view, &event.body);
    if (status == 0) {
        status = cluster_event_queue_add(peering->parts.events, &event);
        if (status < 0)
            cluster_buffers_drop(peering->parts.buffers, event.body.number);
    }
    return status < 0 && frame.type == CLUSTER_FRAME_CALL ? refuse_call(peering, &frame) : status;
}

/* ---- links ---- */

void cluster_peering_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    (void)boot;
    tell(user, &(struct cluster_event){.kind = CLUSTER_EVENT_PEER,
                                       .change = CLUSTER_PEER_UP,
                                       .node = node,
                                       .session = session});
}

void cluster_peering_lost(void *user, uint32_t node)
{
    tell(user, &(struct cluster_event){
                   .kind = CLUSTER_EVENT_PEER, .change = CLUSTER_PEER_LOST, .node = node});
}
