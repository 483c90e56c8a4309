/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/ops_world.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/base/bytes.h"
#include "tests/simulation/cluster/ops_effects.h"
#include "tests/simulation/cluster/ops_people.h"
#include "tests/simulation/cluster/ops_rules.h"

#define SETTLE 20000

#define world ops_rules_world
#define draw  ops_rules_draw
#define fails ops_effects_fails
#define tell  ops_effects_tell

const struct ops_world_figures *ops_world_figures(void)
{
    return &ops_rules_figures;
}

/* ---- the metastore ---- */

static void note_delta(void)
{
    const struct store_model_pair *log =
        store_model_find(&world.store, &(struct cluster_key){.kind = CLUSTER_KEY_LOG});
    struct delta *delta;

    if (!log || log->mod_rev != world.store.revision || fails(60))
        return;
    if (world.later_count == LATER) {
        world.later_count--;
        memmove(&world.later[0], &world.later[1], world.later_count * sizeof *world.later);
    }
    delta = &world.later[world.later_count++];
    delta->revision = log->mod_rev;
    delta->size = log->value_size;
    memcpy(delta->bytes, log->value, log->value_size);
}

/* Somebody else writes something that the transaction is to change, as it was; an entry with a
 * delta. A name goes with its pool. */
static bool disturb(const struct cluster_txn *txn)
{
    const struct cluster_write *write = &txn->then[draw(txn->then_count)];
    const struct store_model_pair *pair = store_model_find_bytes(&world.store, write->key);
    const struct store_model_pair *log =
        store_model_find(&world.store, &(struct cluster_key){.kind = CLUSTER_KEY_LOG});

    if (!pair || pair->named.kind == CLUSTER_KEY_NAME)
        return false;
    world.store.pairs[pair - world.store.pairs].mod_rev = ++world.store.revision;
    if (pair->named.kind == CLUSTER_KEY_ENTRY)
        world.store.pairs[log - world.store.pairs].mod_rev = world.store.revision;
    return true;
}

/* Runs it, or says that it has not run. The store takes requests in their order. */
static void run_transaction(void)
{
    struct transaction *one = &world.transaction;

    one->ran = true;
    if (world.module_goes)
        ops_people_change_module();
    ops_rules_figures.transactions++;
    if (fails(12) || fails(20)) {
        one->status = draw(3) == 0 ? CLUSTER_TXN_NO_SPACE : CLUSTER_TXN_NOT_APPLIED;
        ops_rules_figures.not_applied++;
        return;
    }
    if (fails(25) && disturb(one->txn)) {
        one->status = store_model_run(&world.store, one->txn);
        ops_rules_figures.conflicts++;
        if (one->status != CLUSTER_TXN_CONFLICT)
            ops_rules_broke("written: over what somebody else wrote");
        return;
    }
    if (ops_rules_lost_module(one->txn)) {
        one->status = CLUSTER_TXN_CONFLICT;
        ops_rules_figures.conflicts++;
        return;
    }
    ops_rules_check_txn(one->txn);
    one->status = store_model_run(&world.store, one->txn);
    one->revision = world.store.revision;
    if (one->status != CLUSTER_TXN_OK) {
        ops_rules_broke("written: a transaction of what is not so");
        return;
    }
    note_delta();
    ops_rules_check_store();
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
    if (tell((struct cluster_event){.kind = CLUSTER_EVENT_STORE,
                                    .id = one.id,
                                    .status = one.status,
                                    .revision = one.revision}) < 0)
        ops_rules_broke("an answer of the metastore is refused");
}

static void deliver(void)
{
    static struct delta delta;

    if (world.later_count == 0)
        return;
    delta = world.later[0];
    world.later_count--;
    memmove(&world.later[0], &world.later[1], world.later_count * sizeof *world.later);
    (void)tell((struct cluster_event){.kind = CLUSTER_EVENT_DELTA,
                                      .revision = delta.revision,
                                      .delta = {delta.bytes, delta.size}});
}

static void tell_pair(const struct store_model_pair *pair, const struct cluster_key *key,
                      const struct cluster_record *record)
{
    struct cluster_event event = {.revision = pair->mod_rev,
                                  .pool = key->pool,
                                  .container = key->container,
                                  .number = key->number,
                                  .entry = &record->entry,
                                  .record = &record->pool,
                                  .operation = &record->operation,
                                  .kind = CLUSTER_EVENT_TICK};

    if (key->kind == CLUSTER_KEY_ENTRY)
        event.kind = CLUSTER_EVENT_ENTRY;
    else if (key->kind == CLUSTER_KEY_POOL)
        event.kind = CLUSTER_EVENT_POOL;
    else if (key->kind == CLUSTER_KEY_OPERATION)
        event.kind = CLUSTER_EVENT_OPERATION;
    else if (key->kind == CLUSTER_KEY_NEXT_POOL) {
        event.kind = CLUSTER_EVENT_NEXT_POOL;
        event.number = record->counter.next;
    }
    if (event.kind != CLUSTER_EVENT_TICK && tell(event) < 0)
        ops_rules_broke("a pair of the metastore is refused: %s", rapahub_last_error()->text);
}

