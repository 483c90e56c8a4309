/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/client_link.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/client/shm_setup.h"
#include "cluster/client/transport/unix_transport.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/own.h"

#define TOPIC         "client"
#define PING_NS       (5 * HUB_SECOND)
#define ACK_NS        (2 * HUB_MILLISECOND) /* an acknowledgement waits for a call that says the same */
#define RETRY_NS      (20 * HUB_MILLISECOND) /* a node that takes a call later says when, or this is */
#define RETRY_MS_MOST 1000

static int refuse(const struct cluster_frame *frame, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.client.frame", "a %s %s",
                        cluster_frame_name(frame->type), why);
}

/* Notes why there is no connection, for who waits for it. A refusal is final. */
static void note_why(struct cluster_client_loop *loop, int code)
{
    const char *text = rapahub_last_error()->text;

    if (hub_observe(&loop->opened) == CLUSTER_CLIENT_REFUSED)
        return;
    hub_mutex_lock(&loop->lock);
    loop->why_code = code;
    if (cluster_node_list_is_remote(loop->at))
        snprintf(loop->why, sizeof loop->why, "%.200s: %s", loop->at->text, text);
    else
        snprintf(loop->why, sizeof loop->why, "%s", text);
    hub_mutex_unlock(&loop->lock);
}

static void set_opened(struct cluster_client_loop *loop, uint32_t opened)
{
    if (!hub_claim(&loop->opened, CLUSTER_CLIENT_OPENING, opened))
        return;
    hub_futex_wake_private(&loop->opened);
}

/* The first connection is there when it is known how calls go. */
static void settle_opening(struct cluster_client_loop *loop)
{
    if (loop->asks)
        return;
    if (loop->wanted != RAPAHUB_CLIENT_SHARED_MEMORY || hub_observe(&loop->shares) != 0) {
        set_opened(loop, CLUSTER_CLIENT_OPENED);
        return;
    }
    note_why(loop, RAPAHUB_ENOTSUP);
    if (loop->share_ns == HUB_NEVER)
        set_opened(loop, CLUSTER_CLIENT_REFUSED);
}

/* ---- frames of the node ---- */

static int take_hello(struct cluster_client_loop *loop, const struct cluster_frame *frame,
                      const struct cluster_body_hello *hello)
{
    int r;

    if (loop->helloed || hello->role != CLUSTER_ROLE_NODE)
        return refuse(frame, "is none of a node, or comes again");
    if (loop->session != 0 && loop->session != hello->origin)
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "the node has started again; open calls are repeated");
    loop->session = hello->origin;
    loop->helloed = loop->knows_cluster = true;
    memcpy(loop->cluster, hello->cluster.data, sizeof loop->cluster);
    loop->calls.due_ns = 0; /* no call ends for its absence now */
    r = cluster_shm_setup_begin(loop, hello->features);
    if (r == 0)
        settle_opening(loop);
    return r;
}

static int take_shared(struct cluster_client_loop *loop, const struct cluster_body_shared *shared)
{
    int r = cluster_shm_setup_take(loop, shared);

    if (r == 0)
        settle_opening(loop);
    return r;
}

/* The node says why it ends the connection. */
static int take_close(struct cluster_client_loop *loop, const struct cluster_body_close *close)
{
    int code = close->code < 0 ? close->code : RAPAHUB_ECLOSED;

    loop->refused = code == RAPAHUB_EACCES || code == RAPAHUB_EABI || code == RAPAHUB_EINVAL;
    return rapahub_fail(code, "", "%.*s", (int)close->text.size,
                        close->text.size > 0 ? close->text.data : "");
}

/* Sends what is to be acknowledged. The number below which all have ended says the same for those
 * below it. */
static int put_acks(struct cluster_client_loop *loop, uint64_t done_below)
{
    int r = 0;

    for (uint32_t i = 0; i < loop->acks_count && r == 0; i++)
        if (loop->acks[i].uid.number >= done_below)
            r = cluster_connection_put(loop->connection, &loop->acks[i], &(struct cluster_body){0});
    loop->acks_count = 0;
    return r;
}

static int acknowledge(struct cluster_client_loop *loop, const struct cluster_frame *frame)
{
    int r = loop->acks_count < CLUSTER_CLIENT_ACKS ? 0 : put_acks(loop, 0);

    if (loop->acks_count == 0)
        loop->acks_ns = hub_clock_after(ACK_NS);
    loop->acks[loop->acks_count] =
        (struct cluster_frame){.type = CLUSTER_FRAME_ACK, .uid = frame->uid, .pool = frame->pool};
    loop->acks_count++;
    return r;
}

