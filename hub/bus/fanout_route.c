/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/fanout_route.h"

#include <string.h>

#include "hub/base/clock.h"
#include "hub/bus/role.h"

int hub_fanout_route_begin(struct hub_fanout_route *route, struct rapahub_region *region,
                           uint64_t source)
{
    int r = 0;

    memset(route, 0, sizeof *route);
    route->region = region;
    route->shape = region->shape.fanout;
    route->next = (uint32_t)(source % route->shape.consumers);
    route->position = source;
    for (uint32_t i = 0; i < route->shape.consumers && r == 0; i++)
        r = hub_fanout_queue_resume(&route->queues[i], region, i, source);
    return r;
}

static bool is_served(const struct hub_fanout_route *route, const struct hub_fanout_queue *queue)
{
    return queue->last > route->position;
}

/* A broadcast waits for this queue. */
static bool holds_up(const struct hub_fanout_route *route, const struct hub_fanout_queue *queue)
{
    return !is_served(route, queue) && hub_fanout_queue_wants(queue) &&
           !(hub_observe(&queue->entry->flags) & HUB_CONSUMER_SUSPENDED) &&
           !hub_fanout_queue_has_credit(queue);
}

static bool is_broadcast_held_up(const struct hub_fanout_route *route)
{
    for (uint32_t i = 0; i < route->shape.consumers; i++)
        if (holds_up(route, &route->queues[i]))
            return true;
    return false;
}

/* Returns the index of the queue that takes a message of a work queue, searched in turn; the number
 * of consumers: none does. */
static uint32_t find_worker(const struct hub_fanout_route *route)
{
    for (uint32_t i = 0; i < route->shape.consumers; i++) {
        uint32_t at = (route->next + i) % route->shape.consumers;

        if (hub_fanout_queue_wants(&route->queues[at]) &&
            hub_fanout_queue_has_credit(&route->queues[at]))
            return at;
    }
    return route->shape.consumers;
}

bool hub_fanout_route_is_held_up(const struct hub_fanout_route *route)
{
    if (route->shape.credit == HUB_FANOUT_DROP)
        return false;
    return route->shape.mode == HUB_FANOUT_WORK ? find_worker(route) == route->shape.consumers
                                                : is_broadcast_held_up(route);
}

static void count_drop(const struct hub_fanout_route *route)
{
    hub_count64(&hub_fanout_body(route->region)->dropped, 1);
}

static int broadcast(struct hub_fanout_route *route, const struct rapahub_message *message)
{
    for (uint32_t i = 0; i < route->shape.consumers; i++) {
        struct hub_fanout_queue *queue = &route->queues[i];
        int r = 0;

        if (is_served(route, queue) || !hub_fanout_queue_wants(queue))
            continue;
        if (hub_fanout_queue_has_credit(queue)) {
            r = hub_fanout_queue_push(queue, message);
        } else {
            hub_fanout_queue_drop(queue);
            count_drop(route);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int give_to_one(struct hub_fanout_route *route, const struct rapahub_message *message)
{
    uint32_t index;

    for (uint32_t i = 0; i < route->shape.consumers; i++)
        if (is_served(route, &route->queues[i]))
            return 0;
    index = find_worker(route);
    if (index == route->shape.consumers && route->shape.credit != HUB_FANOUT_DROP)
        return RAPAHUB_EFULL;
    if (index == route->shape.consumers) {
        count_drop(route);
        return 0;
    }
    route->next = (index + 1) % route->shape.consumers;
    return hub_fanout_queue_push(&route->queues[index], message);
}

/* In the profile v1 a queue does not say what it has: a message that a router was killed over comes
 * again. r[impl region.router.once] */
int hub_fanout_route_message(struct hub_fanout_route *route, const struct rapahub_message *message)
{
    route->position = message->position;
    if (message->size > hub_region_shape_message_max(&route->region->shape))
        return rapahub_fail(RAPAHUB_ECORRUPT, "region.cell",
                            "a message of %zu bytes in the source: a queue takes fewer",
                            message->size);
    if (route->shape.mode == HUB_FANOUT_WORK)
        return give_to_one(route, message);
    return hub_fanout_route_is_held_up(route) ? RAPAHUB_EFULL : broadcast(route, message);
}

/* r[impl region.credit.detach] */
static void leave_out(const struct hub_fanout_route *route, struct hub_fanout_queue *queue)
{
    uint64_t now = hub_clock_now();

    if (!hub_fanout_queue_wants(queue) || hub_fanout_queue_has_credit(queue)) {
        queue->over_since = 0;
        return;
    }
    if (queue->over_since == 0)
        queue->over_since = now;
    if (now - queue->over_since < route->shape.detach_after_ns)
        return;
    queue->opened = hub_observe(&queue->entry->opened);
    queue->left_out = true;
}

/* TABLE keeps consumers from being opened, so one whose lock is free then stays dead. A consumer
 * that closes has let its subscription go before its lock, but one that is kept: there the keeper
 * lets go after the next holder has the lock. */
static void suspend_if_dead(const struct hub_fanout_route *route, uint32_t index)
{
    struct rapahub_region *region = route->region;

    if (!holds_up(route, &route->queues[index]) ||
        hub_role_is_held(region, HUB_LEASE_CONSUMER, index) || hub_role_is_kept(region, index) ||
        hub_region_table_enter(region, 0) < 0)
        return;
    if (!hub_role_is_held(region, HUB_LEASE_CONSUMER, index))
        hub_fanout_suspend(region, index);
    hub_region_table_leave(region);
}

void hub_fanout_route_look(struct hub_fanout_route *route)
{
    for (uint32_t i = 0; i < route->shape.consumers; i++) {
        suspend_if_dead(route, i);
        if (route->shape.credit == HUB_FANOUT_DETACH)
            leave_out(route, &route->queues[i]);
    }
}
