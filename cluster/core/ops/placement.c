/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/placement.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/random.h"

#define FRACTION 20 /* bits */

/* ---- which nodes may ---- */

static bool is_listed(struct cluster_list nodes, uint32_t node)
{
    uint32_t named;

    while (cluster_pool_spec_next_node(&nodes, &named))
        if (named == node)
            return true;
    return false;
}

/* r[impl cluster.create.placement] */
bool cluster_placement_may_have(const struct cluster_context *context,
                                const struct cluster_nodes_node *node,
                                const struct cluster_pool_spec *spec)
{
    return node->state == CLUSTER_NODE_ACTIVE && !node->dead &&
           cluster_context_session(context, node->node) != 0 &&
           (spec->nodes.count == 0 ? !node->named_only : is_listed(spec->nodes, node->node)) &&
           !is_listed(spec->not_on, node->node);
}

/* The first node of a zone counts what the zone has. */
static struct cluster_nodes_node *first_of_zone(const struct cluster_nodes *nodes,
                                                const struct cluster_nodes_node *node)
{
    struct cluster_nodes_node *first;
    uint32_t place = 0;

    do
        first = cluster_nodes_after(nodes, &place);
    while (strcmp(first->zone, node->zone) != 0);
    return first;
}

/* Returns how many nodes may have containers of the pool. */
static uint32_t look_at_nodes(const struct cluster_context *context,
                              const struct cluster_pool_spec *spec)
{
    struct cluster_nodes_node *node;
    uint32_t place = 0, count = 0;

    while ((node = cluster_nodes_after(context->nodes, &place))) {
        node->may = cluster_placement_may_have(context, node, spec);
        node->load = node->of_pool = node->zone_load = 0;
        node->zone_first = first_of_zone(context->nodes, node)->place;
        count += node->may;
    }
    return count;
}

static void count_in_zone(const struct cluster_context *context,
                          const struct cluster_nodes_node *node)
{
    cluster_nodes_at(context->nodes, node->zone_first)->zone_load++;
}

/* Counts what each node has, in all and of the pool. */
static void look_at_entries(const struct cluster_context *context, uint64_t pool)
{
    const struct cluster_address *address;
    uint32_t place = 0;

    while ((address = cluster_address_map_after(context->map, &place))) {
        uint32_t holder = cluster_entry_holder(&address->entry);
        struct cluster_nodes_node *node =
            cluster_nodes_find(context->nodes, holder != 0 ? holder : context->lead);

        if (!node)
            continue;
        node->load++;
        if (address->pool != pool)
            continue;
        node->of_pool++;
        count_in_zone(context, node);
    }
}

/* ---- space ---- */

/* Containers that pools shall have, and that no entry has yet, find space later. */
static uint64_t not_placed(const struct cluster_context *context)
{
    const struct cluster_pools_pool *pool = cluster_pools_after(context->pools, 0);
    uint64_t sum = 0, entries = cluster_address_map_count(context->map);

    for (; pool; pool = cluster_pools_after(context->pools, pool->place))
        sum += pool->containers;
    return sum > entries ? sum - entries : 0;
}

static int check_space(const struct cluster_context *context, uint32_t containers)
{
    uint32_t most = context->limits->containers, place = 0;
    uint64_t wanted = containers + not_placed(context), space = 0;
    const struct cluster_nodes_node *node;

    while ((node = cluster_nodes_after(context->nodes, &place)))
        if (node->may && node->load < most)
            space += most - node->load;
    return wanted <= space && wanted <= cluster_address_map_space(context->map)
               ? 0
               : rapahub_fail(RAPAHUB_EFULL, "cluster.map.bounds",
                              "a node has at most %u containers", most);
}

int cluster_placement_check(const struct cluster_context *context,
                            const struct cluster_pool_spec *spec, uint32_t *containers)
{
    uint32_t nodes = look_at_nodes(context, spec);

    if (nodes == 0)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.create.placement",
                            "by its placement no node may have the pool");
    *containers = spec->containers > 0 ? spec->containers : nodes;
    look_at_entries(context, 0);
    return check_space(context, *containers);
}