/* A status that can be none ends the connection: the node is not what it says. */
static int read_end(const struct cluster_frame *frame, const struct cluster_body_result *result,
                    struct cluster_client_end *out)
{
    if (result->status > 0)
        return refuse(frame, "has a status above 0");
    *out = (struct cluster_client_end){.code = result->status,
                                       .application = result->application,
                                       .text = result->text,
                                       .payload = result->payload};
    return 0;
}

static int take_result(struct cluster_client_loop *loop, const struct cluster_frame *frame,
                       const struct cluster_body_result *result)
{
    struct cluster_client_call *call = cluster_client_calls_find(&loop->calls, frame->uid.number);
    struct cluster_client_end end;
    int r = read_end(frame, result, &end);

    if (r < 0)
        return r;
    if (call)
        cluster_client_calls_end(&loop->calls, call, &end);
    return acknowledge(loop, frame);
}

static int take_each(struct cluster_client_loop *loop, const struct cluster_frame *frame,
                     const struct cluster_body_result *result)
{
    struct cluster_client_call *call = cluster_client_calls_find(&loop->calls, frame->uid.number);
    struct cluster_client_end end;
    int r = read_end(frame, result, &end);

    return r < 0 || !call ? r : cluster_client_call_each(call, frame, &end);
}

static void end_refused(struct cluster_client_loop *loop, struct cluster_client_call *call,
                        int code, struct rapahub_string text)
{
    const struct cluster_client_end end = {.code = code, .text = text};

    cluster_client_calls_end(&loop->calls, call, &end);
}

/* The node does not take a call: not yet, or not at all. */
static int take_nack(struct cluster_client_loop *loop, const struct cluster_frame *frame,
                     const struct cluster_body_nack *nack)
{
    static const int ends[CLUSTER_NACK_END] = {[CLUSTER_NACK_MAYBE] = RAPAHUB_EMAYBE,
                                               [CLUSTER_NACK_EXPIRED] = RAPAHUB_ETIMEDOUT,
                                               [CLUSTER_NACK_UNKNOWN] = RAPAHUB_ENOPOOL,
                                               [CLUSTER_NACK_VERSION] = RAPAHUB_ENOMETHOD,
                                               [CLUSTER_NACK_HOPS] = RAPAHUB_EHOPS};
    struct cluster_client_call *call = cluster_client_calls_find(&loop->calls, frame->uid.number);
    uint64_t after_ms = nack->after_ms < RETRY_MS_MOST ? nack->after_ms : RETRY_MS_MOST;

    if (!call)
        return 0;
    if (ends[nack->reason] < 0)
        end_refused(loop, call, ends[nack->reason], nack->text);
    else
        cluster_client_calls_delay(
            &loop->calls, call,
            hub_clock_after(after_ms > 0 ? after_ms * HUB_MILLISECOND : RETRY_NS));
    return 0;
}

static int take_resolved(struct cluster_client_loop *loop, const struct cluster_frame *frame,
                         const struct cluster_body_resolved *resolved)
{
    struct cluster_client_call *call = cluster_client_calls_find(&loop->calls, frame->uid.number);

    return call ? cluster_client_calls_resolve(&loop->calls, call, resolved) : 0;
}

/* r[impl cluster.client.frame] */
static int take_of_call(struct cluster_client_loop *loop, const struct cluster_frame *frame,
                        const struct cluster_body *body)
{
    if (!loop->helloed || frame->uid.origin != loop->origin)
        return refuse(frame, "is for another client");
    switch (frame->type) {
    case CLUSTER_FRAME_RESULT:
        return take_result(loop, frame, &body->result);
    case CLUSTER_FRAME_EACH:
        return take_each(loop, frame, &body->result);
    case CLUSTER_FRAME_NACK:
        return take_nack(loop, frame, &body->nack);
    case CLUSTER_FRAME_RESOLVED:
        return take_resolved(loop, frame, &body->resolved);
    default:
        return refuse(frame, "came from a node");
    }
}

/* A frame of a stream. Its call is of no use where no thread can move the bytes. */
static int take_of_stream(struct cluster_client_loop *loop, const struct cluster_frame *frame,
                          const struct cluster_body *body)
{
    struct cluster_call_streams *of = NULL;
    struct cluster_client_call *call;
    int r = loop->helloed ? cluster_streams_take(&loop->calls.streams.open, frame, body, &of)
                          : refuse(frame, "came before a HELLO_OK");

    if (r < 0 || !of)
        return r;
    call = cluster_client_calls_find(&loop->calls, of->call);
    r = call ? cluster_client_streams_begin(call->streams) : 0;
    if (r < 0) {
        cluster_client_link_cancel(loop, call);
        end_refused(loop, call, r, rapahub_string_of(rapahub_last_error()->text));
    }
    return 0;
}

