/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/placement.h"

#include <string.h>

#include "hub/base/line.h"
#include "hub/base/streaming_copy.h"

void hub_placement_init(struct hub_link *link)
{
    hub_way_init_alone(&link->alone);
    hub_way_init_stream(&link->stream, hub_slots_has_cold(link->options.pool));
}

static void copy_parts(uint8_t *to, const struct hub_parts *parts)
{
    if (parts->head.size > 0)
        memcpy(to, parts->head.data, parts->head.size);
    if (parts->tail.size > 0)
        memcpy(to + parts->head.size, parts->tail.data, parts->tail.size);
}

/* Returns the way to copy a payload that may be read on another CPU; NULL: it is small, or stays
 * here. */
static struct hub_way *way_of(struct hub_link *link, const struct hub_parts *parts,
                              enum hub_message_type type) REQUIRES(link->send)
{
    bool stream = type == HUB_DATA;

    if (parts->tail.size < (stream ? HUB_STREAMING_COPY_STREAM : HUB_STREAMING_COPY_ALONE) ||
        !hub_wait_is_elsewhere(&link->wait))
        return NULL;
    return stream ? &link->stream : &link->alone;
}

/* Returns the number of bytes to leave empty in a slot with `room` bytes, so that the tail, or the
 * part of it that must be aligned, begins at a line; 0 if there is no space for that.
 * r[impl hub.payload.align] */
static uint32_t pad_of(const struct hub_link *link, const struct hub_parts *parts, size_t room)
{
    size_t size = parts->head.size + parts->tail.size;
    size_t aligned = parts->aligned > 0 ? parts->aligned : parts->tail.size;
    size_t pad = -(hub_slots_start(link->options.pool) + size - aligned) % HUB_LINE;

    return pad + size <= room ? (uint32_t)pad : 0;
}

static int loan(struct hub_link *link, const struct hub_way *way, const struct hub_parts *payload,
                struct hub_slot_loan *out) REQUIRES(link->send)
{
    size_t size = payload->head.size + payload->tail.size;

    if (way && hub_way_next(way) == HUB_WAY_COLD)
        return hub_slots_loan_cold(link->options.pool, link->options.peer, size, out);
    return hub_slots_loan(link->options.pool, link->options.peer, size, out);
}

static int put_in_slot(struct hub_link *link, const struct hub_parts *payload,
                       struct hub_descriptor *descriptor) REQUIRES(link->send)
{
    struct hub_way *way = way_of(link, payload, descriptor->msg_type);
    struct hub_slot_loan slot;
    int r = loan(link, way, payload, &slot);
    uint8_t *to;

    if (r < 0)
        return r;
    descriptor->payload_slot = slot.slot;
    descriptor->payload_generation = slot.generation;
    descriptor->payload_offset = pad_of(link, payload, slot.room);
    to = slot.data + descriptor->payload_offset;
    if (!way) {
        copy_parts(to, payload);
    } else {
        if (payload->head.size > 0)
            memcpy(to, payload->head.data, payload->head.size);
        hub_way_copy(way, to + payload->head.size, payload->tail.data, payload->tail.size);
    }
    hub_slots_sent(link->options.pool, &slot);
    return 0;
}

/* r[impl shm.payload.inline] r[impl shm.payload.slot] */
int hub_placement_put(struct hub_link *link, const struct hub_parts *payload,
                      struct hub_descriptor *descriptor)
{
    size_t size = payload->head.size + payload->tail.size;

    descriptor->payload_len = (uint32_t)size;
    if (size <= HUB_INLINE_SIZE) {
        copy_parts(descriptor->inline_payload, payload);
        if (payload->loan)
            hub_loan_drop(link, payload->loan);
        return 0;
    }
    if (payload->loan)
        return hub_loan_place(link, payload, descriptor);
    return put_in_slot(link, payload, descriptor);
}
