/* SPDX-License-Identifier: Apache-2.0 */
/* invocation: arguments are decoded by the signature that the client names, and encoded again for
 * the guest: no unchecked byte of a client reaches a ring. */
#include "host/control/invocation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "host/control/reply.h"
#include "hub/base/own.h"
#include "hub/wire/arena.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

static void close_streams(struct host_server_call *call)
{
    for (unsigned i = 0; i < call->streams_count; i++) {
        rapahub_source_destroy(call->streams[i].source);
        rapahub_sink_destroy(call->streams[i].sink);
        hub_closer_give(call->closer, &call->streams[i].fd);
    }
    call->streams_count = 0;
}

static void host_server_call_release(struct host_server_call **call)
{
    if (!*call)
        return;
    close_streams(*call);
    hub_signature_release(&(*call)->signature);
    hub_closer_release(&(*call)->closer);
    free(*call);
    *call = NULL;
}

static int new_call(struct rapahub_control *control, const char *signature,
                    struct host_server_call **out)
{
    OWN(host_server_call) struct host_server_call *call = calloc(1, sizeof *call);
    int r;

    if (!call)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");
    r = hub_signature_parse(signature, &call->signature);
    if (r < 0)
        return r;
    hub_list_init(&call->link);
    call->control = control;
    call->closer = hub_closer_hold(control->closer);
    *out = TAKE(call);
    return 0;
}

/* Moves the received descriptors to the call, which owns them from here on. */
static void take_descriptors(struct host_server_call *call, struct host_frame_buffer *from)
{
    call->streams_count = from->fds_count;
    for (unsigned i = 0; i < from->fds_count; i++)
        call->streams[i] = (struct host_server_stream){.fd = from->fds[i]};
    from->fds_count = 0;
}

/* Replaces the index of a descriptor in an argument by a stream over that descriptor. */
static int open_stream(struct host_server_call *call, const struct rapahub_type *type, void *value)
{
    struct host_server_stream *stream;
    uint64_t index;
    int r;

    memcpy(&index, value, sizeof index);
    if (index >= call->streams_count)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "descriptor %llu of %u",
                            (unsigned long long)index, call->streams_count);
    stream = &call->streams[index];
    if (stream->source || stream->sink)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "two streams over one descriptor");
    if (type->kind == RAPAHUB_KIND_SOURCE)
        r = rapahub_source_of_received_fd(&stream->fd, &stream->source);
    else
        r = rapahub_sink_of_received_fd(&stream->fd, &stream->sink);
    if (r == 0 && type->kind == RAPAHUB_KIND_SOURCE)
        memcpy(value, &stream->source, sizeof(void *));
    else if (r == 0)
        memcpy(value, &stream->sink, sizeof(void *));
    return r;
}

static int open_streams(struct host_server_call *call, const void **values)
{
    const struct rapahub_type *const *types = call->signature->types + 1;
    int r = 0;

    for (uint32_t i = 0; r == 0 && types[i]; i++)
        if (hub_signature_is_stream(types[i]))
            r = open_stream(call, types[i], (void *)(uintptr_t)values[i]);
    return r;
}

/* Decodes the values of all arguments into memory of the arena. */
static int decode(const struct hub_signature *signature, struct rapahub_bytes bytes, void **arena,
                  const void **values)
{
    struct hub_reader reader;

    hub_reader_init(&reader, bytes.data, bytes.size);
    for (uint32_t i = 0; i < signature->argument_count; i++) {
        void *value = hub_arena_alloc(arena, signature->types[1 + i]->size);

        if (!value)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for arguments");
        hub_payload_decode(&reader, signature->types[1 + i], value);
        values[i] = value;
    }
    if (hub_postcard_end(&reader) < 0)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "the arguments are not those of %s",
                            signature->text);
    return 0;
}

/* Encodes the result into memory of the arena. */
static int encode(const struct rapahub_type *type, const void *result, void **arena,
                  struct rapahub_bytes *out)
{
    struct hub_writer writer;
    void *data;

