/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c: the checksum of a state in transfer (Castagnoli, reflected). It finds damage, not
 * malice. */
#ifndef HUB_BASE_CRC32C_H
#define HUB_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of `size` bytes that follow those with the checksum `before`; 0 at the
 * start. */
uint32_t hub_crc32c(uint32_t before, const void *data, size_t size);

#endif
