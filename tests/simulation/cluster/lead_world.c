/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/lead_world.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "tests/simulation/cluster/lead_effects.h"
#include "tests/simulation/cluster/lead_rules.h"
#include "tests/simulation/cluster/lead_store.h"
#include "tests/simulation/cluster/pool_spec_of.h"

#define SETTLE 40000

#define world lead_rules_world
#define draw  lead_rules_draw
#define fails lead_rules_fails
#define broke lead_rules_broke
#define tell  lead_effects_tell

const struct lead_world_figures *lead_world_figures(void)
{
    return &lead_rules_figures;
}

/* ---- the transaction that is under way ---- */

/* It may be of a pool that is gone, and of which the node that leads has just been told late. */
static bool is_so(const struct cluster_txn *txn)
{
    struct cluster_txn asked = *txn;

    asked.then_count = 0;
    return store_model_run(&world.store, &asked) == CLUSTER_TXN_OK;
}

static void run_transaction(void)
{
    struct transaction *one = &world.transaction;

    one->ran = true;
    lead_rules_figures.transactions++;
    if (fails(12)) {
        one->status = draw(3) == 0 ? CLUSTER_TXN_NO_SPACE : CLUSTER_TXN_NOT_APPLIED;
        return;
    }
    if (fails(25) || !is_so(one->txn)) {
        one->status = CLUSTER_TXN_CONFLICT;
        lead_rules_figures.conflicts++;
        return;
    }
    lead_rules_check_txn(one->txn);
    one->status = lead_store_run(one->txn);
    one->revision = world.store.revision;
}

static void answer_transaction(void)
{
    const struct transaction one = world.transaction;

    if (!one.txn)
        return;
    if (!one.ran) {
        run_transaction();
        return;
    }
    world.transaction.txn = NULL;
    if (tell(LEADER, (struct cluster_event){.kind = CLUSTER_EVENT_STORE,
                                            .id = one.id,
                                            .status = one.status,
                                            .revision = one.revision}) < 0)
        broke("an answer of the metastore is refused");
}

/* ---- links ---- */

static void change_link(uint32_t n, uint32_t link)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_PEER,
                                        .change = link != 0 ? CLUSTER_PEER_UP : CLUSTER_PEER_LOST,
                                        .node = LEADER,
                                        .session = world.node[LEADER].session};
    struct node *node = &world.node[n];

    if (n == LEADER || !node->core || (link != 0) == (node->link != 0))
        return;
    node->link = link;
    lead_rules_figures.cuts += link == 0;
    if (tell(n, event) < 0)
        broke("bounds: a link is refused");
}

/* ---- nodes ---- */

static const struct cluster_limits limits = {.pools = 8,
                                             .entries = 200,
                                             .containers = 120,
                                             .calls = 4,
                                             .payloads = 8,
                                             .effects = 400,
                                             .parked = 4,
                                             .parked_container = 2,
                                             .parked_bytes = 4000,
                                             .parked_container_bytes = 2000,
                                             .dedup = 8,
                                             .dedup_container = 4,
                                             .dedup_bytes = 9000,
                                             .dedup_container_bytes = 4000,
                                             .retries = 4,
                                             .retry_bytes = 4000,
                                             .peers = NODES,
                                             .peer_calls = 4,
                                             .peer_bytes = 4000};

static void start(uint32_t n)
{
    struct node *node = &world.node[n];

    lead_store_session(n, false);
    if (n == LEADER)
        lead_store_lead();
    if (cluster_core_create(&limits, n, hub_random_next(&world.random), &node->core) < 0)
        abort();
    node->timer = UINT64_MAX;
    node->told = world.changes_count;
    node->link = 0;
    (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    lead_store_tell_nodes(n);
    while (node->wants_reading && !world.broken)
        lead_store_read(n);
    if (tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_STARTED,
                                       .session = node->session,
                                       .boot = node->boot,
                                       .node = LEADER,
                                       .term = world.term}) < 0)
        broke("the start is refused: %s", rapahub_last_error()->text);
}