    hub_writer_count(&writer);
    hub_payload_put(&writer, type, result);
    data = hub_arena_alloc(arena, writer.size + 1);
    if (!data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a result");
    *out = (struct rapahub_bytes){data, writer.size};
    hub_writer_init(&writer, data, writer.size);
    hub_payload_put(&writer, type, result);
    return writer.failure;
}

static void send_result(struct host_server_call *call, const void *result)
{
    struct control_result answer = {
        .epoch = call->guest.epoch, .peer = call->guest.peer, .pid = call->pid};
    const struct rapahub_type *type = call->signature->types[0];
    void *arena = NULL;
    int r = 0;

    if (type->kind != RAPAHUB_KIND_VOID)
        r = encode(type, result, &arena, &answer.payload);
    if (r == 0)
        host_reply_send(call->control, call->client, HOST_FRAME_RESULT, &answer);
    host_reply_end(call->control, call->client, r);
    hub_arena_release(&arena);
}

static void end_call(void *user, int status, const void *result)
{
    OWN(host_server_call) struct host_server_call *call = user;

    hub_list_remove(&call->link);
    if (!call->control || !call->client)
        return;
    call->client->call = NULL;
    if (status == 0)
        send_result(call, result);
    else
        host_reply_end(call->control, call->client, status);
}

struct life {
    const char *name;
    struct host_server_call *call;
};

static void note_life(void *user, const struct rapahub_guest_status *status)
{
    struct life *life = user;

    if (strcmp(status->name, life->name) != 0)
        return;
    life->call->guest = status->guest;
    life->call->pid = status->pid;
}

static int start(struct host_server_call *call, const struct rapahub_call *request)
{
    struct rapahub_control_host *host = &call->control->host;
    struct host_server_client *client = call->client;
    struct rapahub_request_id number;
    int r;

    client->call = call;
    hub_list_append(&call->control->calls, &call->link);
    r = host->call(host->host, request, end_call, call, &number);
    if (r < 0) {
        hub_list_remove(&call->link);
        client->call = NULL;
    } else if (client->call == call) {
        /* Otherwise the call has ended already, and is freed. */
        call->request = number;
    }
    return r;
}

static int prepare(const struct control_call *request, struct rapahub_call *to, void **arena,
                   struct host_server_call *call)
{
    uint32_t count = call->signature->argument_count;
    const void **values = hub_arena_alloc(arena, (count + 1) * sizeof *values);
    int r;

    if (!values)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for arguments");
    to->method = call->signature->text;
    to->types = call->signature->types;
    to->arguments = values;
    to->timeout_ns = request->timeout_ns;
    r = decode(call->signature, request->arguments, arena, values);
    return r < 0 ? r : open_streams(call, values);
}

static int new_call_of(struct rapahub_control *control, const struct control_call *request,
                       void **arena, struct host_server_call **out)
{
    const char *text = hub_arena_copy(arena, request->signature.data, request->signature.size);
    struct life life = {.name = hub_arena_copy(arena, request->guest.data, request->guest.size)};
    int r;

    if (!text || !life.name)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");
    r = new_call(control, text, out);
    if (r < 0)
        return r;
    life.call = *out;
    return control->host.guests(control->host.host, note_life, &life);
}

void host_invocation_begin(struct rapahub_control *control, struct host_server_client *client,
                           const struct control_call *request, struct rapahub_container_id target)
{
    OWN(host_server_call) struct host_server_call *call = NULL;
    struct rapahub_call calling = {.target = target};
    void *arena = NULL;
    int r = new_call_of(control, request, &arena, &call);

    if (r == 0)
        take_descriptors(call, &client->in);
    if (r == 0)
        r = prepare(request, &calling, &arena, call);
    if (r == 0) {
        call->client = client;
        r = start(call, &calling);
        if (r >= 0)
            (void)TAKE(call);
    }
    hub_arena_release(&arena);
    if (r < 0)
        host_reply_end(control, client, r);
}

void host_invocation_abandon(struct rapahub_control *control, struct host_server_client *client)
{
    struct host_server_call *call = client->call;

    if (!call)
        return;
    call->client = NULL;
    client->call = NULL;
    control->host.cancel(control->host.host, call->request);
}
