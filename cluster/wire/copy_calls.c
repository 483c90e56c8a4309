/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/copy_calls.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

RAPAHUB_RECORD(cluster_copy_calls_origin, RAPAHUB_MEMBER(cluster_copy_calls_origin, origin, u64),
               RAPAHUB_MEMBER(cluster_copy_calls_origin, peer, u64),
               RAPAHUB_MEMBER(cluster_copy_calls_origin, done_below, u64));
RAPAHUB_RECORD(cluster_copy_calls_call, RAPAHUB_MEMBER(cluster_copy_calls_call, origin, u64),
               RAPAHUB_MEMBER(cluster_copy_calls_call, number, u64),
               RAPAHUB_MEMBER(cluster_copy_calls_call, method, u64),
               RAPAHUB_MEMBER(cluster_copy_calls_call, digest, u64),
               RAPAHUB_MEMBER(cluster_copy_calls_call, status, i32),
               RAPAHUB_MEMBER(cluster_copy_calls_call, application, i32),
               RAPAHUB_MEMBER(cluster_copy_calls_call, lost, bool),
               RAPAHUB_MEMBER(cluster_copy_calls_call, answer, bytes));

static const char *why_not_origin(const void *value)
{
    const struct cluster_copy_calls_origin *origin = value;

    return cluster_ids_is_uid((struct cluster_uid){origin->origin, 1})
               ? NULL
               : "an origin that no call can have";
}

static const char *why_not_call(const void *value)
{
    const struct cluster_copy_calls_call *call = value;

    if (!cluster_ids_is_uid((struct cluster_uid){call->origin, call->number}))
        return "a call without an origin or a number";
    return call->lost && call->answer.size > 0 ? "a call whose answer is lost has one" : NULL;
}

static const struct cluster_format format = {
    .what = "the calls of a copy",
    .lists = {{&rapahub_type_cluster_copy_calls_origin,
               offsetof(struct cluster_copy_calls, origins), CLUSTER_COPY_CALLS_MAX,
               why_not_origin},
              {&rapahub_type_cluster_copy_calls_call, offsetof(struct cluster_copy_calls, calls),
               CLUSTER_COPY_CALLS_MAX, why_not_call}}};

static void count(struct hub_writer *writer, uint32_t of)
{
    if (of > CLUSTER_COPY_CALLS_MAX && writer->failure == 0)
        writer->failure = RAPAHUB_EINVAL;
    hub_postcard_put_unsigned(writer, of);
}

void cluster_copy_calls_begin(struct hub_writer *writer, uint32_t origins)
{
    hub_writer_byte(writer, CLUSTER_FORMAT_FIRST);
    count(writer, origins);
}

void cluster_copy_calls_begin_calls(struct hub_writer *writer, uint32_t calls)
{
    count(writer, calls);
}

static void put(struct hub_writer *writer, const struct rapahub_type *type, const void *value,
                const char *why_not)
{
    if (why_not && writer->failure == 0)
        writer->failure = RAPAHUB_EINVAL;
    hub_payload_put(writer, type, value);
}

void cluster_copy_calls_put_origin(struct hub_writer *writer,
                                   const struct cluster_copy_calls_origin *origin)
{
    put(writer, &rapahub_type_cluster_copy_calls_origin, origin, why_not_origin(origin));
}

void cluster_copy_calls_put_call(struct hub_writer *writer,
                                 const struct cluster_copy_calls_call *call)
{
    put(writer, &rapahub_type_cluster_copy_calls_call, call, why_not_call(call));
}

int cluster_copy_calls_read(struct rapahub_bytes from, struct cluster_copy_calls *out)
{
    return cluster_format_read(&format, from, out);
}

bool cluster_copy_calls_next_origin(struct cluster_list *list,
                                    struct cluster_copy_calls_origin *out)
{
    return cluster_format_next(list, &rapahub_type_cluster_copy_calls_origin, out);
}

bool cluster_copy_calls_next_call(struct cluster_list *list, struct cluster_copy_calls_call *out)
{
    return cluster_format_next(list, &rapahub_type_cluster_copy_calls_call, out);
}
