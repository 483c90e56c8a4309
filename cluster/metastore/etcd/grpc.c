/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/grpc.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/etcd/grpc_stream.h"

#define WINDOW     (1 << 20)  /* bytes that a stream may bring before they were read */
#define WINDOW_ALL (16 << 20) /* all streams together */
#define AUTHORITY  256
#define CALLS_MOST 512

struct cluster_grpc {
    nghttp2_session *session;
    const struct cluster_grpc_hooks *hooks;
    void *user;
    struct hub_list streams;
    unsigned count;
    bool speaks_otherwise; /* not HTTP/2 */
    bool going_away;       /* the other side has said that it goes */
    int failure;           /* by a hook */
    const uint8_t *out;    /* in nghttp2, until it is asked for more */
    size_t out_size;
    char authority[AUTHORITY];
};

static int fail(const char *what, ssize_t code)
{
    if (code == NGHTTP2_ERR_NOMEM)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "HTTP/2: out of memory");
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.hostile", "%s: %s", what,
                        nghttp2_strerror((int)code));
}

/* ---- told by nghttp2 ---- */

static struct cluster_grpc_stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *user)
{
    struct cluster_grpc_stream *stream = stream_of(session, frame->hd.stream_id);

    (void)flags;
    (void)user;
    if (stream)
        cluster_grpc_stream_header(stream, (struct rapahub_bytes){name, name_size},
                                   (struct rapahub_bytes){value, value_size});
    return 0;
}

/* A message that is too large is not waited for: the stream ends, and says why. */
static int refuse_rest(struct cluster_grpc *grpc, struct cluster_grpc_stream *stream)
{
    int r = nghttp2_submit_rst_stream(grpc->session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);

    return r == 0 ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t size, void *user)
{
    struct cluster_grpc_stream *stream = stream_of(session, id);
    struct cluster_grpc *grpc = user;
    struct rapahub_bytes message;
    bool whole;

    (void)flags;
    while (stream && !stream->too_large && size > 0) {
        int64_t n =
            cluster_grpc_stream_feed(stream, (struct rapahub_bytes){data, size}, &message, &whole);

        if (n == -EMSGSIZE && stream->too_large)
            return refuse_rest(grpc, stream);
        if (n >= 0 && whole) {
            int r = grpc->hooks->message(grpc->user, stream->user, message);

            n = r < 0 ? r : n;
        }
        if (n < 0) {
            grpc->failure = (int)n;
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* The end of a stream, as it is for its caller. A status of gRPC decides, if there is one. */
static struct cluster_grpc_end end_of(struct cluster_grpc_stream *stream, uint32_t error)
{
    struct cluster_grpc_end end = {.status = stream->status, .text = stream->text};

    if (stream->too_large) {
        end.status = CLUSTER_GRPC_RESOURCE_EXHAUSTED;
        end.too_large = true;
    } else if (stream->has_status) {
        return end;
    } else if (stream->http_status != 0 && stream->http_status != 200) {
        end.status = CLUSTER_GRPC_UNIMPLEMENTED;
        snprintf(stream->text, sizeof stream->text, "it answers with status %u of HTTP",
                 stream->http_status);
    } else {
        end.status = CLUSTER_GRPC_UNAVAILABLE;
        end.refused = error == NGHTTP2_REFUSED_STREAM;
        snprintf(stream->text, sizeof stream->text, "the stream ended: %s",
                 nghttp2_http2_strerror(error));
    }
    return end;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    struct cluster_grpc_stream *stream = stream_of(session, id);
    struct cluster_grpc *grpc = user;
    struct cluster_grpc_end end;

    if (!stream)
        return 0;
    hub_list_remove(&stream->link);
    grpc->count--;
    end = end_of(stream, error);
    grpc->hooks->ended(grpc->user, stream->user, &end);
    cluster_grpc_stream_free(stream);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct cluster_grpc *grpc = user;

    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        grpc->going_away = true;
    return 0;
}

/* It tells what cannot be HTTP/2 at all: the first frame is none. */
static int on_error(nghttp2_session *session, int code, const char *text, size_t size, void *user)
{
    struct cluster_grpc *grpc = user;

    (void)session;
    (void)text;
    (void)size;
    grpc->speaks_otherwise |= code == NGHTTP2_ERR_SETTINGS_EXPECTED;
    return 0;
}

static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
                       uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct cluster_grpc_stream *stream = source->ptr;
    size_t size = cluster_grpc_stream_take(stream, to, room);

    (void)session;
    (void)id;
    (void)user;
    if (stream->out_size > 0)
        return (ssize_t)size;
    if (!stream->stays_open)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (size == 0)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)size;
}

/* ---- the session ---- */

static int make_session(struct cluster_grpc *grpc, nghttp2_session_callbacks *callbacks)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
    };
    int r;

    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
    r = nghttp2_session_client_new(&grpc->session, callbacks, grpc);
    if (r == 0)
        r = nghttp2_submit_settings(grpc->session, NGHTTP2_FLAG_NONE, settings,
                                    sizeof settings / sizeof *settings);
    if (r == 0)
        r = nghttp2_session_set_local_window_size(grpc->session, NGHTTP2_FLAG_NONE, 0, WINDOW_ALL);
    return r;
}

int cluster_grpc_create(const struct cluster_grpc_hooks *hooks, void *user, const char *authority,
                        struct cluster_grpc **out)
{
    struct cluster_grpc *grpc = calloc(1, sizeof *grpc);
    nghttp2_session_callbacks *callbacks = NULL;
    int r;

