/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/typed_call.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

static int take_name(const struct rapahub_call *call, struct cluster_typed_call *out)
{
    size_t size = strnlen(call->method, sizeof out->name);

    if (size == sizeof out->name)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no method has such a long name");
    memcpy(out->name, call->method, size + 1);
    if (!hub_signature_is_name(out->name))
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' is no name of a method", out->name);
    if (!call->types)
        return rapahub_fail(RAPAHUB_EINVAL, "hub.call.memory",
                            "the types of %s are not said: give `types`, or its whole signature",
                            out->name);
    return 0;
}

static int take_signature(const struct rapahub_call *call, struct cluster_typed_call *out)
{
    int r = hub_signature_parse(call->method, &out->storage);

    if (r == 0)
        memcpy(out->name, out->storage->name, sizeof out->name);
    return r;
}

/* Finds name and types of the method. */
static int resolve(const struct rapahub_call *call, struct cluster_typed_call *out,
                   const struct rapahub_type *const **types)
{
    int r;

    if (!call->method)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no method is named");
    r = strchr(call->method, '(') ? take_signature(call, out) : take_name(call, out);
    if (r == 0)
        *types = call->types ? call->types : out->storage->types;
    return r;
}

static int identify(struct cluster_typed_call *out, const struct rapahub_type *const *types)
{
    char text[RAPAHUB_SIGNATURE_MAX + 1];

    if (hub_signature_print(out->name, types, text, sizeof text) >= sizeof text)
        return rapahub_fail(RAPAHUB_EINVAL, "", "the signature of %s is too long", out->name);
    out->method_id = hub_signature_hash(text);
    out->result = types[0];
    return 0;
}

static bool has_streams(const struct rapahub_type *const *types)
{
    while (*types && !hub_signature_is_stream(*types))
        types++;
    return *types != NULL;
}

static void put(struct hub_writer *writer, const struct rapahub_type *const *types,
                const void *const *values, struct hub_stream_marks *marks)
{
    if (marks)
        hub_stream_ids_put(writer, types, values, marks);
    else
        hub_payload_put_arguments(writer, types, values);
}

static int check_streams(const struct cluster_typed_call *call)
{
    for (uint32_t i = 0; call->marks && i < call->marks->count; i++)
        if (!call->marks->list[i].stream)
            return rapahub_fail(RAPAHUB_EARGUMENTS, "", "a %s of %s is missing: it is NULL",
                                call->marks->list[i].is_sink ? "sink" : "source", call->name);
    return 0;
}

/* Each index is one byte. */
static void number_streams(const struct cluster_typed_call *call)
{
    for (uint32_t i = 0; call->marks && i < call->marks->count; i++)
        call->arguments[call->marks->list[i].at] = (uint8_t)i;
}

static int encode(const struct rapahub_type *const *types, const void *const *values, size_t most,
                  struct cluster_typed_call *out)
{
    struct hub_writer writer;

    if (has_streams(types)) {
        out->marks = calloc(1, sizeof *out->marks);
        if (!out->marks)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for streams");
    }
    hub_writer_count(&writer);
    put(&writer, types, values, out->marks);
    if (writer.failure < 0)
        return rapahub_fail(writer.failure == -EINVAL ? RAPAHUB_EARGUMENTS : writer.failure, "",
                            "an argument of %s is no valid UTF-8", out->name);
    if (writer.size > most)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "arguments of %zu bytes; a call carries %zu",
                            writer.size, most);
    out->arguments = malloc(writer.size + 1);
    if (!out->arguments)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for arguments of %zu bytes",
                            writer.size);
    hub_writer_init(&writer, out->arguments, writer.size);
    put(&writer, types, values, out->marks);
    out->size = writer.size;
    number_streams(out);
    return check_streams(out);
}

int cluster_typed_call_make(const struct rapahub_call *call, size_t most,
                            struct cluster_typed_call *out)
{
    static const void *const none[] = {NULL};
    const struct rapahub_type *const *types = NULL;
    int r;

    *out = (struct cluster_typed_call){.arguments = NULL};
    if (call->loan)
        return rapahub_fail(RAPAHUB_ENOTLOCAL, "hub.route.loan",
                            "the call goes to a node, which takes no loan");
    r = resolve(call, out, &types);
    if (r == 0)
        r = identify(out, types);
    if (r == 0)
        r = hub_payload_count(out->name, types + 1, call->arguments);
    if (r == 0)
        r = encode(types + 1, call->arguments ? call->arguments : none, most, out);
    if (r < 0)
        cluster_typed_call_fini(out);
    return r;
}

void cluster_typed_call_fini(struct cluster_typed_call *call)
{
    hub_signature_release(&call->storage);
    free(call->arguments);
    free(call->marks);
    call->arguments = NULL;
    call->marks = NULL;
}

static int align(const struct rapahub_type *type, struct hub_align *memory, void *result)
{
    const struct rapahub_type *const types[] = {type, NULL};
    static const size_t at_start[] = {0};

    if (type->kind == RAPAHUB_KIND_BYTES)
        return hub_align_bytes(result, memory);
    return type->kind == RAPAHUB_KIND_RECORD ? hub_align_values(types, result, at_start, memory)
                                             : 0;
}

/* r[impl cluster.client.result] */
int cluster_typed_call_result(const struct cluster_typed_call *call, struct rapahub_bytes payload,
                              struct hub_align *memory, void *result)
{
    bool empty = call->result->kind == RAPAHUB_KIND_VOID;
    struct hub_reader reader;

    if (!result && !empty)
        return 0;
    hub_reader_init(&reader, payload.data, payload.size);
    if (!empty)
        hub_payload_decode(&reader, call->result, result);
    if (hub_postcard_end(&reader) < 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.client.result",
                            "the result of %s is none of its type", call->name);
    return empty ? 0 : align(call->result, memory, result);
}
