/* SPDX-License-Identifier: Apache-2.0 */
/* json: a document, made member by member and printed by jansson. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rapahub/value.h>

#define CLI_JSON_DEPTH 8 /* objects and lists in each other */

/* A type of jansson. */
struct json_t;

struct cli_json {
    FILE *to;
    struct json_t *open[CLI_JSON_DEPTH]; /* the document, and what is open in it, outermost first */
    unsigned depth;
    bool begun;  /* the members before a raw one are printed */
    bool failed; /* memory was short */
};

/* False where the program was built without jansson: then nothing below may be called. */
bool cli_json_is_there(void);

/* A document with its schema; all calls until the end add to it. */
void cli_json_begin(struct cli_json *json, FILE *to, const char *schema);

/* Prints the document and the end of its line. RAPAHUB_ENOMEM: it is not printed, or not all. */
int cli_json_end(struct cli_json *json);

/* `key` NULL: an element of a list. Bytes that are no UTF-8 become U+FFFD; a number above
 * INT64_MAX, which jansson does not have, is rounded. */
void cli_json_text(struct cli_json *json, const char *key, const char *text);
void cli_json_view(struct cli_json *json, const char *key, struct rapahub_string text);
void cli_json_number(struct cli_json *json, const char *key, uint64_t number);
void cli_json_signed(struct cli_json *json, const char *key, int64_t number);
void cli_json_bool(struct cli_json *json, const char *key, bool value);
void cli_json_time(struct cli_json *json, const char *key, uint64_t wall_ns);

/* A member of the document itself, whose value is JSON already: the result of a call, as
 * hub_text_json prints it. jansson has no unsigned 64-bit numbers, and prints 0.1 with 17 digits.
 * `key` needs no escapes. */
void cli_json_raw(struct cli_json *json, const char *key, const char *json_text);

void cli_json_object(struct cli_json *json, const char *key);
void cli_json_list(struct cli_json *json, const char *key);
void cli_json_close(struct cli_json *json); /* the innermost object or list */

#endif
