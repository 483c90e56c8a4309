/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/fanout_shape.h"

#include <inttypes.h>

#define DETACH_AFTER UINT64_C(1000000000)
#define CONSUMERS    1

static int refuse(const char *what, uint32_t given, const char *allowed)
{
    return rapahub_fail(RAPAHUB_EINVAL, "", "%s may not be %" PRIu32 ": %s", what, given, allowed);
}

static bool numbers_hold(const struct hub_fanout_shape *s, uint32_t cells)
{
    return s->mode <= HUB_FANOUT_WORK && s->credit <= HUB_FANOUT_DETACH && s->consumers >= 1 &&
           s->consumers <= HUB_REGION_QUEUES_MAX && s->credit_max >= 1 && s->credit_max <= cells;
}

int hub_fanout_shape_make(const struct rapahub_region_options *options, uint32_t cells,
                          struct hub_fanout_shape *out)
{
    *out = (struct hub_fanout_shape){
        .mode = (uint32_t)options->mode,
        .credit = (uint32_t)options->credit,
        .consumers = options->consumers ? options->consumers : CONSUMERS,
        .credit_max = options->credit_max ? options->credit_max : cells,
        .detach_after_ns = options->detach_after_ns ? options->detach_after_ns : DETACH_AFTER};
    if (out->mode > HUB_FANOUT_WORK)
        return refuse("the mode of a region", out->mode, "BROADCAST or WORK");
    if (out->credit > HUB_FANOUT_DETACH)
        return refuse("the credit policy of a region", out->credit, "DROP, PARK or DETACH");
    if (out->consumers > HUB_REGION_QUEUES_MAX)
        return refuse("the number of consumers", out->consumers, "at most 64");
    return numbers_hold(out, cells)
               ? 0
               : refuse("the credit of a consumer", out->credit_max, "at most the number of cells");
}

int hub_fanout_shape_refuse(const struct rapahub_region_options *options)
{
    uint64_t given = options->consumers | options->credit_max | options->detach_after_ns |
                     (uint64_t)options->mode | (uint64_t)options->credit;

    return given == 0
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "",
                              "consumers, mode and credit are options of regions of kind FANOUT");
}

bool hub_fanout_shape_read(const uint8_t *body, uint32_t cells, struct hub_fanout_shape *out,
                           uint32_t *source_off)
{
    union {
        struct hub_region_fanout fanout;
        uint64_t words[sizeof(struct hub_region_fanout) / 8];
    } copy;

    hub_copy_in(copy.words, (const void *)body, sizeof copy.words / sizeof *copy.words);
    *out = (struct hub_fanout_shape){.mode = copy.fanout.mode,
                                     .credit = copy.fanout.credit_policy,
                                     .consumers = copy.fanout.consumer_count,
                                     .credit_max = 1, /* until the consumers are read */
                                     .detach_after_ns = copy.fanout.detach_after_ns,
                                     .consumers_off = copy.fanout.consumers_off};
    *source_off = copy.fanout.src_ring_off;
    return numbers_hold(out, cells);
}

bool hub_fanout_shape_read_consumers(const uint8_t *data, uint32_t cells, uint64_t queue_bytes,
                                     struct hub_fanout_shape *shape)
{
    union {
        struct hub_region_consumer consumer;
        uint64_t words[sizeof(struct hub_region_consumer) / 8];
    } copy;

    for (uint32_t i = 0; i < shape->consumers; i++) {
        const uint8_t *from = data + shape->consumers_off + i * sizeof copy.consumer;

        hub_copy_in(copy.words, (const void *)from, sizeof copy.words / sizeof *copy.words);
        if (i == 0) {
            shape->queues_off = copy.consumer.ring_off;
            shape->credit_max = copy.consumer.credit_max;
        }
        if (copy.consumer.ring_off != shape->queues_off + i * queue_bytes ||
            copy.consumer.credit_max != shape->credit_max || copy.consumer.on_death != 0)
            return false;
    }
    return numbers_hold(shape, cells);
}
