/* SPDX-License-Identifier: Apache-2.0 */
/* raw: calls of `(bytes) -> bytes` that fit into one descriptor. The bytes before the payload are
 * always the same, so they are written and compared as constants. All other messages are left to
 * postcard.h and response.h. */
#ifndef HUB_WIRE_RAW_H
#define HUB_WIRE_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/line.h"
#include "hub/base/small_copy.h"

#define HUB_RAW_REQUEST  2 /* bytes before the argument: no metadata, a length */
#define HUB_RAW_RESPONSE 3 /* bytes before the result: no metadata, kind OK, a length */

/* Offset in a cache line at which such a payload begins, so that its bytes begin at a line. */
#define HUB_RAW_REQUEST_PHASE  (HUB_LINE - HUB_RAW_REQUEST)
#define HUB_RAW_RESPONSE_PHASE (HUB_LINE - HUB_RAW_RESPONSE)

/* Writes a Request of at most 34 bytes into `room` bytes. Returns its size, or 0 if it does not
 * fit. */
static inline uint32_t hub_raw_put_request(uint8_t *to, size_t room, struct rapahub_bytes argument)
{
    if (argument.size > room - HUB_RAW_REQUEST)
        return 0;
    to[0] = 0;
    to[1] = (uint8_t)argument.size;
    hub_small_copy_copy(to + HUB_RAW_REQUEST, argument.data, argument.size);
    return HUB_RAW_REQUEST + (uint32_t)argument.size;
}

/* Decodes the result of a Response that is OK and has no metadata. False for any other. `data` has
 * space for at least 4 bytes, and `size` is at most that of a descriptor's payload. A Response of
 * less than 3 bytes does not pass. */
static inline bool hub_raw_decode_response(const uint8_t *data, size_t size,
                                           struct rapahub_bytes *result)
{
    uint32_t head; /* no metadata, OK, a length of one byte */

    memcpy(&head, data, sizeof head);
    if ((head & 0xFFFFFF) + ((uint64_t)HUB_RAW_RESPONSE << 16) != (uint64_t)size << 16)
        return false;
    *result = (struct rapahub_bytes){data + HUB_RAW_RESPONSE, size - HUB_RAW_RESPONSE};
    return true;
}

#endif
