/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/txns.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)

static const struct cluster_key next_pool = {.kind = CLUSTER_KEY_NEXT_POOL};
static const struct cluster_key log_key = {.kind = CLUSTER_KEY_LOG};

static struct cluster_txns *open_txns(uint32_t max)
{
    struct cluster_txns *txns;

    assert_int_equal(cluster_txns_create(max, &txns), 0);
    return txns;
}

/* r[verify cluster.operation.txn] */
static void a_transaction_has_its_pieces_in_their_order(void **state)
{
    struct cluster_txns *txns = open_txns(2);
    const struct cluster_record counter = {.counter = {300}};
    uint32_t place = cluster_txns_take(txns);
    struct cluster_record read;
    const struct cluster_txn *txn;

    (void)state;
    cluster_txns_expect(txns, place, &next_pool, 5);
    cluster_txns_expect(txns, place, &log_key, 0);
    cluster_txns_expect_created(txns, place, &next_pool, 6);
    cluster_txns_put_record(txns, place, &next_pool, &counter);
    cluster_txns_put(txns, place, &log_key, (struct rapahub_bytes){"abc", 3});
    cluster_txns_delete(txns, place,
                        &(struct cluster_key){.kind = CLUSTER_KEY_ENTRY, .pool = POOL});
    assert_int_equal(cluster_txns_end(txns, place, &txn), 0);
    assert_int_equal(txn->compares_count, 3);
    assert_int_equal(txn->compares[0].kind, CLUSTER_MOD_EQ);
    assert_int_equal(txn->compares[0].rev, 5);
    assert_memory_equal(txn->compares[0].key.data, "/c/next_pool", 12);
    assert_int_equal(txn->compares[1].kind, CLUSTER_ABSENT);
    assert_int_equal(txn->compares[2].kind, CLUSTER_CREATE_EQ);
    assert_int_equal(txn->then_count, 3);
    assert_int_equal(cluster_record_read(CLUSTER_KEY_NEXT_POOL, txn->then[0].value, &read), 0);
    assert_int_equal(read.counter.next, 300);
    assert_memory_equal(txn->then[1].value.data, "abc", 3);
    assert_int_equal(txn->then[2].kind, CLUSTER_DELETE);
    assert_int_equal(txn->then[2].value.size, 0);
    cluster_txns_release(&txns);
}

/* r[verify cluster.operation.txn] */
static void one_that_is_too_large_is_refused_at_its_end(void **state)
{
    static const uint8_t large[CLUSTER_TXN_VALUE_MAX + 1];
    struct cluster_txns *txns = open_txns(1);
    const struct cluster_txn *txn;
    uint32_t place = cluster_txns_take(txns);

    (void)state;
    assert_int_equal(cluster_txns_take(txns), 0);
    cluster_txns_put(txns, place, &log_key, (struct rapahub_bytes){large, sizeof large});
    assert_int_equal(cluster_txns_end(txns, place, &txn), RAPAHUB_EMSGSIZE);
    cluster_txns_give(txns, place);
    place = cluster_txns_take(txns);
    for (int i = 0; i < 3; i++)
        cluster_txns_put(txns, place, &log_key, (struct rapahub_bytes){large, sizeof large / 2});
    assert_int_equal(cluster_txns_end(txns, place, &txn), RAPAHUB_EMSGSIZE);
    cluster_txns_give(txns, place);
    place = cluster_txns_take(txns);
    for (int i = 0; i < CLUSTER_TXN_LIST_MAX + 1; i++)
        cluster_txns_delete(txns, place, &log_key);
    assert_int_equal(cluster_txns_end(txns, place, &txn), RAPAHUB_EMSGSIZE);
    cluster_txns_give(txns, place);
    place = cluster_txns_take(txns);
    for (int i = 0; i < CLUSTER_TXN_LIST_MAX + 1; i++)
        cluster_txns_expect(txns, place, &log_key, 1);
    assert_int_equal(cluster_txns_end(txns, place, &txn), RAPAHUB_EMSGSIZE);
    cluster_txns_release(&txns);
}

/* r[verify cluster.operation.txn] */
static void the_first_failure_is_told_and_forgotten_with_its_transaction(void **state)
{
    struct cluster_txns *txns = open_txns(1);
    const struct cluster_record none = {.counter = {0}};
    const struct cluster_txn *txn;
    uint32_t place = cluster_txns_take(txns);

    (void)state;
    cluster_txns_put_record(txns, place, &next_pool, &none);
    cluster_txns_put(txns, place, &log_key, (struct rapahub_bytes){"a", 1});
    assert_int_equal(cluster_txns_end(txns, place, &txn), RAPAHUB_EINVAL);
    cluster_txns_give(txns, place);
    place = cluster_txns_take(txns);
    cluster_txns_put(txns, place, &log_key, (struct rapahub_bytes){"a", 1});
    assert_int_equal(cluster_txns_end(txns, place, &txn), 0);
    assert_int_equal(txn->then_count, 1);
    cluster_txns_release(&txns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transaction_has_its_pieces_in_their_order),
        cmocka_unit_test(one_that_is_too_large_is_refused_at_its_end),
        cmocka_unit_test(the_first_failure_is_told_and_forgotten_with_its_transaction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
