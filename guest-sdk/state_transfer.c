/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/state_transfer.h"

#include "hub/base/crc32c.h"

static void forget(struct rapahub_sink **sink)
{
    rapahub_sink_destroy(*sink);
    *sink = NULL;
}

void guest_state_transfer_fini(struct guest_state_transfer *carry)
{
    forget(&carry->incoming);
    forget(&carry->outgoing);
}

int guest_state_transfer_write(struct guest_state_transfer *carry, struct rapahub_bytes piece)
{
    int r;

    if (piece.size == 0) {
        forget(&carry->incoming);
        return 0;
    }
    r = carry->incoming ? 0 : rapahub_sink_of_memory(GUEST_STATE_TRANSFER_MAX, &carry->incoming);

    return r == 0 ? rapahub_sink_write(carry->incoming, piece.data, piece.size) : r;
}

int guest_state_transfer_load(struct guest_state_transfer *carry,
                              const struct rapahub_container_ops *ops, void *self, uint32_t version)
{
    struct rapahub_source *source = NULL;
    const void *data = NULL;
    size_t size = 0;
    int r;

    if (carry->incoming)
        data = rapahub_sink_data(carry->incoming, &size);
    r = rapahub_source_of_memory(data, size, &source);
    if (r == 0)
        r = ops->load(self, source, version);
    rapahub_source_destroy(source);
    forget(&carry->incoming);
    return r;
}

int guest_state_transfer_save(struct guest_state_transfer *carry,
                              const struct rapahub_container_ops *ops, void *self,
                              struct hub_saved *out)
{
    const void *data;
    size_t size;
    int r;

    forget(&carry->outgoing);
    r = rapahub_sink_of_memory(GUEST_STATE_TRANSFER_MAX, &carry->outgoing);
    if (r == 0)
        r = ops->save(self, carry->outgoing);
    if (r != 0) {
        forget(&carry->outgoing);
        return r;
    }
    data = rapahub_sink_data(carry->outgoing, &size);
    out->size = size;
    out->checksum = hub_crc32c(0, data, size);
    return 0;
}

int guest_state_transfer_read(const struct guest_state_transfer *carry, uint64_t offset,
                              struct rapahub_bytes *out)
{
    const uint8_t *data;
    size_t size;

    if (!carry->outgoing)
        return rapahub_fail(RAPAHUB_ESTATE, "", "nothing was saved");
    data = rapahub_sink_data(carry->outgoing, &size);
    if (offset > size)
        return rapahub_fail(RAPAHUB_EINVAL, "", "the saved state has %zu bytes", size);
    out->data = size > offset ? data + offset : NULL;
    out->size = size - offset < out->size ? size - offset : out->size;
    return 0;
}

void guest_state_transfer_settle(struct guest_state_transfer *carry, uint64_t end)
{
    size_t size = 0;

    if (carry->outgoing)
        (void)rapahub_sink_data(carry->outgoing, &size);
    if (end >= size)
        forget(&carry->outgoing);
}
