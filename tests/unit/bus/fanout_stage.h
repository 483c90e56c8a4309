/* SPDX-License-Identifier: Apache-2.0 */
/* fanout_stage: regions of kind FANOUT for tests: a producer, a router, and consumers. */
#ifndef TESTS_UNIT_BUS_FANOUT_STAGE_H
#define TESTS_UNIT_BUS_FANOUT_STAGE_H

#include "tests/unit/bus/region_stage.h"

#define FANOUT_CELLS     8
#define FANOUT_CONSUMERS 3

struct fanout_stage {
    struct rapahub_region_options options;
    struct rapahub_region *region;
    struct rapahub_producer *producer;
    struct rapahub_router *router;
    struct rapahub_consumer *consumers[FANOUT_CONSUMERS];
};

static inline struct rapahub_consumer *fanout_stage_consumer(struct rapahub_region *region,
                                                             uint32_t index)
{
    const struct rapahub_consumer_options options = {.index = index};
    struct rapahub_consumer *consumer = NULL;

    assert_int_equal(rapahub_consumer_open(region, &options, &consumer), 0);
    return consumer;
}

static inline struct rapahub_router *fanout_stage_router(struct rapahub_region *region)
{
    struct rapahub_router *router = NULL;

    assert_int_equal(rapahub_router_open(region, 0, &router), 0);
    return router;
}

/* `options`: mode, credit and credit_max; the rest is set here. */
static inline struct fanout_stage fanout_stage_begin(struct rapahub_region_options options,
                                                     enum rapahub_region_profile profile)
{
    struct fanout_stage stage = {.options = options};

    stage.options.kind = RAPAHUB_REGION_FANOUT;
    stage.options.profile = profile;
    stage.options.cells = FANOUT_CELLS;
    stage.options.consumers = FANOUT_CONSUMERS;
    assert_int_equal(rapahub_region_create(NULL, &stage.options, &stage.region), 0);
    stage.producer = stage_producer(stage.region);
    stage.router = fanout_stage_router(stage.region);
    for (uint32_t i = 0; i < FANOUT_CONSUMERS; i++)
        stage.consumers[i] = fanout_stage_consumer(stage.region, i);
    return stage;
}

static inline void fanout_stage_end(struct fanout_stage *stage)
{
    rapahub_producer_close(stage->producer);
    rapahub_router_close(stage->router);
    for (uint32_t i = 0; i < FANOUT_CONSUMERS; i++)
        rapahub_consumer_close(stage->consumers[i]);
    assert_int_equal(rapahub_region_close(stage->region), 0);
}

/* Publishes the numbers from `first` to before `end`. */
static inline void fanout_stage_push(struct fanout_stage *stage, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++)
        stage_push(stage->producer, i);
}

/* Routes all that there is; returns the code that ended it. */
static inline int fanout_stage_route(struct fanout_stage *stage)
{
    uint32_t count;
    int r;

    do
        r = rapahub_router_run(stage->router, 64, 0, &count);
    while (r == 0);
    return r;
}

static inline void fanout_stage_expect(struct fanout_stage *stage, uint32_t consumer,
                                       uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++)
        stage_pop(stage->consumers[consumer], i);
}

#endif
