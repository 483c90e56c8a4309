/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/grpc_peer.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct grpc_peer_asked *find(struct grpc_peer *peer, int32_t stream)
{
    for (size_t i = 0; i < peer->count; i++)
        if (peer->asked[i].stream == stream)
            return &peer->asked[i];
    return NULL;
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc_peer *peer = user;

    (void)session;
    if (frame->hd.type == NGHTTP2_HEADERS && peer->count < GRPC_PEER_ASKED)
        peer->asked[peer->count++] = (struct grpc_peer_asked){.stream = frame->hd.stream_id};
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *user)
{
    struct grpc_peer_asked *asked = find(user, frame->hd.stream_id);

    (void)session;
    (void)flags;
    if (asked && name_size == 5 && memcmp(name, ":path", 5) == 0)
        snprintf(asked->path, sizeof asked->path, "%.*s", (int)value_size, (const char *)value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t size, void *user)
{
    struct grpc_peer_asked *asked = find(user, id);

    (void)session;
    (void)flags;
    if (!asked)
        return 0;
    asked->bytes = realloc(asked->bytes, asked->size + size + 1);
    memcpy(asked->bytes + asked->size, data, size);
    asked->size += size;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc_peer *peer = user;
    struct grpc_peer_asked *asked = find(peer, frame->hd.stream_id);

    (void)session;
    if (asked && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        asked->whole = true;
    peer->pings += frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0;
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    struct grpc_peer_asked *asked = find(user, id);

    (void)session;
    if (asked) {
        asked->ended = true;
        asked->error = error;
    }
    return 0;
}

void grpc_peer_begin(struct grpc_peer *peer)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;

    *peer = (struct grpc_peer){0};
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_server_new(&session, callbacks, peer);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
    peer->session = session;
}

void grpc_peer_end(struct grpc_peer *peer)
{
    nghttp2_session_del(peer->session);
    for (size_t i = 0; i < peer->count; i++)
        free(peer->asked[i].bytes);
}

static size_t part(const struct grpc_peer *peer, size_t left)
{
    return peer->at_once > 0 && left > peer->at_once ? peer->at_once : left;
}

static bool to_peer(struct grpc_peer *peer, struct cluster_grpc *grpc, int *r)
{
    struct rapahub_bytes out;

    *r = cluster_grpc_output(grpc, &out);
    if (*r < 0 || out.size == 0)
        return false;
    out.size = part(peer, out.size);
    nghttp2_session_mem_recv(peer->session, out.data, out.size);
    cluster_grpc_sent(grpc, out.size);
    return true;
}

static bool to_client(struct grpc_peer *peer, struct cluster_grpc *grpc, int *r)
{
    const uint8_t *bytes;
    ssize_t size = nghttp2_session_mem_send(peer->session, &bytes);

    for (size_t at = 0; *r == 0 && at < (size_t)(size > 0 ? size : 0);) {
        size_t n = part(peer, (size_t)size - at);

        *r = cluster_grpc_receive(grpc, bytes + at, n);
        at += n;
    }
    return size > 0;
}

int grpc_peer_move(struct grpc_peer *peer, struct cluster_grpc *grpc)
{
    bool moved = true;
    int r = 0;

    while (moved && r == 0) {
        moved = to_peer(peer, grpc, &r);
        if (r == 0)
            moved |= to_client(peer, grpc, &r);
    }
    return r;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
                       uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct grpc_peer *peer = user;
    size_t left = peer->answer_size - peer->answer_at, size = left < room ? left : room;

    (void)source;
    memcpy(to, peer->answer + peer->answer_at, size);
    peer->answer_at += size;
    if (peer->answer_at < peer->answer_size)
        return (ssize_t)size;
    if (peer->stays_open)
        return size > 0 ? (ssize_t)size : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (peer->status) {
        const nghttp2_nv trailers[] = {header("grpc-status", peer->status),
                                       header("grpc-message", peer->text)};

        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, id, trailers, 2);
    }
    return (ssize_t)size;
}

void grpc_peer_answer(struct grpc_peer *peer, int32_t stream, struct rapahub_bytes bytes,
                      const char *status, const char *text)
{
    const nghttp2_nv headers[] = {header(":status", "200"),
                                  header("content-type", "application/grpc")};
    const nghttp2_data_provider body = {.read_callback = on_read};

    peer->answer = bytes.data;
    peer->answer_size = bytes.size;
    peer->answer_at = 0;
    peer->status = status;
    peer->text = text ? text : "";
    nghttp2_submit_response(peer->session, stream, headers, 2, &body);
}

void grpc_peer_refuse(struct grpc_peer *peer, int32_t stream, const char *http, const char *status,
                      const char *text)
{
    const nghttp2_nv headers[] = {header(":status", http),
                                  header("grpc-status", status ? status : ""),
                                  header("grpc-message", text ? text : "")};

    nghttp2_submit_response(peer->session, stream, headers, status ? 3 : 1, NULL);
}

void grpc_peer_reset(struct grpc_peer *peer, int32_t stream, uint32_t error)
{
    nghttp2_submit_rst_stream(peer->session, NGHTTP2_FLAG_NONE, stream, error);
}

void grpc_peer_go_away(struct grpc_peer *peer, int32_t last)
{
    nghttp2_submit_goaway(peer->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
}
