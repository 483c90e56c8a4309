/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/crc32c.h"

#define POLYNOMIAL UINT32_C(0x82F63B78)

#define STEP(c)  ((c) >> 1 ^ (POLYNOMIAL & (0u - ((c)&1u))))
#define STEP4(c) STEP(STEP(STEP(STEP(c))))

/* The remainders for the 16 values of four bits. The table is small, and two look-ups a byte are
 * fast enough. */
#define NIBBLE(c) STEP4(UINT32_C(c))

static const uint32_t remainders[16] = {
    NIBBLE(0), NIBBLE(1), NIBBLE(2),  NIBBLE(3),  NIBBLE(4),  NIBBLE(5),  NIBBLE(6),  NIBBLE(7),
    NIBBLE(8), NIBBLE(9), NIBBLE(10), NIBBLE(11), NIBBLE(12), NIBBLE(13), NIBBLE(14), NIBBLE(15)};

uint32_t hub_crc32c(uint32_t before, const void *data, size_t size)
{
    const uint8_t *at = data;
    uint32_t crc = ~before;

    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ remainders[crc & 15];
        crc = crc >> 4 ^ remainders[crc & 15];
    }
    return ~crc;
}
