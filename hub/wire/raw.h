/* SPDX-License-Identifier: Apache-2.0 */
/* raw: `(bytes) -> bytes` in one descriptor: what stands before the few bytes is always the same,
 * so it is written and compared as bytes. Where it is not that, postcard.h and response.h read it.
 */
#ifndef HUB_WIRE_RAW_H
#define HUB_WIRE_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/few.h"
#include "hub/base/line.h"

#define HUB_RAW_REQUEST  2 /* bytes before the argument: no metadata, a length */
#define HUB_RAW_RESPONSE 3 /* before the result: no metadata, that it is one, a length */

/* Where in a line such a payload begins, so that its bytes begin at one. */
#define HUB_RAW_REQUEST_PHASE  (HUB_LINE - HUB_RAW_REQUEST)
#define HUB_RAW_RESPONSE_PHASE (HUB_LINE - HUB_RAW_RESPONSE)

/* A Request into `room` bytes, of at most 34: how many it takes; 0: there is no room. */
static inline uint32_t hub_raw_put_request(uint8_t *to, size_t room, struct rapahub_bytes argument)
{
    if (argument.size > room - HUB_RAW_REQUEST)
        return 0;
    to[0] = 0;
    to[1] = (uint8_t)argument.size;
    hub_few_copy(to + HUB_RAW_REQUEST, argument.data, argument.size);
    return HUB_RAW_REQUEST + (uint32_t)argument.size;
}

/* The result in a Response that is a plain one and nothing else. */
static inline bool hub_raw_take_response(const uint8_t *data, size_t size,
                                         struct rapahub_bytes *result)
{
    if (size < HUB_RAW_RESPONSE || (data[0] | data[1]) != 0 || data[2] >= 0x80 ||
        data[2] != size - HUB_RAW_RESPONSE)
        return false;
    *result = (struct rapahub_bytes){data + HUB_RAW_RESPONSE, data[2]};
    return true;
}

#endif
