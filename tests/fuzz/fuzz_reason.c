/* SPDX-License-Identifier: Apache-2.0 */
/* The reason of a Goodbye from any bytes: a text that ends, without control characters, in the
 * memory it is given. The first byte says how much that is. */
#include <string.h>

#include "hub/link/message.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t capacity = size ? (size_t)data[0] * 8 + 1 : 1;
    char *text = malloc(capacity);
    uint8_t written[1040];

    if (!text)
        return 0;
    hub_message_reason(data + (size > 0), size - (size > 0), text, capacity);
    FUZZ_HOLDS(memchr(text, 0, capacity));
    for (const char *at = text; *at; at++)
        FUZZ_HOLDS((unsigned char)*at >= 0x20 && *at != 0x7f);
    FUZZ_HOLDS(hub_message_put_reason("shm.slot.free", text, written, sizeof(written)) <=
               sizeof(written));
    free(text);
    return 0;
}
