/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/number.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define FLOAT_TEXT_MAX 1024 /* digits of the longest exact f64, and more */
#define POINT_MAX      8    /* bytes of the decimal point */

int64_t hub_number_load_signed(const void *value, size_t size)
{
    switch (size) {
    case 1:
        return *(const int8_t *)value;
    case 2:
        return *(const int16_t *)value;
    case 4:
        return *(const int32_t *)value;
    default:
        return *(const int64_t *)value;
    }
}

uint64_t hub_number_load_unsigned(const void *value, size_t size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)value;
    case 2:
        return *(const uint16_t *)value;
    case 4:
        return *(const uint32_t *)value;
    default:
        return *(const uint64_t *)value;
    }
}

void hub_number_store(void *value, size_t size, uint64_t bits)
{
    switch (size) {
    case 1:
        *(uint8_t *)value = (uint8_t)bits;
        break;
    case 2:
        *(uint16_t *)value = (uint16_t)bits;
        break;
    case 4:
        *(uint32_t *)value = (uint32_t)bits;
        break;
    default:
        *(uint64_t *)value = bits;
        break;
    }
}

static bool is_signed(const struct rapahub_type *type)
{
    return type->kind >= RAPAHUB_KIND_I8 && type->kind <= RAPAHUB_KIND_I64;
}

static int refuse(const struct rapahub_type *type, const char *text, size_t size)
{
    return rapahub_fail(RAPAHUB_EINVAL, "", "'%.*s' is no %s", size < 80 ? (int)size : 80, text,
                        type->word);
}

static int refuse_range(const struct rapahub_type *type, const char *text, size_t size)
{
    uint64_t most = UINT64_MAX >> (64 - 8 * type->size + (is_signed(type) ? 1 : 0));
    int shown = size < 80 ? (int)size : 80;

    if (is_signed(type))
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "'%.*s' is no %s: it goes from -%" PRIu64 " to %" PRIu64, shown, text,
                            type->word, most + 1, most);
    return rapahub_fail(RAPAHUB_EINVAL, "", "'%.*s' is no %s: it goes from 0 to %" PRIu64, shown,
                        text, type->word, most);
}

/* Returns 16 or more if the character is no digit. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

static bool is_hexadecimal(const char *text, size_t size)
{
    return size > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

/* Parses digits only. Returns 0, -1 if there are other characters, 1 if the number does not fit. */
static int parse_digits(const char *text, size_t size, uint64_t *out)
{
    unsigned base = is_hexadecimal(text, size) ? 16 : 10;
    uint64_t value = 0;
    bool fits = true;

    if (!size)
        return -1;
    for (size_t i = base == 16 ? 2 : 0; i < size; i++) {
        unsigned digit = digit_of(text[i]);

        if (digit >= base)
            return -1;
        fits = fits && !__builtin_mul_overflow(value, base, &value) &&
               !__builtin_add_overflow(value, digit, &value);
    }
    *out = value;
    return fits ? 0 : 1;
}

static int parse_integer(const struct rapahub_type *type, const char *text, size_t size,
                         void *value)
{
    bool minus = is_signed(type) && size && *text == '-';
    uint64_t most = UINT64_MAX >> (64 - 8 * type->size + (is_signed(type) ? 1 : 0));
    uint64_t amount;
    int r = parse_digits(text + minus, size - minus, &amount);

    if (r < 0)
        /* A sign and digits are a number, even if its type excludes it. */
        return size && *text == '-' && parse_digits(text + 1, size - 1, &amount) >= 0
                   ? refuse_range(type, text, size)
                   : refuse(type, text, size);
    if (r > 0 || amount > most + (minus ? 1 : 0))
        return refuse_range(type, text, size);
    hub_number_store(value, type->size, minus ? 0 - amount : amount);
    return 0;
}

/* Writes the decimal point of this process's locale. */
static size_t find_point(char point[POINT_MAX])
{
    char sample[POINT_MAX + 3];
    size_t size = (size_t)snprintf(sample, sizeof(sample), "%.1f", 1.5) - 2;

    memcpy(point, sample + 1, size);
    return size;
}

