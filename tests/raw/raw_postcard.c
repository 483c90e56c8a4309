/* SPDX-License-Identifier: Apache-2.0 */
/* raw postcard: seven bits a byte, least significant first; signed numbers as zigzag. */
#include "tests/raw/raw_postcard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void raw_postcard_raw(struct raw_postcard *to, const void *from, size_t size)
{
    if (size > sizeof(to->bytes) - to->size) {
        fputs("raw_postcard: a test wrote more than it has room for\n", stderr);
        abort();
    }
    if (size > 0)
        memcpy(to->bytes + to->size, from, size);
    to->size += size;
}

void raw_postcard_byte(struct raw_postcard *to, uint8_t byte)
{
    raw_postcard_raw(to, &byte, 1);
}

void raw_postcard_u64(struct raw_postcard *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        raw_postcard_byte(to, (uint8_t)(0x80 | (value & 0x7f)));
    raw_postcard_byte(to, (uint8_t)value);
}

void raw_postcard_i64(struct raw_postcard *to, int64_t value)
{
    raw_postcard_u64(to, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void raw_postcard_bytes(struct raw_postcard *to, const void *from, size_t size)
{
    raw_postcard_u64(to, size);
    raw_postcard_raw(to, from, size);
}

void raw_postcard_string(struct raw_postcard *to, const char *text)
{
    raw_postcard_bytes(to, text, strlen(text));
}

uint8_t raw_postcard_take_byte(struct raw_postcard_rest *from)
{
    if (from->left == 0) {
        from->wrong = true;
        return 0;
    }
    from->left--;
    return *from->at++;
}

uint64_t raw_postcard_take_u64(struct raw_postcard_rest *from)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = raw_postcard_take_byte(from);

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    from->wrong = true;
    return 0;
}

int64_t raw_postcard_take_i64(struct raw_postcard_rest *from)
{
    uint64_t value = raw_postcard_take_u64(from);

    return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

const uint8_t *raw_postcard_take_bytes(struct raw_postcard_rest *from, size_t *size)
{
    uint64_t count = raw_postcard_take_u64(from);
    const uint8_t *at = from->at;

    *size = 0;
    if (from->wrong || count > from->left) {
        from->wrong = true;
        return NULL;
    }
    from->at += count;
    from->left -= count;
    *size = count;
    return at;
}
