/* SPDX-License-Identifier: Apache-2.0 */
/* queue_stage: a hardened MPSC region with a producer and the consumer, for each test of a file. */
#ifndef TESTS_UNIT_BUS_QUEUE_STAGE_H
#define TESTS_UNIT_BUS_QUEUE_STAGE_H

#include "tests/unit/bus/region_stage.h"

#define CELLS 8

static struct rapahub_region *region;
static struct rapahub_producer *producer;
static struct rapahub_consumer *consumer;

static int set_up(void **state)
{
    (void)state;
    region = stage_create(NULL, RAPAHUB_REGION_MPSC, RAPAHUB_REGION_HARDENED, CELLS);
    producer = stage_producer(region);
    consumer = stage_consumer(region);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    return rapahub_region_close(region);
}

#endif
