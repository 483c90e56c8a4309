/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/payload.h"

#include <rapahub/error.h>

#include "hub/wire/number.h"
#include "hub/wire/postcard.h"

typedef void put_function(struct hub_writer *writer, size_t size, const void *value);
typedef void take_function(struct hub_reader *reader, size_t size, void *value);

static void put_nothing(struct hub_writer *writer, size_t size, const void *value)
{
    (void)writer;
    (void)size;
    (void)value;
}

static void take_nothing(struct hub_reader *reader, size_t size, void *value)
{
    (void)reader;
    (void)size;
    (void)value;
}

static void put_bool(struct hub_writer *writer, size_t size, const void *value)
{
    (void)size;
    hub_postcard_put_bool(writer, *(const bool *)value);
}

static void take_bool(struct hub_reader *reader, size_t size, void *value)
{
    (void)size;
    *(bool *)value = hub_postcard_read_bool(reader);
}

static void put_byte(struct hub_writer *writer, size_t size, const void *value)
{
    (void)size;
    hub_writer_byte(writer, *(const uint8_t *)value);
}

static void take_byte(struct hub_reader *reader, size_t size, void *value)
{
    (void)size;
    *(uint8_t *)value = hub_postcard_read_byte(reader);
}

static void put_signed(struct hub_writer *writer, size_t size, const void *value)
{
    hub_postcard_put_signed(writer, hub_number_load_signed(value, size));
}

static void take_signed(struct hub_reader *reader, size_t size, void *value)
{
    hub_number_store(value, size, (uint64_t)hub_postcard_read_signed(reader, (unsigned)size * 8));
}

static void put_unsigned(struct hub_writer *writer, size_t size, const void *value)
{
    hub_postcard_put_unsigned(writer, hub_number_load_unsigned(value, size));
}

static void take_unsigned(struct hub_reader *reader, size_t size, void *value)
{
    hub_number_store(value, size, hub_postcard_read_unsigned(reader, (unsigned)size * 8));
}

static void put_f32(struct hub_writer *writer, size_t size, const void *value)
{
    (void)size;
    hub_postcard_put_f32(writer, *(const float *)value);
}

static void take_f32(struct hub_reader *reader, size_t size, void *value)
{
    (void)size;
    *(float *)value = hub_postcard_read_f32(reader);
}

static void put_f64(struct hub_writer *writer, size_t size, const void *value)
{
    (void)size;
    hub_postcard_put_f64(writer, *(const double *)value);
}

static void take_f64(struct hub_reader *reader, size_t size, void *value)
{
    (void)size;
    *(double *)value = hub_postcard_read_f64(reader);
}

static void put_string(struct hub_writer *writer, size_t size, const void *value)
{
    (void)size;
    hub_postcard_put_string(writer, *(const struct rapahub_string *)value);
}

static void take_string(struct hub_reader *reader, size_t size, void *value)
{
    (void)size;
    *(struct rapahub_string *)value = hub_postcard_read_string(reader);
}

static void put_bytes(struct hub_writer *writer, size_t size, const void *value)
{
    (void)size;
    hub_postcard_put_bytes(writer, *(const struct rapahub_bytes *)value);
}

static void take_bytes(struct hub_reader *reader, size_t size, void *value)
{
    (void)size;
    *(struct rapahub_bytes *)value = hub_postcard_read_bytes(reader);
}

/* A stream is encoded as its channel's id. In memory that is to be encoded, or was just decoded,
 * the id is in the place of the program's pointer. r[impl channeling.type] */
static void put_stream(struct hub_writer *writer, size_t size, const void *value)
{
    (void)size;
    hub_postcard_put_unsigned(writer, hub_number_load_unsigned(value, sizeof(uint64_t)));
}

static void take_stream(struct hub_reader *reader, size_t size, void *value)
{
    (void)size;
    hub_number_store(value, sizeof(uint64_t), hub_postcard_read_unsigned(reader, 64));
}