static void read_all(void)
{
    const struct store_model_pair *log =
        store_model_find(&world.store, &(struct cluster_key){.kind = CLUSTER_KEY_LOG});
    const struct store_model_pair *pair;
    struct cluster_record record;
    struct cluster_key key;
    uint32_t place = 0;

    world.wants_reading = false;
    ops_rules_figures.readings++;
    if (tell((struct cluster_event){.kind = CLUSTER_EVENT_READING,
                                    .revision = log ? log->mod_rev : 0}) < 0)
        return;
    while ((pair = store_model_next(&world.store, &place, &key, &record)))
        tell_pair(pair, &key, &record);
    (void)tell(
        (struct cluster_event){.kind = CLUSTER_EVENT_READ, .status = fails(8) ? RAPAHUB_EIO : 0});
}

/* ---- the node ---- */

static void write_session(void)
{
    const struct cluster_key key = {.kind = CLUSTER_KEY_SESSION, .node = NODE};
    static const uint8_t id[16] = {1};
    const struct cluster_record record = {.session = {.boot = ++world.boot,
                                                      .seq = 1,
                                                      .machine_id = {id, sizeof id},
                                                      .boot_id = {id, sizeof id}}};
    char text[CLUSTER_KEYS_SIZE_MAX];
    uint8_t bytes[200];
    struct hub_writer writer;
    struct cluster_write write = {.key = {text, (size_t)cluster_keys_build(&key, text)},
                                  .kind = CLUSTER_DELETE};
    struct cluster_txn txn = {.then = &write, .then_count = 1};

    hub_writer_init(&writer, bytes, sizeof bytes);
    if (cluster_record_put(&writer, CLUSTER_KEY_SESSION, &record) < 0)
        abort();
    (void)store_model_run(&world.store, &txn);
    write.kind = CLUSTER_PUT;
    write.value = (struct rapahub_bytes){bytes, writer.size};
    (void)store_model_run(&world.store, &txn);
    world.session = world.store.revision;
}

static const struct cluster_limits limits = {.pools = 8,
                                             .entries = 160,
                                             .containers = 160,
                                             .calls = 8,
                                             .payloads = 20,
                                             .effects = 400,
                                             .parked = 8,
                                             .parked_container = 4,
                                             .parked_bytes = 10000,
                                             .parked_container_bytes = 4000,
                                             .dedup = 40,
                                             .dedup_container = 20,
                                             .dedup_bytes = 60000,
                                             .dedup_container_bytes = 20000,
                                             .retries = 8,
                                             .retry_bytes = 10000};

static void start(void)
{
    if (cluster_core_create(&limits, NODE, hub_random_next(&world.random), &world.core) < 0)
        abort();
    world.timer = UINT64_MAX;
    world.later_count = 0;
    memset(world.refused, 0, sizeof world.refused);
    (void)tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    while (world.wants_reading)
        read_all();
    if (tell((struct cluster_event){
            .kind = CLUSTER_EVENT_STARTED, .session = world.session, .boot = world.boot}) < 0)
        ops_rules_broke("the start is refused: %s", rapahub_last_error()->text);
}

/* What an ended life had under way comes when there is another one. */
static void run_late(void)
{
    ops_rules_figures.late++;
    if (store_model_run(&world.store, world.transaction.txn) != CLUSTER_TXN_CONFLICT)
        ops_rules_broke("written: by a session that has ended");
}

