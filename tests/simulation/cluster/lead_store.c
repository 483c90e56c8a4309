/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/lead_store.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/bytes.h"
#include "tests/simulation/cluster/lead_effects.h"
#include "tests/simulation/cluster/lead_rules.h"
#include "tests/simulation/cluster/pool_spec_of.h"

#define world lead_rules_world
#define broke lead_rules_broke

static const uint8_t id[16] = {1};

/* ---- writing ---- */

static void put(const struct cluster_key *key, const struct cluster_record *record)
{
    char text[CLUSTER_KEYS_SIZE_MAX];
    uint8_t bytes[2048];
    struct hub_writer writer;
    struct cluster_write write = {.key = {text, (size_t)cluster_keys_build(key, text)},
                                  .kind = CLUSTER_DELETE};
    const struct cluster_txn txn = {.then = &write, .then_count = 1};

    (void)store_model_run(&world.store, &txn);
    if (!record)
        return;
    hub_writer_init(&writer, bytes, sizeof bytes);
    if (cluster_record_put(&writer, key->kind, record) < 0)
        abort();
    write.kind = CLUSTER_PUT;
    write.value = (struct rapahub_bytes){bytes, writer.size};
    (void)store_model_run(&world.store, &txn);
}

static struct change *add_change(uint8_t kind)
{
    struct change *change = &world.changes[world.changes_count];

    if (world.changes_count++ == CHANGES)
        abort();
    *change = (struct change){.kind = kind, .revision = world.store.revision};
    return change;
}

void lead_store_session(uint32_t n, bool gone)
{
    struct node *node = &world.node[n];
    const struct cluster_record record = {.session = {.boot = node->boot + 1,
                                                      .seq = 1,
                                                      .machine_id = {id, sizeof id},
                                                      .boot_id = {id, sizeof id}}};
    struct change *change;

    put(&(struct cluster_key){.kind = CLUSTER_KEY_SESSION, .node = n}, gone ? NULL : &record);
    node->boot += !gone;
    node->session = gone ? 0 : world.store.revision;
    change = add_change(CLUSTER_EVENT_NODE);
    change->node = n;
    change->session = node->session;
}

void lead_store_lead(void)
{
    const struct cluster_record record = {
        .lead = {.node = LEADER, .session = world.node[LEADER].session}};

    put(&(struct cluster_key){.kind = CLUSTER_KEY_LEAD}, &record);
    world.term = world.store.revision;
}

void lead_store_module(void)
{
    const struct cluster_key key = pool_spec_of_module();
    struct cluster_record record;

    if (cluster_record_read(CLUSTER_KEY_MODULE, pool_spec_of_manifest(), &record) < 0)
        abort();
    put(&key, &record);
    world.module = world.store.revision;
}

static void note(const struct cluster_write *write, bool gone)
{
    struct cluster_key key;
    struct change *change;

    if (cluster_keys_parse(write->key, &key) < 0)
        abort();
    if (key.kind != CLUSTER_KEY_POOL && key.kind != CLUSTER_KEY_LOG)
        return;
    if (key.kind == CLUSTER_KEY_LOG ? gone : gone != (write->kind == CLUSTER_DELETE))
        return;
    change = add_change(key.kind == CLUSTER_KEY_LOG ? CLUSTER_EVENT_DELTA : CLUSTER_EVENT_POOL);
    change->pool = key.pool;
    if (gone)
        return;
    if (write->value.size > sizeof change->bytes)
        abort();
    change->size = (uint32_t)write->value.size;
    memcpy(change->bytes, write->value.data, write->value.size);
}

/* Pools that are put come before the entries of the same change, those that go after them. */
int lead_store_run(const struct cluster_txn *txn)
{
    int status = store_model_run(&world.store, txn);

    for (uint32_t i = 0; i < txn->then_count && status == CLUSTER_TXN_OK; i++)
        if (txn->then[i].kind == CLUSTER_PUT)
            note(&txn->then[i], false);
    for (uint32_t i = 0; i < txn->then_count && status == CLUSTER_TXN_OK; i++)
        if (txn->then[i].kind == CLUSTER_DELETE)
            note(&txn->then[i], true);
    return status;
}

