/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/text/json.h"

#ifdef RAPAHUB_WITH_JANSSON

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/config/units.h"
#include "hub/base/check.h"
#include "hub/base/own.h"
#include "hub/base/printable.h"
#include "hub/wire/postcard.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* ---- printing ---- */

static void put_code(FILE *to, const char *text, size_t size)
{
    unsigned code = (unsigned char)*text & (size == 1 ? 0x7f : size == 2 ? 0x1f : 0x0f);

    for (size_t i = 1; i < size; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    fprintf(to, "\\u%04x", code);
}

/* An escape of jansson, in the one form \uXXXX where it stands for a control. */
static size_t put_escape(FILE *to, const char *text)
{
    static const char letters[] = "bfnrt", controls[] = "\b\f\n\r\t";
    const char *letter = strchr(letters, text[1]);

    if (text[1] == 'u') {
        for (unsigned i = 0; i < 6; i++)
            fputc(tolower((unsigned char)text[i]), to);
        return 6;
    }
    if (letter)
        put_code(to, &controls[letter - letters], 1);
    else
        fwrite(text, 1, 2, to);
    return 2;
}

/* jansson shows DEL, C1 controls and marks of direction as they are. They are all of three bytes at
 * most, and only strings have them. r[impl exp.terminal] */
static void put_document(FILE *to, const char *text, size_t size)
{
    for (size_t i = 0, n; i < size; i += n) {
        n = hub_printable_size(text + i, size - i);
        if (text[i] == '\\') {
            n = put_escape(to, text + i);
        } else if (n > 0 && strncmp(text + i, REPLACEMENT, 3) != 0) {
            fwrite(text + i, 1, n, to);
        } else {
            for (n = 1; n < 3 && !hub_postcard_utf8(text + i, n); n++)
                ;
            put_code(to, text + i, n);
        }
    }
}

static void put_members(struct cli_json *json, size_t flags)
{
    OWN(hub_memory) char *text = json->failed ? NULL : json_dumps(json->open[0], flags);

    json->failed = !text;
    if (text)
        put_document(json->to, text, strlen(text));
}

/* ---- adding values ---- */

/* The same text as UTF-8. */
static json_t *new_mended(struct rapahub_string text)
{
    OWN(hub_memory) char *mended = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&mended, &size);

    for (size_t i = 0, n; to && i < text.size; i += n) {
        for (n = 1; n < 4 && i + n < text.size && !hub_postcard_utf8(text.data + i, n); n++)
            ;
        if (hub_postcard_utf8(text.data + i, n)) {
            fwrite(text.data + i, 1, n, to);
        } else {
            fputs(REPLACEMENT, to);
            n = 1;
        }
    }
    return to && fclose(to) == 0 ? json_stringn(mended, size) : NULL;
}

static json_t *new_value(const struct cli_json_member *member)
{
    uint64_t number = member->number;
    char time[CONFIG_UNITS_TEXT];
    json_t *text;

    switch (member->kind) {
    case CLI_JSON_NUMBER:
        return number > INT64_MAX ? json_real((double)number) : json_integer((json_int_t)number);
    case CLI_JSON_SIGNED:
        return json_integer((json_int_t)number);
    case CLI_JSON_BOOL:
        return json_boolean(number);
    case CLI_JSON_TIME:
        return json_string(config_units_print_time(number, time));
    default:
        text = json_stringn(member->text.size > 0 ? member->text.data : "", member->text.size);
        return text ? text : new_mended(member->text);
    }
}

/* The document takes the value; NULL: there was no memory for it. */
static void add(struct cli_json *json, const char *key, json_t *value)
{
    json_t *to = json->open[json->depth - 1];
    int r = key ? json_object_set_new(to, key, value) : json_array_append_new(to, value);

    json->failed |= r < 0;
}

static void put_raw(struct cli_json *json, const char *key, const char *json_text)
{
    fputc('{', json->to);
    put_members(json, JSON_EMBED);
    fprintf(json->to, ", \"%s\": %s, ", key, json_text);
    json->begun = true;
    json_object_clear(json->open[0]);
}

static void open_in(struct cli_json *json, const char *key, json_t *value)
{
    CHECK(json->depth < CLI_JSON_DEPTH);
    add(json, key, value);
    json->open[json->depth++] = value;
}

void cli_json_add(struct cli_json *json, const struct cli_json_member *members)
{
    for (; members->kind != CLI_JSON_END; members++) {
        if (members->kind == CLI_JSON_RAW)
            put_raw(json, members->key, members->text.data);
        else if (members->kind == CLI_JSON_OBJECT)
            open_in(json, members->key, json_object());
        else if (members->kind == CLI_JSON_LIST)
            open_in(json, members->key, json_array());
        else if (members->kind == CLI_JSON_CLOSE)
            json->depth--;
        else if (members->kind != CLI_JSON_LEFT_OUT)
            add(json, members->key, new_value(members));
    }
}

/* ---- the document ---- */

bool cli_json_is_there(void)
{
    return true;
}

void cli_json_begin(struct cli_json *json, FILE *to, const char *schema)
{
    *json = (struct cli_json){.to = to, .open = {json_object()}, .depth = 1};
    cli_json_put(json, MEMBER("schema", schema));
}

int cli_json_end(struct cli_json *json)
{
    put_members(json, json->begun ? JSON_EMBED : 0);
    json_decref(json->open[0]);
    fputs(json->begun ? "}\n" : "\n", json->to);
    return json->failed ? rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the document") : 0;
}

#else

/* main refuses each form that needs jansson: only the first of these is ever reached. */

bool cli_json_is_there(void)
{
    return false;
}

int cli_json_end(struct cli_json *json)
{
    (void)json;
    return 0;
}

void cli_json_begin(struct cli_json *json, FILE *to, const char *schema)
{
    (void)json, (void)to, (void)schema;
}

void cli_json_add(struct cli_json *json, const struct cli_json_member *members)
{
    (void)json, (void)members;
}

#endif
