/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/batch.h"

#include <string.h>

#include "hub/link/link_state.h"

#define COUNT_MOST 64 /* elements: as many as may be held back */
#define LENGTH     2  /* bytes of the length of any element here */

/* The length stands right before the bytes, in as few bytes as it needs. */
static uint32_t put_length(uint8_t *bytes, uint32_t size)
{
    if (size < 128) {
        bytes[-1] = (uint8_t)size;
        return 1;
    }
    bytes[-2] = (uint8_t)(size | 0x80);
    bytes[-1] = (uint8_t)(size >> 7);
    return 2;
}

void hub_batch_begin(struct hub_link *link, struct hub_batch *batch,
                     const struct hub_descriptor *descriptor, struct rapahub_bytes bytes)
{
    batch->any = descriptor->payload_slot == HUB_INLINE && hub_ring_is_held(&link->out);
    if (!batch->any)
        return;
    batch->place = link->out.head_next - 1;
    batch->count = 1;
    batch->full = false;
    batch->size = (uint32_t)bytes.size;
    batch->data = NULL;
    batch->descriptor = *descriptor;
}

/* From the descriptor to a slot, which takes more. */
static bool move_to_slot(struct hub_link *link, struct hub_batch *batch, size_t more)
{
    struct hub_slots *pool = link->options.pool;
    const uint8_t *bytes = batch->descriptor.inline_payload + 1; /* behind the length */
    struct hub_descriptor next = {.msg_type = batch->descriptor.msg_type,
                                  .id = batch->descriptor.id,
                                  .payload_len = batch->descriptor.payload_len};
    uint32_t most = HUB_BATCH_BYTES;
    uint8_t *first;
    int r;

    if (hub_slots_piece(pool) < most)
        most = (uint32_t)hub_slots_piece(pool);
    if (link->limits.payload_max < most)
        most = link->limits.payload_max;
    if (LENGTH + batch->size + more > most)
        return false;
    first = hub_slots_loan(pool, link->options.peer, most, &next, &r);
    if (!first)
        return false;
    batch->data = first + LENGTH;
    batch->room = most - LENGTH;
    memcpy(batch->data, bytes, batch->size);
    hub_slots_sent(pool, next.payload_slot);
    batch->descriptor = next;
    hub_note64(&link->counters.sent_slots, hub_peek64(&link->counters.sent_slots) + 1);
    return true;
}

/* One that is full was shown: the next one of its size would not fit. */
static bool may_join(const struct hub_link *link, const struct hub_batch *batch, size_t size)
{
    return batch->any && hub_ring_is_held_at(&link->out, batch->place) && !batch->full &&
           size < HUB_BATCH_BYTES / 4;
}

/* As long as it is no longer than what a descriptor takes it stays there. */
static bool make_room(struct hub_link *link, struct hub_batch *batch, size_t size)
{
    if (!batch->data && batch->size + size < HUB_INLINE_SIZE)
        return true;
    return batch->data ? size <= batch->room - batch->size : move_to_slot(link, batch, size);
}

static void append(struct hub_batch *batch, struct rapahub_bytes bytes)
{
    struct hub_descriptor *descriptor = &batch->descriptor;
    uint8_t *data = batch->data ? batch->data : descriptor->inline_payload + 1;
    uint32_t length;

    memcpy(data + batch->size, bytes.data, bytes.size);
    batch->size += (uint32_t)bytes.size;
    length = put_length(data, batch->size);
    descriptor->payload_offset = batch->data ? LENGTH - length : 0;
    descriptor->payload_len = batch->size + length;
}

static void join(struct hub_link *link, struct hub_batch *batch, struct rapahub_bytes bytes)
{
    uint32_t before = batch->descriptor.payload_len;

    append(batch, bytes);
    batch->count++;
    batch->full =
        batch->count == COUNT_MOST || (batch->data && bytes.size > batch->room - batch->size);
    batch->joined = batch->descriptor.payload_len - before;
    hub_note64(&link->counters.sent_bytes, hub_peek64(&link->counters.sent_bytes) + batch->joined);
}

bool hub_batch_join(struct hub_link *link, struct hub_batch *batch, struct rapahub_bytes bytes)
{
    batch->joined = 0;
    batch->any = may_join(link, batch, bytes.size) && make_room(link, batch, bytes.size);
    if (!batch->any)
        return false;
    join(link, batch, bytes);
    hub_ring_amend(&link->out, batch->place, &batch->descriptor);
    return true;
}

/* Nothing is published here, but the slot is written to: so the entry must be this guest's still.
 * r[impl hub.death.guard] */
uint32_t hub_batch_append(struct hub_link *link, struct hub_batch *batch,
                          struct rapahub_bytes bytes, const struct hub_a32 *gate)
{
    uint32_t joined = 0;

    hub_mutex_lock(&link->send);
    if (batch->data && hub_link_state_may_send(link) && may_join(link, batch, bytes.size) &&
        bytes.size * 2 <= batch->room - batch->size && batch->count + 1 < COUNT_MOST &&
        hub_observe(gate) == 0) {
        join(link, batch, bytes);
        hub_ring_resize(&link->out, batch->place, &batch->descriptor);
        joined = batch->joined;
    }
    hub_mutex_unlock(&link->send);
    return joined;
}
