/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/ops_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/check.h"
#include "cluster/wire/operation.h"
#include "tests/simulation/cluster/pool_spec_of.h"

struct ops_rules_world ops_rules_world;
struct ops_world_figures ops_rules_figures;
static char report[300];

const char *ops_rules_report(void)
{
    return ops_rules_world.broken ? report : NULL;
}

void ops_rules_broke(const char *format, ...)
{
    va_list list;
    int size;

    if (ops_rules_world.broken)
        return;
    ops_rules_world.broken = true;
    size = snprintf(report, sizeof report,
                    "seed %llu, event %llu: ", (unsigned long long)ops_rules_world.seed,
                    (unsigned long long)ops_rules_figures.events);
    va_start(list, format);
    vsnprintf(report + size, sizeof report - (size_t)size, format, list);
    va_end(list);
}

uint32_t ops_rules_draw(uint32_t below)
{
    return (uint32_t)hub_random_below(&ops_rules_world.random, below);
}

struct actor *ops_rules_actor(uint64_t pool, uint32_t container)
{
    struct actor *actor = ops_rules_world.actors;
    struct actor *end = actor + ops_rules_world.actors_count;

    while (actor < end && (actor->pool != pool || actor->container != container))
        actor++;
    if (actor < end)
        return actor;
    if (ops_rules_world.actors_count++ == ACTORS)
        abort();
    *actor = (struct actor){.pool = pool, .container = container};
    actor->poisoned = ops_rules_draw(20) == 0;
    return actor;
}

