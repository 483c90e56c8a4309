/* SPDX-License-Identifier: Apache-2.0 */
/* postcard: varints, strings and tags in the POSTCARD encoding; decoding is strict.
 *
 * Readers and writers are those of hub/base/bytes.h and keep their first failure. A function that
 * refuses its input sets RAPAHUB_EFORMAT, writes the reason into the diagnosis and returns 0, false
 * or an empty view. r[impl shm.payload.encoding] r[impl hub.postcard.strict]
 */
#ifndef HUB_WIRE_POSTCARD_H
#define HUB_WIRE_POSTCARD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rapahub/value.h>

#include "hub/base/bytes.h"

#define HUB_POSTCARD_DEPTH 32 /* nesting of values */

/* Unsigned LEB128. `bits`, 16, 32 or 64, bounds length and value. Over-long forms within that
 * length are accepted; writers make the shortest form. */
void hub_postcard_put_long(struct hub_writer *writer, uint64_t value);
uint64_t hub_postcard_read_long(struct hub_reader *reader, unsigned bits);

/* Writes the number to memory of at least 10 bytes, and returns its size. */
static inline size_t hub_postcard_put_at(uint8_t *to, uint64_t value)
{
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        to[size++] = (uint8_t)(value | 0x80);
    to[size++] = (uint8_t)value;
    return size;
}

/* Encodes a length whose form has two or three bytes into a word, the first byte lowest. Returns
 * the number of bytes, or 0 for a shorter or longer form. */
static inline uint32_t hub_postcard_short_length(size_t length, uint32_t *word)
{
    /* twice the bits of the second byte are these bits in their place */
    uint32_t value = (uint32_t)length, two = value + (value & 0x3f80) + 0x80;

    if (length - 0x4000 < (UINT32_C(1) << 21) - 0x4000) {
        *word = two + 3 * (value & 0x1fc000) + 0x8000; /* and four times those of the third */
        return 3;
    }
    *word = two;
    return length - 0x80 < 0x4000 - 0x80 ? 2 : 0;
}

/* Writes a length and returns its size. Two or three bytes need few instructions, and all longer
 * forms take the same time, so that the call of a large loan costs hardly more than that of a small
 * one. */
static inline size_t hub_postcard_put_length(uint8_t *to, size_t length)
{
    uint32_t value = (uint32_t)length, more, word;

    more = hub_postcard_short_length(length, &word);
    if (more > 0) {
        memcpy(to, &word, sizeof word);
        return more;
    }
    if (length >= UINT32_C(1) << 28)
        return hub_postcard_put_at(to, length);
    more = (31 - (uint32_t)__builtin_clz(value | 1)) * 37 >> 8; /* divided by seven */
    word = (value & 0x7f) | (value & 0x3f80) << 1 | (value & 0x1fc000) << 2 | value >> 21 << 24 |
           (UINT32_C(0x808080) & ((UINT32_C(1) << 8 * more) - 1));
    memcpy(to, &word, sizeof word);
    return 1 + more;
}

/* Most numbers have one byte; these need no function call. */
static inline void hub_postcard_put_unsigned(struct hub_writer *writer, uint64_t value)
{
    if (value < 0x80)
        hub_writer_byte(writer, (uint8_t)value);
    else
        hub_postcard_put_long(writer, value);
}

static inline uint64_t hub_postcard_read_unsigned(struct hub_reader *reader, unsigned bits)
{
    if (reader->failure == 0 && reader->at < reader->end && *reader->at < 0x80)
        return *reader->at++;
    return hub_postcard_read_long(reader, bits);
}

/* Decodes a number of two or three bytes, such as the length of most payloads in slots. `bytes`
 * holds its first three bytes or more, the first one lowest. Returns its size, or 0 if it is
 * shorter or longer. */
static inline uint32_t hub_postcard_read_short(uint32_t bytes, uint32_t *out)
{
    uint32_t two = (bytes & 0x7f) | (bytes >> 1 & 0x3f80);

    if ((bytes & 0x808080) == 0x8080) {
        *out = two | (bytes >> 2 & 0x1fc000);
        return 3;
    }
    *out = two;
    return (bytes & 0x8080) == 0x80 ? 2 : 0;
}

/* The same for signed numbers, in zigzag form. */
void hub_postcard_put_signed(struct hub_writer *writer, int64_t value);
int64_t hub_postcard_read_signed(struct hub_reader *reader, unsigned bits);

/* A raw byte: u8, i8. hub_writer_byte writes it. */
uint8_t hub_postcard_read_byte(struct hub_reader *reader);

void hub_postcard_put_bool(struct hub_writer *writer, bool value);
bool hub_postcard_read_bool(struct hub_reader *reader);

/* 4 and 8 bytes, little-endian. */
void hub_postcard_put_f32(struct hub_writer *writer, float value);
float hub_postcard_read_f32(struct hub_reader *reader);
void hub_postcard_put_f64(struct hub_writer *writer, double value);
double hub_postcard_read_f64(struct hub_reader *reader);

/* A length and bytes; decoding returns views of the reader's memory. A string must be UTF-8:
 * another one sets the writer's failure -EINVAL, so that it is refused before it is sent. */
void hub_postcard_put_bytes(struct hub_writer *writer, struct rapahub_bytes bytes);
struct rapahub_bytes hub_postcard_read_bytes(struct hub_reader *reader);
void hub_postcard_put_string(struct hub_writer *writer, struct rapahub_string string);
struct rapahub_string hub_postcard_read_string(struct hub_reader *reader);

/* Decodes a count of elements of at least `least` bytes each. A count that the remaining bytes
 * cannot hold is refused; for elements of size 0 the limit is 65,536. */
uint32_t hub_postcard_read_count(struct hub_reader *reader, size_t least);

/* Decodes the index of an enum's variant, which must be below `count`. */
uint32_t hub_postcard_read_variant(struct hub_reader *reader, uint32_t count);

/* Refuses bytes that remain after the top-level value. Returns 0 or the reader's failure. */
int hub_postcard_refuse_rest(struct hub_reader *reader);

static inline int hub_postcard_end(struct hub_reader *reader)
{
    return reader->failure == 0 && reader->at == reader->end ? 0 : hub_postcard_refuse_rest(reader);
}

/* Says whether this is valid UTF-8: no surrogates, no over-long forms, nothing above U+10FFFF. */
bool hub_postcard_utf8(const void *data, size_t size);

#endif
