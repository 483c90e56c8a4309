/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the vectors with POSTCARD in them through the primitives, by an interpreter of the
 * vectors' types, which has more of them than our values have. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/postcard.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

#define BUFFER 65536

/* A type is a pointer to its text, which continues after it. */

static const char *skip_type(const char *type)
{
    unsigned depth = 0;

    for (; *type; type++) {
        if (depth == 0 && strchr(",)>", *type))
            break;
        if (strchr("<(", *type))
            depth++;
        else if (strchr(">)", *type))
            depth--;
    }
    return type;
}

static bool is_type(const char *type, const char *word)
{
    size_t size = strlen(word);

    return !strncmp(type, word, size) &&
           (strchr("<(", word[size - 1]) || !type[size] || strchr(",)>", type[size]));
}

static const char *first_part(const char *type)
{
    return type + strcspn(type, "<(") + 1;
}

/* NULL after the last. */
static const char *next_part(const char *part)
{
    const char *end = skip_type(part);

    return *end == ',' ? end + 2 : NULL;
}

static const char *part_at(const char *type, uint32_t index)
{
    const char *part = first_part(type);

    while (index-- > 0)
        part = next_part(part);
    return part;
}

static uint32_t count_parts(const char *type)
{
    uint32_t count = 0;

    if (*first_part(type) == ')')
        return 0;
    for (const char *part = first_part(type); part; part = next_part(part))
        count++;
    return count;
}

static size_t least_of(const char *type)
{
    size_t least = 0;

    if (is_type(type, "unit") || is_type(type, "()"))
        return 0;
    if (is_type(type, "f32"))
        return 4;
    if (is_type(type, "f64"))
        return 8;
    if (!is_type(type, "("))
        return 1;
    for (uint32_t i = 0; i < count_parts(type); i++)
        least += least_of(part_at(type, i));
    return least;
}

static bool is_char(struct rapahub_string text)
{
    size_t scalars = 0;

    for (size_t i = 0; i < text.size; i++)
        scalars += ((uint8_t)text.data[i] & 0xc0) != 0x80;
    return scalars == 1;
}

static unsigned bits_of(const char *type)
{
    return (unsigned)strtoul(type + 1, NULL, 10);
}

static bool is_integer(const char *type)
{
    return strchr("iu", *type) && type[1] >= '0' && type[1] <= '9';
}

static void put(struct hub_writer *writer, const char *type, const json_t *value);
static json_t *take(struct hub_reader *reader, const char *type);

static void put_integer(struct hub_writer *writer, const char *type, const json_t *value)
{
    if (bits_of(type) == 8)
        hub_writer_byte(
            writer, (uint8_t)(*type == 'i' ? (uint64_t)vectors_i64(value) : vectors_u64(value)));
    else if (*type == 'i')
        hub_postcard_put_signed(writer, vectors_i64(value));
    else
        hub_postcard_put_unsigned(writer, vectors_u64(value));
}

static json_t *take_integer(struct hub_reader *reader, const char *type)
{
    unsigned bits = bits_of(type);
    int64_t value;
    char text[24];

    if (bits == 8) {
        uint8_t byte = hub_postcard_read_byte(reader);

        return json_integer(*type == 'i' ? (int8_t)byte : byte);
    }
    value = *type == 'i' ? hub_postcard_read_signed(reader, bits)
                         : (int64_t)hub_postcard_read_unsigned(reader, bits);
    if (bits < 64)
        return json_integer(value);
    snprintf(text, sizeof(text), *type == 'i' ? "%" PRId64 : "%" PRIu64, value);
    return json_string(text);
}

static void put_hex(struct hub_writer *writer, const char *hex)
{
    struct rapahub_bytes bytes = {NULL, strlen(hex) / 2};
    uint8_t data[256];

    assert_true(bytes.size <= sizeof(data));
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned byte;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        data[i] = (uint8_t)byte;
    }
    bytes.data = data;
    hub_postcard_put_bytes(writer, bytes);
}

static json_t *take_hex(struct hub_reader *reader)
{
    struct rapahub_bytes bytes = hub_postcard_read_bytes(reader);
    char hex[513] = "";

    assert_true(bytes.size < 256);
    for (size_t i = 0; i < bytes.size; i++)
        snprintf(hex + 2 * i, 3, "%02x", ((const uint8_t *)bytes.data)[i]);
    return json_string(hex);
}

static void put_scalar(struct hub_writer *writer, const char *type, const json_t *value)
{
    if (is_integer(type))
        put_integer(writer, type, value);
    else if (is_type(type, "bool"))
        hub_postcard_put_bool(writer, json_is_true(value));
    else if (is_type(type, "f32"))
        hub_postcard_put_f32(writer, (float)json_real_value(value));
    else if (is_type(type, "f64"))
        hub_postcard_put_f64(writer, json_real_value(value));
    else if (is_type(type, "string") || is_type(type, "char"))
        hub_postcard_put_string(writer, rapahub_string_of(vectors_text(value)));
    else if (is_type(type, "bytes"))
        put_hex(writer, vectors_text(value));
    else
        assert_true(is_type(type, "unit"));
}

