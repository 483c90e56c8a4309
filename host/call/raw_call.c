/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/raw_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/call/asyncs.h"
#include "host/call/call.h"
#include "host/call/route.h"
#include "hub/base/clock.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/response.h"

#define TEXT_MAX 1024

/* The embedder's callback. */
struct raw_end {
    rapahub_on_raw *on_done;
    void *user;
};

/* ---- the end ---- */

/* Fills in the answer of a guest, or of a router: `text` gets what it says of its failure. */
static void read_answer(const struct host_async *async, const struct hub_answer *from,
                        struct rapahub_raw_answer *out)
{
    struct hub_response response;
    struct hub_reader reader;
    int r;

    hub_reader_init(&reader, from->data, from->size);
    r = hub_response_decode(&reader, &response);
    if (r == 0)
        r = hub_response_code(&response, async->method);
    out->status = r;
    if (r == 0)
        out->payload = (struct rapahub_bytes){reader.at, hub_reader_left(&reader)};
    else
        out->application = rapahub_last_error()->application;
}

static void on_done(struct host_async *async, int code, struct hub_answer *from)
{
    const struct raw_end *raw = async->data;
    struct rapahub_raw_answer answer = {.status = code, .moved = async->moved};
    char text[TEXT_MAX];

    if (code == 0)
        read_answer(async, from, &answer);
    if (answer.status < 0) {
        snprintf(text, sizeof text, "%s", rapahub_last_error()->text);
        answer.text = text;
    }
    async->host->process.owner.callbacks++;
    raw->on_done(raw->user, &answer);
    async->host->process.owner.callbacks--;
}

/* ---- the begin ---- */

/* Refuses a message of the host itself, too, which is no call. r[impl hub.route.raw] */
static int check(const struct host_call *host, const struct rapahub_raw_call *call)
{
    uint64_t all = 0;

    for (size_t i = 0; i < sizeof call->reserved / sizeof *call->reserved; i++)
        all |= call->reserved[i];
    if (all != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "`reserved` of a call is set");
    if (call->arguments.size > 0 && !call->arguments.data)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a call without its arguments");
    if (hub_lifecycle_of_id(call->method_id) != HUB_LIFECYCLE_COUNT)
        return rapahub_fail(RAPAHUB_ENOMETHOD, "hub.route.raw", "no container has such a method");
    if (call->streams_count > 0 && !call->streams)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a call without its streams");
    return call->arguments.size > host->process.options.limits.payload_max
               ? rapahub_fail(RAPAHUB_EMSGSIZE, "", "arguments of %zu bytes", call->arguments.size)
               : 0;
}

static int refuse(struct host_async *async, struct raw_end *raw, void *arguments)
{
    free(async);
    free(raw);
    free(arguments);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");
}

/* For diagnoses, though most calls need none: so it is no work for printf. */
static void name(char *to, uint64_t method_id)
{
    static const char words[] = "method ", digits[] = "0123456789abcdef";

    memcpy(to, words, sizeof words - 1);
    to += sizeof words - 1;
    for (int shift = 60; shift >= 0; shift -= 4)
        *to++ = digits[method_id >> shift & 15];
    *to = '\0';
}

static void fill(struct host_call *host, const struct rapahub_raw_call *call, void *arguments,
                 struct host_async *async)
{
    if (call->arguments.size > 0)
        memcpy(arguments, call->arguments.data, call->arguments.size);
    async->arguments = (struct rapahub_bytes){arguments, call->arguments.size};
    async->owned = arguments;
    async->raw = true;
    async->outer = call->chain;
    async->uid = call->uid;
    async->foreign = call->from.peer != 0;
    async->from = call->from;
    async->from_pool = call->from_pool;
    async->target = call->target;
    async->method_id = call->method_id;
    async->deadline_ns = hub_clock_after(call->timeout_ns ? call->timeout_ns
                                                          : host->process.options.call_timeout_ns);
    async->done = on_done;
    name(async->method, call->method_id);
}

static int make(struct host_call *host, const struct rapahub_raw_call *call,
                const struct raw_end *by, struct host_async **out)
{
    struct host_async *async = calloc(1, sizeof *async);
    struct raw_end *raw = malloc(sizeof *raw);
    void *arguments = malloc(call->arguments.size + 1);

    if (!async || !raw || !arguments)
        return refuse(async, raw, arguments);
    *raw = *by;
    fill(host, call, arguments, async);
    async->data = raw;
    *out = async;
    return 0;
}

