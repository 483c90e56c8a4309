/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/ops_people.h"

#include "tests/simulation/cluster/ops_effects.h"
#include "tests/simulation/cluster/ops_rules.h"
#include "tests/simulation/cluster/pool_spec_of.h"

#define world ops_rules_world
#define draw  ops_rules_draw

static struct cluster_orders_order choose(void)
{
    uint64_t number = world.orders_count;
    uint32_t name = draw(NAMES), what = draw(10);
    struct pool_spec_of_what pool = {name, 1 + draw(3), (uint8_t)draw(CLUSTER_DURABILITIES)};

    if (draw(60) == 0)
        pool.containers = 61 + draw(10);
    if (what < 5)
        return pool_spec_of(&pool, number, world.module);
    if (what < 7)
        return (struct cluster_orders_order){
            .kind = CLUSTER_ORDER_DELETE, .number = number, .pool = pool_spec_of_name(name)};
    if (what < 8)
        return (struct cluster_orders_order){.kind = CLUSTER_ORDER_RELEASE,
                                             .number = number,
                                             .pool = pool_spec_of_name(name),
                                             .container = draw(3)};
    return (struct cluster_orders_order){.kind = CLUSTER_ORDER_WAIT,
                                         .number = number,
                                         .operation = 1 + draw(8 + world.orders_count / 2)};
}

/* A person who releases a container has mended it, mostly; the next begin shows it. */
static void mend(const struct cluster_orders_order *order)
{
    for (uint32_t i = 0; i < world.actors_count && order->kind == CLUSTER_ORDER_RELEASE; i++)
        if (world.actors[i].container == order->container && draw(3) != 0)
            world.actors[i].poisoned = false;
}

/* Asks for the release of one that is quarantined, if there is one. */
static void aim(struct cluster_orders_order *order)
{
    const struct store_model_pair *pair;
    struct cluster_record record, pool;
    struct cluster_pool_spec spec;
    struct cluster_key key;
    uint32_t place = 0;

    while ((pair = store_model_next(&world.store, &place, &key, &record)))
        if (key.kind == CLUSTER_KEY_ENTRY && record.entry.state == CLUSTER_ENTRY_QUARANTINED &&
            ops_rules_pool(key.pool, &pool) && cluster_pool_spec_read(pool.pool.spec, &spec) == 0) {
            order->pool = spec.name;
            order->container = key.container;
        }
}

void ops_people_order(void)
{
    struct cluster_orders_order asked = choose();
    struct order *order = &world.orders[world.orders_count];

    if (world.orders_count + 1 == ORDERS)
        return;
    if (asked.kind == CLUSTER_ORDER_RELEASE && draw(4) != 0)
        aim(&asked);
    mend(&asked);
    *order = (struct order){.asked = asked, .open = true};
    world.orders_count++;
    world.open_orders++;
    ops_rules_figures.orders++;
    if (ops_effects_tell((struct cluster_event){.kind = CLUSTER_EVENT_ORDER, .order = &asked}) <
        0) {
        ops_rules_figures.refused++;
        if (!order->open)
            ops_rules_broke("order: one that was refused has ended");
        order->open = false;
        world.open_orders--;
    }
}

/* The module is recorded, or its record goes, however late. A removal was asked for while no pool
 * had the module. */
void ops_people_change_module(void)
{
    const struct cluster_key key = pool_spec_of_module();
    char text[CLUSTER_KEYS_SIZE_MAX];
    struct cluster_write write = {.key = {text, (size_t)cluster_keys_build(&key, text)},
                                  .kind = CLUSTER_DELETE};
    const struct cluster_txn txn = {.then = &write, .then_count = 1};

    if (!store_model_find(&world.store, &key)) {
        write.kind = CLUSTER_PUT;
        write.value = pool_spec_of_manifest();
    } else if (!world.module_goes) {
        world.module_goes = !cluster_pools_after(cluster_core_parts(world.core)->pools, 0);
        return;
    }
    (void)store_model_run(&world.store, &txn);
    world.module_goes = false;
    if (write.kind == CLUSTER_PUT)
        world.module = world.store.revision;
}

void ops_people_cancel(void)
{
    uint32_t at = world.orders_count > 0 ? draw(world.orders_count) : 0;
    bool open = world.orders_count > 0 && world.orders[at].open;

    if ((ops_effects_tell((struct cluster_event){.kind = CLUSTER_EVENT_ORDER_CANCEL,
                                                 .number = at}) == 0) != open)
        ops_rules_broke("order: one is open for one side alone");
}
