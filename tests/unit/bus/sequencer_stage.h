/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_stage: regions of kind SEQUENCER for tests. */
#ifndef TESTS_UNIT_BUS_SEQUENCER_STAGE_H
#define TESTS_UNIT_BUS_SEQUENCER_STAGE_H

#include <rapahub/sequencer.h>

#include "tests/unit/bus/region_stage.h"

#define SEQUENCER_RING 8

/* The region of a test: its stages, and what they follow. */
struct sequencer_plan {
    enum rapahub_region_profile profile;
    bool shared; /* any number of producers */
    uint32_t stages;
    struct rapahub_region_stage list[4];
};

static inline struct rapahub_region *sequencer_create(const char *name,
                                                      const struct sequencer_plan *plan)
{
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_SEQUENCER,
                                                   .profile = plan->profile,
                                                   .producers = plan->shared ? 2 : 1,
                                                   .ring_size = SEQUENCER_RING,
                                                   .user_bytes = sizeof(uint64_t),
                                                   .stages = plan->stages,
                                                   .stage_list = plan->list};
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_create(name, &options, &region), 0);
    return region;
}

static inline int sequencer_open(struct rapahub_region *region, uint32_t index,
                                 struct rapahub_stage **out)
{
    const struct rapahub_stage_options options = {.index = index};

    return rapahub_stage_open(region, &options, out);
}

static inline struct rapahub_stage *sequencer_stage(struct rapahub_region *region, uint32_t index)
{
    struct rapahub_stage *stage = NULL;

    assert_int_equal(sequencer_open(region, index, &stage), 0);
    return stage;
}

/* Claims, fills and publishes `count` positions, the first of which is `position`. */
static inline void sequencer_put(struct rapahub_region *region, struct rapahub_producer *producer,
                                 uint64_t position, uint32_t count)
{
    uint64_t got = UINT64_MAX;

    assert_int_equal(rapahub_producer_claim(producer, count, 0, &got), 0);
    assert_int_equal(got, position);
    for (uint64_t i = 0; i < count; i++)
        *(uint64_t *)rapahub_region_user(region, got + i) = (got + i) * 7;
    assert_int_equal(rapahub_producer_publish(producer, got, count), 0);
}

/* The stage has these positions to do, and no more. */
static inline void sequencer_has(struct rapahub_stage *stage, uint64_t first, uint32_t count)
{
    uint64_t got = UINT64_MAX;
    uint32_t many = 0;

    assert_int_equal(rapahub_stage_next(stage, 0, &got, &many), 0);
    assert_int_equal(got, first);
    assert_int_equal(many, count);
}

static inline void sequencer_idle(struct rapahub_stage *stage)
{
    uint64_t got;
    uint32_t many;

    assert_int_equal(rapahub_stage_next(stage, 0, &got, &many), RAPAHUB_EEMPTY);
}

/* Takes all that is there, which are these positions, and acknowledges them. */
static inline void sequencer_do(struct rapahub_stage *stage, uint64_t first, uint32_t count)
{
    sequencer_has(stage, first, count);
    assert_int_equal(rapahub_stage_advance(stage, count), 0);
}

static inline void sequencer_gap(struct rapahub_stage *stage, uint32_t whose, uint64_t from,
                                 uint64_t to)
{
    struct rapahub_stage_gap gap = {0};
    uint64_t got;
    uint32_t many;

    assert_int_equal(rapahub_stage_next(stage, 0, &got, &many), RAPAHUB_EGAP);
    rapahub_stage_gap(stage, &gap);
    assert_int_equal(gap.stage, whose);
    assert_int_equal(gap.from, from);
    assert_int_equal(gap.to, to);
}

#endif