    *out = grpc;
    if (!grpc)
        return fail("", NGHTTP2_ERR_NOMEM);
    hub_list_init(&grpc->streams);
    grpc->hooks = hooks;
    grpc->user = user;
    snprintf(grpc->authority, sizeof grpc->authority, "%s", authority);
    r = nghttp2_session_callbacks_new(&callbacks);
    if (r == 0)
        r = make_session(grpc, callbacks);
    nghttp2_session_callbacks_del(callbacks);
    if (r == 0)
        return 0;
    cluster_grpc_release(out);
    return fail("HTTP/2 cannot be set up", r);
}

void cluster_grpc_release(struct cluster_grpc **grpc)
{
    struct hub_list *link;

    if (!*grpc)
        return;
    nghttp2_session_del((*grpc)->session);
    while ((link = hub_list_pop(&(*grpc)->streams)))
        cluster_grpc_stream_free(HUB_LIST_ITEM(link, struct cluster_grpc_stream, link));
    free(*grpc);
    *grpc = NULL;
}

/* ---- calls ---- */

/* The headers are not changed: nghttp2 has no type for those that are constant. */
static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value),
                        .flags = NGHTTP2_NV_FLAG_NONE};
}

/* A member without a leader is to say so, not to be silent: a stream that stays open would never
 * hear of it. */
static int submit(struct cluster_grpc *grpc, const char *path, struct cluster_grpc_stream *stream)
{
    const nghttp2_nv headers[] = {
        header(":method", "POST"),
        header(":scheme", "http"),
        header(":path", path),
        header(":authority", grpc->authority),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
        header("hasleader", "true"),
    };
    const nghttp2_data_provider body = {.source = {.ptr = stream}, .read_callback = on_read};

    return nghttp2_submit_request(grpc->session, NULL, headers, sizeof headers / sizeof *headers,
                                  &body, stream);
}

int cluster_grpc_call(struct cluster_grpc *grpc, const struct cluster_grpc_request *request,
                      void *call, int32_t *out)
{
    struct cluster_grpc_stream *stream;
    int r;

    if (cluster_grpc_is_over(grpc) || grpc->count == CALLS_MOST)
        return rapahub_fail(RAPAHUB_EBUSY, "", "etcd: the session takes no more requests");
    stream = cluster_grpc_stream_create(call, request->answer_max);
    if (!stream)
        return -ENOMEM;
    stream->stays_open = request->stays_open;
    r = cluster_grpc_stream_put(stream, request->message);
    if (r == 0) {
        stream->id = submit(grpc, request->path, stream);
        r = stream->id < 0 ? fail("a request to etcd", stream->id) : 0;
    }
    if (r < 0) {
        cluster_grpc_stream_free(stream);
        return r;
    }
    hub_list_append(&grpc->streams, &stream->link);
    grpc->count++;
    *out = stream->id;
    return 0;
}

/* nghttp2 knows a stream only once its headers were sent. */
static struct cluster_grpc_stream *find(struct cluster_grpc *grpc, int32_t id)
{
    HUB_LIST_EACH (&grpc->streams, link) {
        struct cluster_grpc_stream *stream = HUB_LIST_ITEM(link, struct cluster_grpc_stream, link);

        if (stream->id == id)
            return stream;
    }
    return NULL;
}

int cluster_grpc_send(struct cluster_grpc *grpc, int32_t id, struct rapahub_bytes message)
{
    struct cluster_grpc_stream *stream = find(grpc, id);
    int r;

    if (!stream || !stream->stays_open)
        return rapahub_fail(RAPAHUB_EINVAL, "", "etcd: there is no stream %d", (int)id);
    r = cluster_grpc_stream_put(stream, message);
    if (r == 0)
        (void)nghttp2_session_resume_data(grpc->session, id); /* it may not have been waiting */
    return r;
}

bool cluster_grpc_has_calls(const struct cluster_grpc *grpc)
{
    return grpc->count > 0;
}

void cluster_grpc_ping(struct cluster_grpc *grpc)
{
    (void)nghttp2_submit_ping(grpc->session, NGHTTP2_FLAG_NONE, NULL);
}

/* ---- bytes ---- */

/* r[impl cluster.store.etcd.hostile] */
int cluster_grpc_receive(struct cluster_grpc *grpc, const uint8_t *bytes, size_t size)
{
    ssize_t n;

    grpc->failure = 0;
    n = nghttp2_session_mem_recv(grpc->session, bytes, size);
    if (grpc->failure < 0)
        return grpc->failure;
    if (n < 0)
        return fail("it does not speak HTTP/2", n);
    if (grpc->speaks_otherwise)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.hostile",
                            "it answers, and does not speak HTTP/2");
    return 0;
}

int cluster_grpc_output(struct cluster_grpc *grpc, struct rapahub_bytes *out)
{
    ssize_t n = 0;

    if (grpc->out_size == 0) {
        grpc->failure = 0;
        n = nghttp2_session_mem_send(grpc->session, &grpc->out);
        grpc->out_size = n > 0 ? (size_t)n : 0;
    }
    *out = (struct rapahub_bytes){grpc->out, grpc->out_size};
    if (grpc->failure < 0)
        return grpc->failure;
    return n < 0 ? fail("HTTP/2", n) : 0;
}

void cluster_grpc_sent(struct cluster_grpc *grpc, size_t size)
{
    grpc->out += size;
    grpc->out_size -= size;
}

bool cluster_grpc_is_over(const struct cluster_grpc *grpc)
{
    return grpc->going_away || (nghttp2_session_want_read(grpc->session) == 0 &&
                                nghttp2_session_want_write(grpc->session) == 0);
}
