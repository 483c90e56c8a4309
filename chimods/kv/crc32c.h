/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c: the checksum of a record. Any thread. */
#ifndef KV_CRC32C_H
#define KV_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues from `crc`, the checksum of the preceding bytes; 0 at the start. "123456789" gives
 * e3069283. */
uint32_t kv_crc32c(uint32_t crc, const void *data, size_t size);

#endif