static const struct {
    put_function *put;
    take_function *take;
} codecs[] = {
    [RAPAHUB_KIND_VOID] = {put_nothing, take_nothing},
    [RAPAHUB_KIND_BOOL] = {put_bool, take_bool},
    [RAPAHUB_KIND_I8] = {put_byte, take_byte},
    [RAPAHUB_KIND_I16] = {put_signed, take_signed},
    [RAPAHUB_KIND_I32] = {put_signed, take_signed},
    [RAPAHUB_KIND_I64] = {put_signed, take_signed},
    [RAPAHUB_KIND_U8] = {put_byte, take_byte},
    [RAPAHUB_KIND_U16] = {put_unsigned, take_unsigned},
    [RAPAHUB_KIND_U32] = {put_unsigned, take_unsigned},
    [RAPAHUB_KIND_U64] = {put_unsigned, take_unsigned},
    [RAPAHUB_KIND_F32] = {put_f32, take_f32},
    [RAPAHUB_KIND_F64] = {put_f64, take_f64},
    [RAPAHUB_KIND_STRING] = {put_string, take_string},
    [RAPAHUB_KIND_BYTES] = {put_bytes, take_bytes},
    [RAPAHUB_KIND_SOURCE] = {put_stream, take_stream},
    [RAPAHUB_KIND_SINK] = {put_stream, take_stream},
};

_Static_assert(sizeof(void *) == sizeof(uint64_t), "a pointer and an id take the same room");

static void put_at(struct hub_writer *writer, const struct rapahub_type *type, const void *value,
                   unsigned depth)
{
    const struct rapahub_member *member = type->members;

    if (type->kind != RAPAHUB_KIND_RECORD) {
        codecs[type->kind].put(writer, type->size, value);
        return;
    }
    if (depth == HUB_POSTCARD_DEPTH) {
        writer->failure = rapahub_fail(RAPAHUB_EINVAL, "hub.postcard.strict",
                                       "records nest deeper than %d", HUB_POSTCARD_DEPTH);
        return;
    }
    for (; member->name && !writer->failure; member++)
        put_at(writer, member->type, (const char *)value + member->offset, depth + 1);
}

static void take_at(struct hub_reader *reader, const struct rapahub_type *type, void *value,
                    unsigned depth)
{
    const struct rapahub_member *member = type->members;

    if (type->kind != RAPAHUB_KIND_RECORD) {
        codecs[type->kind].take(reader, type->size, value);
        return;
    }
    if (depth == HUB_POSTCARD_DEPTH) {
        reader->failure = rapahub_fail(RAPAHUB_EFORMAT, "hub.postcard.strict",
                                       "records nest deeper than %d", HUB_POSTCARD_DEPTH);
        return;
    }
    for (; member->name && !reader->failure; member++)
        take_at(reader, member->type, (char *)value + member->offset, depth + 1);
}

void hub_payload_put(struct hub_writer *writer, const struct rapahub_type *type, const void *value)
{
    put_at(writer, type, value, 0);
}

void hub_payload_decode(struct hub_reader *reader, const struct rapahub_type *type, void *value)
{
    take_at(reader, type, value, 0);
}

/* r[impl call.request.payload-encoding] */
void hub_payload_put_arguments(struct hub_writer *writer, const struct rapahub_type *const *types,
                               const void *const *values)
{
    for (size_t i = 0; types[i]; i++)
        hub_payload_put(writer, types[i], values[i]);
}

const void *hub_payload_put_before_last(struct hub_writer *writer,
                                        const struct rapahub_type *const *types,
                                        const void *const *values)
{
    size_t i = 0;

    for (; types[i + 1]; i++)
        hub_payload_put(writer, types[i], values[i]);
    return values[i];
}

size_t hub_payload_from_largest(const struct rapahub_type *const *types, const void *const *values)
{
    const struct rapahub_bytes *largest = NULL;
    struct hub_writer writer;
    size_t behind = 0;

    for (size_t i = 0; types[i]; i++) {
        const struct rapahub_bytes *bytes = values[i];

        if (types[i]->kind == RAPAHUB_KIND_BYTES && (!largest || bytes->size > largest->size)) {
            largest = bytes;
            behind = i + 1;
        }
    }
    if (!largest)
        return 0;
    hub_writer_count(&writer);
    hub_payload_put_arguments(&writer, types + behind, values + behind);
    return largest->size + writer.size;
}

int hub_payload_count(const char *name, const struct rapahub_type *const *types,
                      const void *const *values)
{
    size_t takes = 0, given = 0;

    while (types[takes])
        takes++;
    while (values && given < takes && values[given])
        given++;
    return given == takes
               ? 0
               : rapahub_fail(RAPAHUB_EARGUMENTS, "", "%s takes %zu argument%s, %zu given", name,
                              takes, takes == 1 ? "" : "s", given);
}
