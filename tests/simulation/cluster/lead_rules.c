/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/lead_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/check.h"
#include "cluster/wire/operation.h"

#define world lead_rules_world
#define broke lead_rules_broke

struct lead_rules_world lead_rules_world;
struct lead_world_figures lead_rules_figures;
static char report[300];

const char *lead_rules_report(void)
{
    return world.broken ? report : NULL;
}

void lead_rules_broke(const char *format, ...)
{
    va_list list;
    int size;

    if (world.broken)
        return;
    world.broken = true;
    size =
        snprintf(report, sizeof report, "seed %llu, event %llu: ", (unsigned long long)world.seed,
                 (unsigned long long)lead_rules_figures.events);
    va_start(list, format);
    vsnprintf(report + size, sizeof report - (size_t)size, format, list);
    va_end(list);
}

uint32_t lead_rules_draw(uint32_t below)
{
    return (uint32_t)hub_random_below(&world.random, below);
}

bool lead_rules_fails(uint32_t once_in)
{
    return !world.healed && lead_rules_draw(once_in) == 0;
}

void lead_rules_mix(uint64_t bits)
{
    for (int i = 0; i < 8; i++, bits >>= 8)
        lead_rules_figures.trace =
            (lead_rules_figures.trace ^ (bits & 0xff)) * UINT64_C(0x100000001B3);
}

struct container *lead_rules_container(uint64_t pool, uint32_t container)
{
    struct container *at = world.containers, *end = at + world.containers_count;

    while (at < end && (at->pool != pool || at->container != container))
        at++;
    if (at < end)
        return at;
    if (world.containers_count++ == CONTAINERS)
        abort();
    *at = (struct container){.pool = pool, .container = container};
    at->poisoned = lead_rules_draw(40) == 0;
    return at;
}

bool lead_rules_entry(uint64_t pool, uint32_t container, struct cluster_entry *out)
{
    const struct store_model_pair *pair = store_model_find(
        &world.store,
        &(struct cluster_key){.kind = CLUSTER_KEY_ENTRY, .pool = pool, .container = container});
    struct cluster_record record;

    if (!pair)
        return false;
    if (cluster_record_read(CLUSTER_KEY_ENTRY,
                            (struct rapahub_bytes){pair->value, pair->value_size}, &record) < 0)
        abort();
    *out = record.entry;
    return true;
}

bool lead_rules_pool(uint64_t pool, struct cluster_record *out)
{
    const struct store_model_pair *pair = store_model_find(
        &world.store, &(struct cluster_key){.kind = CLUSTER_KEY_POOL, .pool = pool});

    return pair &&
           cluster_record_read(CLUSTER_KEY_POOL,
                               (struct rapahub_bytes){pair->value, pair->value_size}, out) == 0;
}

/* ---- transactions ---- */

static void check_gone(const struct container *container)
{
    for (uint32_t n = 1; n <= world.nodes; n++)
        if (container->on[n].folder && !container->on[n].left)
            broke("folder: that of container %u is left on node %u", container->container, n);
}

static void check_after(struct container *container, const struct cluster_entry *before,
                        const struct cluster_entry *after)
{
    struct epoch *epoch = &container->epochs[after->epoch % EPOCHS];

    if (before && after->epoch < before->epoch)
        broke("written: an epoch goes back");
    if (before && after->state != CLUSTER_ENTRY_QUARANTINED &&
        after->owner != cluster_entry_holder(before))
        broke("owner: container %u moves from node %u to %u", container->container,
              cluster_entry_holder(before), after->owner);
    if (!before || after->epoch > before->epoch)
        *epoch =
            (struct epoch){.owner = after->owner, .session = after->session, .state = after->state};
    if (after->state == CLUSTER_ENTRY_ACTIVE && !epoch->begun)
        broke("active: container %u has not begun on node %u", container->container, after->owner);
    epoch->active |= after->state == CLUSTER_ENTRY_ACTIVE;
    if (after->state != CLUSTER_ENTRY_QUARANTINED)
        return;
    lead_rules_figures.quarantined++;
    if (before && before->state == CLUSTER_ENTRY_RECOVERING &&
        container->on[before->owner].epoch != before->epoch)
        broke("aside: container %u was not begun after its release", container->container);
}

