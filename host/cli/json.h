/* SPDX-License-Identifier: Apache-2.0 */
/* json: writes one document, member by member. Commas and quotes are its business. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rapahub/value.h>

struct cli_json {
    FILE *to;
    bool more; /* a comma comes before the next member */
};

/* A document with its schema; what follows are its members. */
void cli_json_begin(struct cli_json *json, FILE *to, const char *schema);
void cli_json_end(struct cli_json *json); /* and the end of the line */

/* `key` NULL: an element of a list. */
void cli_json_text(struct cli_json *json, const char *key, const char *text);
void cli_json_view(struct cli_json *json, const char *key, struct rapahub_string text);
void cli_json_number(struct cli_json *json, const char *key, uint64_t number);
void cli_json_signed(struct cli_json *json, const char *key, int64_t number);
void cli_json_bool(struct cli_json *json, const char *key, bool value);
void cli_json_raw(struct cli_json *json, const char *key, const char *json_text);
void cli_json_time(struct cli_json *json, const char *key, uint64_t wall_ns);

void cli_json_object(struct cli_json *json, const char *key);
void cli_json_list(struct cli_json *json, const char *key);
void cli_json_close(struct cli_json *json, char bracket); /* '}' or ']' */

#endif
