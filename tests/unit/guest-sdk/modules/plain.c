/* SPDX-License-Identifier: Apache-2.0 */
/* plain: a library that knows nothing of rapahub. */
#include <stdint.h>
#include <string.h>

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

static uint64_t length(const char *text)
{
    return strlen(text);
}

/* The exported functions. */
extern __typeof__(gcd) plain_gcd __attribute__((alias("gcd"), visibility("default")));
extern __typeof__(length) plain_length __attribute__((alias("length"), visibility("default")));
