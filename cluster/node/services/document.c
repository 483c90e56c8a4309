/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/error.h>

#ifdef RAPAHUB_WITH_JANSSON

#include <jansson.h>

#include "hub/base/own.h"

void cluster_document_begin(struct cluster_document *document, const char *schema)
{
    document->root = json_object();
    cluster_document_text(document->root, "schema", rapahub_string_of(schema));
}

/* Takes the value. A NULL object or value is one for which there was no memory. */
static void set(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

void cluster_document_text(json_t *object, const char *key, struct rapahub_string text)
{
    json_t *value = json_stringn(text.size > 0 ? text.data : "", text.size);
    OWN(hub_memory) char *mended = value ? NULL : malloc(text.size + 1);

    if (mended) {
        for (size_t i = 0; i < text.size; i++)
            mended[i] = (unsigned char)text.data[i] < 0x80 ? text.data[i] : '?';
        value = json_stringn(mended, text.size);
    }
    set(object, key, value);
}

void cluster_document_count(json_t *object, const char *key, uint64_t count)
{
    set(object, key, json_integer((json_int_t)count));
}

void cluster_document_number(json_t *object, const char *key, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, number);
    cluster_document_text(object, key, rapahub_string_of(text));
}

void cluster_document_status(json_t *object, const char *key, int status)
{
    set(object, key, json_integer(status));
}

json_t *cluster_document_list(json_t *object, const char *key)
{
    json_t *list = json_array();

    set(object, key, list);
    return json_object_get(object, key);
}

json_t *cluster_document_item(json_t *list)
{
    json_t *item = json_object();

    return json_array_append_new(list, item) == 0 ? item : NULL;
}

char *cluster_document_end(struct cluster_document *document)
{
    char *text = document->root ? json_dumps(document->root, JSON_COMPACT) : NULL;

    json_decref(document->root);
    document->root = NULL;
    if (!text)
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a document");
    return text;
}

#else

void cluster_document_begin(struct cluster_document *document, const char *schema)
{
    (void)schema;
    document->root = NULL;
}

void cluster_document_text(struct json_t *object, const char *key, struct rapahub_string text)
{
    (void)object, (void)key, (void)text;
}

void cluster_document_count(struct json_t *object, const char *key, uint64_t count)
{
    (void)object, (void)key, (void)count;
}

void cluster_document_number(struct json_t *object, const char *key, uint64_t number)
{
    (void)object, (void)key, (void)number;
}

void cluster_document_status(struct json_t *object, const char *key, int status)
{
    (void)object, (void)key, (void)status;
}

struct json_t *cluster_document_list(struct json_t *object, const char *key)
{
    (void)object, (void)key;
    return NULL;
}

struct json_t *cluster_document_item(struct json_t *list)
{
    (void)list;
    return NULL;
}

char *cluster_document_end(struct cluster_document *document)
{
    (void)document;
    rapahub_fail(RAPAHUB_ENOTSUP, "", "this program was built without jansson: it has no lists");
    return NULL;
}

#endif

void cluster_document_time(struct json_t *object, const char *key, uint64_t seconds)
{
    time_t time = (time_t)seconds;
    char text[32] = "?";
    struct tm parts;

    if (gmtime_r(&time, &parts))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    cluster_document_text(object, key, rapahub_string_of(text));
}
