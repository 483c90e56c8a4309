/* SPDX-License-Identifier: Apache-2.0 */
/* text: values as a person types and reads them.
 *
 * Numbers in decimal or 0x; true, false; a string as typed; bytes as text or `hex:00ff`; a record
 * `{x: 1.5, y: 2}`, its members in any order, inside of which strings and bytes are quoted "…" with
 * \" \\ \n \t \xHH, or bytes `hex:00ff`. Floats also inf, -inf, nan. The same in every locale. */
#ifndef HUB_WIRE_TEXT_H
#define HUB_WIRE_TEXT_H

#include <stddef.h>

#include <rapahub/value.h>

/* Memory for what a parsed value shows; freed as one. */
struct hub_text_arena {
    void *blocks;
};
void hub_text_arena_fini(struct hub_text_arena *arena);

/* Parses the whole of `text` as a value of `type` to `value`: -EINVAL, "'x' is no i64"; the number
 * must fit. Views show memory of the arena. */
int hub_text_parse(const struct rapahub_type *type, const char *text, size_t size, void *value,
                   struct hub_text_arena *arena);

/* The value as text, newly allocated, ended by 0; NULL for no memory. Bytes that are no printable
 * text become `hex:…`. Floats are the shortest text that reads back to the same value.
 * A string that is the whole value is printed as it is, control characters too. */
char *hub_text_print(const struct rapahub_type *type, const void *value);

/* The value as JSON by the rules of the command line: 64-bit integers are numbers, bytes base64,
 * infinities and not-a-number strings ("inf", "-inf", "nan"), void is {}. Newly allocated; NULL for
 * no memory. */
char *hub_text_json(const struct rapahub_type *type, const void *value);

#endif
