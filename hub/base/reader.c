/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "hub/base/bytes.h"

const uint8_t *hub_reader_take(struct hub_reader *reader, size_t size)
{
    const uint8_t *at = reader->at;

    if (reader->failure != 0)
        return NULL;
    if (size > hub_reader_left(reader)) {
        reader->failure = rapahub_fail(RAPAHUB_EFORMAT, "", "truncated: %zu bytes wanted, %zu left",
                                       size, hub_reader_left(reader));
        return NULL;
    }
    reader->at += size;
    return at;
}

uint8_t hub_reader_byte(struct hub_reader *reader)
{
    const uint8_t *at = hub_reader_take(reader, 1);

    return at ? *at : 0;
}