static json_t *take_scalar(struct hub_reader *reader, const char *type)
{
    struct rapahub_string text;

    if (is_integer(type))
        return take_integer(reader, type);
    if (is_type(type, "bool"))
        return json_boolean(hub_postcard_read_bool(reader));
    if (is_type(type, "f32"))
        return json_real((double)hub_postcard_read_f32(reader));
    if (is_type(type, "f64"))
        return json_real(hub_postcard_read_f64(reader));
    if (is_type(type, "bytes"))
        return take_hex(reader);
    if (is_type(type, "unit"))
        return json_null();
    text = hub_postcard_read_string(reader);
    if (is_type(type, "never") || (is_type(type, "char") && !is_char(text)))
        reader->failure = reader->failure ? reader->failure : RAPAHUB_EFORMAT;
    return json_stringn(text.data ? text.data : "", text.size);
}

static void put_list(struct hub_writer *writer, const char *type, const json_t *value)
{
    size_t count = json_array_size(value);

    hub_postcard_put_unsigned(writer, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *element = vectors_element(value, i);

        if (is_type(type, "map<"))
            put(writer, part_at(type, 0), vectors_element(element, 0));
        put(writer, part_at(type, is_type(type, "map<")),
            is_type(type, "map<") ? vectors_element(element, 1) : element);
    }
}

static json_t *take_list(struct hub_reader *reader, const char *type)
{
    bool map = is_type(type, "map<");
    size_t least = least_of(part_at(type, 0)) + (map ? least_of(part_at(type, 1)) : 0);
    uint32_t count = hub_postcard_read_count(reader, least);
    json_t *list = json_array();

    for (uint32_t i = 0; i < count && !reader->failure; i++) {
        json_t *key = map ? take(reader, part_at(type, 0)) : NULL;
        json_t *element = take(reader, part_at(type, map));

        json_array_append_new(list, map ? json_pack("[o, o]", key, element) : element);
    }
    return list;
}

static void put_variant(struct hub_writer *writer, const char *type, const json_t *value)
{
    uint32_t variant = (uint32_t)vectors_u64(vectors_member(value, "variant"));

    hub_postcard_put_unsigned(writer, variant);
    put(writer, part_at(type, variant), json_object_get(value, "payload"));
}

static json_t *take_variant(struct hub_reader *reader, const char *type)
{
    uint32_t variant = hub_postcard_read_variant(reader, count_parts(type));
    json_t *value = json_pack("{s: i}", "variant", (int)variant);
    json_t *payload = take(reader, part_at(type, variant));

    if (json_is_null(payload))
        json_decref(payload);
    else
        json_object_set_new(value, "payload", payload);
    return value;
}

static void put_result(struct hub_writer *writer, const char *type, const json_t *value)
{
    bool failed = !json_object_get(value, "ok");

    hub_postcard_put_unsigned(writer, failed);
    put(writer, part_at(type, failed), vectors_member(value, failed ? "err" : "ok"));
}

static json_t *take_result(struct hub_reader *reader, const char *type)
{
    uint32_t failed = hub_postcard_read_variant(reader, 2);

    return json_pack("{s: o}", failed ? "err" : "ok", take(reader, part_at(type, failed)));
}

static void put_option(struct hub_writer *writer, const char *type, const json_t *value)
{
    hub_postcard_put_bool(writer, !json_is_null(value));
    if (!json_is_null(value))
        put(writer, part_at(type, 0), vectors_member(value, "some"));
}

static json_t *take_option(struct hub_reader *reader, const char *type)
{
    if (!hub_postcard_read_bool(reader))
        return json_null();
    return json_pack("{s: o}", "some", take(reader, part_at(type, 0)));
}

static void put_tuple(struct hub_writer *writer, const char *type, const json_t *value)
{
    assert_int_equal(json_array_size(value), count_parts(type));
    for (uint32_t i = 0; i < count_parts(type); i++)
        put(writer, part_at(type, i), vectors_element(value, i));
}

static json_t *take_tuple(struct hub_reader *reader, const char *type)
{
    json_t *tuple = json_array();

    for (uint32_t i = 0; i < count_parts(type); i++)
        json_array_append_new(tuple, take(reader, part_at(type, i)));
    return tuple;
}

static const struct {
    const char *word;
    void (*put)(struct hub_writer *writer, const char *type, const json_t *value);
    json_t *(*take)(struct hub_reader *reader, const char *type);
} shapes[] = {
    {"vec<", put_list, take_list},        {"map<", put_list, take_list},
    {"enum<", put_variant, take_variant}, {"result<", put_result, take_result},
    {"option<", put_option, take_option}, {"(", put_tuple, take_tuple},
    {"", put_scalar, take_scalar},
};

static size_t shape_of(const char *type)
{
    size_t i = 0;

    while (*shapes[i].word && strncmp(type, shapes[i].word, strlen(shapes[i].word)) != 0)
        i++;
    return i;
}