bool cluster_placement_has_other(const struct cluster_context *context,
                                 const struct cluster_pools_pool *pool, uint32_t node)
{
    const struct cluster_nodes_node *other;
    struct cluster_pool_spec spec;
    uint32_t place = 0;

    ENSURE(cluster_pool_spec_read(cluster_pools_record(context->pools, pool).spec, &spec) == 0);
    while ((other = cluster_nodes_after(context->nodes, &place)))
        if (other->node != node && cluster_placement_may_have(context, other, &spec))
            return true;
    return false;
}

/* ---- placing ---- */

void cluster_placement_begin(const struct cluster_context *context,
                             const struct cluster_pools_pool *pool,
                             struct cluster_placement *placement)
{
    struct cluster_pool_spec spec;
    const struct cluster_nodes_node *node;
    uint32_t place = 0;

    ENSURE(cluster_pool_spec_read(cluster_pools_record(context->pools, pool).spec, &spec) == 0);
    (void)look_at_nodes(context, &spec);
    look_at_entries(context, pool->pool);
    *placement = (struct cluster_placement){
        .pool = pool->pool, .spread = spec.spread_zones, .each = spec.containers == 0};
    placement->total = pool->containers;
    while ((node = cluster_nodes_after(context->nodes, &place))) {
        placement->capacity += node->may ? node->capacity : 0;
        placement->total += node->may ? node->load : 0;
        placement->total -= node->of_pool;
    }
}

/* A tenth more than its part, rounded up. r[impl cluster.placement.each] */
static bool has_room(const struct cluster_context *context,
                     const struct cluster_placement *placement,
                     const struct cluster_nodes_node *node)
{
    uint64_t part = (11 * placement->total * node->capacity + 10 * placement->capacity - 1) /
                    (10 * placement->capacity);

    return node->may && node->load < context->limits->containers &&
           (placement->each ? node->of_pool == 0 : node->load < part);
}

/* Returns minus the logarithm to the base 2 of a number in 2^64 parts, in 2^20 parts. */
static uint64_t minus_log2(uint64_t number)
{
    unsigned zeros = number != 0 ? (unsigned)__builtin_clzll(number) : 63;
    uint64_t of = (number << zeros) >> 32, bits = 0; /* 1.0 is 2^31 */

    for (int i = 0; i < FRACTION; i++) {
        of = of * of >> 31;
        bits = bits << 1 | of >> 32;
        of >>= of >> 32;
    }
    return ((uint64_t)(zeros + 1) << FRACTION) - bits;
}

static uint64_t drawn(uint64_t pool, uint32_t container, uint32_t node)
{
    struct hub_random random;

    hub_random_init(&random, pool);
    hub_random_init(&random, hub_random_next(&random) ^ container);
    hub_random_init(&random, hub_random_next(&random) ^ node);
    return hub_random_next(&random);
}

/* The least of all is an exponential draw at the rate of its capacity: the first of several such is
 * each as often as its rate says. r[impl cluster.placement.hash] */
bool cluster_placement_is_before(uint64_t pool, uint32_t container,
                                 const struct cluster_nodes_node *one,
                                 const struct cluster_nodes_node *other)
{
    return minus_log2(drawn(pool, container, one->node)) * other->capacity <
           minus_log2(drawn(pool, container, other->node)) * one->capacity;
}

static uint32_t zone_load_of(const struct cluster_context *context,
                             const struct cluster_nodes_node *node)
{
    return cluster_nodes_at(context->nodes, node->zone_first)->zone_load;
}

/* r[impl cluster.placement.zones] */
static bool is_better(const struct cluster_context *context,
                      const struct cluster_placement *placement, uint32_t container,
                      const struct cluster_nodes_node *one, const struct cluster_nodes_node *other)
{
    uint32_t in_one = placement->spread ? zone_load_of(context, one) : 0;
    uint32_t in_other = placement->spread ? zone_load_of(context, other) : 0;

    return in_one != in_other ? in_one < in_other
                              : cluster_placement_is_before(placement->pool, container, one, other);
}

/* r[impl cluster.placement.bound] */
uint32_t cluster_placement_next(const struct cluster_context *context,
                                const struct cluster_placement *placement, uint32_t container)
{
    struct cluster_nodes_node *node, *best = NULL;
    uint32_t place = 0;

    while ((node = cluster_nodes_after(context->nodes, &place)))
        if (has_room(context, placement, node) &&
            (!best || is_better(context, placement, container, node, best)))
            best = node;
    if (!best)
        return 0;
    best->load++;
    best->of_pool++;
    count_in_zone(context, best);
    return best->node;
}
