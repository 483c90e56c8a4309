/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of one size that go to the other side through a ring, and back through the bitmap. */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/shm/ring.h"
#include "hub/shm/slot_pool.h"
#include "tests/unit/ordering/ordering.h"

#define SLOT_SIZE 64
#define SLOTS     2
#define PEER      1
#define RING      8
#define MESSAGES  7

struct rig {
    struct hub_geometry geometry;
    struct {
        struct hub_a64 bitmap[8];
        uint8_t slots[SLOTS * SLOT_SIZE];
    } memory;
    struct hub_slot_pool pool;
    struct hub_slot_reader reader;
    struct hub_ring_cell cells[RING];
    struct hub_a32 head, tail;
    struct hub_ring_producer producer;
    struct hub_ring_consumer consumer;
};

static void begin(void *user)
{
    struct rig *rig = user;
    uint8_t *memory = (uint8_t *)&rig->memory;

    memset(rig, 0, sizeof *rig);
    rig->geometry = (struct hub_geometry){.limits = {.slot_size = SLOT_SIZE, .slot_count = SLOTS},
                                          .bitmap_size = sizeof rig->memory.bitmap};
    hub_slot_pool_format(&rig->geometry, memory);
    if (hub_slot_pool_init(&rig->pool, &rig->geometry, memory, false) < 0 ||
        hub_slot_reader_init(&rig->reader, &rig->geometry, memory) < 0)
        abort();
    hub_ring_producer_init(&rig->producer, rig->cells, RING, &rig->head, &rig->tail);
    hub_ring_consumer_init(&rig->consumer, rig->cells, RING, &rig->head, &rig->tail);
    weak_data(rig->memory.slots, sizeof rig->memory.slots); /* generations too */
}

static void end(void *user)
{
    struct rig *rig = user;

    hub_slot_pool_fini(&rig->pool);
    hub_slot_reader_fini(&rig->reader);
}

static struct hub_a32 *first_word(const uint8_t *payload)
{
    return (struct hub_a32 *)(uintptr_t)payload;
}

static void send_in_slots(void *user)
{
    struct rig *rig = user;

    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct hub_descriptor descriptor = {.msg_type = HUB_DATA, .id = i, .payload_len = 4};
        int r = -EAGAIN;

        while (r == -EAGAIN && weak_goes_on())
            r = hub_slot_pool_loan(&rig->pool, PEER, &descriptor.payload_slot,
                                   &descriptor.payload_generation);
        if (r < 0) {
            weak_expect(false, "no slot comes back");
            return;
        }
        hub_store_relaxed(first_word(hub_slot_pool_payload(&rig->pool, descriptor.payload_slot)),
                          i + 1);
        hub_slot_pool_sent(&rig->pool, descriptor.payload_slot);
        weak_expect(hub_ring_send(&rig->producer, &descriptor), "no room in a large ring");
    }
}

static void take_and_give_back(void *user)
{
    struct rig *rig = user;
    struct hub_descriptor one;

    for (uint32_t taken = 0; taken < MESSAGES && weak_goes_on();) {
        if (hub_ring_pop(&rig->consumer, &one, 1) != 1)
            continue;
        weak_expect(hub_slot_reader_check(&rig->reader, &one) == 0, "a good slot is refused");
        weak_expect(hub_load_relaxed(first_word(hub_slot_reader_payload(&rig->reader, &one))) ==
                        ++taken,
                    "another payload");
        weak_expect(hub_slot_reader_free(&rig->reader, one.payload_slot) == 0, "given back twice");
    }
}

/* r[verify shm.slot.free] r[verify shm.slot.allocate] r[verify shm.ordering.ring-publish] */
static void a_slot_is_written_again_behind_the_last_look_at_it(void **state)
{
    const struct weak_plan plan = {
        .begin = begin, .threads = {send_in_slots, take_and_give_back}, .end = end};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_is_written_again_behind_the_last_look_at_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