static void put(struct hub_writer *writer, const char *type, const json_t *value)
{
    shapes[shape_of(type)].put(writer, type, value);
}

static json_t *take(struct hub_reader *reader, const char *type)
{
    return shapes[shape_of(type)].take(reader, type);
}

/* Our values have no 128 bits. */
static bool is_skipped(const struct vector *vector)
{
    return is_type(vector->type, "u128") || is_type(vector->type, "i128");
}

static void check_encoded(const struct vector *vector, bool same)
{
    uint8_t *data = malloc(BUFFER);
    struct hub_writer writer;

    hub_writer_init(&writer, data, BUFFER);
    put(&writer, vector->type, vector->value);
    assert_int_equal(writer.failure, 0);
    if (same)
        assert_int_equal(writer.size, vector->size);
    assert_int_equal(same,
                     writer.size == vector->size && !memcmp(data, vector->bytes, writer.size));
    free(data);
}

/* Exactly as large as the bytes, so that a sanitizer notices reads past them. */
static json_t *decode(const struct vector *vector, int *failure)
{
    uint8_t *data = malloc(vector->size ? vector->size : 1);
    struct hub_reader reader;
    json_t *value;

    memcpy(data, vector->bytes, vector->size);
    hub_reader_init(&reader, data, vector->size);
    value = take(&reader, vector->type);
    *failure = hub_postcard_end(&reader);
    free(data);
    return value;
}

static void check_decoded(const struct vector *vector)
{
    int failure;
    json_t *value = decode(vector, &failure);

    assert_int_equal(failure, 0);
    if (!json_equal(value, vector->value))
        fail_msg("%s was decoded to something else", vector->name);
    json_decref(value);
}

static void check_kind(const char *kind, bool same, size_t skipped)
{
    struct vectors *all = vectors_open();
    size_t checked = 0, left = 0;

    for (const struct vector *v = NULL; (v = vectors_next(all, kind, v));) {
        if (is_skipped(v)) {
            left++;
            continue;
        }
        check_encoded(v, same);
        check_decoded(v);
        checked++;
    }
    if (left)
        print_message("%s: %zu vectors of 128 bits are left out\n", kind, left);
    assert_int_equal(left, skipped);
    assert_true(checked > 0);
    assert_int_equal(checked + left, vectors_count(all, kind));
    vectors_close(all);
}

static void check_refused(const char *kind, const char *rule)
{
    struct vectors *all = vectors_open();
    size_t checked = 0;

    for (const struct vector *v = NULL; (v = vectors_next(all, kind, v)); checked++) {
        int failure;

        rapahub_clear_error();
        json_decref(decode(v, &failure));
        if (failure != RAPAHUB_EFORMAT)
            fail_msg("%s was not refused", v->name);
        if (rule && !strstr(v->type, "char") && !strstr(v->type, "never"))
            assert_string_equal(rapahub_last_error()->rule, rule);
    }
    assert_true(checked > 0);
    vectors_close(all);
}

/* r[verify shm.payload.encoding] */
static void every_vector_is_written_and_read_to_the_byte(void **state)
{
    (void)state;
    check_kind("postcard", true, 4);
    check_kind("data", true, 0);
}

/* r[verify shm.metadata.in-payload] r[verify call.request.payload-encoding]
 * r[verify call.response.encoding] */
static void requests_and_responses_are_written_and_read_to_the_byte(void **state)
{
    (void)state;
    check_kind("metadata", true, 0);
    check_kind("request", true, 0);
    check_kind("response", true, 0);
}

/* r[verify shm.goodbye.payload] */
static void a_goodbye_is_a_string_and_a_raw_one_is_not(void **state)
{
    struct vectors *all = vectors_open();
    const struct vector *raw = vectors_find(all, "goodbye-raw-utf8-fallback");
    int failure;

    (void)state;
    check_kind("goodbye", true, 0);
    json_decref(decode(raw, &failure));
    assert_int_equal(failure, RAPAHUB_EFORMAT);
    assert_true(hub_postcard_utf8(raw->bytes, raw->size));
    assert_int_equal(memcmp(raw->bytes, vectors_text(raw->value), raw->size), 0);
    vectors_close(all);
}

static void over_long_numbers_are_read_but_not_written(void **state)
{
    (void)state;
    check_kind("postcard-decode", false, 0);
}

/* r[verify hub.postcard.strict] */
static void what_is_not_strict_is_refused(void **state)
{
    (void)state;
    check_refused("postcard-reject", "hub.postcard.strict");
    check_refused("response-reject", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_is_written_and_read_to_the_byte),
        cmocka_unit_test(requests_and_responses_are_written_and_read_to_the_byte),
        cmocka_unit_test(a_goodbye_is_a_string_and_a_raw_one_is_not),
        cmocka_unit_test(over_long_numbers_are_read_but_not_written),
        cmocka_unit_test(what_is_not_strict_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
