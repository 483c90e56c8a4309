/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/text.h"

#include <stdint.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/arena.h"
#include "hub/wire/number.h"
#include "hub/wire/postcard.h"
#include "hub/wire/signature.h"

#define SHOWN_MAX 80 /* bytes of a text that a message quotes */

struct cursor {
    const char *text, *at, *end;
    struct hub_text_arena *arena;
};

void hub_text_arena_fini(struct hub_text_arena *arena)
{
    hub_arena_release(&arena->blocks);
}

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a value");
}

static int refuse(const char *text, size_t size, const char *what)
{
    return rapahub_fail(RAPAHUB_EINVAL, "", "'%.*s' is no %s",
                        size < SHOWN_MAX ? (int)size : SHOWN_MAX, text, what);
}

static int refuse_at(const struct cursor *cursor, const char *at, const char *what)
{
    size_t size = (size_t)(cursor->end - cursor->text);

    return rapahub_fail(RAPAHUB_EINVAL, "", "'%.*s': column %zu: %s",
                        size < SHOWN_MAX ? (int)size : SHOWN_MAX, cursor->text,
                        (size_t)(at - cursor->text) + 1, what);
}

static int nibble(char c)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    int value = at ? (int)(at - digits) : -1;

    return value < 16 ? value : value - 6;
}

/* Parses two digits; -1 if they are none. */
static int hex_byte(const char *text, size_t size)
{
    int high = size < 2 ? -1 : nibble(text[0]), low = size < 2 ? -1 : nibble(text[1]);

    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static bool parse_bool(const char *text, size_t size, void *value)
{
    *(bool *)value = size == 4 && !memcmp(text, "true", 4);
    return *(bool *)value || (size == 5 && !memcmp(text, "false", 5));
}

static int parse_string(const char *text, size_t size, struct rapahub_string *out,
                        struct hub_text_arena *arena)
{
    const char *copy;

    if (!hub_postcard_utf8(text, size))
        return rapahub_fail(RAPAHUB_EINVAL, "", "a text that is not UTF-8 is no string");
    copy = hub_arena_copy(&arena->blocks, text, size);
    if (!copy)
        return no_memory();
    *out = (struct rapahub_string){copy, size};
    return 0;
}

/* Parses the digits after "hex:". */
static int parse_hex(const char *text, size_t size, struct rapahub_bytes *out,
                     struct hub_text_arena *arena)
{
    uint8_t *bytes = hub_arena_alloc(&arena->blocks, size / 2 + 1);

    if (!bytes)
        return no_memory();
    for (size_t i = 0; i < size; i += 2) {
        int byte = hex_byte(text + i, size - i);

        if (byte < 0)
            return refuse(text, size, "row of hexadecimal digits, two a byte");
        bytes[i / 2] = (uint8_t)byte;
    }
    *out = (struct rapahub_bytes){bytes, size / 2};
    return 0;
}

static bool is_hex(const char *text, size_t size)
{
    return size >= 4 && !memcmp(text, "hex:", 4);
}

static int parse_bytes(const char *text, size_t size, struct rapahub_bytes *out,
                       struct hub_text_arena *arena)
{
    const char *copy;

    if (is_hex(text, size))
        return parse_hex(text + 4, size - 4, out, arena);
    copy = hub_arena_copy(&arena->blocks, text, size);
    if (!copy)
        return no_memory();
    *out = (struct rapahub_bytes){copy, size};
    return 0;
}

static int parse_scalar(const struct rapahub_type *type, const char *text, size_t size, void *value)
{
    if (type->kind == RAPAHUB_KIND_BOOL)
        return parse_bool(text, size, value) ? 0 : refuse(text, size, "bool: true or false");
    if (type->kind == RAPAHUB_KIND_VOID)
        return size ? refuse(text, size, "void, which is empty") : 0;
    return hub_number_parse(type, text, size, value);
}

/* Skips space and returns the position after it. */
static const char *skip_space(struct cursor *cursor)
{
    while (cursor->at < cursor->end && memchr(" \t\n", *cursor->at, 3))
        cursor->at++;
    return cursor->at;
}

static bool accept(struct cursor *cursor, char what)
{
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != what)
        return false;
    cursor->at++;
    return true;
}

static bool ends_token(char c)
{
    return memchr(" \t\n,:{}\"", c, 8) != NULL;
}

/* Returns the start of the next token, which ends at a delimiter or space; its size may be 0. */
static const char *take_token(struct cursor *cursor, size_t *size)
{
    const char *start = skip_space(cursor);

    while (cursor->at < cursor->end && !ends_token(*cursor->at))
        cursor->at++;
    *size = (size_t)(cursor->at - start);
    return start;
}

/* Returns the byte that an escape stands for, from after its backslash, or -1. */
static int take_escape(struct cursor *cursor)
{
    size_t left = (size_t)(cursor->end - cursor->at);
    char c = left ? *cursor->at++ : '\0';

    if (c == '"' || c == '\\')
        return c;
    if (c == 'n')
        return '\n';
    if (c == 't')
        return '\t';
    if (c != 'x' || left < 3)
        return -1;
    cursor->at += 2;
    return hex_byte(cursor->at - 2, 2);
}

