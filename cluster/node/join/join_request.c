/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/join/join_request.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/link/ask/ask.h"
#include "cluster/link/tls_context.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

static int take_refusal(const struct cluster_body_close *body)
{
    return rapahub_fail(body->code < 0 ? body->code : RAPAHUB_EPROTOCOL, "", "%.*s",
                        (int)body->text.size, body->text.data);
}

static void copy_answer(const struct cluster_body_join_ok *ok, struct cluster_join_answer *out)
{
    out->node = ok->node;
    out->revision = ok->revision;
    memcpy(out->cluster, ok->cluster.data, sizeof out->cluster);
    snprintf(out->place, sizeof out->place, "%.*s", (int)ok->place.size,
             ok->place.size > 0 ? ok->place.data : "");
    out->certificate.size = ok->certificate.size;
    memcpy(out->certificate.text, ok->certificate.data, ok->certificate.size);
    out->anchors_size = ok->anchors.size;
    memcpy(out->anchors, ok->anchors.data, ok->anchors.size);
}

/* The cluster that the node names itself to be of is the one that its authority has certified. */
static int take(void *user, const struct cluster_peer_name *from, const struct cluster_frame *frame,
                const struct cluster_body *body)
{
    struct cluster_join_answer *out = user;

    if (frame->type == CLUSTER_FRAME_CLOSE)
        return take_refusal(&body->close);
    if (frame->type != CLUSTER_FRAME_JOIN_OK)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.join.only", "an answer to a JOIN is no %s",
                            cluster_frame_name(frame->type));
    copy_answer(&body->join_ok, out);
    return memcmp(from->uuid, out->cluster, sizeof out->cluster) == 0
               ? 1
               : rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.join.pinned",
                              "the node answers for another cluster than that of its certificate");
}

static const struct cluster_ask_hooks hooks = {take};

/* r[impl cluster.join.pinned] */
int cluster_join_request_run(const struct cluster_join_request *request,
                             struct cluster_join_answer *out)
{
    OWN(cluster_tls_context) struct cluster_tls_context *context = NULL;
    struct cluster_ask ask = {.to = request->to,
                              .deadline_ns = hub_clock_after(request->wait_ns),
                              .type = CLUSTER_FRAME_JOIN,
                              .body = {.join = request->join},
                              .hooks = &hooks,
                              .user = out};
    int r = cluster_tls_open_pinned(request->ca_digest, &context);

    ask.context = context;
    return r < 0 ? r : cluster_ask_run(&ask);
}
