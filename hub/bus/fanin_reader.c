/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/fanin_reader.h"

#include <stdlib.h>

#include "hub/bus/bus_wait.h"

static void aim(struct hub_ring_reader *ring, struct rapahub_region *region, uint32_t index)
{
    const struct hub_region_shape *shape = &region->shape;
    bool fanout = shape->kind == HUB_REGION_FANOUT, fanin = shape->kind == HUB_REGION_FANIN;
    uint8_t *data = region->mapping.data;

    ring->view = fanout  ? hub_region_queue_view(data, shape, index)
                 : fanin ? hub_region_ring_view(data, shape, index)
                         : region->view;
    ring->many = !fanout && hub_region_shape_claims(shape);
    ring->producer = (struct hub_role_counterpart){
        .region = region, .role = fanout ? HUB_LEASE_ROUTER : HUB_LEASE_PRODUCER};
}

int hub_fanin_reader_begin(struct hub_fanin_reader *reader, struct rapahub_region *region,
                           uint32_t index)
{
    uint32_t count = region->shape.producers > 0 ? region->shape.producers : 1;
    int r = 0;

    *reader = (struct hub_fanin_reader){.rings = calloc(count, sizeof *reader->rings),
                                        .count = count,
                                        .fanin = region->shape.kind == HUB_REGION_FANIN,
                                        .spins = true};
    if (!reader->rings)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the rings of a region");
    for (uint32_t i = 0; i < count && r == 0; i++) {
        aim(&reader->rings[i], region, reader->fanin ? i : index);
        r = hub_ring_reader_begin(&reader->rings[i]);
    }
    if (r < 0)
        free(reader->rings);
    return r;
}

void hub_fanin_reader_end(struct hub_fanin_reader *reader)
{
    for (uint32_t i = 0; i < reader->count; i++)
        hub_ring_reader_store(&reader->rings[i]);
    free(reader->rings);
}

static void pass_on(struct hub_fanin_reader *reader)
{
    reader->at = reader->at + 1 < reader->count ? reader->at + 1 : 0;
    reader->taken = 0;
}

int hub_fanin_reader_show_ahead(struct hub_fanin_reader *reader, uint64_t ahead,
                                struct rapahub_message *out)
{
    int r = hub_ring_reader_show(hub_fanin_reader_ring(reader), ahead, out);

    if (r == 0 && reader->fanin)
        out->producer = reader->at + 1;
    return r;
}

int hub_fanin_reader_show(struct hub_fanin_reader *reader, struct rapahub_message *out)
{
    int r = RAPAHUB_EEMPTY;

    if (reader->taken >= HUB_FANIN_TURN)
        pass_on(reader);
    for (uint32_t i = 0; i < reader->count; i++) {
        r = hub_fanin_reader_show_ahead(reader, 0, out);
        if (r != RAPAHUB_EEMPTY)
            return r;
        pass_on(reader);
    }
    return r;
}

uint64_t hub_fanin_reader_most(const struct hub_fanin_reader *reader)
{
    uint64_t cells = (uint64_t)hub_fanin_reader_ring(reader)->view.mask + 1;
    uint64_t turn = HUB_FANIN_TURN - reader->taken;

    return reader->count > 1 && turn < cells ? turn : cells;
}

void hub_fanin_reader_take(struct hub_fanin_reader *reader)
{
    hub_ring_reader_take(hub_fanin_reader_ring(reader));
    reader->taken++;
}

bool hub_fanin_reader_is_empty(const struct hub_fanin_reader *reader)
{
    for (uint32_t i = 0; i < reader->count; i++)
        if (!hub_ring_reader_is_empty(&reader->rings[i]))
            return false;
    return true;
}

void hub_fanin_reader_rest(struct hub_fanin_reader *reader, bool told)
{
    for (uint32_t i = 0; i < reader->count; i++)
        hub_ring_reader_rest(&reader->rings[i], told);
}

static bool has_something(const void *user)
{
    return !hub_fanin_reader_is_empty(user);
}

/* Nothing of a dead producer is in the way; its successor takes its lease back. */
static int look_at_nobody(void *user)
{
    (void)user;
    return 0;
}

/* All producers wake the consumer where the first one does. */
int hub_fanin_reader_wait(struct hub_fanin_reader *reader, uint64_t deadline_ns)
{
    const struct hub_bus_wait wait = {.region = reader->rings[0].producer.region,
                                      .sleep = &reader->rings[0].view.not_empty,
                                      .ready = has_something,
                                      .look = look_at_nobody,
                                      .user = reader,
                                      .spins = &reader->spins};

    return reader->count == 1 ? hub_ring_reader_wait(&reader->rings[0], deadline_ns)
                              : hub_bus_wait_until(&wait, deadline_ns);
}
