/* SPDX-License-Identifier: Apache-2.0 */
/* fanin_stage: regions of kind FANIN for tests. */
#ifndef TESTS_UNIT_BUS_FANIN_STAGE_H
#define TESTS_UNIT_BUS_FANIN_STAGE_H

#include "tests/unit/bus/region_stage.h"

#define FANIN_CELLS     4
#define FANIN_PRODUCERS 3

static inline struct rapahub_region *fanin_stage_create(const char *name,
                                                        enum rapahub_region_profile profile,
                                                        uint32_t producers, uint32_t cells)
{
    const struct rapahub_region_options options = {
        .kind = RAPAHUB_REGION_FANIN, .profile = profile, .producers = producers, .cells = cells};
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_create(name, &options, &region), 0);
    return region;
}

static inline int fanin_stage_open(struct rapahub_region *region, uint32_t index,
                                   struct rapahub_producer **out)
{
    const struct rapahub_producer_options options = {.index = index};

    return rapahub_producer_open(region, &options, out);
}

static inline struct rapahub_producer *fanin_stage_producer(struct rapahub_region *region,
                                                            uint32_t index)
{
    struct rapahub_producer *producer = NULL;

    assert_int_equal(fanin_stage_open(region, index, &producer), 0);
    return producer;
}

/* The next message is this one, of this producer. */
static inline void fanin_stage_pop(struct rapahub_consumer *consumer, uint32_t producer,
                                   uint64_t position, uint64_t number)
{
    struct rapahub_message message = {0};
    uint64_t got = 0;

    assert_int_equal(rapahub_consumer_pop(consumer, &got, sizeof got, 0, &message), 0);
    assert_int_equal(got, number);
    assert_int_equal(message.producer, producer + 1);
    assert_int_equal(message.position, position);
    assert_int_equal(message.skipped, 0);
}

#endif