/* What is under way has happened, or not, and nobody is told. */
static void crash(void)
{
    ops_rules_figures.crashes++;
    if (world.transaction.txn && !world.transaction.ran && draw(2) == 0)
        run_transaction();
    write_session();
    if (world.transaction.txn && !world.transaction.ran && draw(2) == 0)
        run_late();
    world.transaction.txn = NULL;
    cluster_core_release(&world.core);
    for (uint32_t i = 0; i < world.actors_count; i++) {
        world.actors[i].up = world.actors[i].begun = world.actors[i].released = false;
        world.actors[i].kept = 0;
    }
    for (uint32_t i = 0; i < world.works_count; i++)
        if (world.works[i].effect.kind == CLUSTER_EFFECT_REMOVE && draw(2) == 0)
            ops_rules_actor(world.works[i].effect.pool, world.works[i].effect.container)->folder =
                false;
    for (uint32_t i = 0; i < world.orders_count; i++)
        world.orders[i].open = false;
    world.open_orders = world.works_count = 0;
    world.wants_reading = world.module_goes = false;
    if (!world.broken)
        start();
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

static struct cluster_event answer_begin(const struct work *work, struct actor *actor)
{
    bool bad = (actor->poisoned && draw(8) != 0) || fails(15);

    if (work->died || bad) {
        ops_rules_figures.failed_begins++;
        actor->up = false;
        return answer_to(&work->effect, work->died || draw(2) == 0 ? RAPAHUB_EDIED : RAPAHUB_EINVAL,
                         "it does not want to begin");
    }
    actor->begun = true;
    return answer_to(&work->effect, 0, "");
}

static struct cluster_event answer_removal(const struct work *work, struct actor *actor)
{
    actor->up = actor->begun = actor->released = false;
    if (fails(6)) {
        actor->kept++;
        return answer_to(&work->effect, RAPAHUB_EIO, "its folder cannot be removed");
    }
    ops_rules_figures.removals++;
    actor->folder = false;
    return answer_to(&work->effect, 0, "");
}

static void answer_work(void)
{
    uint32_t at = world.works_count > 0 ? draw(world.works_count) : 0;
    const struct work work = world.works[at];
    struct actor *actor;
    struct cluster_event event;

    if (world.works_count == 0)
        return;
    world.works[at] = world.works[--world.works_count];
    actor = ops_rules_actor(work.effect.pool, work.effect.container);
    event = work.effect.kind == CLUSTER_EFFECT_BEGIN ? answer_begin(&work, actor)
                                                     : answer_removal(&work, actor);
    if (tell(event) < 0)
        ops_rules_broke("an answer is refused: %s", rapahub_last_error()->text);
    if (tell(event) != RAPAHUB_ENOENT)
        ops_rules_broke("an answer is taken twice");
}

static void kill_guest(void)
{
    struct actor *actor = world.actors_count > 0 ? &world.actors[draw(world.actors_count)] : NULL;

    if (!actor || !actor->up)
        return;
    for (uint32_t i = 0; i < world.works_count; i++) {
        const struct cluster_effect *effect = &world.works[i].effect;

        if (effect->pool == actor->pool && effect->container == actor->container &&
            effect->kind == CLUSTER_EFFECT_BEGIN)
            world.works[i].died = true;
    }
    actor->up = actor->begun = actor->released = false;
    actor->poisoned |= fails(6);
    ops_rules_figures.deaths++;
    (void)tell((struct cluster_event){.kind = CLUSTER_EVENT_CONTAINER,
                                      .change = CLUSTER_CONTAINER_DOWN,
                                      .pool = actor->pool,
                                      .container = actor->container});
}

/* ---- a life ---- */

static void pass_time(uint64_t ns)
{
    uint64_t until = world.now + ns;

    while (world.timer <= until && !world.broken) {
        world.now = world.timer > world.now ? world.timer : world.now;
        world.timer = UINT64_MAX;
        (void)tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    }
    world.now = until;
}

static void do_something(void)
{
    uint32_t what = draw(1000);

    if (what < 90)
        ops_people_order();
    else if (what < 96)
        ops_people_cancel();
    else if (what < 100)
        ops_people_change_module();
    else if (what < 400)
        answer_transaction();
    else if (what < 600)
        answer_work();
    else if (what < 750)
        deliver();
    else if (what < 780)
        kill_guest();
    else if (what < 786)
        crash();
    else if (what < 850 && world.wants_reading)
        read_all();
    else
        pass_time(draw(what < 990 ? 100 : 40000) * MS);
    if (!world.broken)
        ops_rules_check_map();
}

/* No more faults, and nobody asks for anything: all ends. */
static void settle(void)
{
    world.healed = true;
    for (uint32_t i = 0; i < SETTLE && !world.broken; i++) {
        bool busy = world.transaction.txn || world.works_count > 0 || world.later_count > 0 ||
                    world.wants_reading;

        answer_transaction();
        answer_work();
        deliver();
        if (world.wants_reading)
            read_all();
        if (!busy && world.timer == UINT64_MAX)
            break;
        if (!busy)
            pass_time(world.timer > world.now ? world.timer - world.now : 0);
    }
    if (!world.broken) {
        ops_rules_check_map();
        ops_rules_check_rest();
    }
}

const char *ops_world_live(uint64_t seed, unsigned steps)
{
    struct store_model *store = &world.store;

    memset(&world, 0, offsetof(struct ops_rules_world, store));
    store_model_init(store);
    memset(&world.transaction, 0, sizeof world.transaction);
    memset(world.operation_states, 0, sizeof world.operation_states);
    memset(world.used, 0, sizeof world.used);
    world.actors_count = world.orders_count = world.works_count = world.later_count = 0;
    world.open_orders = 0;
    world.pools = world.module = 0;
    world.module_goes = world.wants_reading = world.broken = world.healed = false;
    world.seed = seed;
    hub_random_init(&world.random, seed);
    ops_rules_figures.trace = UINT64_C(0xcbf29ce484222325);
    ops_rules_figures.lives++;
    write_session();
    ops_people_change_module();
    start();
    for (unsigned i = 0; i < steps && !world.broken; i++)
        do_something();
    if (!world.broken)
        settle();
    cluster_core_release(&world.core);
    return ops_rules_report();
}
