/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/text/document.h"

#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>

#ifdef RAPAHUB_WITH_JANSSON

#include <jansson.h>

int cli_document_read(struct rapahub_string text, struct cli_document *out)
{
    json_error_t error;

    out->root =
        json_loadb(text.size > 0 ? text.data : "", text.size, JSON_REJECT_DUPLICATES, &error);
    if (out->root)
        return 0;
    return rapahub_fail(RAPAHUB_EPROTOCOL, "", "what was answered is no JSON: %s", error.text);
}

void cli_document_fini(struct cli_document *document)
{
    json_decref(document->root);
    document->root = NULL;
}

bool cli_document_is_list(const struct json_t *value)
{
    return json_is_array(value);
}

bool cli_document_is_object(const struct json_t *value)
{
    return json_is_object(value);
}

const struct json_t *cli_document_member(const struct json_t *object, const char *key)
{
    return json_object_get(object, key);
}

/* jansson walks over objects that may be changed; this one is not. */
const struct json_t *cli_document_nth(const struct json_t *object, unsigned index, const char **key)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    void *at = json_object_iter(walked);

    while (at && index-- > 0)
        at = json_object_iter_next(walked, at);
    *key = at ? json_object_iter_key(at) : NULL;
    return at ? json_object_iter_value(at) : NULL;
}

const struct json_t *cli_document_item(const struct json_t *list, unsigned index)
{
    return json_array_get(list, index);
}

unsigned cli_document_count(const struct json_t *list)
{
    return (unsigned)json_array_size(list);
}

const char *cli_document_text(const struct json_t *value)
{
    return json_string_value(value);
}

bool cli_document_number(const struct json_t *value, int64_t *out)
{
    *out = json_integer_value(value);
    return json_is_integer(value);
}

void cli_document_print(const struct json_t *value, char *to, size_t size)
{
    if (json_is_string(value))
        snprintf(to, size, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(to, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(to, size, "%g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(to, size, "%s", json_is_true(value) ? "yes" : "no");
    else
        snprintf(to, size, "-");
}

#else

int cli_document_read(struct rapahub_string text, struct cli_document *out)
{
    (void)text;
    out->root = NULL;
    return rapahub_fail(RAPAHUB_ENOTSUP, "",
                        "this rapahub was built without jansson and reads no JSON; build it with "
                        "libjansson-dev");
}

void cli_document_fini(struct cli_document *document)
{
    document->root = NULL;
}

bool cli_document_is_list(const struct json_t *value)
{
    return value != NULL;
}

bool cli_document_is_object(const struct json_t *value)
{
    return value != NULL;
}

const struct json_t *cli_document_member(const struct json_t *object, const char *key)
{
    (void)key;
    return object;
}

const struct json_t *cli_document_nth(const struct json_t *object, unsigned index, const char **key)
{
    (void)index;
    *key = NULL;
    return object;
}

const struct json_t *cli_document_item(const struct json_t *list, unsigned index)
{
    (void)index;
    return list;
}

unsigned cli_document_count(const struct json_t *list)
{
    (void)list;
    return 0;
}

const char *cli_document_text(const struct json_t *value)
{
    (void)value;
    return NULL;
}

bool cli_document_number(const struct json_t *value, int64_t *out)
{
    *out = 0;
    return value != NULL;
}

void cli_document_print(const struct json_t *value, char *to, size_t size)
{
    (void)value;
    snprintf(to, size, "-");
}

#endif
