/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/peer_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/peers/peer_hello.h"
#include "hub/base/own.h"

#define RULE      "cluster.nodes.frame"
#define DEATH_MAX 64 /* bytes of the body of a DEATH */

/* A frame that waits for credit. */
struct waiting {
    struct hub_list link; /* the first member */
    struct cluster_frame header;
    size_t size;
    uint8_t body[];
};

/* ---- out ---- */

static int put(struct cluster_peer_link *link, const struct cluster_frame *header,
               struct rapahub_bytes bytes)
{
    struct cluster_body body;
    int r = cluster_body_read(header->type, bytes, &body);

    return r < 0 ? r : cluster_connection_put(link->connection, header, &body);
}

/* r[impl cluster.nodes.bounds] */
static int keep(struct cluster_peer_link *link, const struct cluster_frame *header,
                struct rapahub_bytes bytes)
{
    struct waiting *waiting = NULL;
    size_t size = sizeof *waiting + bytes.size;

    if (link->waiting_bytes + size > CLUSTER_PEER_LINKS_WAIT_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.nodes.bounds",
                            "node %" PRIu32 " takes no calls, and too many wait for it",
                            link->node);
    waiting = malloc(size);
    if (!waiting)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call to node %" PRIu32,
                            link->node);
    waiting->header = *header;
    waiting->size = bytes.size;
    if (bytes.size > 0)
        memcpy(waiting->body, bytes.data, bytes.size);
    hub_list_append(&link->waiting, &waiting->link);
    link->waiting_bytes += size;
    return 0;
}

int cluster_peer_frames_send(struct cluster_peer_link *link, const struct cluster_frame *header,
                             struct rapahub_bytes body)
{
    int r = hub_list_empty(&link->waiting) ? put(link, header, body) : RAPAHUB_EAGAIN;

    return r == RAPAHUB_EAGAIN ? keep(link, header, body) : r;
}

static void on_credit(void *user)
{
    struct cluster_peer_link *link = user;

    while (link->state == CLUSTER_PEER_LINK_UP && !hub_list_empty(&link->waiting)) {
        struct waiting *waiting = HUB_LIST_ITEM(link->waiting.next, struct waiting, link);
        int r = put(link, &waiting->header, (struct rapahub_bytes){waiting->body, waiting->size});

        if (r == RAPAHUB_EAGAIN)
            return;
        if (r < 0)
            cluster_peer_link_fail(link);
        link->waiting_bytes -= sizeof *waiting + waiting->size;
        hub_list_remove(&waiting->link);
        free(waiting);
    }
}

/* ---- in ---- */

static int refuse_frame(const struct cluster_frame *frame, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "a %s %s", cluster_frame_name(frame->type), why);
}

static int hand_up(struct cluster_peer_link *link, enum cluster_peer_user which,
                   const struct cluster_frame *frame, const struct cluster_body *body)
{
    const struct cluster_peer_links *links = link->links;
    OWN(hub_memory) uint8_t *bytes = NULL;
    struct hub_writer writer;

    if (links->left[which]) /* it was under way when this node began to end */
        return 0;
    if (!link->told[which])
        return refuse_frame(frame, which == CLUSTER_PEER_STORE
                                       ? "came, and this node neither is nor asks the seat"
                                       : "came before the session of its node was known");
    hub_writer_count(&writer);
    (void)cluster_body_put(&writer, frame->type, body);
    bytes = malloc(writer.size + 1);
    if (!bytes)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a frame of a node");
    hub_writer_init(&writer, bytes, writer.size);
    (void)cluster_body_put(&writer, frame->type, body);
    return links->hooks[which]->frame(links->users[which], link->node, frame,
                                      (struct rapahub_bytes){bytes, writer.size});
}

/* The other side closes, mostly because it refuses this one: its words are told. The seat alone
 * says that a session is over, or that this is no node any more. */
static int take_close(const struct cluster_peer_link *link, const struct cluster_body_close *close)
{
    const bool of_seat = link->dial == &link->links->seat;

    link->links->fenced |= of_seat && close->code == RAPAHUB_EFENCED;
    link->links->none |= of_seat && close->code == RAPAHUB_ESTALE;
    return rapahub_fail(close->code < 0 ? close->code : RAPAHUB_ECLOSED, "",
                        "the node at %s says: %.*s", link->where, (int)close->text.size,
                        close->text.data);
}

/* The certificate says whose warden it is. The link ends with the answer.
 * r[impl cluster.death.certificate] */
