/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/map_writer.h"
#include "tests/unit/cluster-core/ops_stage.h"

static struct ops_stage stage;
static const struct cluster_limits limits = {
    .pools = 8, .entries = 200, .containers = 200, .calls = 8, .payloads = 8, .effects = 600};
static const struct ops_stage_pool kv = {.name = "kv", .containers = 1};

static bool compares(const struct cluster_txn *txn, const struct cluster_key *key,
                     enum cluster_compare_kind kind, uint64_t revision)
{
    char text[CLUSTER_KEYS_SIZE_MAX];
    size_t size = (size_t)cluster_keys_build(key, text);

    for (uint32_t i = 0; i < txn->compares_count; i++)
        if (txn->compares[i].key.size == size && memcmp(txn->compares[i].key.data, text, size) == 0)
            return txn->compares[i].kind == kind && txn->compares[i].rev == revision;
    return false;
}

/* r[verify cluster.operation.txn] r[verify cluster.session.compare]
 * r[verify cluster.create.module] */
static void a_transaction_compares_all_that_it_changes(void **state)
{
    const struct cluster_key session = {.kind = CLUSTER_KEY_SESSION, .node = STAGE_NODE};
    const struct cluster_key name = {.kind = CLUSTER_KEY_NAME, .text = {"kv", 2}};
    struct cluster_key pool = {.kind = CLUSTER_KEY_POOL}, entry = {.kind = CLUSTER_KEY_ENTRY};
    const struct cluster_key log = {.kind = CLUSTER_KEY_LOG};
    const struct cluster_key next = {.kind = CLUSTER_KEY_NEXT_POOL};
    const struct cluster_key operation = {.kind = CLUSTER_KEY_OPERATION, .number = 1};
    const struct cluster_key module = {
        .kind = CLUSTER_KEY_MODULE, .text = {"counter", 7}, .version = {"1.0", 3}};

    (void)state;
    pool.pool = entry.pool = cluster_ids_pool((struct rapahub_pool_id){256, 0});
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    assert_true(compares(stage.txn->txn, &session, CLUSTER_CREATE_EQ, STAGE_SESSION));
    assert_true(compares(stage.txn->txn, &name, CLUSTER_ABSENT, 0));
    assert_true(compares(stage.txn->txn, &pool, CLUSTER_ABSENT, 0));
    assert_true(compares(stage.txn->txn, &entry, CLUSTER_ABSENT, 0));
    assert_true(compares(stage.txn->txn, &log, CLUSTER_ABSENT, 0));
    assert_true(compares(stage.txn->txn, &next, CLUSTER_ABSENT, 0));
    assert_true(compares(stage.txn->txn, &operation, CLUSTER_ABSENT, 0));
    assert_true(compares(stage.txn->txn, &module, CLUSTER_MOD_EQ, STAGE_MODULE));
    ops_stage_commit(&stage);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    assert_true(compares(stage.txn->txn, &session, CLUSTER_CREATE_EQ, STAGE_SESSION));
    assert_true(compares(stage.txn->txn, &entry, CLUSTER_MOD_EQ, stage.revision));
    assert_true(compares(stage.txn->txn, &log, CLUSTER_MOD_EQ, stage.revision));
    assert_int_equal(stage.txn->txn->compares_count, 3);
    ops_stage_commit(&stage);
    assert_true(compares(stage.txn->txn, &pool, CLUSTER_MOD_EQ, stage.revision - 1));
    assert_true(compares(stage.txn->txn, &operation, CLUSTER_MOD_EQ, stage.revision - 1));
    assert_int_equal(stage.txn->txn->compares_count, 3);
    ops_stage_close(&stage);
}

/* r[verify cluster.operation.txn] */
static void the_next_waits_for_the_map(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_end_txn(&stage, CLUSTER_TXN_OK, false);
    assert_int_equal(
        ops_stage_apply(&stage, &(struct ops_stage_pool){.name = "b", .containers = 1}), 0);
    assert_null(stage.txn);
    assert_int_equal(cluster_ops_next(stage.ops), stage.now + CLUSTER_MAP_WRITER_DELTA_NS);
    ops_stage_pass(&stage, CLUSTER_MAP_WRITER_DELTA_NS / STAGE_MS - 1);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_CURRENT);
    ops_stage_pass(&stage, 1);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_OUTDATED);
    ops_stage_close(&stage);
}

/* r[verify cluster.operation.again] */
static void one_that_has_not_happened_is_planned_again_later(void **state)
{
    uint64_t ns = CLUSTER_MAP_WRITER_LEAST_NS;

    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    (void)ops_stage_pool(&stage, &kv);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    ops_stage_end_removal(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_REMOVE, 1)->id, 0);
    for (int i = 0; i < 12; i++) {
        stage.now += 10000 * STAGE_MS; /* until it ends nothing else happens */
        ops_stage_end_txn(&stage, i % 2 == 0 ? CLUSTER_TXN_NOT_APPLIED : CLUSTER_TXN_NO_SPACE,
                          true);
        assert_null(stage.txn);
        assert_int_equal(cluster_ops_next(stage.ops), stage.now + ns);
        ops_stage_pass(&stage, ns / STAGE_MS);
        assert_non_null(stage.txn);
        ns = 2 * ns < CLUSTER_MAP_WRITER_MOST_NS ? 2 * ns : CLUSTER_MAP_WRITER_MOST_NS;
    }
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_DONE);
    ops_stage_close(&stage);
}

/* r[verify cluster.operation.again] */
static void after_a_conflict_the_map_is_read(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_end_txn(&stage, CLUSTER_TXN_CONFLICT, true);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_OUTDATED);
    ops_stage_pass(&stage, 1000);
    assert_null(stage.txn);
    ops_stage_read_map(&stage);
    ops_stage_step(&stage);
    assert_non_null(stage.txn);
    ops_stage_commit(&stage);
    ops_stage_ordered(&stage, 0, 1);
    ops_stage_close(&stage);
}

/* r[verify cluster.core.answer] */
static void an_answer_to_nothing_is_refused(void **state)
{
    uint64_t id;

    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    id = stage.txn->id;
    assert_int_equal(cluster_ops_stored(stage.ops, id + 1, CLUSTER_TXN_OK, 200), RAPAHUB_ENOENT);
    ops_stage_commit(&stage);
    assert_int_equal(cluster_ops_stored(stage.ops, id, CLUSTER_TXN_OK, 200), RAPAHUB_ENOENT);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transaction_compares_all_that_it_changes),
        cmocka_unit_test(the_next_waits_for_the_map),
        cmocka_unit_test(one_that_has_not_happened_is_planned_again_later),
        cmocka_unit_test(after_a_conflict_the_map_is_read),
        cmocka_unit_test(an_answer_to_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