/* Parses from after the opening quotation mark through the closing one. */
static int take_quoted(struct cursor *cursor, struct rapahub_bytes *out)
{
    const char *start = cursor->at;
    size_t size = 0;
    uint8_t *bytes =
        hub_arena_alloc(&cursor->arena->blocks, (size_t)(cursor->end - cursor->at) + 1);

    if (!bytes)
        return no_memory();
    while (cursor->at < cursor->end && *cursor->at != '"') {
        const char *at = cursor->at;
        int byte = (uint8_t)*cursor->at++;

        if (byte == '\\')
            byte = take_escape(cursor);
        if (byte < 0)
            return refuse_at(cursor, at, "no such escape; there are \\\" \\\\ \\n \\t \\xHH");
        bytes[size++] = (uint8_t)byte;
    }
    if (cursor->at++ == cursor->end)
        return refuse_at(cursor, start - 1, "the quotation mark has no end");
    *out = (struct rapahub_bytes){bytes, size};
    return 0;
}

/* Parses `hex:00ff`. */
static int parse_inner_hex(struct cursor *cursor, struct rapahub_bytes *out)
{
    const char *token;
    size_t size;

    cursor->at += 4;
    token = take_token(cursor, &size);
    return parse_hex(token, size, out, cursor->arena);
}

static int parse_quoted(struct cursor *cursor, const struct rapahub_type *type, void *value)
{
    struct rapahub_bytes bytes;
    const char *start = skip_space(cursor);
    int r;

    if (type->kind == RAPAHUB_KIND_BYTES && is_hex(start, (size_t)(cursor->end - start)))
        return parse_inner_hex(cursor, value);
    if (!accept(cursor, '"'))
        return refuse_at(cursor, start, "a text in quotation marks is expected");
    r = take_quoted(cursor, &bytes);
    if (r < 0)
        return r;
    if (type->kind == RAPAHUB_KIND_BYTES)
        *(struct rapahub_bytes *)value = bytes;
    else if (hub_postcard_utf8(bytes.data, bytes.size))
        *(struct rapahub_string *)value = (struct rapahub_string){bytes.data, bytes.size};
    else
        return refuse_at(cursor, start, "the string is not UTF-8");
    return 0;
}

static int parse_record(struct cursor *cursor, const struct rapahub_type *type, void *value,
                        unsigned depth);

static int parse_inner(struct cursor *cursor, const struct rapahub_type *type, void *value,
                       unsigned depth)
{
    const char *token;
    size_t size;

    if (type->kind == RAPAHUB_KIND_RECORD)
        return parse_record(cursor, type, value, depth + 1);
    if (type->kind == RAPAHUB_KIND_STRING || type->kind == RAPAHUB_KIND_BYTES)
        return parse_quoted(cursor, type, value);
    token = take_token(cursor, &size);
    return parse_scalar(type, token, size, value);
}

/* Returns the index of the next member, or -EINVAL. */
static int parse_member_name(struct cursor *cursor, const struct rapahub_type *type)
{
    size_t size;
    const char *name = take_token(cursor, &size);

    for (int i = 0; type->members[i].name; i++)
        if (strlen(type->members[i].name) == size && !memcmp(type->members[i].name, name, size))
            return accept(cursor, ':') ? i : refuse_at(cursor, cursor->at, "':' is expected");
    return refuse_at(cursor, name, "the record has no such member");
}

static int check_all_seen(const struct rapahub_type *type, uint64_t seen)
{
    for (unsigned i = 0; type->members[i].name; i++)
        if (!(seen >> i & 1))
            return rapahub_fail(RAPAHUB_EINVAL, "", "member '%s' is missing",
                                type->members[i].name);
    return 0;
}

static int parse_record(struct cursor *cursor, const struct rapahub_type *type, void *value,
                        unsigned depth)
{
    uint64_t seen = 0;

    if (!accept(cursor, '{') || depth > HUB_RECORD_DEPTH)
        return refuse_at(cursor, cursor->at, "'{' is expected");
    do {
        const char *start = skip_space(cursor);
        int index = parse_member_name(cursor, type), r;

        if (index < 0)
            return index;
        if (seen >> index & 1)
            return refuse_at(cursor, start, "that member is there already");
        seen |= UINT64_C(1) << index;
        r = parse_inner(cursor, type->members[index].type,
                        (char *)value + type->members[index].offset, depth);
        if (r < 0)
            return r;
    } while (accept(cursor, ','));
    if (!accept(cursor, '}'))
        return refuse_at(cursor, cursor->at, "',' or '}' is expected");
    return check_all_seen(type, seen);
}

static int parse_whole_record(const struct rapahub_type *type, const char *text, size_t size,
                              void *value, struct hub_text_arena *arena)
{
    struct cursor cursor = {text, text, text + size, arena};
    int r = parse_record(&cursor, type, value, 1);

    if (r < 0)
        return r;
    skip_space(&cursor);
    return cursor.at == cursor.end ? 0 : refuse_at(&cursor, cursor.at, "the end is expected");
}

int hub_text_parse(const struct rapahub_type *type, const char *text, size_t size, void *value,
                   struct hub_text_arena *arena)
{
    if (hub_signature_is_stream(type))
        return rapahub_fail(RAPAHUB_EINVAL, "", "a stream is a file: @FILE, or - for the terminal");
    if (type->kind == RAPAHUB_KIND_RECORD)
        return parse_whole_record(type, text, size, value, arena);
    if (type->kind == RAPAHUB_KIND_STRING)
        return parse_string(text, size, value, arena);
    if (type->kind == RAPAHUB_KIND_BYTES)
        return parse_bytes(text, size, value, arena);
    return parse_scalar(type, text, size, value);
}