/* Frees a call that was not begun, and is in no table. */
static void drop(struct host_call *host, struct host_async *async)
{
    host_routed_free(&host->asyncs, async);
    free(async->marks);
    free(async->owned);
    free(async->data);
    free(async);
}

/* ---- streams ---- */

/* Finds the stream of an index. Each is used once. */
static int take_stream(const struct rapahub_raw_call *call, uint64_t index, bool *used,
                       struct hub_stream_mark *mark)
{
    const struct rapahub_raw_stream *stream;

    if (index >= call->streams_count || index >= HUB_SIGNATURE_ARGUMENTS_MAX || used[index])
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "stream %" PRIu64 " of %" PRIu32, index,
                            call->streams_count);
    used[index] = true;
    stream = &call->streams[index];
    mark->stream = mark->is_sink ? (void *)stream->sink : (void *)stream->source;
    return mark->stream ? 0
                        : rapahub_fail(RAPAHUB_EARGUMENTS, "", "stream %" PRIu64 " is no %s", index,
                                       mark->is_sink ? "sink" : "source");
}

static int mark_streams(const struct rapahub_raw_call *call, const struct hub_signature *signature,
                        struct hub_stream_marks *marks)
{
    bool used[HUB_SIGNATURE_ARGUMENTS_MAX] = {false};
    uint64_t ids[HUB_CHANNELS_OF_CALL];
    int r = hub_stream_ids_find(signature->types + 1, call->arguments, marks, ids);

    if (r < 0)
        return RAPAHUB_EARGUMENTS;
    for (uint32_t i = 0; r == 0 && i < marks->count; i++)
        r = take_stream(call, ids[i], used, &marks->list[i]);
    return r;
}

/* Where streams are among the arguments the signature says. A call that goes on to the router has
 * none here. */
static int take_streams(const struct rapahub_raw_call *call, const struct host_route *where,
                        struct host_async *async)
{
    const struct hub_signature *signature =
        where->methods ? host_methods_of_id(where->methods, call->method_id) : NULL;

    if (!where->methods && call->streams_count > 0)
        return rapahub_fail(RAPAHUB_ERESTARTING, "", "the methods of %s are not known yet",
                            where->name);
    if (!signature || !host_methods_takes_streams(signature->types + 1))
        return 0;
    async->marks = calloc(1, sizeof *async->marks);
    return async->marks ? mark_streams(call, signature, async->marks)
                        : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for streams");
}

/* ---- the way ---- */

static int go_away(struct host_call *host, const struct rapahub_raw_call *call,
                   struct host_async *async)
{
    struct host_routed_origin origin = host_routed_origin_of(async);

    origin.query = call->query;
    return call->streams_count > 0
               ? rapahub_fail(RAPAHUB_ENOTSUP, "",
                              "a call as bytes with streams is only for containers of this host")
               : host_routed_add(&host->asyncs, async, &origin);
}

/* Has the router get the call if it is not for here. */
static int place(struct host_call *host, const struct rapahub_raw_call *call,
                 struct host_async *async)
{
    struct host_route where;
    int r;

    if (call->query)
        return go_away(host, call, async);
    r = host_route_find_call(host, call->target, true, &where);
    if (r == HOST_ROUTE_AWAY)
        r = go_away(host, call, async);
    else if (r == 0 || r == -EAGAIN)
        r = take_streams(call, &where, async);
    host_route_drop(&where);
    return r;
}

int host_raw_call_begin(struct host_call *host, const struct rapahub_raw_call *call,
                        rapahub_on_raw *on_raw, void *user, struct host_raw_begun *out)
{
    const struct raw_end by = {on_raw, user};
    struct host_async *async = NULL;
    int r = check(host, call);

    if (r == 0)
        r = make(host, call, &by, &async);
    if (r < 0)
        return r;
    r = place(host, call, async);
    if (r < 0) {
        drop(host, async);
        return r;
    }
    out->deadline_ns = async->deadline_ns;
    return host_asyncs_begin(host, async, &out->number);
}
