/* SPDX-License-Identifier: Apache-2.0 */
/* vectors: tests/data/wire-vectors.json, the bytes both sides of the wire must agree on. What is
 * not as it should be there ends the test program, with a line that says so. */
#ifndef TESTS_SUPPORT_VECTORS_H
#define TESTS_SUPPORT_VECTORS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct vector {
    const char *kind, *name, *type;
    const json_t *value; /* integers of 64 bits and more are decimal strings */
    const uint8_t *bytes;
    size_t size; /* of bytes; 0 is possible, bytes is never NULL */
};

struct vectors;

struct vectors *vectors_open(void);
void vectors_close(struct vectors *vectors);

/* The next vector of `kind` (NULL: of any kind) behind `previous` (NULL: the first), or NULL at the
 * end. Valid until vectors_close.
 *
 *     for (const struct vector *v = NULL; (v = vectors_next(all, "postcard", v));)
 */
const struct vector *vectors_next(const struct vectors *vectors, const char *kind,
                                  const struct vector *previous);

/* How many there are of `kind`. Let a test compare its number of rounds with it, or with a literal:
 * a loop over nothing passes. */
size_t vectors_count(const struct vectors *vectors, const char *kind);

/* The vector of that name; the program ends if there is none. */
const struct vector *vectors_find(const struct vectors *vectors, const char *name);

/* A member of an object, or an element of an array; the program ends if it is not there. */
const json_t *vectors_member(const json_t *object, const char *name);
const json_t *vectors_element(const json_t *array, size_t index);

/* An integer, written as one or as a decimal string; the program ends if it is neither or does not
 * fit. vectors_hex reads "cbf29ce484222325", as ids of methods are written. */
uint64_t vectors_u64(const json_t *value);
int64_t vectors_i64(const json_t *value);
uint64_t vectors_hex(const json_t *value);
const char *vectors_text(const json_t *value);

#endif
