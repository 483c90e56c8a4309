/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/postcard.h"

#include <string.h>

#include <rapahub/error.h>

#define LONGEST              10    /* bytes of a number of 64 bits */
#define COUNT_OF_NOTHING_MAX 65536 /* limit of elements that have no bytes */

/* Keeps the first failure; later ones follow from it and need no text. */
static void refuse(struct hub_reader *reader, const char *what)
{
    if (reader->failure)
        return;
    reader->failure = rapahub_fail(RAPAHUB_EFORMAT, "hub.postcard.strict",
                                   "%s, %zu bytes before the end", what, hub_reader_left(reader));
}

/* Returns the next `size` bytes, or NULL after a refusal. */
static const uint8_t *take(struct hub_reader *reader, size_t size, const char *what)
{
    const uint8_t *at = reader->at;

    if (reader->failure || size > hub_reader_left(reader)) {
        refuse(reader, what);
        return NULL;
    }
    reader->at += size;
    return at;
}

void hub_postcard_put_long(struct hub_writer *writer, uint64_t value)
{
    uint8_t bytes[10];

    hub_writer_put(writer, bytes, hub_postcard_put_at(bytes, value));
}

/* Decodes numbers of two or three bytes, the size of most lengths, in the same time. Each byte is
 * read once. */
static inline bool take_few(struct hub_reader *reader, uint64_t *out)
{
    const uint8_t *at = reader->at;
    uint32_t first, second, third;

    if (reader->end - at < 3)
        return false;
    first = at[0];
    second = at[1];
    third = at[2];
    if (first < 0x80 || (second >= 0x80 && third >= 0x80))
        return false;
    reader->at = at + 2 + (second >> 7);
    *out = (first & 0x7f) | (second & 0x7f) << 7 | (third & -(second >> 7)) << 14;
    return true;
}

