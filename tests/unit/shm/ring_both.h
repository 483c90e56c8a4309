/* SPDX-License-Identifier: Apache-2.0 */
/* ring_both: both sides of one ring in one process, and numbered descriptors. */
#ifndef TESTS_UNIT_SHM_RING_BOTH_H
#define TESTS_UNIT_SHM_RING_BOTH_H

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/shm/ring.h"
#include "tests/support/testing.h"

#define BOTH __attribute__((unused)) static

#define SIZE 8

/* Both sides of one ring, with the words they share. */
struct both {
    struct hub_ring_cell *cells;
    struct hub_a32 head, tail;
    struct hub_ring_producer producer;
    struct hub_ring_consumer consumer;
    uint32_t sent, received;
};

BOTH void begin_at(struct both *both, uint32_t size, uint32_t index)
{
    *both = (struct both){
        .cells = calloc(size, sizeof(struct hub_ring_cell)), .head = {index}, .tail = {index}};
    assert_non_null(both->cells);
    hub_ring_producer_init(&both->producer, both->cells, size, &both->head, &both->tail);
    hub_ring_consumer_init(&both->consumer, both->cells, size, &both->head, &both->tail);
}

BOTH void end(struct both *both)
{
    free(both->cells);
}

BOTH struct hub_descriptor numbered(uint32_t number)
{
    struct hub_descriptor d = {.msg_type = HUB_DATA, .id = number, .method_id = ~(uint64_t)number};

    memset(d.inline_payload, (int)(number & 0xFF), sizeof(d.inline_payload));
    return d;
}

BOTH void put(struct both *both)
{
    struct hub_descriptor descriptor = numbered(both->sent++);

    hub_ring_put(&both->producer, &descriptor);
}

BOTH void send_one(struct both *both)
{
    assert_int_equal(hub_ring_room(&both->producer), 1);
    put(both);
    assert_true(hub_ring_publish(&both->producer));
}

BOTH void assert_next(struct both *both, const struct hub_descriptor *descriptor)
{
    struct hub_descriptor expected = numbered(both->received++);

    assert_memory_equal(descriptor, &expected, sizeof(expected));
}

BOTH void take(struct both *both, uint32_t count)
{
    struct hub_descriptor batch[HUB_RING_BATCH];

    assert_int_equal(hub_ring_pop(&both->consumer, batch, HUB_RING_BATCH), count);
    for (uint32_t i = 0; i < count; i++)
        assert_next(both, &batch[i]);
}

BOTH void assert_capacity_violated(int r)
{
    assert_int_equal(r, RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "shm.ring.capacity");
}

#endif