static void forget_works(uint32_t n)
{
    for (uint32_t i = 0; i < world.works_count; i++) {
        const struct cluster_effect *effect = &world.works[i].effect;

        if (world.works[i].node != n)
            continue;
        if (effect->kind == CLUSTER_EFFECT_REMOVE && draw(2) == 0)
            lead_rules_container(effect->pool, effect->container)->on[n].folder = false;
        world.works[i--] = world.works[--world.works_count];
    }
    for (uint32_t i = 0; i < world.containers_count; i++) {
        struct begins *on = &world.containers[i].on[n];

        on->up = on->begun = on->released = false;
        on->kept = 0;
    }
}

/* What is under way has happened, or not, and comes once more when there is another one. */
static void forget_leader(void)
{
    if (world.transaction.txn && !world.transaction.ran && draw(2) == 0)
        run_transaction();
    for (uint32_t i = 0; i < world.orders_count; i++)
        world.orders[i].open = false;
    world.open_orders = 0;
    memset(world.refused, 0, sizeof world.refused); /* numbers that nobody wrote are used again */
    for (uint32_t n = 2; n <= world.nodes; n++)
        change_link(n, 0);
    lead_rules_figures.leaders++;
    if (!world.transaction.txn || world.transaction.ran)
        return;
    lead_store_session(LEADER, false);
    lead_rules_figures.late++;
    if (store_model_run(&world.store, world.transaction.txn) != CLUSTER_TXN_CONFLICT)
        broke("leads: a session that has ended writes");
}

static void kill_node(uint32_t n)
{
    struct node *node = &world.node[n];

    if (!node->core)
        return;
    lead_rules_figures.restarts++;
    if (n == LEADER)
        forget_leader();
    cluster_core_release(&node->core);
    node->link = 0;
    node->timer = UINT64_MAX;
    node->wants_reading = false;
    if (n == LEADER)
        world.transaction.txn = NULL;
    forget_works(n);
    if (draw(3) == 0)
        lead_store_session(n, true);
}

/* ---- containers ---- */

static struct cluster_event answer_to(const struct cluster_effect *effect, int status,
                                      const char *text)
{
    return (struct cluster_event){
        .kind = effect->kind == CLUSTER_EFFECT_BEGIN ? CLUSTER_EVENT_BEGUN : CLUSTER_EVENT_REMOVED,
        .id = effect->id,
        .pool = effect->pool,
        .container = effect->container,
        .status = status,
        .text = {text, strlen(text)}};
}

static struct cluster_event answer_begin(const struct work *work, struct container *container)
{
    struct begins *on = &container->on[work->node];
    bool bad = (container->poisoned && draw(8) != 0) || fails(15);

    if (work->died || bad) {
        lead_rules_figures.failed_begins++;
        on->up = false;
        return answer_to(&work->effect, work->died || draw(2) == 0 ? RAPAHUB_EDIED : RAPAHUB_EINVAL,
                         "it does not want to begin");
    }
    on->begun = true;
    container->epochs[on->epoch % EPOCHS].begun = true;
    return answer_to(&work->effect, 0, "");
}

static struct cluster_event answer_removal(const struct work *work, struct container *container)
{
    struct begins *on = &container->on[work->node];

    on->up = on->begun = on->released = false;
    if (fails(5)) {
        on->kept++;
        on->left |= on->kept == CLUSTER_LIVES_REMOVALS_MAX;
        return answer_to(&work->effect, RAPAHUB_EIO, "its folder cannot be removed");
    }
    lead_rules_figures.removals++;
    on->folder = false;
    return answer_to(&work->effect, 0, "");
}

static void answer_work(void)
{
    uint32_t at = world.works_count > 0 ? draw(world.works_count) : 0;
    const struct work work = world.works[at];
    struct container *container;
    struct cluster_event event;

    if (world.works_count == 0)
        return;
    world.works[at] = world.works[--world.works_count];
    container = lead_rules_container(work.effect.pool, work.effect.container);
    event = work.effect.kind == CLUSTER_EFFECT_BEGIN ? answer_begin(&work, container)
                                                     : answer_removal(&work, container);
    if (tell(work.node, event) < 0)
        broke("an answer is refused: %s", rapahub_last_error()->text);
}

