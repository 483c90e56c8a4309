/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a value: the first byte chooses the type. A parsed value prints as a text that parses
 * and prints the same. */
#include <string.h>

#include "hub/wire/text.h"
#include "tests/fuzz/fuzz.h"

struct inner {
    float a;
    struct rapahub_bytes b;
};
RAPAHUB_RECORD(inner, RAPAHUB_MEMBER(inner, a, f32), RAPAHUB_MEMBER(inner, b, bytes));

struct outer {
    struct rapahub_string a;
    struct inner b;
    double c;
    bool d;
};
RAPAHUB_RECORD(outer, RAPAHUB_MEMBER(outer, a, string), RAPAHUB_MEMBER(outer, b, inner),
               RAPAHUB_MEMBER(outer, c, f64), RAPAHUB_MEMBER(outer, d, bool));

static const struct rapahub_type *const types[] = {
    &rapahub_type_void, &rapahub_type_bool,   &rapahub_type_i8,    &rapahub_type_u16,
    &rapahub_type_i64,  &rapahub_type_u64,    &rapahub_type_f32,   &rapahub_type_f64,
    &rapahub_type_void, &rapahub_type_string, &rapahub_type_bytes, &rapahub_type_outer,
};

static void check(const struct rapahub_type *type, const struct outer *value)
{
    struct hub_text_arena arena = {NULL};
    char *text = hub_text_print(type, value), *json = hub_text_json(type, value), *again;
    struct outer back;

    if (text && json) {
        FUZZ_HOLDS(hub_text_parse(type, text, strlen(text), &back, &arena) == 0);
        again = hub_text_print(type, &back);
        FUZZ_HOLDS(!again || !strcmp(text, again));
        free(again);
    }
    free(json);
    free(text);
    hub_text_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct rapahub_type *type;
    struct hub_text_arena arena = {NULL};
    struct outer value;

    if (!size || memchr(data + 1, 0, size - 1))
        return 0;
    memset(&value, 0, sizeof(value));
    type = types[data[0] % (sizeof(types) / sizeof(types[0]))];
    if (hub_text_parse(type, (const char *)data + 1, size - 1, &value, &arena) == 0)
        check(type, &value);
    hub_text_arena_fini(&arena);
    return 0;
}
