/* SPDX-License-Identifier: Apache-2.0 */
/* vectors: reads the whole file once, decodes all hex, and returns views. */
#include "tests/support/vectors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vectors {
    json_t *root;
    size_t count;
    struct vector *list;
    uint8_t *bytes; /* of all vectors together */
};

__attribute__((noreturn, format(printf, 1, 2))) static void stop(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("vectors: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

static unsigned digit(char c, const char *where)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    if (!at)
        stop("%s: '%c' is no hexadecimal digit", where, c);
    return (unsigned)(at - digits);
}

static const char *text_of(const json_t *object, const char *name, size_t index)
{
    const char *text = json_string_value(json_object_get(object, name));

    if (!text)
        stop("vector %zu has no text '%s'", index, name);
    return text;
}

static size_t decode(struct vector *vector, const char *hex, uint8_t *to)
{
    size_t digits = strlen(hex);

    if (digits % 2 != 0)
        stop("%s: half a byte", vector->name);
    for (size_t i = 0; i < digits / 2; i++)
        to[i] =
            (uint8_t)(digit(hex[2 * i], vector->name) << 4 | digit(hex[2 * i + 1], vector->name));
    vector->bytes = to;
    vector->size = digits / 2;
    return vector->size;
}

static size_t bytes_needed(const json_t *root)
{
    size_t needed = 1;

    for (size_t i = 0; i < json_array_size(root); i++)
        needed += strlen(text_of(json_array_get(root, i), "hex", i)) / 2;
    return needed;
}

static void fill(struct vectors *vectors)
{
    uint8_t *to = vectors->bytes;

    for (size_t i = 0; i < vectors->count; i++) {
        struct vector *vector = &vectors->list[i];
        const json_t *object = json_array_get(vectors->root, i);

        vector->kind = text_of(object, "kind", i);
        vector->name = text_of(object, "name", i);
        vector->type = text_of(object, "type", i);
        vector->value = vectors_member(object, "value");
        to += decode(vector, text_of(object, "hex", i), to);
    }
}

struct vectors *vectors_open(void)
{
    static const char path[] = TEST_DATA "/wire-vectors.json";
    struct vectors *vectors = calloc(1, sizeof(*vectors));
    json_error_t error;

    if (!vectors)
        stop("no memory");
    vectors->root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_array(vectors->root))
        stop("%s:%d: %s", path, error.line, error.text);
    vectors->count = json_array_size(vectors->root);
    vectors->list = calloc(vectors->count + 1, sizeof(*vectors->list));
    vectors->bytes = calloc(1, bytes_needed(vectors->root));
    if (!vectors->list || !vectors->bytes)
        stop("no memory");
    fill(vectors);
    return vectors;
}

void vectors_close(struct vectors *vectors)
{
    if (!vectors)
        return;
    json_decref(vectors->root);
    free(vectors->list);
    free(vectors->bytes);
    free(vectors);
}

const struct vector *vectors_next(const struct vectors *vectors, const char *kind,
                                  const struct vector *previous)
{
    size_t i = previous ? (size_t)(previous - vectors->list) + 1 : 0;

    for (; i < vectors->count; i++)
        if (!kind || strcmp(vectors->list[i].kind, kind) == 0)
            return &vectors->list[i];
    return NULL;
}

size_t vectors_count(const struct vectors *vectors, const char *kind)
{
    size_t count = 0;

    for (const struct vector *v = NULL; (v = vectors_next(vectors, kind, v)) != NULL;)
        count++;
    return count;
}

const struct vector *vectors_find(const struct vectors *vectors, const char *name)
{
    for (size_t i = 0; i < vectors->count; i++)
        if (strcmp(vectors->list[i].name, name) == 0)
            return &vectors->list[i];
    stop("there is no vector '%s'", name);
}

const json_t *vectors_member(const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);

    if (!member)
        stop("there is no member '%s'", name);
    return member;
}

const json_t *vectors_element(const json_t *array, size_t index)
{
    const json_t *element = json_array_get(array, index);

    if (!element)
        stop("there is no element %zu", index);
    return element;
}

const char *vectors_text(const json_t *value)
{
    const char *text = json_string_value(value);

    if (!text)
        stop("a value is no text");
    return text;
}

uint64_t vectors_u64(const json_t *value)
{
    uint64_t number = json_is_integer(value) ? (uint64_t)json_integer_value(value) : 0;
    char *end = NULL;

    if (json_is_integer(value) && json_integer_value(value) < 0)
        stop("a value is negative");
    if (json_is_integer(value))
        return number;
    errno = 0;
    number = strtoull(vectors_text(value), &end, 10);
    if (errno || *end || end == vectors_text(value) || *vectors_text(value) == '-')
        stop("'%s' is no u64", vectors_text(value));
    return number;
}

int64_t vectors_i64(const json_t *value)
{
    int64_t number = json_is_integer(value) ? json_integer_value(value) : 0;
    char *end = NULL;

    if (json_is_integer(value))
        return number;
    errno = 0;
    number = strtoll(vectors_text(value), &end, 10);
    if (errno || *end || end == vectors_text(value))
        stop("'%s' is no i64", vectors_text(value));
    return number;
}

uint64_t vectors_hex(const json_t *value)
{
    const char *text = vectors_text(value);
    uint64_t number = 0;

    if (!*text || strlen(text) > 16)
        stop("'%s' is no u64 in hexadecimal digits", text);
    for (; *text; text++)
        number = number << 4 | digit(*text, "an id");
    return number;
}
