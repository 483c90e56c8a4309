/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/config/units.h"
#include "hub/wire/text.h"

static void put_text(FILE *to, struct rapahub_string text)
{
    char *escaped = hub_text_json(&rapahub_type_string, &text);

    fputs(escaped ? escaped : "\"\"", to);
    free(escaped);
}

static void begin_member(struct cli_json *json, const char *key)
{
    if (json->more)
        fputs(", ", json->to);
    json->more = true;
    if (!key)
        return;
    put_text(json->to, rapahub_string_of(key));
    fputs(": ", json->to);
}

void cli_json_begin(struct cli_json *json, FILE *to, const char *schema)
{
    *json = (struct cli_json){.to = to};
    fputc('{', to);
    cli_json_text(json, "schema", schema);
}

void cli_json_end(struct cli_json *json)
{
    fputs("}\n", json->to);
}

void cli_json_view(struct cli_json *json, const char *key, struct rapahub_string text)
{
    begin_member(json, key);
    put_text(json->to, text);
}

void cli_json_text(struct cli_json *json, const char *key, const char *text)
{
    cli_json_view(json, key, rapahub_string_of(text));
}

void cli_json_number(struct cli_json *json, const char *key, uint64_t number)
{
    begin_member(json, key);
    fprintf(json->to, "%" PRIu64, number);
}

void cli_json_signed(struct cli_json *json, const char *key, int64_t number)
{
    begin_member(json, key);
    fprintf(json->to, "%" PRId64, number);
}

void cli_json_bool(struct cli_json *json, const char *key, bool value)
{
    begin_member(json, key);
    fputs(value ? "true" : "false", json->to);
}

void cli_json_raw(struct cli_json *json, const char *key, const char *json_text)
{
    begin_member(json, key);
    fputs(json_text, json->to);
}

void cli_json_time(struct cli_json *json, const char *key, uint64_t wall_ns)
{
    char text[CONFIG_UNITS_TEXT];

    cli_json_text(json, key, config_units_print_time(wall_ns, text));
}

static void open_bracket(struct cli_json *json, const char *key, char bracket)
{
    begin_member(json, key);
    fputc(bracket, json->to);
    json->more = false;
}

void cli_json_object(struct cli_json *json, const char *key)
{
    open_bracket(json, key, '{');
}

void cli_json_list(struct cli_json *json, const char *key)
{
    open_bracket(json, key, '[');
}

void cli_json_close(struct cli_json *json, char bracket)
{
    fputc(bracket, json->to);
    json->more = true;
}
