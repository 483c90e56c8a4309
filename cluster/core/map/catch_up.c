/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/map/catch_up.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/base/check.h"

const struct hub_states cluster_catch_up_states = {
    "cluster.catch_up",
    {[CLUSTER_CATCH_UP_OUTDATED] = {"OUTDATED", HUB_TO(CLUSTER_CATCH_UP_READING)},
     [CLUSTER_CATCH_UP_READING] = {"READING", HUB_TO(CLUSTER_CATCH_UP_CURRENT) |
                                                  HUB_TO(CLUSTER_CATCH_UP_OUTDATED)},
     [CLUSTER_CATCH_UP_CURRENT] = {"CURRENT", HUB_TO(CLUSTER_CATCH_UP_OUTDATED)}}};

/* r[impl cluster.map.forward] */
static void move(struct cluster_catch_up *catch_up, enum cluster_catch_up_state to)
{
    CHECK(hub_states_may(&cluster_catch_up_states, catch_up->state, to));
    catch_up->state = to;
}

void cluster_catch_up_init(struct cluster_catch_up *catch_up, struct cluster_address_map *map)
{
    *catch_up = (struct cluster_catch_up){.map = map, .state = CLUSTER_CATCH_UP_OUTDATED};
}

enum cluster_delta_step cluster_catch_up_offer(struct cluster_catch_up *catch_up, uint64_t revision,
                                               uint64_t previous)
{
    enum cluster_delta_step step = cluster_delta_step(catch_up->revision, revision, previous);

    if (revision > catch_up->heard)
        catch_up->heard = revision;
    if (step == CLUSTER_DELTA_DROP)
        return step;
    if (catch_up->state == CLUSTER_CATCH_UP_CURRENT && step == CLUSTER_DELTA_APPLY)
        return step;
    if (catch_up->state == CLUSTER_CATCH_UP_CURRENT)
        move(catch_up, CLUSTER_CATCH_UP_OUTDATED);
    return CLUSTER_DELTA_ASK;
}

/* ---- applying ---- */

struct changes {
    uint32_t count, added;
    struct cluster_delta_change of[CLUSTER_DELTA_CHANGES_MAX];
};

static bool changes_twice(const struct changes *changes, const struct cluster_delta_change *change)
{
    for (uint32_t i = 0; i < changes->count; i++)
        if (changes->of[i].pool == change->pool && changes->of[i].container == change->container)
            return true;
    return false;
}

/* A change fits if it is one that the owner's state allows, from the owner that it says was before.
 */
static bool fits(const struct cluster_catch_up *catch_up, const struct cluster_delta_change *change)
{
    const struct cluster_address *address =
        cluster_address_map_find(catch_up->map, change->pool, change->container);
    const struct cluster_entry *before = address ? &address->entry : NULL;
    bool gone = change->entry.state == CLUSTER_ENTRY_NONE;

    return change->owner_before == (before ? before->owner : 0) &&
           cluster_entry_transition(before, gone ? NULL : &change->entry);
}

static bool collect(const struct cluster_catch_up *catch_up, const struct cluster_delta *delta,
                    struct changes *changes)
{
    struct cluster_list list = delta->changes;
    struct cluster_delta_change *change = changes->of;

    while (changes->count < CLUSTER_DELTA_CHANGES_MAX && cluster_delta_next(&list, change)) {
        if (changes_twice(changes, change) || !fits(catch_up, change))
            return false;
        changes->added += !cluster_address_map_find(catch_up->map, change->pool, change->container);
        change = &changes->of[++changes->count];
    }
    return changes->added <= cluster_address_map_space(catch_up->map);
}

static void put(struct cluster_catch_up *catch_up, uint64_t revision,
                const struct cluster_delta_change *change)
{
    struct cluster_address *address;

    if (change->entry.state == CLUSTER_ENTRY_NONE) {
        cluster_address_map_remove(catch_up->map, change->pool, change->container);
        return;
    }
    address = cluster_address_map_add(catch_up->map, change->pool, change->container);
    ENSURE(address);
    address->entry = change->entry;
    address->revision = revision;
}

/* r[impl cluster.map.whole] */
enum cluster_delta_step cluster_catch_up_apply(struct cluster_catch_up *catch_up, uint64_t revision,
                                               const struct cluster_delta *delta)
{
    enum cluster_delta_step step = cluster_catch_up_offer(catch_up, revision, delta->previous);
    struct changes changes = {.count = 0};

    if (step != CLUSTER_DELTA_APPLY)
        return step;
    if (!collect(catch_up, delta, &changes)) {
        move(catch_up, CLUSTER_CATCH_UP_OUTDATED);
        return CLUSTER_DELTA_ASK;
    }
    for (uint32_t i = 0; i < changes.count; i++)
        put(catch_up, revision, &changes.of[i]);
    catch_up->revision = revision;
    return CLUSTER_DELTA_APPLY;
}

void cluster_catch_up_doubt(struct cluster_catch_up *catch_up)
{
    if (catch_up->state == CLUSTER_CATCH_UP_CURRENT)
        move(catch_up, CLUSTER_CATCH_UP_OUTDATED);
}

/* ---- reading ---- */

/* r[impl cluster.map.reading] */
int cluster_catch_up_read(struct cluster_catch_up *catch_up, uint64_t last)
{
    if (last < catch_up->revision || last < catch_up->target)
        return rapahub_fail(RAPAHUB_ESTALE, "cluster.map.forward",
                            "a reading of the map is older than the map");
    move(catch_up, CLUSTER_CATCH_UP_READING);
    catch_up->target = last;
    catch_up->reading++;
    return 0;
}

int cluster_catch_up_entry(struct cluster_catch_up *catch_up, uint64_t pool, uint32_t container,
                           uint64_t revision, const struct cluster_entry *entry)
{
    struct cluster_address *address;

    CHECK(catch_up->state == CLUSTER_CATCH_UP_READING);
    if (!cluster_ids_is_pool(pool) || !cluster_ids_is_container(container) ||
        !cluster_entry_is_sound(entry) || revision > catch_up->target)
        return rapahub_fail(RAPAHUB_EFORMAT, "cluster.map.reading",
                            "an entry that the metastore cannot have");
    address = cluster_address_map_add(catch_up->map, pool, container);
    if (!address)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.map.bounds", "a map has at most %u entries",
                            cluster_address_map_count(catch_up->map));
    if (revision < address->revision)
        return rapahub_fail(RAPAHUB_EFORMAT, "cluster.map.forward",
                            "an entry of before the one that the map has");
    address->entry = *entry;
    address->revision = revision;
    address->reading = catch_up->reading;
    return 0;
}

static void sweep(struct cluster_catch_up *catch_up)
{
    const struct cluster_address *address;
    uint32_t place = 0;

    while ((address = cluster_address_map_after(catch_up->map, &place)))
        if (address->reading != catch_up->reading)
            cluster_address_map_remove(catch_up->map, address->pool, address->container);
}

void cluster_catch_up_read_end(struct cluster_catch_up *catch_up)
{
    sweep(catch_up);
    catch_up->revision = catch_up->target;
    move(catch_up, catch_up->heard > catch_up->revision ? CLUSTER_CATCH_UP_OUTDATED
                                                        : CLUSTER_CATCH_UP_CURRENT);
}

void cluster_catch_up_read_failed(struct cluster_catch_up *catch_up)
{
    move(catch_up, CLUSTER_CATCH_UP_OUTDATED);
}