static int take_death(struct cluster_peer_link *link, const struct cluster_frame *frame,
                      const struct cluster_body *body)
{
    const struct cluster_peer_links *links = link->links;
    const struct cluster_peer_links_hooks *hooks = links->hooks[CLUSTER_PEER_STEPS];
    const struct cluster_peer_name *name = cluster_tls_peer(link->tls);
    uint8_t bytes[DEATH_MAX];
    struct hub_writer writer;
    int r = 0;

    hub_writer_init(&writer, bytes, sizeof bytes);
    if (body->death.node != name->node)
        r = rapahub_fail(RAPAHUB_EACCES, "cluster.death.certificate",
                         "it says that node %" PRIu32
                         " is dead, and has the certificate of node %u",
                         body->death.node, (unsigned)name->node);
    else if (!hooks)
        r = rapahub_fail(RAPAHUB_EAGAIN, "cluster.death.certificate",
                         "node %" PRIu32 " is just starting", links->node);
    if (r == 0)
        r = cluster_body_put(&writer, frame->type, body);
    if (r == 0)
        r = hooks->frame(links->users[CLUSTER_PEER_STEPS], name->node, frame,
                         (struct rapahub_bytes){bytes, writer.size});
    if (r < 0)
        cluster_peer_link_refuse(link, r);
    else
        cluster_peer_link_end(link, "its death is noted");
    return CLUSTER_CONNECTION_LATER;
}

static int take_greeting(struct cluster_peer_link *link, const struct cluster_frame *frame,
                         const struct cluster_body *body)
{
    uint8_t wanted = link->dial ? CLUSTER_FRAME_HELLO_OK : CLUSTER_FRAME_HELLO;

    if (frame->type == CLUSTER_FRAME_DEATH && !link->dial)
        return take_death(link, frame, body);
    return frame->type == wanted ? cluster_peer_hello_take(link, frame->type, &body->hello)
                                 : refuse_frame(frame, "came before a HELLO");
}

/* r[impl cluster.nodes.frame] */
static int take(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct cluster_peer_link *link = user;

    if (link->state == CLUSTER_PEER_LINK_DOOMED)
        return CLUSTER_CONNECTION_LATER;
    if (frame->type == CLUSTER_FRAME_CLOSE)
        return take_close(link, &body->close);
    if (link->state == CLUSTER_PEER_LINK_GREETING)
        return take_greeting(link, frame, body);
    switch (frame->type) {
    case CLUSTER_FRAME_HELLO:
        return cluster_peer_hello_take_session(link, &body->hello);
    case CLUSTER_FRAME_STORE_REQUEST:
    case CLUSTER_FRAME_STORE_REPLY:
    case CLUSTER_FRAME_STORE_EVENT:
        return hand_up(link, CLUSTER_PEER_STORE, frame, body);
    case CLUSTER_FRAME_CALL:
    case CLUSTER_FRAME_RESULT:
    case CLUSTER_FRAME_NACK:
    case CLUSTER_FRAME_CANCEL:
        return hand_up(link, CLUSTER_PEER_CALLS, frame, body);
    case CLUSTER_FRAME_STEP_DONE:
        return hand_up(link, CLUSTER_PEER_STEPS, frame, body);
    case CLUSTER_FRAME_BLOB_ASK:
    case CLUSTER_FRAME_BLOB_PART:
        return hand_up(link, CLUSTER_PEER_BLOBS, frame, body);
    case CLUSTER_FRAME_RENEW:
    case CLUSTER_FRAME_RENEWED:
        return hand_up(link, CLUSTER_PEER_CERTIFICATES, frame, body);
    case CLUSTER_FRAME_COPY_PUT:
    case CLUSTER_FRAME_COPY_TAKEN:
    case CLUSTER_FRAME_COPY_SEAL:
    case CLUSTER_FRAME_COPY_SEALED:
    case CLUSTER_FRAME_COPY_ASK:
    case CLUSTER_FRAME_COPY_PIECE:
    case CLUSTER_FRAME_COPY_HELD:
        return hand_up(link, CLUSTER_PEER_COPIES, frame, body);
    case CLUSTER_FRAME_PUSH_PULL:
    case CLUSTER_FRAME_LINK_PROBE:
    case CLUSTER_FRAME_DATAGRAM_KEY:
        return hand_up(link, CLUSTER_PEER_DETECTION, frame, body);
    default:
        return refuse_frame(frame, "came from a node");
    }
}

const struct cluster_connection_hooks cluster_peer_frames_hooks = {take, on_credit};
