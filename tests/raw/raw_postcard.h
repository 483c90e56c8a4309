/* SPDX-License-Identifier: Apache-2.0 */
/* raw postcard: the few forms of POSTCARD the messages of tests need. */
#ifndef TESTS_RAW_RAW_POSTCARD_H
#define TESTS_RAW_RAW_POSTCARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_POSTCARD_MAX \
    210000 /* a little more than the largest slot, so that a test may exceed it */

struct raw_postcard {
    uint8_t bytes[RAW_POSTCARD_MAX];
    size_t size;
};

/* Each appends; if it does not fit, the program ends. */
void raw_postcard_byte(struct raw_postcard *to, uint8_t byte);
void raw_postcard_raw(struct raw_postcard *to, const void *from, size_t size);
void raw_postcard_u64(struct raw_postcard *to, uint64_t value);
void raw_postcard_i64(struct raw_postcard *to, int64_t value);
void raw_postcard_bytes(struct raw_postcard *to, const void *from, size_t size);
void raw_postcard_string(struct raw_postcard *to, const char *text);

/* The bytes still to be read. A read that finds something else sets `wrong` and returns 0 or
 * NULL. */
struct raw_postcard_rest {
    const uint8_t *at;
    size_t left;
    bool wrong;
};

uint8_t raw_postcard_take_byte(struct raw_postcard_rest *from);
uint64_t raw_postcard_take_u64(struct raw_postcard_rest *from);
int64_t raw_postcard_take_i64(struct raw_postcard_rest *from);
const uint8_t *raw_postcard_take_bytes(struct raw_postcard_rest *from, size_t *size);

#endif
