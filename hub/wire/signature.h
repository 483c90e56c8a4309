/* SPDX-License-Identifier: Apache-2.0 */
/* signature: the type of a method as text: "add(i64, i64) -> i64".
 *
 *     signature = name "(" [ type { "," type } ] ")" [ "->" type ]
 *     type      = word | "{" name ":" type { "," name ":" type } "}"
 *
 * The canonical text has one space behind commas, colons and around the arrow, and always a result
 * (`-> void`). A method's id is FNV-1a 64 of it: a changed signature is another method. */
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
    void *storage; /* of records that only the text describes */
};

/* Parses; record types get the layout of the C struct with these members in this order.
 * RAPAHUB_EINVAL: the text says what is wrong and at which column. */
int hub_signature_parse(const char *text, struct hub_signature **out);

/* From a name and descriptions (result, arguments, NULL), which must outlive it. -EINVAL for a bad
 * name, too many arguments, a record too deep, a signature too long. */
int hub_signature_make(const char *name, const struct rapahub_type *const *types,
                       struct hub_signature **out);

void hub_signature_release(struct hub_signature **signature);

/* The canonical text of a method with these types (result, arguments, NULL), none of which is
 * checked, ended by 0 and cut at `size`: how long the whole is, without the 0. */
size_t hub_signature_print(const char *name, const struct rapahub_type *const *types, char *to,
                           size_t size);

/* FNV-1a 64. */
uint64_t hub_signature_hash(const char *text);

/* Is `text` a method's name: letters, digits and _, not a digit first, at most 63 bytes? */
bool hub_signature_is_name(const char *text);

/* Is it `source` or `sink`, which stand for a channel? */
bool hub_signature_is_stream(const struct rapahub_type *type);

#endif
