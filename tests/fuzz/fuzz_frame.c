/* SPDX-License-Identifier: Apache-2.0 */
/* Input of a control socket, from any bytes: frames of every kind, as host and as client. An
 * accepted frame is encoded again and decoded once more. */
#include <string.h>

#include <rapahub/error.h>

#include "host/control/frame.h"
#include "tests/fuzz/fuzz.h"

static void check_record(enum host_frame_kind kind, const union host_frame_record *record)
{
    struct host_frame_buffer buffer = {.data = NULL};
    union host_frame_record again;

    FUZZ_HOLDS(host_frame_put(&buffer, kind, record) == 0);
    FUZZ_HOLDS(host_frame_decode(&buffer, 0, HOST_FRAME_COUNT, &again) == 1);
    FUZZ_HOLDS(host_frame_kind(&buffer) == kind);
    host_frame_drop(&buffer);
    FUZZ_HOLDS(!host_frame_pending(&buffer));
    host_frame_fini(&buffer);
}

static void take_all(const uint8_t *data, size_t size, enum host_frame_kind first,
                     enum host_frame_kind end)
{
    struct host_frame_buffer buffer = {.data = malloc(size + 1), .size = size, .capacity = size};
    union host_frame_record record;

    if (!buffer.data)
        return;
    memcpy(buffer.data, data, size);
    for (;;) {
        int r = host_frame_decode(&buffer, first, end, &record);

        FUZZ_HOLDS(r == 0 || r == 1 || r == RAPAHUB_EPROTOCOL);
        if (r != 1)
            break;
        FUZZ_HOLDS(host_frame_kind(&buffer) >= first && host_frame_kind(&buffer) < end);
        check_record(host_frame_kind(&buffer), &record);
        host_frame_drop(&buffer);
    }
    host_frame_fini(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    take_all(data, size, 0, HOST_FRAME_REQUESTS);
    take_all(data, size, HOST_FRAME_REQUESTS, HOST_FRAME_COUNT);
    return 0;
}