static bool is_of_stream(const struct cluster_frame *frame)
{
    return frame->stream != 0 && frame->type != CLUSTER_FRAME_BULK_OPEN;
}

/* r[impl cluster.client.frame] */
static int take(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct cluster_client_loop *loop = user;

    if (frame->type == CLUSTER_FRAME_HELLO_OK)
        return take_hello(loop, frame, &body->hello);
    if (frame->type == CLUSTER_FRAME_CLOSE)
        return take_close(loop, &body->close);
    if (frame->type == CLUSTER_FRAME_SHARED)
        return take_shared(loop, &body->shared);
    if (is_of_stream(frame))
        return take_of_stream(loop, frame, body);
    return frame->type == CLUSTER_FRAME_HELLO ? refuse(frame, "came from a node")
                                              : take_of_call(loop, frame, body);
}

/* The thread sends what waits after each dispatch. */
static void on_credit(void *user)
{
    (void)user;
}

static const struct cluster_connection_hooks hooks = {take, on_credit};

/* ---- the connection ---- */

/* r[impl cluster.client.hello] */
static int put_hello(struct cluster_client_loop *loop)
{
    const struct cluster_body body = {
        .hello = {.protocol_least = CLUSTER_BODY_PROTOCOL,
                  .protocol_most = CLUSTER_BODY_PROTOCOL,
                  .role = CLUSTER_ROLE_CLIENT,
                  .cluster = {loop->cluster, loop->knows_cluster ? sizeof loop->cluster : 0},
                  .origin = loop->origin,
                  .retry_ns = loop->retry_ns}};

    return cluster_connection_put(loop->connection,
                                  &(struct cluster_frame){.type = CLUSTER_FRAME_HELLO}, &body);
}

static int connect_remote(struct cluster_client_loop *loop, int *fd,
                          struct cluster_connection_options *options)
{
    struct cluster_tls *session = NULL;
    int r = cluster_tls_transport_connect(&loop->tls, &loop->at->at, fd, &session);

    options->ping_ns = CLUSTER_TLS_PING_NS;
    options->silent_ns = CLUSTER_TLS_SILENT_NS;
    options->transport = &cluster_tls_table;
    options->session = session;
    options->descriptors = false;
    return r;
}

/* Connects to the node whose turn it is. The turn is passed on when that has no other address. */
static int connect_next(struct cluster_client_loop *loop, int *fd,
                        struct cluster_connection_options *options)
{
    int r;

    loop->at = cluster_node_list_at(&loop->nodes);
    if (!cluster_node_list_is_remote(loop->at)) {
        r = cluster_unix_transport_connect(loop->at ? loop->at->path : NULL, fd, &loop->pidfd);
    } else {
        r = connect_remote(loop, fd, options);
        if (cluster_tls_transport_has_more(&loop->tls))
            return r;
    }
    cluster_node_list_pass(&loop->nodes);
    return r;
}

void cluster_client_link_connect(struct cluster_client_loop *loop, uint64_t now_ns)
{
    struct cluster_connection_options options = {.body_max = CLUSTER_CLIENT_BODY_MAX +
                                                             CLUSTER_FRAME_BODY_MAX,
                                                 .ping_ns = PING_NS,
                                                 .closer = loop->closer,
                                                 .streams = true,
                                                 .descriptors = true};
    int fd, r = connect_next(loop, &fd, &options);

    if (r == 0)
        r = cluster_connection_create(fd, &options, &hooks, loop, &loop->connection);
    if (r == 0)
        r = put_hello(loop);
    if (r == 0)
        r = cluster_connection_flush(loop->connection);
    loop->asked_ns = now_ns;
    loop->refused = r == RAPAHUB_EACCES;
    if (r < 0)
        cluster_client_link_lose(loop, now_ns);
}

static void end_connection(struct cluster_client_loop *loop)
{
    cluster_shm_setup_end(loop);
    cluster_connection_release(&loop->connection);
    hub_fd_release(&loop->pidfd);
    loop->pidfd = -1;
    loop->helloed = false;
    loop->acks_count = 0; /* the node learns of these by the next calls */
}

/* A node that refuses the certificate of this client, or is none, does so the next time, too. */
static bool is_refusal(const struct cluster_client_loop *loop, int code)
{
    return cluster_node_list_is_remote(loop->at) && !loop->helloed &&
           (code == RAPAHUB_EACCES || code == RAPAHUB_EPROTOCOL);
}

