/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors from any bytes, as a receiver checks them: an accepted one lies in its slot, and no
 * slot is accepted twice. The input is a sequence of descriptors, each with the generation that its
 * slot has then. */
#include <string.h>

#include "hub/link/message.h"
#include "hub/shm/slot_pool.h"
#include "tests/fuzz/fuzz.h"

#define SLOTS     70 /* more than a word of the bitmap */
#define SLOT_SIZE 64

static const struct hub_limits limits = {.payload_max = 50,
                                         .slot_size = SLOT_SIZE,
                                         .slot_count = SLOTS,
                                         .channels_max = 4,
                                         .ring_size = 8};

struct step {
    struct hub_descriptor descriptor;
    uint32_t generation; /* that stands in the slot */
    uint32_t action;     /* bit 0: no payload is wanted; bit 1: the slot is kept */
};

struct pool {
    struct hub_slot_reader reader;
    uint8_t *memory;
    uint32_t slot_offset;
};

static bool open_pool(struct pool *pool)
{
    struct hub_geometry geometry = {.limits = limits, .bitmap_size = 64};

    pool->slot_offset = 64;
    pool->memory = calloc(1, 64 + SLOTS * SLOT_SIZE);
    return pool->memory && hub_slot_reader_init(&pool->reader, &geometry, pool->memory) == 0;
}

static void check_accepted(const struct hub_descriptor *descriptor, struct hub_message *message)
{
    FUZZ_HOLDS(message->type >= HUB_REQUEST && message->type <= HUB_GOODBYE);
    FUZZ_HOLDS(descriptor->payload_len <= limits.payload_max);
    FUZZ_HOLDS(message->type < HUB_DATA || message->type > HUB_RESET ||
               (message->id > 0 && message->id < limits.channels_max));
}

static void take_from_slot(struct pool *pool, const struct step *step)
{
    const struct hub_descriptor *descriptor = &step->descriptor;
    uint8_t *copy = malloc(descriptor->payload_len);
    int r;

    FUZZ_HOLDS(descriptor->payload_slot < SLOTS);
    memcpy(pool->memory + pool->slot_offset + (size_t)descriptor->payload_slot * SLOT_SIZE,
           &step->generation, 4);
    r = step->action & 1 ? hub_slot_reader_check(&pool->reader, descriptor)
                         : hub_slot_reader_copy(&pool->reader, descriptor, copy);
    free(copy);
    if (r < 0)
        return;
    FUZZ_HOLDS(step->generation == descriptor->payload_generation);
    FUZZ_HOLDS(hub_slot_reader_check(&pool->reader, descriptor) < 0);
    if (!(step->action & 2))
        (void)hub_slot_reader_free(&pool->reader, descriptor->payload_slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hub_message message;
    struct pool pool = {.memory = NULL};
    struct step step;

    if (size < sizeof(step) || size > 64 * sizeof(step) || !open_pool(&pool)) {
        free(pool.memory);
        return 0;
    }
    for (; size >= sizeof(step); data += sizeof(step), size -= sizeof(step)) {
        memcpy(&step, data, sizeof(step));
        if (hub_message_check(&step.descriptor, &limits, &message) < 0)
            continue;
        check_accepted(&step.descriptor, &message);
        if (step.descriptor.payload_slot != HUB_INLINE)
            take_from_slot(&pool, &step);
    }
    hub_slot_reader_fini(&pool.reader);
    free(pool.memory);
    return 0;
}
