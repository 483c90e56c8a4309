/* SPDX-License-Identifier: Apache-2.0 */
/* Who is to keep copies, and how the records of holders come to say so: one step after another. */
#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/naming/naming.h"
#include "tests/unit/cluster-core/pool_records.h"

#define POOL    (UINT64_C(256) << 32)
#define SESSION 101
#define NODES   4
#define EPOCH   3
#define ENTRY   50 /* revision of the entry */
#define MS      UINT64_C(1000000)

static const struct cluster_limits limits = {
    .pools = 4, .entries = 64, .containers = 64, .effects = 600, .peers = NODES};

/* A leader, node 1, with one pool of one container, and a metastore that the test carries out. */
struct stage {
    struct cluster_context context;
    struct cluster_catch_up catch_up;
    struct cluster_holders *holders;
    struct cluster_naming *naming;
    struct cluster_effects out;
    struct pool_records records;
    uint64_t now, revision;
    struct cluster_effect txn; /* under way; kind 0: none is */
};

static struct stage stage;

static void put_node(uint32_t node, uint8_t node_state)
{
    const struct cluster_record_node record = {.state = node_state, .capacity = 1};

    assert_int_equal(cluster_nodes_put(stage.context.nodes, node, 100 + node, &record), 0);
    cluster_naming_changed(stage.naming);
}

static void put_pool(uint32_t copies, uint32_t min_copies)
{
    const struct pool_records_pool module = {.name = "kv", .containers = 1};
    struct cluster_pool_spec spec = {.name = {"kv", 2},
                                     .module = {"counter", 7},
                                     .version = {"1.0", 3},
                                     .digest = {POOL_RECORDS_DIGEST, 32},
                                     .containers = 1,
                                     .durability = CLUSTER_DURABILITY_ACKED,
                                     .copies = copies,
                                     .min_copies = min_copies};
    struct cluster_record_pool record = {.state = CLUSTER_POOL_ACTIVE,
                                         .containers = 1,
                                         .slots_count = cluster_pool_new_slots(1).count,
                                         .digest = {POOL_RECORDS_DIGEST, 32}};
    struct hub_writer writer;

    hub_writer_init(&writer, stage.records.spec, sizeof stage.records.spec);
    assert_int_equal(cluster_pool_spec_put(&writer, &spec), 0);
    record.spec = (struct rapahub_bytes){stage.records.spec, writer.size};
    record.manifest = pool_records_manifest(&module, &stage.records);
    assert_int_equal(cluster_pools_put(stage.context.pools, POOL, 40, &record), 0);
}

static void put_entry(uint32_t owner, uint8_t entry_state, uint64_t epoch)
{
    struct cluster_address *address = cluster_address_map_add(stage.context.map, POOL, 0);

    address->revision = ENTRY + epoch;
    address->entry = (struct cluster_entry){
        .state = entry_state, .owner = owner, .session = 100 + owner, .epoch = epoch};
    cluster_naming_changed(stage.naming);
}

static void step(void)
{
    stage.context.now_ns = stage.now;
    cluster_naming_step(stage.naming, stage.now);
    cluster_effects_take(stage.context.effects, stage.now, &stage.out);
    for (uint32_t i = 0; i < stage.out.count; i++)
        if (stage.out.effects[i].kind == CLUSTER_EFFECT_TXN)
            stage.txn = stage.out.effects[i];
}

static int begin(void **state)
{
    struct cluster_context *context = &stage.context;

    (void)state;
    stage = (struct stage){.now = 1000 * MS, .revision = 100};
    stage.catch_up.state = CLUSTER_CATCH_UP_CURRENT;
    *context = (struct cluster_context){.limits = &limits,
                                        .node = 1,
                                        .lead = 1,
                                        .term = 33,
                                        .session = {.revision = SESSION},
                                        .catch_up = &stage.catch_up};
    assert_int_equal(cluster_pools_create(limits.pools, 1, &context->pools), 0);
    assert_int_equal(cluster_address_map_create(limits.entries, 1, &context->map), 0);
    assert_int_equal(cluster_nodes_create(1, limits.peers, &context->nodes), 0);
    assert_int_equal(cluster_pending_create(8, &context->pending), 0);
    assert_int_equal(cluster_effects_create(limits.effects, &context->effects), 0);
    assert_int_equal(cluster_holders_create(limits.entries, 1, &stage.holders), 0);
    assert_int_equal(cluster_naming_create(context, stage.holders, &stage.naming), 0);
    for (uint32_t node = 1; node <= NODES; node++)
        put_node(node, CLUSTER_NODE_ACTIVE);
    put_entry(1, CLUSTER_ENTRY_ACTIVE, EPOCH);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cluster_naming_release(&stage.naming);
    cluster_holders_release(&stage.holders);
    cluster_effects_release(&stage.context.effects);
    cluster_pending_release(&stage.context.pending);
    cluster_nodes_release(&stage.context.nodes);
    cluster_address_map_release(&stage.context.map);
    cluster_pools_release(&stage.context.pools);
    return 0;
}

