/* SPDX-License-Identifier: Apache-2.0 */
/* document: a JSON document, made by jansson: an object with its schema, and objects, lists and
 * values in it. Without memory what is added later is left out, and the end fails.
 */
#ifndef CLUSTER_NODE_SERVICES_DOCUMENT_H
#define CLUSTER_NODE_SERVICES_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

struct json_t; /* jansson has it */
struct cluster_document {
    struct json_t *root; /* NULL: it was built without jansson, or memory was short */
};

void cluster_document_begin(struct cluster_document *document, const char *schema);

/* Add a member to an object: of the document, or one that was added. Bytes of a text that are no
 * UTF-8 become question marks. Numbers that are no counts are texts, in decimal digits. */
void cluster_document_text(struct json_t *object, const char *key, struct rapahub_string text);
void cluster_document_count(struct json_t *object, const char *key, uint64_t count);
void cluster_document_number(struct json_t *object, const char *key, uint64_t number);
void cluster_document_status(struct json_t *object, const char *key, int status);

/* Adds a time in seconds since 1970, as "2026-11-27T09:00:00Z". */
void cluster_document_time(struct json_t *object, const char *key, uint64_t seconds);

/* Add a list to an object, and an object to a list. */
struct json_t *cluster_document_list(struct json_t *object, const char *key);
struct json_t *cluster_document_item(struct json_t *list);

/* Returns its text, to be freed, and frees the document. NULL with a diagnosis: -ENOTSUP, -ENOMEM.
 */
char *cluster_document_end(struct cluster_document *document);

#endif
