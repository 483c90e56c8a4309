/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/txn.h"
#include "tests/support/testing.h"

static const uint8_t zeros[CLUSTER_TXN_VALUE_MAX + 1];

static struct rapahub_bytes bytes(const char *text)
{
    return (struct rapahub_bytes){text, strlen(text)};
}

static struct cluster_write put(const char *key)
{
    return (struct cluster_write){CLUSTER_PUT, bytes(key), bytes("v")};
}

/* The result of one compare and one write. */
static int check(struct cluster_compare compare, struct cluster_write write)
{
    const struct cluster_txn txn = {
        .id = {1, 1}, .compares = &compare, .compares_count = 1, .then = &write, .then_count = 1};

    return cluster_txn_check(&txn);
}

static const struct cluster_compare absent = {.kind = CLUSTER_ABSENT, .key = {"k", 1}};

/* r[verify cluster.txn.bounds] */
static void keys_and_values_have_the_size_of_the_limits_at_most(void **state)
{
    struct cluster_write write = {
        CLUSTER_PUT, {zeros, CLUSTER_TXN_KEY_MAX}, {zeros, CLUSTER_TXN_VALUE_MAX}};
    struct cluster_compare compare = {
        CLUSTER_VALUE_EQ, {zeros, CLUSTER_TXN_KEY_MAX}, {zeros, CLUSTER_TXN_VALUE_MAX}, 0};

    (void)state;
    assert_int_equal(check(compare, write), 0);
    write.key.size++;
    assert_int_equal(check(absent, write), RAPAHUB_EMSGSIZE);
    assert_string_equal(rapahub_last_error()->rule, "cluster.txn.bounds");
    assert_string_equal(rapahub_last_error()->text, "a key has 513 bytes, the limit is 512");
    write.key.size--;
    write.value.size++;
    assert_int_equal(check(absent, write), RAPAHUB_EMSGSIZE);
    assert_non_null(strstr(rapahub_last_error()->text, "262145 bytes"));
    compare.value.size++;
    assert_int_equal(check(compare, put("k")), RAPAHUB_EMSGSIZE);
    compare.value.size--;
    compare.key.size++;
    assert_int_equal(check(compare, put("k")), RAPAHUB_EMSGSIZE);
}

/* r[verify cluster.txn.bounds] */
static void a_list_is_as_long_as_the_limit_at_most(void **state)
{
    char keys[CLUSTER_TXN_LIST_MAX + 1][8];
    struct cluster_write writes[CLUSTER_TXN_LIST_MAX + 1];
    struct cluster_compare compares[CLUSTER_TXN_LIST_MAX + 1];
    struct cluster_txn txn = {
        .id = {1, 1}, .compares = compares, .then = writes, .otherwise = writes};

    (void)state;
    for (int i = 0; i <= CLUSTER_TXN_LIST_MAX; i++) {
        keys[i][0] = (char)('0' + i);
        keys[i][1] = '\0';
        writes[i] = put(keys[i]);
        compares[i] = absent;
    }
    txn.compares_count = txn.then_count = txn.otherwise_count = CLUSTER_TXN_LIST_MAX;
    assert_int_equal(cluster_txn_check(&txn), 0);
    txn.compares_count++;
    assert_int_equal(cluster_txn_check(&txn), RAPAHUB_EMSGSIZE);
    txn.compares_count--;
    txn.then_count++;
    assert_int_equal(cluster_txn_check(&txn), RAPAHUB_EMSGSIZE);
    txn.then_count--;
    txn.otherwise_count++;
    assert_int_equal(cluster_txn_check(&txn), RAPAHUB_EMSGSIZE);
}

/* r[verify cluster.txn.bounds] */
static void a_branch_writes_a_key_once(void **state)
{
    struct cluster_write writes[] = {
        put("a"), {CLUSTER_GET, bytes("a"), bytes("")}, put("aa"), put("a")};
    struct cluster_txn txn = {
        .id = {1, 1}, .then = writes, .then_count = 3, .otherwise = writes, .otherwise_count = 3};

    (void)state;
    assert_int_equal(cluster_txn_check(&txn), 0);
    txn.then_count = 4;
    assert_int_equal(cluster_txn_check(&txn), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->text, "a transaction writes 'a' twice");
    writes[3].kind = CLUSTER_DELETE;
    assert_int_equal(cluster_txn_check(&txn), RAPAHUB_EINVAL);
    writes[3].kind = CLUSTER_GET;
    assert_int_equal(cluster_txn_check(&txn), 0);
    writes[3].kind = CLUSTER_PUT;
    txn.then_count = 3;
    txn.then++; /* it is read first */
    assert_int_equal(cluster_txn_check(&txn), 0);
    txn.otherwise_count = 4;
    assert_int_equal(cluster_txn_check(&txn), RAPAHUB_EINVAL);
}