/* ---- the metastore ---- */

static bool expects(enum cluster_keys_kind kind, uint64_t revision)
{
    for (uint32_t i = 0; i < stage.txn.txn->compares_count; i++) {
        const struct cluster_compare *compare = &stage.txn.txn->compares[i];
        struct cluster_key key;

        assert_int_equal(cluster_keys_parse(compare->key, &key), 0);
        if (key.kind == kind)
            return revision == 0 ? compare->kind == CLUSTER_ABSENT
                                 : compare->kind != CLUSTER_ABSENT && compare->rev == revision;
    }
    return false;
}

/* A step was asked for, which compares all that it follows from; it is carried out and told. */
static void commit(void)
{
    const struct cluster_holders_row *row = cluster_holders_find(stage.holders, POOL, 0);
    const struct cluster_write *write;
    struct cluster_record record;
    struct cluster_holders_put put = {.pool = POOL, .revision = ++stage.revision};

    assert_int_equal(stage.txn.kind, CLUSTER_EFFECT_TXN);
    assert_true(expects(CLUSTER_KEY_SESSION, SESSION));
    assert_true(expects(CLUSTER_KEY_LEAD, 33));
    assert_true(expects(CLUSTER_KEY_HOLD, row ? row->revision : 0));
    write = stage.txn.txn->then;
    if (write->kind == CLUSTER_PUT) {
        assert_int_equal(cluster_record_read(CLUSTER_KEY_HOLD, write->value, &record), 0);
        put.record = &record.holders;
    }
    assert_int_equal(cluster_holders_put(stage.holders, &put), 0);
    assert_true(cluster_naming_stored(stage.naming, stage.txn.id, CLUSTER_TXN_OK, stage.revision));
    stage.txn.kind = 0;
    cluster_naming_seen(stage.naming, stage.revision);
    step();
}

static const struct cluster_holders_row *row_of(void)
{
    const struct cluster_holders_row *row = cluster_holders_find(stage.holders, POOL, 0);

    assert_non_null(row);
    return row;
}

/* The one that joins is told to have a copy, and is named. */
static void name(void)
{
    struct cluster_holders_row *row = cluster_holders_find(stage.holders, POOL, 0);

    assert_true(row && row->joining != 0);
    assert_true(cluster_holders_note_held(row, row->joining, EPOCH));
    cluster_naming_changed(stage.naming);
    step();
    commit();
}

/* Goes on until there are so many holders. */
static void fill(uint32_t copies)
{
    step();
    while (!cluster_holders_find(stage.holders, POOL, 0) || row_of()->count < copies) {
        if (stage.txn.kind != 0)
            commit();
        name();
    }
}

static void nothing_is_written(void)
{
    cluster_naming_changed(stage.naming);
    step();
    assert_int_equal(stage.txn.kind, 0);
}

/* ---- tests ---- */

/* r[verify cluster.hold.step] r[verify cluster.hold.name] */
static void a_node_joins_and_is_named_when_it_has_a_copy(void **state)
{
    struct cluster_body_copy_held held = {.pool = POOL, .epoch = EPOCH - 1}, other;

    (void)state;
    put_pool(2, 1);
    step();
    assert_true(expects(CLUSTER_KEY_ENTRY, ENTRY + EPOCH));
    commit();
    assert_true(row_of()->count == 1 && row_of()->nodes[0] == 1 && row_of()->joining != 0);
    nothing_is_written(); /* it has no copy yet */
    held.node = row_of()->joining;
    held.revision = row_of()->revision;
    assert_int_equal(cluster_naming_take_held(stage.naming, 1, 101, &held), RAPAHUB_ESTALE);
    held.epoch = EPOCH;
    other = held;
    other.node = 99;
    assert_int_equal(cluster_naming_take_held(stage.naming, 2, 102, &held), RAPAHUB_ESTALE);
    assert_int_equal(cluster_naming_take_held(stage.naming, 1, 100, &held), RAPAHUB_ESTALE);
    assert_int_equal(cluster_naming_take_held(stage.naming, 1, 101, &other), RAPAHUB_ESTALE);
    other = held;
    other.revision--; /* it joined before, and may lack what was answered since */
    assert_int_equal(cluster_naming_take_held(stage.naming, 1, 101, &other), RAPAHUB_ESTALE);
    nothing_is_written();
    assert_int_equal(cluster_naming_take_held(stage.naming, 1, 101, &held), 0);
    step();
    commit();
    assert_true(row_of()->count == 2 && row_of()->joining == 0);
    assert_true(cluster_holders_names(row_of(), held.node));
    nothing_is_written();
}

