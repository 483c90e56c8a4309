/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/prepared.h"

#include <stdio.h>
#include <string.h>

#include "host/call/call.h"
#include "host/call/loans.h"
#include "host/call/request.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define ENCODE_FIRST   4096 /* bytes tried at first */
#define IN_PLACE_LEAST 4096 /* bytes; for fewer a second copy costs nothing */
#define HEAD_ROOM      HOST_REQUEST_HEAD_MAX

static int resolve_text(const struct rapahub_call *call, struct host_prepared *out,
                        const struct rapahub_type *const **types)
{
    int r = hub_signature_parse(call->method, &out->storage);

    if (r < 0)
        return r;
    memcpy(out->name, out->storage->name, sizeof out->name);
    if (!*types)
        *types = out->storage->types;
    return 0;
}

static struct hub_a64 *cache_of(const struct rapahub_call *call)
{
    return (struct hub_a64 *)(void *)call->method_id;
}

/* Computes the id from name and types. Refuses the call if the target is known not to serve it. */
static int check_served(const struct rapahub_call *call, const struct host_route *route,
                        const struct rapahub_type *const *types, struct host_prepared *out)
{
    char text[RAPAHUB_SIGNATURE_MAX + 1];

    if (hub_signature_print(out->name, types, text, sizeof text) >= sizeof text)
        return rapahub_fail(RAPAHUB_EINVAL, "", "the signature of %s is too long", out->name);
    out->method_id = hub_signature_hash(text);
    if (!route->methods) /* the guest was never ready, and decides itself */
        return 0;
    if (!host_methods_of_id(route->methods, out->method_id))
        return host_methods_refuse(route->methods, route->name, text);
    if (call->method_id)
        hub_store_relaxed64(cache_of(call), out->method_id);
    return 0;
}

/* Refuses a name without types. It does not describe the caller's memory, and no peer may decide
 * how that is read or written. The refusal tells the guest's signature, which has no other use.
 * r[impl hub.call.memory] */
static int refuse_untyped(const struct rapahub_call *call, const struct host_route *route)
{
    const struct hub_signature *has;

    if (!hub_signature_is_name(call->method))
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%.80s' is no name of a method", call->method);
    has = route->methods ? host_methods_of_name(route->methods, call->method) : NULL;
    if (route->methods && !has)
        return host_methods_refuse(route->methods, route->name, call->method);
    return rapahub_fail(RAPAHUB_EINVAL, "hub.call.memory",
                        "the types of %s are not said: give `types`, or its whole signature%s%s",
                        call->method, has ? ": " : "", has ? has->text : "");
}

/* Resolves the call of a stub: name and types, and from the second call on the cached id. */
static int resolve_name(const struct rapahub_call *call, const struct host_route *route,
                        struct host_prepared *out, const struct rapahub_type *const *types)
{
    size_t size = strnlen(call->method, sizeof out->name);

    if (size == sizeof out->name)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no method has such a long name");
    memcpy(out->name, call->method, size + 1);
    if (!types)
        return refuse_untyped(call, route);
    out->method_id = call->method_id ? hub_load_relaxed64(cache_of(call)) : 0;
    return out->method_id != 0 ? 0 : check_served(call, route, types, out);
}

static int resolve(const struct rapahub_call *call, const struct host_route *route,
                   struct host_prepared *out, const struct rapahub_type *const **types)
{
    int r;

    *types = call->types;
    if (!call->method)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no method is named");
    if (strchr(call->method, '(')) {
        r = resolve_text(call, out, types);
        if (r == 0)
            r = check_served(call, route, *types, out);
    } else {
        r = resolve_name(call, route, out, *types);
    }
    if (r == 0)
        out->result = (*types)[0];
    return r;
}

/* "2 MiB", "65,532 bytes" */
static const char *print_size(size_t size, char *to, size_t capacity)
{
    if (size >= 1 << 20 && size % (1 << 20) == 0)
        snprintf(to, capacity, "%zu MiB", size >> 20);
    else if (size >= 1000000)
        snprintf(to, capacity, "%zu,%03zu,%03zu bytes", size / 1000000, size / 1000 % 1000,
                 size % 1000);
    else if (size >= 1000)
        snprintf(to, capacity, "%zu,%03zu bytes", size / 1000, size % 1000);
    else
        snprintf(to, capacity, "%zu bytes", size);
    return to;
}

/* Names the size of the argument that is too large by itself, if there is one; else the size of
 * all. */
static int refuse_size(const struct host_call *host, const struct rapahub_type *const *types,
                       const void *const *arguments, size_t size)
{
    char given[32], limit[32];
    bool of_one = false;

    for (size_t i = 0; types[i]; i++) {
        const struct rapahub_bytes *view = arguments[i];
        bool is_view =
            types[i]->kind == RAPAHUB_KIND_BYTES || types[i]->kind == RAPAHUB_KIND_STRING;

        if (is_view && view->size > host->process.options.limits.payload_max / 2) {
            size = view->size;
            of_one = true;
        }
    }
    return rapahub_fail(RAPAHUB_EMSGSIZE, "", "argument%s of %s; a message of this hub carries %s",
                        of_one ? "" : "s", print_size(size, given, sizeof given),
                        print_size(host->process.options.limits.payload_max, limit, sizeof limit));
}

/* A service gets the caller's own streams, since it is in this process. */
static void put_arguments(struct hub_writer *writer, const struct rapahub_type *const *types,
                          const void *const *arguments, struct host_prepared *out)
{
    if (out->of_offer)
        hub_payload_put_arguments(writer, types, arguments);
    else
        hub_stream_ids_put(writer, types, arguments, &out->marks);
}