void cluster_client_link_lose(struct cluster_client_loop *loop, uint64_t now_ns)
{
    bool was_there = loop->helloed;
    int code = rapahub_last_error()->code;

    note_why(loop, code);
    if ((loop->refused || is_refusal(loop, code)) && loop->nodes.count <= 1)
        set_opened(loop, CLUSTER_CLIENT_REFUSED);
    loop->refused = false;
    end_connection(loop);
    if (!was_there) {
        cluster_reconnect_failed(&loop->reconnect, now_ns);
        return;
    }
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "the node is away: %s", rapahub_last_error()->text);
    cluster_reconnect_begin(&loop->reconnect, now_ns, false);
    cluster_client_calls_lost(&loop->calls);
}

void cluster_client_link_dispatch(struct cluster_client_loop *loop, uint64_t now_ns)
{
    if (cluster_connection_dispatch(loop->connection, now_ns) < 0)
        cluster_client_link_lose(loop, now_ns);
}

void cluster_client_link_close(struct cluster_client_loop *loop)
{
    if (loop->connection &&
        cluster_connection_put(loop->connection,
                               &(struct cluster_frame){.type = CLUSTER_FRAME_CLOSE},
                               &(struct cluster_body){.close = {.code = 0}}) == 0)
        (void)cluster_connection_flush(loop->connection);
    end_connection(loop);
}

/* ---- calls ---- */

static int put_call(struct cluster_client_loop *loop, struct cluster_client_call *call)
{
    uint64_t done_below = cluster_client_calls_done_below(&loop->calls);
    struct cluster_frame frame;
    struct cluster_body body;
    int r = put_acks(loop, done_below);

    if (r < 0)
        return r;
    if (call->before != 0 && !cluster_client_calls_find(&loop->calls, call->before))
        call->before = 0; /* it has ended */
    cluster_client_calls_guess(&loop->calls, call);
    cluster_client_call_write(call, hub_clock_now(), &frame, &body);
    frame.uid.origin = loop->origin;
    body.call.done_below = done_below;
    r = cluster_connection_put(loop->connection, &frame, &body);
    return r == 0 && call->streams
               ? cluster_streams_open(&loop->calls.streams.open, call->streams->sent,
                                      loop->connection, &frame)
               : r;
}

static int offer_streams(struct cluster_client_loop *loop, struct cluster_client_call *call)
{
    return call->streams ? cluster_client_streams_offer(call->streams, &loop->calls.streams,
                                                        call->number, call->timeout_ns)
                         : 0;
}

/* A call that cannot be sent at all ends, and so do not the others. */
static int send_one(struct cluster_client_loop *loop, struct cluster_client_call *call)
{
    int r = offer_streams(loop, call);

    if (r < 0) {
        end_refused(loop, call, r, rapahub_string_of(rapahub_last_error()->text));
        return 0;
    }
    r = put_call(loop, call);
    if (r == 0)
        cluster_client_calls_note_sent(&loop->calls, call);
    if (r != RAPAHUB_EMSGSIZE && r != RAPAHUB_EINVAL)
        return r;
    end_refused(loop, call, r, rapahub_string_of(rapahub_last_error()->text));
    return 0;
}

void cluster_client_link_send(struct cluster_client_loop *loop, uint64_t now_ns)
{
    struct cluster_client_calls *calls = &loop->calls;
    int r;

    if (!loop->helloed)
        return;
    r = cluster_shm_setup_look(loop, now_ns);
    HUB_LIST_EACH (&calls->waiting, link) {
        struct cluster_client_call *call = HUB_LIST_ITEM(link, struct cluster_client_call, waiting);

        if (calls->sent >= CLUSTER_CLIENT_CALLS_SENT || r < 0)
            break;
        if (call->not_before_ns > now_ns || call->deadline_ns <= now_ns)
            continue;
        call->not_before_ns = 0;
        r = send_one(loop, call);
    }
    if (r >= 0 && loop->acks_count > 0 &&
        (now_ns >= loop->acks_ns || loop->acks_count == CLUSTER_CLIENT_ACKS))
        r = put_acks(loop, 0);
    if (r == 0 || r == RAPAHUB_EAGAIN)
        r = cluster_connection_flush(loop->connection);
    if (r == 0)
        r = cluster_streams_send(&loop->calls.streams.open, loop->connection);
    if (r < 0)
        cluster_client_link_lose(loop, now_ns);
}

void cluster_client_link_cancel(struct cluster_client_loop *loop,
                                const struct cluster_client_call *call)
{
    struct cluster_frame frame = {
        .type = CLUSTER_FRAME_CANCEL, .uid = {loop->origin, call->number}, .pool = call->pool};

    if (loop->helloed && (call->state == CLUSTER_CLIENT_CALL_SENT || call->is_there))
        (void)cluster_connection_put(loop->connection, &frame, &(struct cluster_body){0});
}
