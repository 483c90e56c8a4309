/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/probe_order.h"

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static void begin_pass(struct cluster_probe_order *order, struct hub_random *random,
                       uint32_t places)
{
    order->places = places;
    order->next = 0;
    order->begin = (uint32_t)hub_random_below(random, places);
    do
        order->step = 1 + (uint32_t)hub_random_below(random, places);
    while (common_divisor(order->step, places) != 1);
}

uint32_t cluster_probe_order_next(struct cluster_probe_order *order, struct hub_random *random,
                                  uint32_t places)
{
    if (order->next >= order->places)
        begin_pass(order, random, places);
    return 1 + (uint32_t)(((uint64_t)order->step * order->next++ + order->begin) % order->places);
}