static size_t skip_digits(const char *text, size_t at, size_t size)
{
    while (at < size && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* Returns the end of the exponent, which may be absent; 0 if it is malformed. */
static size_t skip_exponent(const char *text, size_t at, size_t size)
{
    size_t digits;

    if (at == size || (text[at] != 'e' && text[at] != 'E'))
        return at;
    at++;
    if (at < size && (text[at] == '+' || text[at] == '-'))
        at++;
    digits = skip_digits(text, at, size);
    return digits > at ? digits : 0;
}

/* Accepts [-] digits [. digits] [e digits], with a digit next to the point. *point becomes the
 * position of the point, or the size if there is none. */
static bool is_decimal(const char *text, size_t size, size_t *point)
{
    size_t start = size && *text == '-' ? 1 : 0;
    size_t at = skip_digits(text, start, size), digits = at - start;

    *point = size;
    if (at < size && text[at] == '.') {
        *point = at;
        at = skip_digits(text, at + 1, size);
        digits += at - *point - 1;
    }
    return digits && skip_exponent(text, at, size) == size;
}

static bool is_special(const char *text, size_t size)
{
    return (size == 3 && (!memcmp(text, "inf", 3) || !memcmp(text, "nan", 3))) ||
           (size == 4 && !memcmp(text, "-inf", 4));
}

static int store_float(const struct rapahub_type *type, const char *text, void *value)
{
    double wide = strtod(text, NULL);
    float narrow = strtof(text, NULL); /* not from the double: that would round twice */

    if (type->kind == RAPAHUB_KIND_F64)
        memcpy(value, &wide, sizeof(wide));
    else
        memcpy(value, &narrow, sizeof(narrow));
    return __builtin_isinf(type->kind == RAPAHUB_KIND_F64 ? wide : (double)narrow);
}

static int parse_float(const struct rapahub_type *type, const char *text, size_t size, void *value)
{
    char copy[FLOAT_TEXT_MAX + POINT_MAX];
    size_t point = size, at;
    uint64_t ignored;
    bool special = is_special(text, size);

    if (size > FLOAT_TEXT_MAX ||
        (!special && !is_decimal(text, size, &point) &&
         !(is_hexadecimal(text, size) && parse_digits(text, size, &ignored) >= 0)))
        return refuse(type, text, size);
    memcpy(copy, text, point);
    at = point;
    if (point < size) {
        at += find_point(copy + point);
        memcpy(copy + at, text + point + 1, size - point - 1);
        at += size - point - 1;
    }
    copy[at] = '\0';
    if (store_float(type, copy, value) && !special)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%.*s' is too large for %s",
                            size < 80 ? (int)size : 80, text, type->word);
    return 0;
}

int hub_number_parse(const struct rapahub_type *type, const char *text, size_t size, void *value)
{
    if (type->kind == RAPAHUB_KIND_F32 || type->kind == RAPAHUB_KIND_F64)
        return parse_float(type, text, size, value);
    return parse_integer(type, text, size, value);
}

/* Replaces the locale's decimal point by '.'. */
static void put_point(char *text)
{
    char point[POINT_MAX];
    size_t size = find_point(point);
    char *at = memmem(text, strlen(text), point, size);

    if (at && (size != 1 || *point != '.')) {
        *at = '.';
        memmove(at + 1, at + size, strlen(at + size) + 1);
    }
}

static void print_float(double value, bool narrow, char to[HUB_NUMBER_TEXT])
{
    int precision_max = narrow ? 9 : 17;

    if (__builtin_isnan(value)) { /* its sign has no meaning */
        memcpy(to, "nan", 4);
        return;
    }
    for (int precision = 1; precision <= precision_max; precision++) {
        snprintf(to, HUB_NUMBER_TEXT, "%.*g", precision, value);
        if ((narrow ? (double)strtof(to, NULL) : strtod(to, NULL)) == value)
            break;
    }
    put_point(to);
}

void hub_number_print(const struct rapahub_type *type, const void *value, char to[HUB_NUMBER_TEXT])
{
    if (type->kind == RAPAHUB_KIND_F32)
        print_float((double)*(const float *)value, true, to);
    else if (type->kind == RAPAHUB_KIND_F64)
        print_float(*(const double *)value, false, to);
    else if (is_signed(type))
        snprintf(to, HUB_NUMBER_TEXT, "%" PRId64, hub_number_load_signed(value, type->size));
    else
        snprintf(to, HUB_NUMBER_TEXT, "%" PRIu64, hub_number_load_unsigned(value, type->size));
}