static void check_entry(const struct cluster_key *key, const struct cluster_write *write)
{
    struct cluster_entry before;
    struct cluster_record record;
    bool there = lead_rules_entry(key->pool, key->container, &before);
    bool gone = write->kind == CLUSTER_DELETE;
    struct container *container = lead_rules_container(key->pool, key->container);

    if (!gone && cluster_record_read(CLUSTER_KEY_ENTRY, write->value, &record) < 0)
        broke("written: an entry cannot be read");
    else if (!cluster_entry_transition(there ? &before : NULL, gone ? NULL : &record.entry))
        broke("written: container %u: no such transition", key->container);
    else if (gone)
        check_gone(container);
    else
        check_after(container, there ? &before : NULL, &record.entry);
}

static void check_operation(const struct cluster_key *key, const struct cluster_write *write)
{
    struct cluster_record record;
    uint8_t *state = &world.operation_states[key->number % OPERATIONS];

    if (write->kind == CLUSTER_DELETE || key->number >= OPERATIONS ||
        cluster_record_read(CLUSTER_KEY_OPERATION, write->value, &record) < 0)
        abort();
    if (!hub_states_may(&cluster_operation_states, *state, record.operation.step))
        broke("written: operation %llu goes from %s to %s", (unsigned long long)key->number,
              hub_states_name(&cluster_operation_states, *state),
              hub_states_name(&cluster_operation_states, record.operation.step));
    if (*state == CLUSTER_OPERATION_NEW && world.refused[key->number])
        broke("order: operation %llu was refused, and is done", (unsigned long long)key->number);
    *state = record.operation.step;
    if (*state == CLUSTER_OPERATION_DONE)
        lead_rules_figures.done[record.operation.kind]++;
    if (*state != CLUSTER_OPERATION_ABORTED)
        return;
    lead_rules_figures.aborted[record.operation.kind]++;
    if (record.operation.result >= 0 || record.operation.text.size == 0)
        broke("written: operation %llu is aborted without a cause",
              (unsigned long long)key->number);
}

static void check_pool(const struct cluster_key *key, const struct cluster_write *write)
{
    struct cluster_record before, after;
    bool there = lead_rules_pool(key->pool, &before);

    if (write->kind == CLUSTER_DELETE) {
        if (!there || before.pool.state != CLUSTER_POOL_DESTROYING)
            broke("written: a pool goes that is not being removed");
        return;
    }
    if (cluster_record_read(CLUSTER_KEY_POOL, write->value, &after) < 0)
        abort();
    if (there && before.pool.state != after.pool.state &&
        !hub_states_may(&cluster_pool_states, before.pool.state, after.pool.state))
        broke("written: a pool goes from %s to %s",
              hub_states_name(&cluster_pool_states, before.pool.state),
              hub_states_name(&cluster_pool_states, after.pool.state));
}

static void check_log(const struct cluster_txn *txn, const struct cluster_write *write)
{
    const struct store_model_pair *log =
        store_model_find(&world.store, &(struct cluster_key){.kind = CLUSTER_KEY_LOG});
    struct cluster_delta delta;
    struct cluster_key key;
    uint32_t entries = 0;

    if (cluster_delta_read(write->value, &delta) < 0)
        abort();
    for (uint32_t i = 0; i < txn->then_count; i++)
        entries += cluster_keys_parse(txn->then[i].key, &key) == 0 && key.kind == CLUSTER_KEY_ENTRY;
    if (delta.previous != (log ? log->mod_rev : 0) || delta.changes.count != entries)
        broke("written: a delta of %u changes has %u", entries, delta.changes.count);
}

