/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/base/bytes.h"
#include "hub/base/printable.h"
#include "hub/wire/number.h"
#include "hub/wire/postcard.h"
#include "hub/wire/text.h"

static void put(struct hub_writer *writer, const char *text)
{
    hub_writer_put(writer, text, strlen(text));
}

/* Writes the escape of a character that must not reach a terminal. JSON readers see no
 * difference. */
static size_t put_hidden(struct hub_writer *writer, const char *text, size_t left)
{
    uint32_t code = (unsigned char)*text;
    char escape[8];
    size_t size = 1;

    while (size < 3 && size < left && !hub_postcard_utf8(text, size))
        size++;
    if (!hub_postcard_utf8(text, size)) {
        put(writer, "\\ufffd");
        return 1;
    }
    if (size > 1)
        code &= size == 2 ? 0x1f : 0x0f;
    for (size_t i = 1; i < size; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    snprintf(escape, sizeof escape, "\\u%04x", code & 0xffff);
    put(writer, escape);
    return size;
}

static size_t put_character(struct hub_writer *writer, const char *text, size_t left)
{
    size_t size = hub_printable_size(text, left);

    if (*text == '"' || *text == '\\')
        hub_writer_byte(writer, '\\');
    if (size == 0)
        return put_hidden(writer, text, left);
    hub_writer_put(writer, text, size);
    return size;
}

/* A string that is not UTF-8, which can come from a library but not from the wire, becomes valid
 * UTF-8. */
static void put_string(struct hub_writer *writer, struct rapahub_string string)
{
    hub_writer_byte(writer, '"');
    for (size_t i = 0; i < string.size;)
        i += put_character(writer, string.data + i, string.size - i);
    hub_writer_byte(writer, '"');
}

/* Writes base64 with '=' padding. */
static void put_bytes(struct hub_writer *writer, struct rapahub_bytes bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *data = bytes.data;

    hub_writer_byte(writer, '"');
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t here = bytes.size - i < 3 ? bytes.size - i : 3;
        uint32_t group = (uint32_t)data[i] << 16;

        group |= here > 1 ? (uint32_t)data[i + 1] << 8 : 0;
        group |= here > 2 ? data[i + 2] : 0;
        for (size_t digit = 0; digit < 4; digit++)
            hub_writer_byte(writer, digit <= here ? (uint8_t)digits[group >> (18 - 6 * digit) & 63]
                                                  : (uint8_t)'=');
    }
    hub_writer_byte(writer, '"');
}

/* JSON has no infinities and no not-a-number: they become strings. */
static void put_number(struct hub_writer *writer, const struct rapahub_type *type,
                       const void *value)
{
    char text[HUB_NUMBER_TEXT];
    bool word;

    hub_number_print(type, value, text);
    word = strpbrk(text, "in") != NULL;
    put(writer, word ? "\"" : "");
    put(writer, text);
    put(writer, word ? "\"" : "");
}

static void put_value(struct hub_writer *writer, const struct rapahub_type *type,
                      const void *value);

static void put_record(struct hub_writer *writer, const struct rapahub_type *type,
                       const void *value)
{
    const char *before = "{\"";

    for (const struct rapahub_member *member = type->members; member->name; member++) {
        put(writer, before);
        put(writer, member->name);
        put(writer, "\": ");
        put_value(writer, member->type, (const char *)value + member->offset);
        before = ", \"";
    }
    put(writer, "}");
}

static void put_value(struct hub_writer *writer, const struct rapahub_type *type, const void *value)
{
    switch (type->kind) {
    case RAPAHUB_KIND_VOID:
        put(writer, "{}");
        break;
    case RAPAHUB_KIND_BOOL:
        put(writer, *(const bool *)value ? "true" : "false");
        break;
    case RAPAHUB_KIND_STRING:
        put_string(writer, *(const struct rapahub_string *)value);
        break;
    case RAPAHUB_KIND_BYTES:
        put_bytes(writer, *(const struct rapahub_bytes *)value);
        break;
    case RAPAHUB_KIND_RECORD:
        put_record(writer, type, value);
        break;
    default:
        put_number(writer, type, value);
        break;
    }
}

char *hub_text_json(const struct rapahub_type *type, const void *value)
{
    struct hub_writer writer;
    char *text;

    hub_writer_count(&writer);
    put_value(&writer, type, value);
    text = malloc(writer.size + 1);
    if (!text)
        return NULL;
    hub_writer_init(&writer, text, writer.size);
    put_value(&writer, type, value);
    text[writer.size] = '\0';
    return text;
}