/* ---- telling ---- */

static int tell_node(uint32_t n, uint32_t of, uint64_t session)
{
    static const char *const zones[] = {"", "east", "west"};
    const char *zone = zones[of % 3];
    const struct cluster_record_node record = {.state = CLUSTER_NODE_ACTIVE,
                                               .capacity = of % 4,
                                               .uuid = {id, sizeof id},
                                               .zone = {zone, strlen(zone)}};

    return lead_effects_tell(
        n, (struct cluster_event){
               .kind = CLUSTER_EVENT_NODE, .node = of, .session = session, .node_record = &record});
}

void lead_store_tell_nodes(uint32_t n)
{
    for (uint32_t of = 1; of <= world.nodes; of++)
        if (tell_node(n, of, world.node[of].session) < 0)
            broke("bounds: a node is refused");
}

static int tell_pool(uint32_t n, uint64_t pool, uint64_t revision, struct rapahub_bytes value)
{
    struct cluster_record record;

    if (value.size > 0 && cluster_record_read(CLUSTER_KEY_POOL, value, &record) < 0)
        abort();
    return lead_effects_tell(
        n, (struct cluster_event){.kind = CLUSTER_EVENT_POOL,
                                  .pool = pool,
                                  .revision = revision,
                                  .record = value.size > 0 ? &record.pool : NULL});
}

/* A delta may be missed: the next one does not fit, and the map is read. */
void lead_store_deliver_again(uint32_t n, const struct change *change)
{
    int status = 0;

    if (change->kind == CLUSTER_EVENT_NODE)
        status = tell_node(n, change->node, change->session);
    else if (change->kind == CLUSTER_EVENT_POOL)
        status = tell_pool(n, change->pool, change->revision,
                           (struct rapahub_bytes){change->bytes, change->size});
    else if (!lead_rules_fails(60))
        (void)lead_effects_tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_DELTA,
                                                          .revision = change->revision,
                                                          .delta = {change->bytes, change->size}});
    if (status < 0)
        broke("bounds: a change is refused: %s", rapahub_last_error()->text);
}

void lead_store_deliver(uint32_t n)
{
    struct node *node = &world.node[n];

    if (node->core && node->told < world.changes_count)
        lead_store_deliver_again(n, &world.changes[node->told++]);
}

static void tell_pair(uint32_t n, const struct store_model_pair *pair,
                      const struct cluster_key *key, const struct cluster_record *record)
{
    struct cluster_event event = {.revision = pair->mod_rev,
                                  .pool = key->pool,
                                  .container = key->container,
                                  .number = key->number,
                                  .entry = &record->entry,
                                  .record = &record->pool,
                                  .operation = &record->operation};

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
    if (event.kind != CLUSTER_EVENT_TICK && lead_effects_tell(n, event) < 0)
        broke("bounds: a pair of the metastore is refused: %s", rapahub_last_error()->text);
}

void lead_store_read(uint32_t n)
{
    const struct store_model_pair *log =
        store_model_find(&world.store, &(struct cluster_key){.kind = CLUSTER_KEY_LOG});
    const struct store_model_pair *pair;
    struct cluster_record record;
    struct cluster_key key;
    uint32_t place = 0;

    world.node[n].wants_reading = false;
    lead_rules_figures.readings++;
    if (lead_effects_tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_READING,
                                                    .revision = log ? log->mod_rev : 0}) < 0)
        return;
    while ((pair = store_model_next(&world.store, &place, &key, &record)))
        tell_pair(n, pair, &key, &record);
    (void)lead_effects_tell(
        n, (struct cluster_event){.kind = CLUSTER_EVENT_READ,
                                  .status = lead_rules_fails(8) ? RAPAHUB_EIO : 0});
}

void lead_store_change_lead(uint32_t lead)
{
    if (!world.node[LEADER].core || world.broken)
        return;
    lead_store_lead();
    lead_rules_figures.deposed += lead != LEADER;
    (void)lead_effects_tell(
        LEADER,
        (struct cluster_event){.kind = CLUSTER_EVENT_LEAD, .node = lead, .term = world.term});
}
