/* SPDX-License-Identifier: Apache-2.0 */
/* document: a JSON document of another program, read by jansson. A value that is not there is NULL,
 * and so is all that is asked of it. */
#ifndef CLI_DOCUMENT_H
#define CLI_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

/* A value in a document, a type of jansson; valid as long as the document is open. */
struct json_t;

struct cli_document {
    struct json_t *root;
};

/* Reads a text. RAPAHUB_EPROTOCOL: it is no JSON; RAPAHUB_ENOTSUP: this program was built without
 * jansson. */
int cli_document_read(struct rapahub_string text, struct cli_document *out);
void cli_document_fini(struct cli_document *document);

bool cli_document_is_list(const struct json_t *value);
bool cli_document_is_object(const struct json_t *value);

/* The member with a key; the n-th member, with its key; the n-th item of a list. */
const struct json_t *cli_document_member(const struct json_t *object, const char *key);
const struct json_t *cli_document_nth(const struct json_t *object, unsigned index,
                                      const char **key);
const struct json_t *cli_document_item(const struct json_t *list, unsigned index);

/* Items of a list. */
unsigned cli_document_count(const struct json_t *list);

/* The text of a string, else NULL. */
const char *cli_document_text(const struct json_t *value);

/* Reads a whole number; false: it is none. */
bool cli_document_number(const struct json_t *value, int64_t *out);

/* Writes a value that is neither a list nor an object, as a person reads it; "-" for null. */
void cli_document_print(const struct json_t *value, char *to, size_t size);

#endif