/* Joins the groups of seven bits in eight bytes, the first group lowest. */
static inline uint64_t join(uint64_t bytes)
{
    uint64_t pairs, fours;

    pairs = (bytes & UINT64_C(0x007f007f007f007f)) | (bytes & UINT64_C(0x7f007f007f007f00)) >> 1;
    fours = (pairs & UINT64_C(0x00003fff00003fff)) | (pairs & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (fours & UINT64_C(0x000000000fffffff)) | (fours & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Decodes numbers of nine or ten bytes, the size of most random numbers. Each byte is read once. */
static inline bool take_many(struct hub_reader *reader, uint64_t *out)
{
    const uint8_t *at = reader->at;
    uint64_t word, ninth, tenth;

    if (reader->end - at < LONGEST)
        return false;
    memcpy(&word, at, sizeof word);
    ninth = at[8];
    tenth = ninth < 0x80 ? 0 : at[9];
    if ((word & ~UINT64_C(0x7f7f7f7f7f7f7f7f)) != ~UINT64_C(0x7f7f7f7f7f7f7f7f) || tenth > 1)
        return false;
    reader->at = at + (ninth < 0x80 ? 9 : LONGEST);
    *out = join(word) | (ninth & 0x7f) << 56 | tenth << 63;
    return true;
}

/* r[impl hub.postcard.strict] */
uint64_t hub_postcard_read_long(struct hub_reader *reader, unsigned bits)
{
    const uint8_t *at = reader->at;
    uint64_t value = 0;

    if (reader->failure)
        return 0;
    if (bits >= 32 && take_few(reader, &value))
        return value;
    if (bits == 64 && take_many(reader, &value))
        return value;
    value = 0;
    for (unsigned shift = 0; shift < bits; shift += 7, at++) {
        if (at == reader->end)
            return refuse(reader, "truncated number"), 0;
        if (bits - shift < 7 && (*at & 0x7f) >> (bits - shift))
            return refuse(reader, "number exceeds its type"), 0;
        value |= (uint64_t)(*at & 0x7f) << shift;
        if (*at < 0x80) {
            reader->at = at + 1;
            return value;
        }
    }
    refuse(reader, "number too long");
    return 0;
}

void hub_postcard_put_signed(struct hub_writer *writer, int64_t value)
{
    hub_postcard_put_unsigned(writer, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

int64_t hub_postcard_read_signed(struct hub_reader *reader, unsigned bits)
{
    uint64_t zigzag = hub_postcard_read_unsigned(reader, bits);

    return (int64_t)((zigzag >> 1) ^ (zigzag & 1 ? UINT64_MAX : 0));
}

uint8_t hub_postcard_read_byte(struct hub_reader *reader)
{
    const uint8_t *byte = take(reader, 1, "truncated byte");

    return byte ? *byte : 0;
}

void hub_postcard_put_bool(struct hub_writer *writer, bool value)
{
    hub_writer_byte(writer, value ? 1 : 0);
}

bool hub_postcard_read_bool(struct hub_reader *reader)
{
    const uint8_t *byte = take(reader, 1, "truncated bool");

    if (byte && *byte > 1)
        refuse(reader, "bool other than 0 and 1");
    return byte && *byte == 1;
}

/* With a constant size, both compile to one load or store. */
static inline __attribute__((always_inline)) void put_little(struct hub_writer *writer,
                                                             uint64_t bits, size_t size)
{
    uint8_t bytes[8];

#pragma GCC unroll 8
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    hub_writer_put(writer, bytes, size);
}

static inline __attribute__((always_inline)) uint64_t take_little(struct hub_reader *reader,
                                                                  size_t size)
{
    const uint8_t *bytes = take(reader, size, "truncated float");
    uint64_t bits = 0;

    if (!bytes)
        return 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)bytes[i] << (8 * i);
    return bits;
}

void hub_postcard_put_f32(struct hub_writer *writer, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_little(writer, bits, sizeof(bits));
}

float hub_postcard_read_f32(struct hub_reader *reader)
{
    uint32_t bits = (uint32_t)take_little(reader, sizeof(bits));
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

void hub_postcard_put_f64(struct hub_writer *writer, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_little(writer, bits, sizeof(bits));
}

double hub_postcard_read_f64(struct hub_reader *reader)
{
    uint64_t bits = take_little(reader, sizeof(bits));
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

void hub_postcard_put_bytes(struct hub_writer *writer, struct rapahub_bytes bytes)
{
    hub_postcard_put_unsigned(writer, bytes.size);
    if (bytes.size)
        hub_writer_put(writer, bytes.data, bytes.size);
}

struct rapahub_bytes hub_postcard_read_bytes(struct hub_reader *reader)
{
    uint64_t size = hub_postcard_read_unsigned(reader, 64);
    struct rapahub_bytes bytes = {NULL, 0};

    bytes.data = take(reader, size, "length exceeds the bytes left");
    bytes.size = bytes.data ? size : 0;
    return bytes;
}

void hub_postcard_put_string(struct hub_writer *writer, struct rapahub_string string)
{
    struct rapahub_bytes bytes = {string.data, string.size};

    if (!writer->failure && !hub_postcard_utf8(string.data, string.size))
        writer->failure = rapahub_fail(RAPAHUB_EINVAL, "hub.postcard.strict",
                                       "a string of %zu bytes is not UTF-8", string.size);
    hub_postcard_put_bytes(writer, bytes);
}

struct rapahub_string hub_postcard_read_string(struct hub_reader *reader)
{
    struct rapahub_bytes bytes = hub_postcard_read_bytes(reader);
    struct rapahub_string string = {bytes.data, bytes.size};

    if (!hub_postcard_utf8(bytes.data, bytes.size)) {
        refuse(reader, "string that is not UTF-8");
        string.data = NULL;
        string.size = 0;
    }
    return string;
}

uint32_t hub_postcard_read_count(struct hub_reader *reader, size_t least)
{
    uint64_t count = hub_postcard_read_unsigned(reader, 64);
    uint64_t most = least ? hub_reader_left(reader) / least : COUNT_OF_NOTHING_MAX;

    if (count <= most && count <= UINT32_MAX)
        return (uint32_t)count;
    refuse(reader, "count exceeds the bytes left");
    return 0;
}

uint32_t hub_postcard_read_variant(struct hub_reader *reader, uint32_t count)
{
    uint32_t variant = (uint32_t)hub_postcard_read_unsigned(reader, 32);

    if (variant < count)
        return variant;
    refuse(reader, "unknown variant");
    return 0;
}

int hub_postcard_refuse_rest(struct hub_reader *reader)
{
    refuse(reader, "the value ends");
    return reader->failure;
}

/* Bytes that may follow a first byte. They exclude over-long forms, surrogates and numbers that are
 * too large. */
static const struct {
    uint8_t first, last, size, low, high;
} sequences[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static bool follows(const uint8_t *at, size_t from, size_t size)
{
    for (size_t i = from; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* Returns the size of the sequence at `at`, which is not ASCII, or 0 if it is not valid. */
static size_t sequence_size(const uint8_t *at, size_t left)
{
    for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
        size_t size = sequences[i].size;

        if (*at < sequences[i].first || *at > sequences[i].last)
            continue;
        if (left < size || at[1] < sequences[i].low || at[1] > sequences[i].high)
            return 0;
        return follows(at, 2, size) ? size : 0;
    }
    return 0;
}

/* Returns the bytes of the whole words at the start that are all ASCII. */
static size_t ascii_words(const uint8_t *at, size_t left)
{
    uint64_t word;
    size_t size = 0;

    for (; left - size >= sizeof(word); size += sizeof(word)) {
        memcpy(&word, at + size, sizeof(word));
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return size;
}

bool hub_postcard_utf8(const void *data, size_t size)
{
    const uint8_t *at = data;
    size_t done = 0;

    while (done < size) {
        size_t step = ascii_words(at + done, size - done);

        if (!step)
            step = at[done] < 0x80 ? 1 : sequence_size(at + done, size - done);
        if (!step)
            return false;
        done += step;
    }
    return true;
}