/* r[verify cluster.txn.bounds] */
static void what_is_no_transaction_is_refused(void **state)
{
    struct cluster_compare compare = {.kind = CLUSTER_MOD_EQ, .key = {"k", 1}, .rev = 5};
    struct cluster_write write = put("k");

    (void)state;
    assert_int_equal(check(compare, write), 0);
    compare.rev = 0;
    assert_int_equal(check(compare, write), RAPAHUB_EINVAL);
    compare.kind = CLUSTER_CREATE_EQ;
    assert_int_equal(check(compare, write), RAPAHUB_EINVAL);
    compare.kind = CLUSTER_PRESENT;
    assert_int_equal(check(compare, write), 0);
    compare.kind = CLUSTER_COMPARE_KINDS;
    assert_int_equal(check(compare, write), RAPAHUB_EINVAL);
    write.kind = CLUSTER_WRITE_KINDS;
    assert_int_equal(check(absent, write), RAPAHUB_EINVAL);
    write = put("");
    assert_int_equal(check(absent, write), RAPAHUB_EINVAL);
    compare = absent;
    compare.key.size = 0;
    assert_int_equal(check(compare, put("k")), RAPAHUB_EINVAL);
}

/* r[verify cluster.txn.bounds] */
static void who_writes_has_an_id(void **state)
{
    const struct cluster_write get = {CLUSTER_GET, {"k", 1}, {NULL, 0}}, write = put("k");
    struct cluster_txn txn = {.then = &get, .then_count = 1};

    (void)state;
    assert_false(cluster_txn_mutates(&txn));
    assert_int_equal(cluster_txn_check(&txn), 0);
    txn.otherwise = &write;
    txn.otherwise_count = 1;
    assert_true(cluster_txn_mutates(&txn));
    assert_int_equal(cluster_txn_check(&txn), RAPAHUB_EINVAL);
    txn.id.client = cluster_txn_client(3, 9);
    assert_int_equal(txn.id.client, (UINT64_C(3) << 32) + 9);
    assert_int_equal(cluster_txn_check(&txn), RAPAHUB_EINVAL);
    txn.id.seq = 1;
    assert_int_equal(cluster_txn_check(&txn), 0);
}

static int check_span(const char *from, const char *to, uint32_t most)
{
    const struct cluster_span span = {bytes(from), bytes(to), 0, most};

    return cluster_txn_check_span(&span);
}

/* r[verify cluster.txn.bounds] */
static void a_span_has_room_for_a_key(void **state)
{
    const struct cluster_span after = {
        {zeros, CLUSTER_TXN_KEY_MAX}, {zeros, CLUSTER_TXN_KEY_MAX + 1}, 0, 1};
    const struct cluster_span wide = {{zeros, 1}, {zeros, CLUSTER_TXN_KEY_MAX + 2}, 0, 1};

    (void)state;
    assert_int_equal(check_span("/c/", "/c0", 1), 0);
    assert_int_equal(check_span("/c", "/c/", 1), 0);
    assert_int_equal(check_span("/c", "/c", 1), RAPAHUB_EINVAL);
    assert_int_equal(check_span("/c/", "/c", 1), RAPAHUB_EINVAL);
    assert_int_equal(check_span("/d", "/c/", 1), RAPAHUB_EINVAL);
    assert_int_equal(check_span("", "/c", 1), RAPAHUB_EINVAL);
    assert_int_equal(check_span("/c", "", 1), RAPAHUB_EINVAL);
    assert_int_equal(check_span("/c/", "/c0", 0), RAPAHUB_EINVAL);
    assert_int_equal(cluster_txn_check_span(&after), 0);
    assert_int_equal(cluster_txn_check_span(&wide), RAPAHUB_EMSGSIZE);
}

static void an_outcome_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(cluster_txn_status_name(CLUSTER_TXN_OK), "OK");
    assert_string_equal(cluster_txn_status_name(CLUSTER_TXN_CLOSED), "CLOSED");
    for (uint32_t i = 0; i < CLUSTER_TXN_STATUSES; i++)
        assert_non_null(cluster_txn_status_name(i));
    assert_string_equal(cluster_txn_status_name(CLUSTER_TXN_STATUSES), "?");
}

static int order_of(const char *key, const char *other)
{
    int r = cluster_txn_order((struct rapahub_bytes){key, strlen(key)},
                              (struct rapahub_bytes){other, strlen(other)});

    return (r > 0) - (r < 0);
}

static void keys_are_ordered_by_their_bytes_and_then_their_sizes(void **state)
{
    (void)state;
    assert_int_equal(order_of("/a", "/a"), 0);
    assert_int_equal(order_of("/a", "/b"), -1);
    assert_int_equal(order_of("/b", "/a"), 1);
    assert_int_equal(order_of("/a", "/a/"), -1);
    assert_int_equal(order_of("/a/", "/a"), 1);
    assert_int_equal(order_of("/a/", "/b"), -1);
    assert_int_equal(order_of("/\xff", "/a"), 1);
    assert_int_equal(order_of("", "/"), -1);
    assert_int_equal(order_of("", ""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_values_have_the_size_of_the_limits_at_most),
        cmocka_unit_test(a_list_is_as_long_as_the_limit_at_most),
        cmocka_unit_test(a_branch_writes_a_key_once),
        cmocka_unit_test(what_is_no_transaction_is_refused),
        cmocka_unit_test(who_writes_has_an_id),
        cmocka_unit_test(a_span_has_room_for_a_key),
        cmocka_unit_test(an_outcome_has_a_name),
        cmocka_unit_test(keys_are_ordered_by_their_bytes_and_then_their_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
