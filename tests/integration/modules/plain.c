/* SPDX-License-Identifier: Apache-2.0 */
/* plain: a library that knows nothing of rapahub. */
#include <stdint.h>

__attribute__((used)) static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

extern __typeof__(divisor) gcd __attribute__((alias("divisor"), visibility("default")));
