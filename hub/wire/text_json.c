/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/base/bytes.h"
#include "hub/wire/number.h"
#include "hub/wire/postcard.h"
#include "hub/wire/text.h"

static void put(struct hub_writer *writer, const char *text)
{
    hub_writer_put(writer, text, strlen(text));
}

static void put_character(struct hub_writer *writer, uint8_t byte, bool utf8)
{
    char escape[8];

    if (byte == '"' || byte == '\\') {
        hub_writer_byte(writer, '\\');
        hub_writer_byte(writer, byte);
    } else if (byte < ' ' || byte == 0x7f) {
        snprintf(escape, sizeof(escape), "\\u%04x", byte);
        put(writer, escape);
    } else if (byte >= 0x80 && !utf8) {
        put(writer, "\\ufffd");
    } else {
        hub_writer_byte(writer, byte);
    }
}

/* A string that is not UTF-8, which a library may hold but no wire, becomes one that is. */
static void put_string(struct hub_writer *writer, struct rapahub_string string)
{
    bool utf8 = hub_postcard_utf8(string.data, string.size);

    hub_writer_byte(writer, '"');
    for (size_t i = 0; i < string.size; i++)
        put_character(writer, (uint8_t)string.data[i], utf8);
    hub_writer_byte(writer, '"');
}

/* Base64, with '=' at the end. */
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

/* JSON has no words for infinities and not-a-number: they are strings. */
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
