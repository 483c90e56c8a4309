/* SPDX-License-Identifier: Apache-2.0 */
/* slot_reader: the receiver's side of a pool: accepts slots and returns them. All numbers come from
 * a private copy of a descriptor, and the payload is copied once. */
#include <rapahub/error.h>

#include "hub/base/atomic.h"
#include "hub/base/check.h"
#include "hub/base/memory.h"
#include "hub/base/streaming_copy.h"
#include "hub/shm/slot_pool.h"

#define WORD_BITS       64
#define GENERATION_SIZE 4

int hub_slot_reader_init(struct hub_slot_reader *reader, const struct hub_geometry *geometry,
                         uint8_t *memory)
{
    struct hub_slot_seen *seen = hub_memory_sparse(geometry->limits.slot_count * sizeof *seen);

    if (!seen)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the records of %u slots",
                            geometry->limits.slot_count);
    *reader = (struct hub_slot_reader){
        .bitmap = (struct hub_a64 *)(void *)memory,
        .slots = memory + geometry->bitmap_size,
        .slot_size = geometry->limits.slot_size,
        .count = geometry->limits.slot_count,
        .seen = seen,
    };
    return 0;
}

void hub_slot_reader_fini(struct hub_slot_reader *reader)
{
    hub_memory_free_sparse(reader->seen, reader->count * sizeof *reader->seen);
    *reader = (struct hub_slot_reader){0};
}

static const struct hub_a32 *foreign_generation(const struct hub_slot_reader *reader, uint32_t slot)
{
    return (const struct hub_a32 *)(const void *)(reader->slots + (size_t)slot * reader->slot_size);
}

static int check_generation(const struct hub_slot_reader *reader,
                            const struct hub_descriptor *descriptor, const char *when)
{
    uint32_t found = hub_observe(foreign_generation(reader, descriptor->payload_slot));

    if (found != descriptor->payload_generation)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.slot.generation",
                            "slot %u has generation %u %s, its descriptor says %u",
                            descriptor->payload_slot, found, when, descriptor->payload_generation);
    return 0;
}

/* r[impl shm.payload.slot] r[impl shm.slot.payload-offset] */
static int check_bounds(const struct hub_slot_reader *reader,
                        const struct hub_descriptor *descriptor)
{
    uint64_t end = (uint64_t)descriptor->payload_offset + descriptor->payload_len;

    if (descriptor->payload_slot >= reader->count)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.payload.slot", "there is no slot %u of %u",
                            descriptor->payload_slot, reader->count);
    if (end > reader->slot_size - GENERATION_SIZE)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.slot.payload-offset",
                            "%u bytes from %u on do not fit a slot of %u", descriptor->payload_len,
                            descriptor->payload_offset, reader->slot_size);
    return 0;
}

static int check_once(const struct hub_slot_reader *reader, const struct hub_descriptor *descriptor)
{
    const struct hub_slot_seen *seen = &reader->seen[descriptor->payload_slot];

    if (hub_observe(&seen->held) != 0 ||
        (seen->accepted && seen->generation == descriptor->payload_generation))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "hub.slot.twice",
                            "slot %u came twice with generation %u", descriptor->payload_slot,
                            descriptor->payload_generation);
    return 0;
}

static int accept_slot(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor)
{
    int r = check_bounds(reader, descriptor);

    if (r == 0)
        r = check_once(reader, descriptor);
    if (r == 0)
        r = check_generation(reader, descriptor, "before its payload");
    if (r == 0) {
        struct hub_slot_seen *seen = &reader->seen[descriptor->payload_slot];

        seen->generation = descriptor->payload_generation;
        seen->accepted = true;
        hub_publish(&seen->held, 1);
    }
    return r;
}

/* The second check only reveals that a peer reused the slot too early. Nothing relies on it, since
 * only the copy is used, so it needs no fence. */
int hub_slot_reader_copy_part(const struct hub_slot_reader *reader,
                              const struct hub_descriptor *part, void *to)
{
    hub_streaming_copy_fetch(to, hub_slot_reader_payload(reader, part), part->payload_len);
    return check_generation(reader, part, "behind its payload");
}

int hub_slot_reader_copy(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor,
                         void *to)
{
    int r = accept_slot(reader, descriptor);

    return r < 0 ? r : hub_slot_reader_copy_part(reader, descriptor, to);
}

const uint8_t *hub_slot_reader_payload(const struct hub_slot_reader *reader,
                                       const struct hub_descriptor *descriptor)
{
    return reader->slots + (size_t)descriptor->payload_slot * reader->slot_size + GENERATION_SIZE +
           descriptor->payload_offset;
}

int hub_slot_reader_check(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor)
{
    return accept_slot(reader, descriptor);
}

int hub_slot_reader_free(struct hub_slot_reader *reader, uint32_t slot)
{
    uint64_t bit = UINT64_C(1) << slot % WORD_BITS;

    CHECK(slot < reader->count && hub_exchange(&reader->seen[slot].held, 0) != 0);
    if (hub_set_bits64(&reader->bitmap[slot / WORD_BITS], bit) & bit)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.slot.free", "slot %u was given back already",
                            slot);
    return 0;
}

struct hub_a32 *hub_slot_reader_word(const struct hub_slot_reader *reader, uint32_t slot)
{
    return (struct hub_a32 *)(void *)reader->bitmap + slot / (WORD_BITS / 2);
}
