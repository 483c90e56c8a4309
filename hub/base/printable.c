/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the bytes of a character, by its first byte; 0 if none begins so. */
static size_t size_of(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static size_t decode(const char *text, size_t left, uint32_t *out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text[0];
    size_t size = size_of(first);
    uint32_t code = size == 1 ? first : first & (0x7fu >> size);

    if (size == 0 || size > left)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    }
    *out = code;
    return code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : size;
}

static bool is_shown(uint32_t code)
{
    return code >= 0x20 && (code < 0x7f || code >= 0xa0) && code != 0x61c && code != 0x200e &&
           code != 0x200f && (code < 0x2028 || code > 0x202e) && (code < 0x2066 || code > 0x2069);
}

/* Returns how many bytes from here on are of ASCII and shown, in steps of 8: nearly all of what is
 * mended, one error of each lost call among it. */
static size_t plain_size(const char *text, size_t left)
{
    const uint64_t ones = UINT64_MAX / 0xff;
    uint64_t bytes;
    size_t n = 0;

    for (; left - n >= sizeof bytes; n += sizeof bytes) {
        memcpy(&bytes, text + n, sizeof bytes);
        /* The high bit of a byte: it is below 0x20; 0x7f; or above. */
        if (((bytes - ones * 0x20) | (bytes + ones) | bytes) & ones * 0x80)
            break;
    }
    return n;
}

size_t hub_printable_size(const char *text, size_t left)
{
    uint32_t code;
    size_t size = left > 0 ? decode(text, left, &code) : 0;

    return size > 0 && is_shown(code) ? size : 0;
}

void hub_printable_mend(char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        size_t size = plain_size(text, left);

        if (size == 0)
            size = hub_printable_size(text, left);
        if (size == 0) {
            *text = '?';
            size = 1;
        }
        text += size;
        left -= size;
    }
}

size_t hub_printable_escape(const char *text, size_t length, const char *kept, char *to,
                            size_t size)
{
    size_t whole = 0, at = 0;
    bool room = size > 0;

    while (length > 0) {
        size_t n = *text && strchr(kept, *text) ? 1 : hub_printable_size(text, length);
        char word[8];
        size_t wide = n > 0 ? n : 4;

        if (n > 0)
            memcpy(word, text, n);
        else
            snprintf(word, sizeof word, "\\x%02x", (unsigned char)*text);
        room = room && wide < size - at;
        if (room) {
            memcpy(to + at, word, wide);
            at += wide;
        }
        whole += wide;
        n = n > 0 ? n : 1;
        text += n;
        length -= n;
    }
    if (size > 0)
        to[at] = '\0';
    return whole;
}
