/* SPDX-License-Identifier: Apache-2.0 */
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

static void put_hex(struct hub_writer *writer, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        hub_writer_byte(writer, (uint8_t)digits[bytes[i] >> 4]);
        hub_writer_byte(writer, (uint8_t)digits[bytes[i] & 15]);
    }
}

static bool is_printable(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') || bytes[i] == 0x7f)
            return false;
    return hub_postcard_utf8(bytes, size);
}

/* Text that would be read back as hexadecimal digits is not printed as text. */
static bool shows_as_text(struct rapahub_bytes bytes)
{
    return is_printable(bytes.data, bytes.size) &&
           !(bytes.size >= 4 && !memcmp(bytes.data, "hex:", 4));
}

static void put_quoted_byte(struct hub_writer *writer, uint8_t byte)
{
    if (byte == '"' || byte == '\\') {
        hub_writer_byte(writer, '\\');
        hub_writer_byte(writer, byte);
    } else if (byte == '\n') {
        put(writer, "\\n");
    } else if (byte == '\t') {
        put(writer, "\\t");
    } else if (byte < ' ' || byte == 0x7f) {
        put(writer, "\\x");
        put_hex(writer, &byte, 1);
    } else {
        hub_writer_byte(writer, byte);
    }
}

static void put_text(struct hub_writer *writer, const uint8_t *text, size_t size, bool quoted)
{
    if (!quoted) {
        if (size)
            hub_writer_put(writer, text, size);
        return;
    }
    hub_writer_byte(writer, '"');
    for (size_t i = 0; i < size; i++)
        put_quoted_byte(writer, text[i]);
    hub_writer_byte(writer, '"');
}

static void put_bytes(struct hub_writer *writer, struct rapahub_bytes bytes, bool quoted)
{
    if (shows_as_text(bytes)) {
        put_text(writer, bytes.data, bytes.size, quoted);
        return;
    }
    put(writer, "hex:");
    put_hex(writer, bytes.data, bytes.size);
}

static void put_value(struct hub_writer *writer, const struct rapahub_type *type, const void *value,
                      bool quoted);

static void put_record(struct hub_writer *writer, const struct rapahub_type *type,
                       const void *value)
{
    const char *before = "{";

    for (const struct rapahub_member *member = type->members; member->name; member++) {
        put(writer, before);
        put(writer, member->name);
        put(writer, ": ");
        put_value(writer, member->type, (const char *)value + member->offset, true);
        before = ", ";
    }
    put(writer, "}");
}

static void put_number(struct hub_writer *writer, const struct rapahub_type *type,
                       const void *value)
{
    char text[HUB_NUMBER_TEXT];

    hub_number_print(type, value, text);
    put(writer, text);
}

static void put_value(struct hub_writer *writer, const struct rapahub_type *type, const void *value,
                      bool quoted)
{
    const struct rapahub_string *string = value;

    switch (type->kind) {
    case RAPAHUB_KIND_VOID:
        break;
    case RAPAHUB_KIND_BOOL:
        put(writer, *(const bool *)value ? "true" : "false");
        break;
    case RAPAHUB_KIND_STRING:
        put_text(writer, (const uint8_t *)string->data, string->size, quoted);
        break;
    case RAPAHUB_KIND_BYTES:
        put_bytes(writer, *(const struct rapahub_bytes *)value, quoted);
        break;
    case RAPAHUB_KIND_RECORD:
        put_record(writer, type, value);
        break;
    default:
        put_number(writer, type, value);
        break;
    }
}

char *hub_text_print(const struct rapahub_type *type, const void *value)
{
    struct hub_writer writer;
    char *text;

    hub_writer_count(&writer);
    put_value(&writer, type, value, false);
    text = malloc(writer.size + 1);
    if (!text)
        return NULL;
    hub_writer_init(&writer, text, writer.size);
    put_value(&writer, type, value, false);
    text[writer.size] = '\0';
    return text;
}