/* A copy of an epoch before is none. r[verify cluster.hold.name] */
static void a_copy_of_another_epoch_names_nobody(void **state)
{
    (void)state;
    put_pool(2, 1);
    step();
    commit();
    put_entry(1, CLUSTER_ENTRY_ACTIVE, EPOCH + 1);
    assert_true(cluster_holders_note_held(cluster_holders_find(stage.holders, POOL, 0),
                                          row_of()->joining, EPOCH));
    nothing_is_written();
}

/* r[verify cluster.hold.away] */
static void a_dead_node_is_named_no_more_down_to_the_least(void **state)
{
    uint32_t dead, last;

    (void)state;
    put_pool(3, 2);
    fill(3);
    dead = row_of()->nodes[2];
    last = row_of()->nodes[1];
    for (uint32_t node = 2; node <= NODES; node++)
        cluster_naming_verdict(stage.naming, node,
                               node == dead || !cluster_holders_names(row_of(), node));
    step();
    commit();
    assert_true(row_of()->count == 2 && !cluster_holders_names(row_of(), dead));
    nothing_is_written(); /* nobody is left who could join */
    cluster_naming_verdict(stage.naming, last, true);
    nothing_is_written(); /* two are the least */
    assert_int_equal(row_of()->count, 2);
    cluster_naming_verdict(stage.naming, dead, false);
    step();
    commit();
    assert_int_equal(row_of()->joining, dead);
    name();
    assert_true(stage.txn.kind != 0); /* now the dead one can go */
    commit();
    assert_true(row_of()->count == 2 && !cluster_holders_names(row_of(), last));
}

/* r[verify cluster.hold.choice] */
static void a_node_that_is_dead_does_not_join(void **state)
{
    uint32_t first;

    (void)state;
    put_pool(2, 1);
    step();
    commit();
    first = row_of()->joining;
    cluster_naming_verdict(stage.naming, first, true);
    step();
    commit();
    assert_int_equal(row_of()->joining, 0);
    step();
    commit();
    assert_true(row_of()->joining != 0 && row_of()->joining != first);
    put_node(row_of()->joining, CLUSTER_NODE_LEFT);
    step();
    commit();
    assert_int_equal(row_of()->joining, 0);
}

/* The owner is never named no more, and is the first to join. r[verify cluster.hold.choice] */
static void the_owner_is_always_a_holder(void **state)
{
    uint32_t other;

    (void)state;
    put_pool(2, 1);
    fill(2);
    other = row_of()->nodes[1];
    cluster_naming_verdict(stage.naming, 1, true);
    nothing_is_written();
    put_entry(other == NODES ? 2 : NODES, CLUSTER_ENTRY_ACTIVE, EPOCH); /* it has recovered */
    step();
    commit();
    assert_int_equal(row_of()->joining, other == NODES ? 2 : NODES);
    name();
    assert_true(cluster_holders_names(row_of(), other == NODES ? 2 : NODES));
    commit(); /* one too many */
    assert_int_equal(row_of()->count, 2);
    assert_true(cluster_holders_names(row_of(), other == NODES ? 2 : NODES));
}

/* The last holder that has all is not taken out while only the owner, which is away, would be left.
 * r[verify cluster.hold.away] */
static void nobody_is_taken_out_while_the_owner_is_away(void **state)
{
    const struct cluster_record_node record = {.state = CLUSTER_NODE_ACTIVE, .capacity = 1};
    uint32_t owner;

    (void)state;
    put_pool(3, 1);
    fill(3);
    owner = row_of()->nodes[2];
    put_entry(owner, CLUSTER_ENTRY_ACTIVE, EPOCH);
    for (uint32_t node = 2; node <= NODES; node++)
        cluster_naming_verdict(stage.naming, node, true);
    nothing_is_written();
    cluster_naming_verdict(stage.naming, owner, false);
    assert_int_equal(cluster_nodes_put(stage.context.nodes, owner, 170, &record), 0);
    nothing_is_written(); /* it is back, in another session, and its container is not yet */
    assert_int_equal(row_of()->count, 3);
}

static void nothing_changes_where_the_container_is_not_active(void **state)
{
    (void)state;
    put_pool(2, 1);
    put_entry(1, CLUSTER_ENTRY_RESTARTING, EPOCH);
    nothing_is_written();
    stage.context.lead = 2;
    put_entry(1, CLUSTER_ENTRY_ACTIVE, EPOCH);
    nothing_is_written(); /* it does not lead */
    stage.context.lead = 1;
    stage.catch_up.state = CLUSTER_CATCH_UP_OUTDATED;
    nothing_is_written();
}

