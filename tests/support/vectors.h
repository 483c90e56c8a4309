/* SPDX-License-Identifier: Apache-2.0 */
/* vectors: tests/data/wire-vectors.json, the bytes on which both sides of the wire must agree. An
 * error in the file ends the test program with a line that says so. */
#ifndef TESTS_SUPPORT_VECTORS_H
#define TESTS_SUPPORT_VECTORS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct vector {
    const char *kind, *name, *type;
    const json_t *value; /* integers of 64 bits and more are decimal strings */
    const uint8_t *bytes;
    size_t size; /* number of bytes; may be 0, while `bytes` is never NULL */
};

struct vectors;

struct vectors *vectors_open(void);
void vectors_close(struct vectors *vectors);

/* Returns the next vector of `kind` (NULL: of any kind) after `previous` (NULL: the first), or NULL
 * at the end. Valid until vectors_close.
 *
 *     for (const struct vector *v = NULL; (v = vectors_next(all, "postcard", v));)
 */
const struct vector *vectors_next(const struct vectors *vectors, const char *kind,
                                  const struct vector *previous);

/* Returns how many there are of `kind`. A test should compare its number of rounds with it, or with
 * a literal, because a loop over nothing passes. */
size_t vectors_count(const struct vectors *vectors, const char *kind);

/* Returns the vector of that name; the program ends if there is none. */
const struct vector *vectors_find(const struct vectors *vectors, const char *name);

/* Return a member of an object, or an element of an array; the program ends if it is missing. */
const json_t *vectors_member(const json_t *object, const char *name);
const json_t *vectors_element(const json_t *array, size_t index);

/* Read an integer, written as one or as a decimal string; the program ends if it is neither or does
 * not fit. vectors_hex reads "cbf29ce484222325", the form of method ids. */
uint64_t vectors_u64(const json_t *value);
int64_t vectors_i64(const json_t *value);
uint64_t vectors_hex(const json_t *value);
const char *vectors_text(const json_t *value);

#endif