static size_t count_of(const struct rapahub_type *const *types)
{
    size_t count = 0;

    while (types[count])
        count++;
    return count;
}

/* Encodes all arguments but the last, and the length of that one. */
static int encode_before(const struct rapahub_call *call, const struct rapahub_type *const *types,
                         size_t count, struct host_prepared *out)
{
    const struct rapahub_type *before[HUB_SIGNATURE_ARGUMENTS_MAX + 1] = {NULL};
    const struct rapahub_bytes *last = call->arguments[count - 1];
    struct hub_writer writer;

    memcpy(before, types, (count - 1) * sizeof *before);
    hub_writer_init(&writer, out->buffer.data, out->buffer.capacity);
    put_arguments(&writer, before, call->arguments, out);
    hub_postcard_put_unsigned(&writer, last->size);
    if (writer.failure < 0)
        return rapahub_fail(writer.failure, "hub.loan.align", "too much stands before the loan");
    out->arguments = (struct rapahub_bytes){out->buffer.data, writer.size};
    out->apart = *last;
    return 0;
}

/* Large bytes at the end of a call that the caller waits for are copied once, to where the guest
 * reads them. Bytes of this thread's own results are not: a call made meanwhile may free them. */
static bool encode_in_place(struct host_call *host, const struct rapahub_call *call,
                            const struct rapahub_type *const *types, struct host_prepared *out)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    size_t count = count_of(types);
    const struct rapahub_bytes *last = count > 0 ? call->arguments[count - 1] : NULL;

    if (!last || count > HUB_SIGNATURE_ARGUMENTS_MAX || out->of_offer || !caller ||
        types[count - 1]->kind != RAPAHUB_KIND_BYTES || last->size < IN_PLACE_LEAST ||
        last->size + 2 * HEAD_ROOM > host->process.options.limits.payload_max ||
        host_caller_lends(caller, last->data) ||
        !host_caller_take(caller, ENCODE_FIRST, &out->buffer))
        return false;
    if (encode_before(call, types, count, out) == 0 && out->marks.count == 0 &&
        out->arguments.size <= HOST_REQUEST_BEFORE_MAX)
        return true;
    out->apart = (struct rapahub_bytes){NULL, 0};
    host_caller_give(&out->buffer);
    return false;
}

/* Prepares the arguments of a call with a loan. If the host itself is the target, `out->loan` stays
 * NULL and they are encoded as those of any call. */
static int prepare_loan(struct host_call *host, const struct rapahub_call *call,
                        const struct host_route *route, const struct rapahub_type *const *types,
                        struct host_prepared *out)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    size_t count = count_of(types);
    int r;

    if (count == 0 || count > HUB_SIGNATURE_ARGUMENTS_MAX ||
        types[count - 1]->kind != RAPAHUB_KIND_BYTES)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "hub.loan.align",
                            "the last argument of %s is not bytes, so it cannot be a loan",
                            out->name);
    r = host_loans_find(call->loan, route, call->arguments[count - 1], &out->loan);
    if (r < 0 || !out->loan)
        return r;
    if (!caller || !host_caller_take(caller, ENCODE_FIRST, &out->buffer))
        return RAPAHUB_ENOMEM;
    return encode_before(call, types, count, out);
}

static int encode(struct host_call *host, const struct rapahub_type *const *types,
                  const void *const *arguments, struct host_prepared *out)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    struct hub_writer writer;

    if (!caller || !host_caller_take(caller, ENCODE_FIRST, &out->buffer))
        return RAPAHUB_ENOMEM;
    hub_writer_init(&writer, out->buffer.data, out->buffer.capacity);
    put_arguments(&writer, types, arguments, out);
    if (writer.failure == -EMSGSIZE) {
        hub_writer_count(&writer);
        put_arguments(&writer, types, arguments, out);
        if (writer.size > host->process.options.limits.payload_max - HEAD_ROOM)
            return refuse_size(host, types, arguments, writer.size);
        host_caller_give(&out->buffer);
        if (!host_caller_take(caller, writer.size, &out->buffer))
            return RAPAHUB_ENOMEM;
        hub_writer_init(&writer, out->buffer.data, out->buffer.capacity);
        put_arguments(&writer, types, arguments, out);
    }
    if (writer.failure < 0)
        return rapahub_fail(writer.failure == -EINVAL ? RAPAHUB_EARGUMENTS : writer.failure, "",
                            "an argument of %s is no valid UTF-8", out->name);
    out->arguments = (struct rapahub_bytes){out->buffer.data, writer.size};
    out->aligned = hub_payload_from_largest(types, arguments);
    return 0;
}

int host_prepared_make(struct host_call *host, const struct rapahub_call *call,
                       const struct host_route *route, bool waits, struct host_prepared *out)
{
    static const void *const none[] = {NULL};
    const struct rapahub_type *const *types;
    int r;

    out->storage = NULL;
    out->loan = NULL;
    out->apart = (struct rapahub_bytes){NULL, 0};
    out->aligned = 0;
    out->view = call->view;
    out->marks.count = 0;
    out->of_offer = route->container && route->container->offer;
    out->buffer = (struct host_buffer){0};
    r = resolve(call, route, out, &types);
    if (r == 0)
        r = hub_payload_count(out->name, types + 1, call->arguments);
    if (r == 0 && call->loan)
        r = prepare_loan(host, call, route, types + 1, out);
    if (r == 0 && !out->loan && !(waits && encode_in_place(host, call, types + 1, out)))
        r = encode(host, types + 1, call->arguments ? call->arguments : none, out);
    return r;
}

void host_prepared_release(struct host_prepared *prepared)
{
    hub_signature_release(&prepared->storage);
    host_caller_give(&prepared->buffer);
}