void lead_rules_check_txn(const struct cluster_txn *txn)
{
    struct cluster_key key;

    for (uint32_t i = 0; i < txn->then_count && !world.broken; i++) {
        if (cluster_keys_parse(txn->then[i].key, &key) < 0)
            abort();
        if (key.kind == CLUSTER_KEY_ENTRY)
            check_entry(&key, &txn->then[i]);
        else if (key.kind == CLUSTER_KEY_OPERATION)
            check_operation(&key, &txn->then[i]);
        else if (key.kind == CLUSTER_KEY_POOL)
            check_pool(&key, &txn->then[i]);
        else if (key.kind == CLUSTER_KEY_LOG)
            check_log(txn, &txn->then[i]);
    }
}

/* ---- effects ---- */

static bool is_how(const struct cluster_effect *effect, const struct epoch *epoch)
{
    switch (effect->how) {
    case CLUSTER_BEGIN_INIT:
        return epoch->state == CLUSTER_ENTRY_STARTING;
    case CLUSTER_BEGIN_RECOVER:
        return epoch->state == CLUSTER_ENTRY_RECOVERING;
    default:
        return epoch->state == CLUSTER_ENTRY_RESTARTING || epoch->active;
    }
}

void lead_rules_begins(uint32_t n, const struct cluster_effect *effect)
{
    struct container *container = lead_rules_container(effect->pool, effect->container);
    uint64_t number = cluster_ids_epoch(effect->token);
    const struct epoch *epoch = &container->epochs[number % EPOCHS];
    struct begins *on = &container->on[n];

    lead_rules_figures.begins++;
    lead_rules_figures.away += n != LEADER;
    if (epoch->owner != n || epoch->session != world.node[n].session)
        broke("owner: container %u begins on node %u, epoch %llu is of node %u",
              container->container, n, (unsigned long long)number, epoch->owner);
    if (!is_how(effect, epoch))
        broke("owner: container %u begins otherwise than its entry says", container->container);
    if (effect->token <= on->token || on->up)
        broke("owner: container %u begins with a token of before, or twice", container->container);
    *on = (struct begins){
        .token = effect->token, .epoch = number, .up = true, .folder = true, .left = on->left};
}

void lead_rules_releases(uint32_t n, const struct cluster_effect *effect)
{
    struct container *container = lead_rules_container(effect->pool, effect->container);
    struct begins *on = &container->on[n];
    struct cluster_record pool;

    if (!on->up || !on->begun || on->released)
        broke("release: container %u is not held", container->container);
    if (!container->epochs[on->epoch % EPOCHS].active)
        broke("release: container %u was never active", container->container);
    if (!lead_rules_pool(effect->pool, &pool) || pool.pool.state == CLUSTER_POOL_CREATING)
        broke("release: container %u of a pool that is not whole", container->container);
    for (uint32_t other = 1; other <= world.nodes; other++)
        if (container->on[other].released)
            broke("release: container %u serves on two nodes", container->container);
    on->released = true;
}

void lead_rules_ordered(const struct cluster_effect *effect)
{
    const uint8_t *bytes = effect->body.data;
    struct order *order = &world.orders[effect->number % ORDERS];
    uint64_t number = bytes[0] | (uint64_t)bytes[1] << 8;
    const struct cluster_key key = {.kind = CLUSTER_KEY_OPERATION, .number = number};

    if (effect->number >= world.orders_count || !order->open) {
        broke("order: order %llu ends, and is not open", (unsigned long long)effect->number);
        return;
    }
    order->open = false;
    world.open_orders--;
    lead_rules_figures.ended++;
    if (effect->status == 0 && number != 0 && !store_model_find(&world.store, &key))
        broke("order: operation %llu is acknowledged, and not in the metastore",
              (unsigned long long)number);
    if (effect->status < 0 && order->kind != CLUSTER_ORDER_WAIT)
        world.refused[number % OPERATIONS] = true;
    if (effect->status < 0 && effect->text.size == 0)
        broke("order: a failure without a text");
}

/* ---- maps ---- */

static bool is_same(const struct cluster_entry *one, const struct cluster_entry *other)
{
    return one->state == other->state && one->owner == other->owner && one->epoch == other->epoch &&
           one->lineage == other->lineage && one->session == other->session &&
           one->destination == other->destination && one->op == other->op;
}

