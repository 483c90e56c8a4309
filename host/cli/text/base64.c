/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/text/base64.h"

#include <stdint.h>
#include <string.h>

/* -1: not a digit. */
static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

bool cli_base64_decode(char *text, size_t size, size_t *out)
{
    size_t padding = size > 0 && text[size - 1] == '=';
    size_t written = 0;

    padding += padding && size > 1 && text[size - 2] == '=';
    if (size % 4 != 0)
        return false;
    for (size_t i = 0; i < size; i += 4) {
        uint32_t bits = 0;

        for (size_t j = i; j < i + 4; j++) {
            int value = j >= size - padding ? 0 : digit(text[j]);

            if (value < 0)
                return false;
            bits = bits << 6 | (uint32_t)value;
        }
        for (unsigned j = 0; j < 3; j++)
            text[written++] = (char)(bits >> (16 - 8 * j));
    }
    *out = written - padding;
    return true;
}