static void kill_guest(uint32_t n)
{
    struct container *of =
        world.containers_count > 0 ? &world.containers[draw(world.containers_count)] : NULL;

    if (!of || !of->on[n].up)
        return;
    for (uint32_t i = 0; i < world.works_count; i++) {
        const struct cluster_effect *effect = &world.works[i].effect;

        if (world.works[i].node == n && effect->pool == of->pool &&
            effect->container == of->container && effect->kind == CLUSTER_EFFECT_BEGIN)
            world.works[i].died = true;
    }
    of->on[n].up = of->on[n].begun = of->on[n].released = false;
    of->poisoned |= fails(3);
    lead_rules_figures.deaths++;
    (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_CONTAINER,
                                         .change = CLUSTER_CONTAINER_DOWN,
                                         .pool = of->pool,
                                         .container = of->container});
}

/* ---- people ---- */

static struct cluster_orders_order choose(void)
{
    uint64_t number = world.orders_count;
    uint32_t name = draw(NAMES), what = draw(10);
    const struct pool_spec_of_what pool = {name, draw(40) == 0 ? 61 + draw(20) : draw(5),
                                           (uint8_t)draw(CLUSTER_DURABILITIES)};

    if (what < 5)
        return pool_spec_of(&pool, number, world.module);
    return (struct cluster_orders_order){.kind = what < 7 ? CLUSTER_ORDER_DELETE
                                                          : CLUSTER_ORDER_RELEASE,
                                         .number = number,
                                         .pool = pool_spec_of_name(name),
                                         .container = draw(3)};
}

/* Asks for the release of one that is quarantined, if there is one, which was mended, mostly. */
static void aim(struct cluster_orders_order *order)
{
    const struct store_model_pair *pair;
    struct cluster_record record, pool;
    struct cluster_pool_spec spec;
    struct cluster_key key;
    uint32_t place = 0;

    while ((pair = store_model_next(&world.store, &place, &key, &record)))
        if (key.kind == CLUSTER_KEY_ENTRY && record.entry.state == CLUSTER_ENTRY_QUARANTINED &&
            lead_rules_pool(key.pool, &pool) &&
            cluster_pool_spec_read(pool.pool.spec, &spec) == 0) {
            order->pool = spec.name;
            order->container = key.container;
            if (draw(3) != 0)
                lead_rules_container(key.pool, key.container)->poisoned = false;
        }
}

static void give_order(uint32_t n)
{
    struct cluster_orders_order asked = choose();
    struct order *order = &world.orders[world.orders_count];
    int status;

    if (world.orders_count + 1 == ORDERS || !world.node[n].core)
        return;
    if (asked.kind == CLUSTER_ORDER_RELEASE)
        aim(&asked);
    *order = (struct order){.kind = asked.kind, .open = true};
    world.orders_count++;
    world.open_orders++;
    lead_rules_figures.orders++;
    status = tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_ORDER, .order = &asked});
    if (n != LEADER && status != RAPAHUB_ESTATE)
        broke("order: node %u takes one, and does not lead", n);
    if (status >= 0)
        return;
    lead_rules_figures.refused++;
    if (!order->open)
        broke("order: one that was refused has ended");
    order->open = false;
    world.open_orders--;
}

/* ---- a life ---- */

static uint64_t next_moment(void)
{
    uint64_t next = lead_effects_next();

    for (uint32_t n = 1; n <= world.nodes; n++)
        if (world.node[n].core && world.node[n].timer < next)
            next = world.node[n].timer;
    return next;
}