/* Returns how many entries it has. */
static uint32_t check_map(uint32_t n)
{
    const struct cluster_dispatch *parts = cluster_core_parts(world.node[n].core);
    const struct cluster_address *address;
    struct cluster_entry entry;
    uint32_t place = 0, count = 0;

    while ((address = cluster_address_map_after(parts->map, &place))) {
        count++;
        if (!lead_rules_entry(address->pool, address->container, &entry) ||
            !is_same(&entry, &address->entry))
            broke("map: container %u is another one on node %u", address->container, n);
    }
    return count;
}

static uint64_t log_revision(void)
{
    const struct store_model_pair *log =
        store_model_find(&world.store, &(struct cluster_key){.kind = CLUSTER_KEY_LOG});

    return log ? log->mod_rev : 0;
}

void lead_rules_check_node(uint32_t n)
{
    const struct cluster_dispatch *parts = cluster_core_parts(world.node[n].core);
    const char *broken = cluster_check_core(parts);

    if (broken)
        broke("bounds: %s", broken);
    if (parts->catch_up.state == CLUSTER_CATCH_UP_CURRENT &&
        parts->catch_up.revision == log_revision())
        (void)check_map(n);
}

/* ---- the end ---- */

static void check_container(const struct cluster_key *key, const struct cluster_entry *entry)
{
    const struct container *container = lead_rules_container(key->pool, key->container);

    for (uint32_t n = 1; n <= world.nodes; n++)
        if (container->on[n].released !=
            (entry->state == CLUSTER_ENTRY_ACTIVE && entry->owner == n))
            broke("rest: container %u of pool %llu, %s, serves or not on node %u", key->container,
                  (unsigned long long)(key->pool >> 32),
                  hub_states_name(&cluster_entry_states, entry->state), n);
}

static void check_left(void)
{
    struct cluster_entry entry;

    for (uint32_t i = 0; i < world.containers_count; i++)
        for (uint32_t n = 1; n <= world.nodes; n++)
            if (world.containers[i].on[n].up &&
                !lead_rules_entry(world.containers[i].pool, world.containers[i].container, &entry))
                broke("rest: container %u is up on node %u, and has no entry",
                      world.containers[i].container, n);
}

static void check_rest_of(uint32_t n, uint32_t entries)
{
    const struct cluster_dispatch *parts = cluster_core_parts(world.node[n].core);

    if (cluster_ops_orders(parts->ops) != 0 || cluster_pending_count(parts->pending) != 0 ||
        cluster_lives_asked(cluster_ops_lives(parts->ops)) != 0)
        broke("rest: node %u waits for something", n);
    if (parts->catch_up.state != CLUSTER_CATCH_UP_CURRENT ||
        parts->catch_up.revision != log_revision() || check_map(n) != entries)
        broke("rest: the map of node %u is not that of the others", n);
}

void lead_rules_check_rest(void)
{
    const struct store_model_pair *pair;
    struct cluster_record record;
    struct cluster_key key;
    uint32_t place = 0, entries = 0;

    while ((pair = store_model_next(&world.store, &place, &key, &record))) {
        if (key.kind == CLUSTER_KEY_OPERATION && record.operation.step < CLUSTER_OPERATION_DONE)
            broke("rest: operation %llu of kind %u has not ended", (unsigned long long)key.number,
                  record.operation.kind);
        entries += key.kind == CLUSTER_KEY_ENTRY;
        if (key.kind == CLUSTER_KEY_ENTRY)
            check_container(&key, &record.entry);
        if (key.kind == CLUSTER_KEY_POOL && record.pool.state != CLUSTER_POOL_ACTIVE)
            broke("rest: a pool is neither active nor gone");
    }
    if (world.open_orders != 0)
        broke("rest: %u orders have not ended", world.open_orders);
    check_left();
    for (uint32_t n = 1; n <= world.nodes && !world.broken; n++)
        check_rest_of(n, entries);
}
