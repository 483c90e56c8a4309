/* SPDX-License-Identifier: Apache-2.0 */
/* text: values as people write and read them.
 *
 * Numbers are decimal or 0x; booleans are true or false; a string is the text itself; bytes are
 * text or `hex:00ff`. A record is `{x: 1.5, y: 2}`, with its members in any order; inside a record,
 * strings and bytes are quoted "…" with \" \\ \n \t \xHH, or bytes are `hex:00ff`. Floats may be
 * inf, -inf, nan. The text is the same in every locale.
 */
#ifndef HUB_WIRE_TEXT_H
#define HUB_WIRE_TEXT_H

#include <stddef.h>

#include <rapahub/value.h>

/* Memory that parsed values refer to; freed as a whole. */
struct hub_text_arena {
    void *blocks;
};
void hub_text_arena_fini(struct hub_text_arena *arena);

/* Parses the whole of `text` as a value of `type` into `value`. Views refer to memory of the arena.
 * -EINVAL with the text "'x' is no i64"; a number must fit its type. */
int hub_text_parse(const struct rapahub_type *type, const char *text, size_t size, void *value,
                   struct hub_text_arena *arena);

/* Returns the value as text, newly allocated and ended by 0; NULL if there is no memory. Bytes that
 * are not printable text become `hex:…`. Floats are the shortest text that reads back as the same
 * value. A string that is the whole value is printed unchanged, control characters too. */
char *hub_text_print(const struct rapahub_type *type, const void *value);

/* Returns the value as JSON by the rules of the command line: 64-bit integers are numbers, bytes
 * are base64, infinities and not-a-number are the strings "inf", "-inf", "nan", void is {}. Newly
 * allocated; NULL if there is no memory. */
char *hub_text_json(const struct rapahub_type *type, const void *value);

#endif
