/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/bytes.h"

void hub_writer_count(struct hub_writer *writer)
{
    *writer = (struct hub_writer){.capacity = SIZE_MAX};
}

void hub_writer_put(struct hub_writer *writer, const void *data, size_t size)
{
    if (writer->failure != 0)
        return;
    if (size > writer->capacity - writer->size) {
        writer->failure = -EMSGSIZE;
        return;
    }
    if (writer->data && size > 0)
        memcpy(writer->data + writer->size, data, size);
    writer->size += size;
}
