/* SPDX-License-Identifier: Apache-2.0 */
/* signature: the type of a method as text: "add(i64, i64) -> i64".
 *
 *     signature = name "(" [ type { "," type } ] ")" [ "->" type ]
 *     type      = word | "{" name ":" type { "," name ":" type } "}"
 *
 * The canonical text has one space after commas and colons and around the arrow, and it always has
 * a result (`-> void`). A method's id is the FNV-1a 64 hash of it: a changed signature is another
 * method.
 */
#ifndef HUB_WIRE_SIGNATURE_H
#define HUB_WIRE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/method.h>

#define HUB_SIGNATURE_ARGUMENTS_MAX 16
#define HUB_RECORD_DEPTH            8
#define HUB_RECORD_MEMBERS          64

struct hub_signature {
    char *text; /* canonical */
    char name[RAPAHUB_METHOD_NAME_MAX + 1];
    uint64_t id;
    uint32_t argument_count;
    const struct rapahub_type *types[HUB_SIGNATURE_ARGUMENTS_MAX + 2]; /* result, arguments, NULL */
    void *storage; /* memory of records that only the text describes */
};

/* Parses a signature. A record type gets the layout of the C struct with these members in this
 * order. RAPAHUB_EINVAL with a text that names the fault and its column. */
int hub_signature_parse(const char *text, struct hub_signature **out);

/* Makes a signature from a name and descriptions (result, arguments, NULL), which must outlive it.
 * -EINVAL for a bad name, too many arguments, a record too deep, a signature too long. */
int hub_signature_make(const char *name, const struct rapahub_type *const *types,
                       struct hub_signature **out);

void hub_signature_release(struct hub_signature **signature);

/* Writes the canonical text of a method with these types (result, arguments, NULL), which are not
 * checked. It ends with 0 and is cut at `size` bytes. Returns the length of the whole text without
 * 0. */
size_t hub_signature_print(const char *name, const struct rapahub_type *const *types, char *to,
                           size_t size);

/* Returns the FNV-1a 64 hash. */
uint64_t hub_signature_hash(const char *text);

/* Returns that of the canonical text of a type alone, "{x: f64, y: f64}". */
uint64_t hub_signature_hash_type(const struct rapahub_type *type);

/* Says whether `text` is a method's name: letters, digits and _, the first no digit, at most 63
 * bytes. */
bool hub_signature_is_name(const char *text);

/* Says whether the type is `source` or `sink`, which stand for a channel. */
bool hub_signature_is_stream(const struct rapahub_type *type);

#endif
