/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of etcd without an etcd: what is asked, what may be answered, and what may not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/etcd/etcd_changes.h"
#include "cluster/metastore/etcd/etcd_status.h"
#include "cluster/metastore/metastore.h"
#include "hub/base/random.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define ETCD UINT64_C(77)

static struct cluster_etcd_space space;

static int begin(void **state)
{
    (void)state;
    cluster_etcd_space_init(&space, "x");
    space.cluster_id = ETCD;
    return 0;
}

static ProtobufCBinaryData data(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static Etcd__ResponseHeader header = ETCD__RESPONSE_HEADER__INIT;

static struct rapahub_bytes pack(const ProtobufCMessage *message)
{
    static uint8_t bytes[4096];

    header.cluster_id = ETCD;
    header.revision = 9;
    return (struct rapahub_bytes){bytes, protobuf_c_message_pack(message, bytes)};
}

/* ---- requests ---- */

/* r[verify cluster.store.etcd.request] */
static void a_request_above_four_mebibytes_is_refused(void **state)
{
    char *large = calloc(1, CLUSTER_TXN_VALUE_MAX), keys[17][8];
    struct cluster_write puts[17];
    struct cluster_txn txn = {.id = {1, 1}, .then = puts};
    struct cluster_etcd_message message;

    (void)state;
    for (unsigned i = 0; i < 17; i++) {
        snprintf(keys[i], sizeof keys[i], "/%u", i);
        puts[i] = (struct cluster_write){
            CLUSTER_PUT, store_stage_bytes(keys[i]), {large, CLUSTER_TXN_VALUE_MAX}};
    }
    txn.then_count = CLUSTER_METASTORE_TXN_BYTES / CLUSTER_TXN_VALUE_MAX;
    assert_int_equal(cluster_etcd_request_txn(&space, &txn, &message), 0);
    free(message.data);
    txn.then_count = 17;
    assert_int_equal(cluster_etcd_request_txn(&space, &txn, &message), -EMSGSIZE);
    free(large);
}

/* r[verify cluster.store.etcd.marker] */
static void the_keys_of_markers_are_in_the_order_of_their_numbers(void **state)
{
    struct cluster_etcd_space_marker one, next, later;

    (void)state;
    cluster_etcd_space_mark(&space, (struct cluster_txn_id){cluster_txn_client(5, 9), 3}, &one);
    cluster_etcd_space_mark(&space, (struct cluster_txn_id){cluster_txn_client(5, 9), 3 + 64},
                            &next);
    cluster_etcd_space_mark(&space, (struct cluster_txn_id){cluster_txn_client(5, 10), 3}, &later);
    assert_true(strcmp(one.slot_from, one.own) < 0 && strcmp(one.own, one.conflict) < 0);
    assert_true(strcmp(one.conflict, next.own) < 0 && strcmp(next.conflict, one.slot_to) < 0);
    assert_true(strcmp(one.slot_to, one.later_from) < 0 && strcmp(one.own, later.boots_to) < 0);
    assert_true(strcmp(one.later_from, later.own) < 0 && strcmp(later.own, one.later_to) < 0);
    assert_true(strcmp(one.boots_from, one.boots_to) < 0 && strcmp(one.boots_to, one.own) < 0);
    cluster_etcd_space_mark(&space, (struct cluster_txn_id){cluster_txn_client(5, UINT32_MAX), 1},
                            &later);
    assert_string_equal(later.later_from, "");
}

/* ---- failures ---- */

/* r[verify cluster.store.etcd.outcome] */
static void only_failures_that_come_first_are_certain(void **state)
{
    static const struct {
        struct cluster_grpc_end end;
        int txn, read;
    } all[] = {
        {{8, false, false, "etcdserver: mvcc: database space exceeded"}, 6, 6},
        {{3, false, false, "etcdserver: request is too large"}, 5, 5},
        {{11, false, false, "etcdserver: mvcc: required revision has been compacted"}, 4, 4},
        {{11, false, false, "etcdserver: mvcc: required revision is a future revision"}, 7, 7},
        {{14, false, false, "etcdserver: request timed out"}, 3, 2},
        {{14, true, false, ""}, 2, 2},
        {{8, false, true, ""}, 3, 2},
        {{99, false, false, "?"}, 3, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(cluster_etcd_status_of(&all[i].end, true), all[i].txn);
        assert_int_equal(cluster_etcd_status_of(&all[i].end, false), all[i].read);
    }
}

/* ---- answers ---- */

static int read_page(const char *key, int64_t rev, uint64_t cluster_id)
{
    const struct cluster_etcd_request_range asked = {
        .span = {store_stage_bytes("/b"), store_stage_bytes("/d"), 0, 10}, .limit = 10};
    Etcd__RangeResponse range = ETCD__RANGE_RESPONSE__INIT;
    Etcd__KeyValue kv = ETCD__KEY_VALUE__INIT, *kvs = &kv;
    struct cluster_etcd_answer answer = {0};
    struct rapahub_bytes bytes;
    int r;

    kv.key = data(key);
    kv.create_revision = kv.mod_revision = rev;
    kv.version = 1;
    range.header = &header;
    range.kvs = &kvs;
    range.n_kvs = 1;
    bytes = pack(&range.base);
    space.cluster_id = cluster_id;
    r = cluster_etcd_reply_range(&space, &asked, bytes, &answer);
    cluster_etcd_reply_clear(&answer);
    return r;
}

/* r[verify cluster.store.etcd.hostile] */
static void an_answer_to_something_else_is_none(void **state)
{
    (void)state;
    assert_int_equal(read_page("/x/k/b", 5, ETCD), 0);
    assert_int_equal(read_page("/x/k/d", 5, ETCD), RAPAHUB_EPROTOCOL);
    assert_int_equal(read_page("/x/k/a", 5, ETCD), RAPAHUB_EPROTOCOL);
    assert_int_equal(read_page("/y/k/b", 5, ETCD), RAPAHUB_EPROTOCOL);
    assert_int_equal(read_page("/x/k/b", 0, ETCD), RAPAHUB_EPROTOCOL);
    assert_int_equal(read_page("/x/k/b", INT64_MAX, ETCD), RAPAHUB_EPROTOCOL);
    assert_int_equal(read_page("/x/k/b", 5, ETCD + 1), RAPAHUB_EPROTOCOL);
}

/* 2 bytes each, a struct in memory each. r[verify cluster.store.etcd.hostile] */
static void a_message_of_many_empty_parts_does_not_take_all_memory(void **state)
{
    const struct cluster_etcd_request_range asked = {
        .span = {store_stage_bytes("/b"), store_stage_bytes("/d"), 0, 10}, .limit = UINT64_MAX};
    size_t size = (size_t)4 << 20;
    uint8_t *bytes = malloc(size);
    struct cluster_etcd_answer answer = {0};

    (void)state;
    for (size_t i = 0; i < size; i += 2) {
        bytes[i] = 2 << 3 | 2; /* kvs */
        bytes[i + 1] = 0;
    }
    assert_int_equal(
        cluster_etcd_reply_range(&space, &asked, (struct rapahub_bytes){bytes, size}, &answer),
        RAPAHUB_EPROTOCOL);
    cluster_etcd_reply_clear(&answer);
    free(bytes);
}

/* r[verify cluster.store.etcd.hostile] */
static void any_bytes_are_refused_or_read(void **state)
{
    const struct cluster_write list[] = {{CLUSTER_PUT, store_stage_bytes("/a"), {0}},
                                         {CLUSTER_GET, store_stage_bytes("/a"), {0}}};
    const struct cluster_txn txn = {.id = {1, 1}, .then = list, .then_count = 2};
    struct hub_random random;

    (void)state;
    hub_random_init(&random, 3);
    for (unsigned round = 0; round < 200000; round++) {
        uint8_t bytes[64];
        size_t size = hub_random_below(&random, sizeof bytes);
        struct cluster_etcd_answer answer = {0};
        struct cluster_etcd_batch *batch;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(hub_random_below(&random, 3) == 0 ? hub_random_next(&random)
                                                                   : hub_random_below(&random, 20));
        (void)cluster_etcd_reply_txn(&space, &txn, (struct rapahub_bytes){bytes, size}, &answer);
        cluster_etcd_reply_clear(&answer);
        if (cluster_etcd_changes_read(&space, (struct rapahub_bytes){bytes, size}, &batch) == 0)
            cluster_etcd_changes_drop(batch);
    }
}

/* ---- changes ---- */

struct event {
    const char *key;
    int64_t rev, version, before;
};

static int add(struct cluster_etcd_changes *changes, const struct event *events, size_t count,
               bool fragment)
{
    Etcd__WatchResponse response = ETCD__WATCH_RESPONSE__INIT;
    Etcd__Event of[4], *pointers[4];
    Etcd__KeyValue kvs[4], of_before[4];
    struct cluster_etcd_batch *batch;
    int r;

    for (size_t i = 0; i < count; i++) {
        etcd__event__init(&of[i]);
        etcd__key_value__init(&kvs[i]);
        etcd__key_value__init(&of_before[i]);
        kvs[i].key = data(events[i].key);
        kvs[i].create_revision = 1;
        kvs[i].mod_revision = events[i].rev;
        kvs[i].version = events[i].version;
        of_before[i].mod_revision = events[i].before;
        of[i].kv = &kvs[i];
        of[i].prev_kv = events[i].before != 0 ? &of_before[i] : NULL;
        pointers[i] = &of[i];
    }
    response.header = &header;
    response.fragment = fragment;
    response.events = pointers;
    response.n_events = count;
    r = cluster_etcd_changes_read(&space, pack(&response.base), &batch);
    if (r == 0)
        cluster_etcd_changes_add(changes, batch);
    return r;
}

static const struct cluster_span span = {{"/", 1}, {"0", 1}, 0, 0};

/* r[verify cluster.store.etcd.watch] */
static void a_revision_in_two_messages_is_told_once_and_in_order(void **state)
{
    const struct event first[] = {{"/x/k/a", 3, 1, 0}, {"/x/k/c", 5, 1, 0}, {"/x/k/b", 5, 1, 0}};
    const struct event second[] = {{"/x/k/a", 5, 2, 3}, {"/x/k/a", 6, 3, 5}};
    struct cluster_etcd_changes changes;
    struct cluster_etcd_told told;

    (void)state;
    cluster_etcd_changes_init(&changes);
    changes.told = 3;
    assert_int_equal(add(&changes, first, 3, true), 0);
    assert_int_equal(cluster_etcd_changes_next(&changes, &space, &span, &told), 0);
    assert_int_equal(add(&changes, second, 2, false), 0);
    assert_int_equal(cluster_etcd_changes_next(&changes, &space, &span, &told), 1);
    assert_int_equal(told.rev, 5);
    assert_int_equal(told.count, 3);
    assert_memory_equal(told.changes[0].pair.key.data, "/a", 2);
    assert_int_equal(told.changes[0].prev_mod, 3);
    assert_memory_equal(told.changes[2].pair.key.data, "/c", 2);
    assert_int_equal(cluster_etcd_changes_next(&changes, &space, &span, &told), 1);
    assert_int_equal(told.rev, 6);
    assert_int_equal(told.count, 1);
    assert_int_equal(add(&changes, NULL, 0, false), 0); /* a mark */
    assert_int_equal(cluster_etcd_changes_next(&changes, &space, &span, &told), 1);
    assert_int_equal(told.rev, 9);
    assert_int_equal(told.count, 0);
    assert_int_equal(cluster_etcd_changes_next(&changes, &space, &span, &told), 0);
    cluster_etcd_changes_fini(&changes);
}

/* r[verify cluster.store.etcd.watch] r[verify cluster.store.etcd.hostile] */
static void changes_that_can_be_none_are_refused(void **state)
{
    static const struct {
        struct event of[2];
        int r;
    } all[] = {
        {{{"/x/k/a", 5, 1, 0}, {"/x/k/b", 4, 1, 0}}, RAPAHUB_EPROTOCOL},
        {{{"/y/k/a", 5, 1, 0}, {"/x/k/b", 5, 1, 0}}, RAPAHUB_EPROTOCOL},
        {{{"/x/k1", 5, 1, 0}, {"/x/k/b", 5, 1, 0}}, RAPAHUB_EPROTOCOL},
        {{{"/x/k/a", 5, 2, 5}, {"/x/k/b", 5, 1, 0}}, RAPAHUB_EPROTOCOL},
        {{{"/x/k/a", 5, 2, 0}, {"/x/k/b", 5, 1, 0}}, -ESTALE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct cluster_etcd_changes changes;
        struct cluster_etcd_told told;

        cluster_etcd_changes_init(&changes);
        changes.told = 2;
        assert_int_equal(add(&changes, all[i].of, 2, false), 0);
        assert_int_equal(cluster_etcd_changes_next(&changes, &space, &span, &told), all[i].r);
        cluster_etcd_changes_fini(&changes);
    }
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup(test, begin)
    const struct CMUnitTest tests[] = {
        EACH(a_request_above_four_mebibytes_is_refused),
        EACH(the_keys_of_markers_are_in_the_order_of_their_numbers),
        EACH(only_failures_that_come_first_are_certain),
        EACH(an_answer_to_something_else_is_none),
        EACH(a_message_of_many_empty_parts_does_not_take_all_memory),
        EACH(any_bytes_are_refused_or_read),
        EACH(a_revision_in_two_messages_is_told_once_and_in_order),
        EACH(changes_that_can_be_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