/* A pool with one holder has no record. */
static void one_holder_needs_no_record(void **state)
{
    (void)state;
    put_pool(1, 1);
    nothing_is_written();
}

/* r[verify cluster.hold.record] */
static void a_change_that_has_not_happened_is_made_again(void **state)
{
    (void)state;
    put_pool(2, 1);
    step();
    assert_int_equal(stage.txn.kind, CLUSTER_EFFECT_TXN);
    assert_true(cluster_naming_stored(stage.naming, stage.txn.id, CLUSTER_TXN_CONFLICT, 0));
    assert_false(cluster_naming_stored(stage.naming, stage.txn.id, CLUSTER_TXN_OK, 7));
    stage.txn.kind = 0;
    nothing_is_written();
    stage.now += CLUSTER_NAMING_AGAIN_NS;
    assert_true(cluster_naming_next(stage.naming) <= stage.now);
    step();
    commit();
    assert_int_equal(row_of()->count, 1);
}

/* Between the outcome and the watch what is known is old. */
static void an_own_change_is_awaited(void **state)
{
    struct cluster_holders_row *row;

    (void)state;
    put_pool(3, 1);
    step();
    assert_true(cluster_naming_stored(stage.naming, stage.txn.id, CLUSTER_TXN_OK, 200));
    stage.txn.kind = 0;
    nothing_is_written();
    stage.now += CLUSTER_NAMING_AGAIN_NS;
    nothing_is_written();
    cluster_naming_seen(stage.naming, 200);
    step();
    row = cluster_holders_find(stage.holders, POOL, 0);
    assert_null(row);
    assert_int_equal(stage.txn.kind, CLUSTER_EFFECT_TXN);
}

/* r[verify cluster.hold.record] */
static void the_record_goes_with_its_container(void **state)
{
    (void)state;
    put_pool(2, 1);
    fill(2);
    cluster_address_map_remove(stage.context.map, POOL, 0);
    nothing_is_written(); /* the pool is there */
    cluster_pools_remove(stage.context.pools, POOL);
    cluster_naming_changed(stage.naming);
    step();
    assert_int_equal(stage.txn.txn->then->kind, CLUSTER_DELETE);
    assert_true(expects(CLUSTER_KEY_ENTRY, 0));
    commit();
    assert_null(cluster_holders_find(stage.holders, POOL, 0));
}

/* r[verify cluster.hold.held] */
static void an_owner_tells_until_it_is_heard(void **state)
{
    static const uint32_t one[] = {1};
    struct cluster_record record = {.holders = {3, {.of = one, .count = 1}}};
    struct cluster_holders_put put = {.pool = POOL, .revision = 90};
    uint8_t bytes[64];
    struct hub_writer writer;

    (void)state;
    put_pool(2, 1);
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_HOLD, &record), 0);
    assert_int_equal(
        cluster_record_read(CLUSTER_KEY_HOLD, (struct rapahub_bytes){bytes, writer.size}, &record),
        0);
    put.record = &record.holders;
    assert_int_equal(cluster_holders_put(stage.holders, &put), 0);
    stage.context.lead = 2;
    nothing_is_written();
    assert_int_equal(stage.out.count, 0);
    assert_true(cluster_holders_note_held(cluster_holders_find(stage.holders, POOL, 0), 3, EPOCH));
    for (unsigned i = 0; i < 3; i++) {
        cluster_naming_changed(stage.naming);
        step();
        assert_int_equal(stage.out.count, 1);
        assert_int_equal(stage.out.effects[0].kind, CLUSTER_EFFECT_HELD);
        assert_true(stage.out.effects[0].number == 2 && stage.out.effects[0].node == 3);
        assert_int_equal(stage.out.effects[0].epoch, EPOCH);
        assert_int_equal(stage.out.effects[0].revision, put.revision);
        assert_int_equal(cluster_naming_next(stage.naming), stage.now + CLUSTER_NAMING_TELL_NS);
        stage.now += CLUSTER_NAMING_TELL_NS;
    }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
    const struct CMUnitTest tests[] = {TEST(a_node_joins_and_is_named_when_it_has_a_copy),
                                       TEST(a_copy_of_another_epoch_names_nobody),
                                       TEST(a_dead_node_is_named_no_more_down_to_the_least),
                                       TEST(a_node_that_is_dead_does_not_join),
                                       TEST(the_owner_is_always_a_holder),
                                       TEST(nobody_is_taken_out_while_the_owner_is_away),
                                       TEST(nothing_changes_where_the_container_is_not_active),
                                       TEST(one_holder_needs_no_record),
                                       TEST(a_change_that_has_not_happened_is_made_again),
                                       TEST(an_own_change_is_awaited),
                                       TEST(the_record_goes_with_its_container),
                                       TEST(an_owner_tells_until_it_is_heard)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