bool ops_rules_entry(uint64_t pool, uint32_t container, struct cluster_entry *out)
{
    const struct store_model_pair *pair = store_model_find(
        &ops_rules_world.store,
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

bool ops_rules_pool(uint64_t pool, struct cluster_record *out)
{
    const struct store_model_pair *pair = store_model_find(
        &ops_rules_world.store, &(struct cluster_key){.kind = CLUSTER_KEY_POOL, .pool = pool});

    return pair &&
           cluster_record_read(CLUSTER_KEY_POOL,
                               (struct rapahub_bytes){pair->value, pair->value_size}, out) == 0;
}

bool ops_rules_has_module(void)
{
    const struct cluster_key key = pool_spec_of_module();

    return store_model_find(&ops_rules_world.store, &key);
}

bool ops_rules_lost_module(const struct cluster_txn *txn)
{
    struct cluster_key key;

    for (uint32_t i = 0; i < txn->compares_count; i++)
        if (cluster_keys_parse(txn->compares[i].key, &key) == 0 && key.kind == CLUSTER_KEY_MODULE)
            return !ops_rules_has_module() || txn->compares[i].rev != ops_rules_world.module;
    return false;
}

/* ---- transactions ---- */

static void check_entry(const struct cluster_key *key, const struct cluster_write *write)
{
    struct cluster_entry before;
    struct cluster_record record;
    bool there = ops_rules_entry(key->pool, key->container, &before);
    bool gone = write->kind == CLUSTER_DELETE;

    if (!gone && cluster_record_read(CLUSTER_KEY_ENTRY, write->value, &record) < 0)
        ops_rules_broke("written: an entry cannot be read");
    else if (!cluster_entry_transition(there ? &before : NULL, gone ? NULL : &record.entry))
        ops_rules_broke("written: container %u of pool %llu: no such transition", key->container,
                        (unsigned long long)(key->pool >> 32));
    else if (!gone && record.entry.owner != 0 && record.entry.session != ops_rules_world.session)
        ops_rules_broke("written: an entry of another session");
    if (!gone && record.entry.state == CLUSTER_ENTRY_QUARANTINED)
        ops_rules_figures.quarantined++;
    if (gone && ops_rules_actor(key->pool, key->container)->folder &&
        ops_rules_actor(key->pool, key->container)->kept < CLUSTER_LIVES_REMOVALS_MAX)
        ops_rules_broke("folder: that of container %u is left", key->container);
}

static void check_operation(const struct cluster_key *key, const struct cluster_write *write)
{
    struct cluster_record record;
    uint8_t *state = &ops_rules_world.operation_states[key->number];

    if (write->kind == CLUSTER_DELETE) {
        ops_rules_broke("order: operation %llu is forgotten", (unsigned long long)key->number);
        return;
    }
    if (key->number >= OPERATIONS ||
        cluster_record_read(CLUSTER_KEY_OPERATION, write->value, &record) < 0)
        abort();
    if (!hub_states_may(&cluster_operation_states, *state, record.operation.step))
        ops_rules_broke("written: operation %llu goes from %s to %s",
                        (unsigned long long)key->number,
                        hub_states_name(&cluster_operation_states, *state),
                        hub_states_name(&cluster_operation_states, record.operation.step));
    if (*state == CLUSTER_OPERATION_NEW && ops_rules_world.refused[key->number])
        ops_rules_broke("order: operation %llu was refused, and is done",
                        (unsigned long long)key->number);
    *state = record.operation.step;
    if (*state == CLUSTER_OPERATION_DONE)
        ops_rules_figures.done[record.operation.kind]++;
    if (*state == CLUSTER_OPERATION_ABORTED)
        ops_rules_figures.aborted[record.operation.kind]++;
    if (*state == CLUSTER_OPERATION_ABORTED &&
        (record.operation.result >= 0 || record.operation.text.size == 0))
        ops_rules_broke("written: operation %llu is aborted without a cause",
                        (unsigned long long)key->number);
}

static void check_pool(const struct cluster_key *key, const struct cluster_write *write)
{
    struct cluster_record before, after;
    bool there = ops_rules_pool(key->pool, &before);

    if (write->kind == CLUSTER_DELETE) {
        if (!there || before.pool.state != CLUSTER_POOL_DESTROYING)
            ops_rules_broke("written: a pool goes that is not being removed");
        return;
    }
    if (cluster_record_read(CLUSTER_KEY_POOL, write->value, &after) < 0)
        abort();
    if (there && after.pool.state != before.pool.state &&
        !hub_states_may(&cluster_pool_states, before.pool.state, after.pool.state))
        ops_rules_broke("written: pool %llu goes from %s to %s",
                        (unsigned long long)(key->pool >> 32),
                        hub_states_name(&cluster_pool_states, before.pool.state),
                        hub_states_name(&cluster_pool_states, after.pool.state));
    if (!there && !ops_rules_has_module())
        ops_rules_broke("written: a pool without its module");
    if (!there && ops_rules_world.used[(key->pool >> 32) % OPERATIONS])
        ops_rules_broke("written: the number of a pool is used again");
    ops_rules_world.used[(key->pool >> 32) % OPERATIONS] = true;
    if (key->pool > ops_rules_world.pools)
        ops_rules_world.pools = key->pool;
}

static void check_log(const struct cluster_txn *txn, const struct cluster_write *write)
{
    const struct store_model_pair *log =
        store_model_find(&ops_rules_world.store, &(struct cluster_key){.kind = CLUSTER_KEY_LOG});
    struct cluster_delta delta;
    struct cluster_key key;
    uint32_t entries = 0;

    if (cluster_delta_read(write->value, &delta) < 0)
        abort();
    for (uint32_t i = 0; i < txn->then_count; i++)
        entries += cluster_keys_parse(txn->then[i].key, &key) == 0 && key.kind == CLUSTER_KEY_ENTRY;
    if (delta.previous != (log ? log->mod_rev : 0) || delta.changes.count != entries)
        ops_rules_broke("written: a delta of %u changes has %u", entries, delta.changes.count);
}

/* It was compared already, and is about to be done. */
void ops_rules_check_txn(const struct cluster_txn *txn)
{
    struct cluster_key key;
    bool logged = false, entries = false;

    for (uint32_t i = 0; i < txn->then_count; i++) {
        if (cluster_keys_parse(txn->then[i].key, &key) < 0)
            abort();
        logged |= key.kind == CLUSTER_KEY_LOG;
        entries |= key.kind == CLUSTER_KEY_ENTRY;
        if (key.kind == CLUSTER_KEY_ENTRY)
            check_entry(&key, &txn->then[i]);
        else if (key.kind == CLUSTER_KEY_OPERATION)
            check_operation(&key, &txn->then[i]);
        else if (key.kind == CLUSTER_KEY_POOL)
            check_pool(&key, &txn->then[i]);
        else if (key.kind == CLUSTER_KEY_LOG)
            check_log(txn, &txn->then[i]);
    }
    if (logged != entries)
        ops_rules_broke("written: entries without a delta");
}

static void check_name(const struct store_model_pair *pair, uint64_t pool,
                       const struct cluster_key *key)
{
    struct cluster_record record;
    struct cluster_pool_spec spec;

    (void)pair;
    if (!ops_rules_pool(pool, &record) || cluster_pool_spec_read(record.pool.spec, &spec) < 0 ||
        spec.name.size != key->text.size ||
        memcmp(spec.name.data, key->text.data, key->text.size) != 0)
        ops_rules_broke("written: a name without its pool");
}

void ops_rules_check_store(void)
{
    const struct store_model_pair *pair;
    struct cluster_record record, pool;
    struct cluster_key key;
    uint32_t place = 0, pools = 0, names = 0;

    while ((pair = store_model_next(&ops_rules_world.store, &place, &key, &record))) {
        pools += key.kind == CLUSTER_KEY_POOL;
        names += key.kind == CLUSTER_KEY_NAME;
        if (key.kind == CLUSTER_KEY_NAME)
            check_name(pair, record.name.pool, &key);
        if (key.kind == CLUSTER_KEY_ENTRY && !ops_rules_pool(key.pool, &pool))
            ops_rules_broke("written: an entry without a pool");
        if (key.kind == CLUSTER_KEY_NEXT_POOL && record.counter.next <= ops_rules_world.pools >> 32)
            ops_rules_broke("written: the next pool is one that there was");
    }
    if (pools != names)
        ops_rules_broke("written: %u pools have %u names", pools, names);
}

/* ---- the node's map ---- */

static bool is_same(const struct cluster_entry *one, const struct cluster_entry *other)
{
    return one->state == other->state && one->owner == other->owner && one->epoch == other->epoch &&
           one->lineage == other->lineage && one->session == other->session && one->op == other->op;
}

void ops_rules_check_map(void)
{
    const struct cluster_dispatch *parts = cluster_core_parts(ops_rules_world.core);
    const struct store_model_pair *log =
        store_model_find(&ops_rules_world.store, &(struct cluster_key){.kind = CLUSTER_KEY_LOG});
    const char *broken = cluster_check_core(parts);
    const struct cluster_address *address;
    struct cluster_entry entry;
    uint32_t place = 0;

    if (broken)
        ops_rules_broke("bounds: %s", broken);
    if (ops_rules_figures.events % 4 != 0 || parts->catch_up.state != CLUSTER_CATCH_UP_CURRENT ||
        parts->catch_up.revision != (log ? log->mod_rev : 0))
        return;
    while ((address = cluster_address_map_after(parts->map, &place)))
        if (!ops_rules_entry(address->pool, address->container, &entry) ||
            !is_same(&entry, &address->entry))
            ops_rules_broke("map: container %u is another one", address->container);
}

/* ---- effects ---- */

void ops_rules_begins(const struct cluster_effect *effect)
{
    struct actor *actor = ops_rules_actor(effect->pool, effect->container);
    struct cluster_entry entry = {.state = CLUSTER_ENTRY_NONE};
    struct cluster_record pool;
    struct cluster_pool_spec spec;
    static const uint8_t hows[CLUSTER_ENTRY_STATES] = {
        [CLUSTER_ENTRY_STARTING] = CLUSTER_BEGIN_INIT,
        [CLUSTER_ENTRY_ACTIVE] = CLUSTER_BEGIN_RESTART,
        [CLUSTER_ENTRY_RESTARTING] = CLUSTER_BEGIN_RESTART,
        [CLUSTER_ENTRY_RECOVERING] = CLUSTER_BEGIN_RECOVER};
    bool acked;

    if (!ops_rules_entry(effect->pool, effect->container, &entry) ||
        !ops_rules_pool(effect->pool, &pool) || cluster_pool_spec_read(pool.pool.spec, &spec) < 0) {
        ops_rules_broke("begin: container %u has no entry", effect->container);
        return;
    }
    acked = spec.durability == CLUSTER_DURABILITY_ACKED;
    if (entry.owner != NODE || entry.session != ops_rules_world.session ||
        cluster_ids_epoch(effect->token) != entry.epoch || hows[entry.state] != effect->how)
        ops_rules_broke("begin: container %u begins otherwise than its entry says",
                        effect->container);
    if (effect->token <= actor->token || actor->up)
        ops_rules_broke("begin: container %u begins with a token of before, or twice",
                        effect->container);
    if (!acked && effect->lineage <= actor->lineage)
        ops_rules_broke("begin: container %u goes on with a history that is lost",
                        effect->container);
    if (acked && effect->lineage != entry.lineage)
        ops_rules_broke("begin: container %u loses the history that it has", effect->container);
    if (effect->copy !=
        (effect->how != CLUSTER_BEGIN_INIT && spec.durability >= CLUSTER_DURABILITY_CHECKPOINT))
        ops_rules_broke("begin: container %u begins with a copy of nothing, or without its own",
                        effect->container);
    if (effect->at_ns <= ops_rules_world.now)
        ops_rules_broke("begin: container %u has no time", effect->container);
    actor->token = effect->token;
    actor->lineage = effect->lineage;
    actor->folder = true;
}

void ops_rules_releases(const struct cluster_effect *effect)
{
    struct actor *actor = ops_rules_actor(effect->pool, effect->container);
    struct cluster_entry entry = {.state = CLUSTER_ENTRY_NONE};
    struct cluster_record pool;

    if (!actor->up || !actor->begun || actor->released)
        ops_rules_broke("release: container %u is not held", effect->container);
    if (!ops_rules_entry(effect->pool, effect->container, &entry) ||
        entry.state != CLUSTER_ENTRY_ACTIVE || entry.session != ops_rules_world.session ||
        entry.epoch != cluster_ids_epoch(actor->token))
        ops_rules_broke("release: container %u is not active", effect->container);
    if (!ops_rules_pool(effect->pool, &pool) || pool.pool.state == CLUSTER_POOL_CREATING)
        ops_rules_broke("release: container %u of a pool that is not whole", effect->container);
    actor->released = true;
}

static uint64_t number_in(struct rapahub_bytes body)
{
    const uint8_t *bytes = body.data;
    uint64_t number = 0;

    if (body.size != sizeof number)
        abort();
    for (size_t i = 0; i < sizeof number; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

static bool find_operation(uint64_t number, struct cluster_record *out)
{
    const struct store_model_pair *pair =
        store_model_find(&ops_rules_world.store,
                         &(struct cluster_key){.kind = CLUSTER_KEY_OPERATION, .number = number});

    return pair &&
           cluster_record_read(CLUSTER_KEY_OPERATION,
                               (struct rapahub_bytes){pair->value, pair->value_size}, out) == 0;
}

static void check_wait(const struct order *order, const struct cluster_effect *effect)
{
    struct cluster_record record;

    if (effect->status == RAPAHUB_ECANCELED || effect->status == RAPAHUB_EIO)
        return;
    if (!find_operation(order->asked.operation, &record)) {
        if (effect->status >= 0)
            ops_rules_broke("order: one that waits ends well without its operation");
        return;
    }
    if (record.operation.step < CLUSTER_OPERATION_DONE || record.operation.result != effect->status)
        ops_rules_broke("order: one that waits ends otherwise than its operation");
}

void ops_rules_ordered(const struct cluster_effect *effect)
{
    uint64_t number = number_in(effect->body);
    struct cluster_record record;
    struct order *order = &ops_rules_world.orders[effect->number];

    if (effect->number >= ops_rules_world.orders_count || !order->open) {
        ops_rules_broke("order: order %llu ends, and is not open",
                        (unsigned long long)effect->number);
        return;
    }
    order->open = false;
    ops_rules_world.open_orders--;
    ops_rules_figures.ended++;
    if (order->asked.kind == CLUSTER_ORDER_WAIT)
        check_wait(order, effect);
    else if (effect->status == 0 && number != 0 && !find_operation(number, &record))
        ops_rules_broke("order: operation %llu is acknowledged, and not in the metastore",
                        (unsigned long long)number);
    if (effect->status < 0 && effect->status != RAPAHUB_ECANCELED &&
        order->asked.kind != CLUSTER_ORDER_WAIT && number < OPERATIONS)
        ops_rules_world.refused[number] = true;
    if (effect->status < 0 && effect->text.size == 0)
        ops_rules_broke("order: a failure without a text");
}

/* ---- the end ---- */

static void check_container(const struct cluster_key *key, const struct cluster_entry *entry)
{
    const struct actor *actor = ops_rules_actor(key->pool, key->container);

    if (entry->state != CLUSTER_ENTRY_QUARANTINED &&
        (entry->state != CLUSTER_ENTRY_ACTIVE || !actor->up || !actor->released))
        ops_rules_broke("rest: container %u of pool %llu does not serve", key->container,
                        (unsigned long long)(key->pool >> 32));
}

void ops_rules_check_rest(void)
{
    const struct cluster_dispatch *parts = cluster_core_parts(ops_rules_world.core);
    const struct store_model_pair *pair;
    struct cluster_record record;
    struct cluster_key key;
    uint32_t place = 0;

    while ((pair = store_model_next(&ops_rules_world.store, &place, &key, &record))) {
        if (key.kind == CLUSTER_KEY_OPERATION && record.operation.step < CLUSTER_OPERATION_DONE)
            ops_rules_broke("rest: operation %llu has not ended", (unsigned long long)key.number);
        if (key.kind == CLUSTER_KEY_ENTRY)
            check_container(&key, &record.entry);
        if (key.kind == CLUSTER_KEY_POOL && record.pool.state != CLUSTER_POOL_ACTIVE)
            ops_rules_broke("rest: a pool is neither active nor gone");
    }
    if (ops_rules_world.open_orders != 0 || cluster_ops_orders(parts->ops) != 0)
        ops_rules_broke("rest: %u orders have not ended", ops_rules_world.open_orders);
    if (cluster_pending_count(parts->pending) != 0 ||
        cluster_lives_asked(cluster_ops_lives(parts->ops)) != 0)
        ops_rules_broke("rest: something is asked for");
}