static void pass_time(uint64_t ns)
{
    uint64_t until = world.now + ns, next;

    while (!world.broken && (next = next_moment()) <= until) {
        world.now = next > world.now ? next : world.now;
        lead_effects_deliver();
        for (uint32_t n = 1; n <= world.nodes; n++)
            if (world.node[n].core && world.node[n].timer <= world.now) {
                world.node[n].timer = UINT64_MAX;
                (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
            }
    }
    world.now = until;
}

static void do_something(void);

/* A node that is not of this world has the lead, and the one that led gets it back. */
static void depose(void)
{
    lead_store_change_lead(NODES + 1);
    for (uint32_t left = draw(30); left > 0 && !world.broken; left--)
        do_something();
    lead_store_change_lead(LEADER);
}

static void do_to_node(uint32_t n, uint32_t what)
{
    if (!world.node[n].core)
        start(n);
    else if (what < 340)
        lead_store_deliver(n);
    else if (what < 400)
        kill_guest(n);
    else if (what < 407)
        kill_node(n);
    else if (what < 410)
        depose();
    else if (what < 470)
        change_link(n, world.node[LEADER].core && world.node[n].link == 0 ? ++world.links : 0);
    else if (what < 490)
        lead_effects_forge(n);
    else if (world.node[n].wants_reading)
        lead_store_read(n);
}

static void do_something(void)
{
    uint32_t what = draw(1000), n = 1 + draw(world.nodes);

    if (what < 50)
        give_order(draw(10) == 0 ? n : LEADER);
    else if (what < 550)
        do_to_node(n, what - 50);
    else if (what < 700)
        answer_transaction();
    else if (what < 850)
        answer_work();
    else
        pass_time(draw(what < 990 ? 100 : 30000) * MS);
    if (!world.broken && world.node[n].core)
        lead_rules_check_node(n);
}

static bool step_all(void)
{
    bool busy = false;

    answer_transaction();
    answer_work();
    for (uint32_t n = 1; n <= world.nodes && !world.broken; n++) {
        busy |= !world.node[n].core;
        if (!world.node[n].core)
            start(n);
        if (world.node[n].link == 0)
            change_link(n, ++world.links);
        busy |= world.node[n].told < world.changes_count || world.node[n].wants_reading;
        lead_store_deliver(n);
        if (world.node[n].wants_reading)
            lead_store_read(n);
    }
    return busy || world.transaction.txn || world.works_count > 0;
}

/* The last delta comes once more to each node: one that has missed it reads its map. */
static void tell_last_delta(void)
{
    uint32_t last = world.changes_count;

    while (last > 0 && world.changes[last - 1].kind != CLUSTER_EVENT_DELTA)
        last--;
    for (uint32_t n = 1; n <= world.nodes && last > 0; n++)
        if (world.node[n].core && world.node[n].told >= last)
            lead_store_deliver_again(n, &world.changes[last - 1]);
}

/* No more faults, and nobody asks for anything: all nodes come back, and all ends. */
static void settle(void)
{
    world.healed = true;
    tell_last_delta();
    for (uint32_t i = 0; i < SETTLE && !world.broken; i++) {
        bool busy = step_all();
        uint64_t next = next_moment();

        if (!busy && next == UINT64_MAX)
            break;
        if (!busy)
            pass_time(next > world.now ? next - world.now : 0);
    }
    if (!world.broken)
        lead_rules_check_rest();
}

const char *lead_world_live(uint64_t seed, unsigned steps)
{
    memset(&world, 0, offsetof(struct lead_rules_world, store));
    store_model_init(&world.store);
    world.seed = seed;
    hub_random_init(&world.random, seed);
    lead_rules_figures.trace = UINT64_C(0xcbf29ce484222325);
    lead_rules_figures.lives++;
    world.now = 1000 * MS;
    world.nodes = 2 + draw(NODES - 1);
    lead_store_module();
    for (uint32_t n = 1; n <= world.nodes; n++)
        start(n);
    for (unsigned i = 0; i < steps && !world.broken; i++)
        do_something();
    if (!world.broken)
        settle();
    for (uint32_t n = 1; n <= world.nodes; n++)
        cluster_core_release(&world.node[n].core);
    return lead_rules_report();
}
