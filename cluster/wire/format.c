/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/format.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define STRICT "cluster.wire.strict"

static const struct cluster_list *list_in(const void *value, const struct cluster_format_list *list)
{
    return (const struct cluster_list *)((const char *)value + list->at);
}

static int refuse(const struct cluster_format *format, int code, const char *why)
{
    return rapahub_fail(code, STRICT, "%s: %s", format->what, why);
}

static const char *why_not_list(const struct cluster_format_list *description,
                                const struct cluster_list *list)
{
    const char *why = list->count > description->most ? "a list is longer than its limit" : NULL;

    for (uint32_t i = 0; !why && list->of && description->check && i < list->count; i++)
        why = description->check((const char *)list->of + i * description->type->size);
    return why;
}

static void put_list(struct hub_writer *writer, const struct rapahub_type *type,
                     const struct cluster_list *list)
{
    hub_postcard_put_unsigned(writer, list->count);
    if (!list->of)
        hub_writer_put(writer, list->encoded.data, list->encoded.size);
    for (uint32_t i = 0; list->of && i < list->count; i++)
        hub_payload_put(writer, type, (const char *)list->of + i * type->size);
}

int cluster_format_put(struct hub_writer *writer, const struct cluster_format *format,
                       const void *value)
{
    const struct cluster_format_list *list = format->lists;
    const char *why = NULL;

    /* Lists first: the check of the whole may walk them. */
    for (; !why && list->type; list++)
        why = why_not_list(list, list_in(value, list));
    if (!why && format->check)
        why = format->check(value);
    if (why)
        return refuse(format, RAPAHUB_EINVAL, why);
    hub_writer_byte(writer, CLUSTER_FORMAT_FIRST);
    if (format->type)
        hub_payload_put(writer, format->type, value);
    for (list = format->lists; list->type; list++)
        put_list(writer, list->type, list_in(value, list));
    return writer->failure;
}

/* Looks at each element of a list. Returns why it is refused, if it is not the reader that says so.
 */
static const char *read_list(struct hub_reader *reader,
                             const struct cluster_format_list *description,
                             struct cluster_list *out)
{
    _Alignas(max_align_t) char element[CLUSTER_FORMAT_ELEMENT];
    const char *why = NULL;

    CHECK(description->type->size <= sizeof element);
    *out = (struct cluster_list){.count = hub_postcard_read_count(reader, 1)};
    out->encoded.data = reader->at;
    if (out->count > description->most)
        return "a list is longer than its limit";
    for (uint32_t i = 0; i < out->count && !reader->failure && !why; i++) {
        hub_payload_decode(reader, description->type, element);
        if (!reader->failure && description->check)
            why = description->check(element);
    }
    out->encoded.size = (size_t)(reader->at - (const uint8_t *)out->encoded.data);
    return why;
}

static const char *read_value(struct hub_reader *reader, const struct cluster_format *format,
                              void *out)
{
    const struct cluster_format_list *list = format->lists;
    const char *why = NULL;

    if (hub_postcard_read_byte(reader) != CLUSTER_FORMAT_FIRST && !reader->failure)
        return "of a format that this release does not know";
    if (format->type)
        hub_payload_decode(reader, format->type, out);
    for (; list->type && !reader->failure && !why; list++)
        why = read_list(reader, list, (struct cluster_list *)((char *)out + list->at));
    if (why || hub_postcard_end(reader) < 0)
        return why;
    return format->check ? format->check(out) : NULL;
}

/* r[impl cluster.wire.strict] */
int cluster_format_read(const struct cluster_format *format, struct rapahub_bytes from, void *out)
{
    struct hub_reader reader;
    const char *why;

    hub_reader_init(&reader, from.data, from.size);
    why = read_value(&reader, format, out);
    if (!why && reader.failure == 0)
        return 0;
    return refuse(format, RAPAHUB_EFORMAT, why ? why : rapahub_last_error()->text);
}

bool cluster_format_next(struct cluster_list *list, const struct rapahub_type *type, void *out)
{
    struct hub_reader reader;

    if (list->count == 0)
        return false;
    hub_reader_init(&reader, list->encoded.data, list->encoded.size);
    hub_payload_decode(&reader, type, out);
    CHECK(reader.failure == 0); /* it was read before */
    list->count--;
    list->encoded = (struct rapahub_bytes){reader.at, hub_reader_left(&reader)};
    return true;
}
