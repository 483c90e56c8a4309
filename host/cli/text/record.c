/* SPDX-License-Identifier: Apache-2.0 */
/* record: JSON is read by jansson; numbers go through their text, so that the same limits and the
 * same words hold as for arguments that are no JSON. */
#include "host/cli/text/record.h"

#include <stdlib.h>
#include <string.h>

#ifdef RAPAHUB_WITH_JANSSON
#include <jansson.h>
#endif

#include <rapahub/error.h>

#include "host/cli/text/base64.h"
#include "hub/wire/arena.h"
#include "hub/wire/number.h"

bool cli_record_is_json(const char *text)
{
    if (*text++ != '{')
        return false;
    text += strspn(text, " \t\n");
    return *text == '"';
}

#ifdef RAPAHUB_WITH_JANSSON

static int store(const struct rapahub_type *type, const json_t *json, void *value,
                 struct hub_text_arena *arena);

static int refuse(const struct rapahub_type *type)
{
    return rapahub_fail(RAPAHUB_EINVAL, "", "a JSON value of another kind where %s stands",
                        type->word ? type->word : "a record");
}

static int store_number(const struct rapahub_type *type, const json_t *json, void *value)
{
    char *text;
    int r;

    if (json_is_string(json))
        return hub_number_parse(type, json_string_value(json), json_string_length(json), value);
    if (!json_is_number(json))
        return refuse(type);
    text = json_dumps(json, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    if (!text)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a number");
    r = hub_number_parse(type, text, strlen(text), value);
    free(text);
    return r;
}

static int store_string(const struct rapahub_type *type, const json_t *json, void *value,
                        struct hub_text_arena *arena)
{
    size_t size = json_string_length(json);
    struct rapahub_bytes bytes;
    char *text;

    if (!json_is_string(json))
        return refuse(type);
    text = hub_arena_copy(&arena->blocks, json_string_value(json), size);
    if (!text)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a text");
    if (type->kind == RAPAHUB_KIND_STRING) {
        *(struct rapahub_string *)value = (struct rapahub_string){text, size};
        return 0;
    }
    if (!cli_base64_decode(text, size, &bytes.size))
        return rapahub_fail(RAPAHUB_EINVAL, "", "bytes in JSON are base64");
    bytes.data = text;
    *(struct rapahub_bytes *)value = bytes;
    return 0;
}

static int store_record(const struct rapahub_type *type, const json_t *json, void *value,
                        struct hub_text_arena *arena)
{
    size_t count = 0;

    if (!json_is_object(json))
        return refuse(type);
    for (const struct rapahub_member *m = type->members; m->name; m++, count++) {
        const json_t *member = json_object_get(json, m->name);
        int r;

        if (!member)
            return rapahub_fail(RAPAHUB_EINVAL, "", "the member '%s' is missing", m->name);
        r = store(m->type, member, (char *)value + m->offset, arena);
        if (r < 0)
            return r;
    }
    if (json_object_size(json) != count)
        return rapahub_fail(RAPAHUB_EINVAL, "", "there are members that the record does not have");
    return 0;
}

static int store(const struct rapahub_type *type, const json_t *json, void *value,
                 struct hub_text_arena *arena)
{
    if (type->kind == RAPAHUB_KIND_RECORD)
        return store_record(type, json, value, arena);
    if (type->kind == RAPAHUB_KIND_STRING || type->kind == RAPAHUB_KIND_BYTES)
        return store_string(type, json, value, arena);
    if (type->kind != RAPAHUB_KIND_BOOL)
        return store_number(type, json, value);
    if (!json_is_boolean(json))
        return refuse(type);
    *(bool *)value = json_is_true(json);
    return 0;
}

int cli_record_parse(const struct rapahub_type *type, const char *text, void *value,
                     struct hub_text_arena *arena)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    int r;

    if (!json)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no JSON: %s, column %d", error.text, error.column);
    r = store(type, json, value, arena);
    json_decref(json);
    return r;
}

#else

int cli_record_parse(const struct rapahub_type *type, const char *text, void *value,
                     struct hub_text_arena *arena)
{
    (void)type, (void)text, (void)value, (void)arena;
    return rapahub_fail(RAPAHUB_EINVAL, "",
                        "built without jansson: write the record as {x: 1.5, y: 2}");
}

#endif
