/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of etcd over a session in memory: a transaction for which etcd says that there is no space
 * is asked for its marker. */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/etcd/etcd_calls.h"
#include "hub/base/clock.h"
#include "tests/metastore/grpc_peer.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define ETCD   UINT64_C(77)
#define FULL   "etcdserver: mvcc: database space exceeded"
#define PREFIX 5 /* bytes before a message of gRPC */

struct test {
    struct grpc_peer peer;
    struct cluster_grpc *grpc;
    struct cluster_etcd_space space;
    struct cluster_etcd_calls calls;
    struct store_answer answer;
};

static int on_message(void *user, void *call, struct rapahub_bytes message)
{
    struct test *test = user;

    return cluster_etcd_calls_message(&test->calls, call, message);
}

static void on_ended(void *user, void *call, const struct cluster_grpc_end *end)
{
    struct test *test = user;

    cluster_etcd_calls_over(&test->calls, call, end);
}

static const struct cluster_grpc_hooks hooks = {.message = on_message, .ended = on_ended};

static int begin(void **state)
{
    struct test *test = calloc(1, sizeof *test);

    grpc_peer_begin(&test->peer);
    assert_int_equal(cluster_grpc_create(&hooks, test, "127.0.0.1:2379", &test->grpc), 0);
    cluster_etcd_space_init(&test->space, "x");
    test->space.cluster_id = ETCD;
    cluster_etcd_calls_init(&test->calls, &test->space);
    *state = test;
    return 0;
}

static int finish(void **state)
{
    struct test *test = *state;

    cluster_etcd_calls_close(&test->calls);
    cluster_grpc_release(&test->grpc);
    grpc_peer_end(&test->peer);
    free(test);
    return 0;
}

static void send_all(struct test *test)
{
    cluster_etcd_calls_send(&test->calls, test->grpc);
    assert_int_equal(grpc_peer_move(&test->peer, test->grpc), 0);
}

static void put(struct test *test)
{
    const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes("/a"), store_stage_bytes("1")};
    const struct cluster_txn txn = {.id = {1, 1}, .then = &put, .then_count = 1};
    int failure;
    struct cluster_etcd_call *call = cluster_etcd_calls_txn(&test->calls, &txn, &failure);

    assert_non_null(call);
    call->on_txn = store_stage_on_txn;
    call->user = &test->answer;
    cluster_etcd_calls_add(&test->calls, call);
    send_all(test);
}

static void refuse(struct test *test, size_t asked)
{
    grpc_peer_refuse(&test->peer, test->peer.asked[asked].stream, "200", "8", FULL);
    assert_int_equal(grpc_peer_move(&test->peer, test->grpc), 0);
    send_all(test);
}

static size_t puts_of(Etcd__RequestOp *const *ops, size_t count)
{
    size_t puts = 0;

    for (size_t i = 0; i < count; i++) {
        const Etcd__RequestOp *op = ops[i];

        if (op->request_case == ETCD__REQUEST_OP__REQUEST_REQUEST_TXN)
            puts += puts_of(op->request_txn->success, op->request_txn->n_success) +
                    puts_of(op->request_txn->failure, op->request_txn->n_failure);
        else
            puts += op->request_case != ETCD__REQUEST_OP__REQUEST_REQUEST_RANGE;
    }
    return puts;
}

/* How many of the operations of a request write something. */
static size_t writes_of(const struct test *test, size_t asked)
{
    const struct grpc_peer_asked *request = &test->peer.asked[asked];
    Etcd__TxnRequest *txn;
    size_t writes;

    assert_true(asked < test->peer.count && request->size > PREFIX);
    txn = etcd__txn_request__unpack(NULL, request->size - PREFIX, request->bytes + PREFIX);
    assert_non_null(txn);
    writes = puts_of(txn->success, txn->n_success) + puts_of(txn->failure, txn->n_failure);
    etcd__txn_request__free_unpacked(txn, NULL);
    return writes;
}

static void answer_with(struct test *test, size_t asked, const Etcd__TxnResponse *txn)
{
    uint8_t bytes[255] = {0};
    size_t size = protobuf_c_message_pack(&txn->base, bytes + PREFIX);

    bytes[PREFIX - 1] = (uint8_t)size;

    grpc_peer_answer(&test->peer, test->peer.asked[asked].stream,
                     (struct rapahub_bytes){bytes, PREFIX + size}, "0", NULL);
    assert_int_equal(grpc_peer_move(&test->peer, test->grpc), 0);
    cluster_etcd_calls_tell(&test->calls);
}

static Etcd__ResponseOp nested(Etcd__TxnResponse *txn)
{
    Etcd__ResponseOp op = ETCD__RESPONSE_OP__INIT;

    op.response_case = ETCD__RESPONSE_OP__RESPONSE_RESPONSE_TXN;
    op.response_txn = txn;
    return op;
}

/* The question for the marker finds one of revision `rev`; 0: none, and nothing later, either. */
static void answer_recall(struct test *test, size_t asked, int64_t rev)
{
    Etcd__ResponseHeader header = ETCD__RESPONSE_HEADER__INIT;
    Etcd__TxnResponse all = ETCD__TXN_RESPONSE__INIT, then = ETCD__TXN_RESPONSE__INIT,
                      otherwise = ETCD__TXN_RESPONSE__INIT;
    Etcd__RangeResponse range = ETCD__RANGE_RESPONSE__INIT;
    Etcd__KeyValue marker = ETCD__KEY_VALUE__INIT, *kvs = &marker;
    Etcd__ResponseOp ops[3] = {ETCD__RESPONSE_OP__INIT, nested(&then), nested(&otherwise)};
    Etcd__ResponseOp *list[3] = {&ops[0], &ops[1], &ops[2]};

    marker.mod_revision = rev;
    range.kvs = &kvs;
    range.n_kvs = 1;
    ops[0].response_case = ETCD__RESPONSE_OP__RESPONSE_RESPONSE_RANGE;
    ops[0].response_range = &range;
    then.succeeded = true;
    header.cluster_id = ETCD;
    header.revision = 9;
    all.header = &header;
    all.succeeded = rev == 0;
    all.responses = list;
    all.n_responses = rev == 0 ? 0 : 3;
    answer_with(test, asked, &all);
}

/* r[verify cluster.store.etcd.space] */
static void a_transaction_without_space_is_asked_whether_it_ran(void **state)
{
    struct test *test = *state;

    put(test);
    assert_int_not_equal(writes_of(test, 0), 0);
    refuse(test, 0);
    assert_int_equal(test->peer.count, 2);
    assert_int_equal(writes_of(test, 1), 0);
    assert_int_equal(test->answer.ends, 0);
    answer_recall(test, 1, 7);
    assert_int_equal(test->answer.ends, 1);
    assert_int_equal(test->answer.status, CLUSTER_TXN_OK);
    assert_int_equal(test->answer.rev, 7);
}

/* r[verify cluster.store.etcd.space] */
static void one_without_a_marker_has_done_nothing(void **state)
{
    struct test *test = *state;

    put(test);
    refuse(test, 0);
    answer_recall(test, 1, 0);
    assert_int_equal(test->answer.ends, 1);
    assert_int_equal(test->answer.status, CLUSTER_TXN_NO_SPACE);
}

/* Whatever fails says nothing of what was done. r[verify cluster.store.etcd.space] */
static void a_question_that_is_not_answered_leaves_it_open(void **state)
{
    struct test *test = *state;

    put(test);
    refuse(test, 0);
    refuse(test, 1);
    cluster_etcd_calls_tell(&test->calls);
    assert_int_equal(test->peer.count, 2);
    assert_int_equal(test->answer.ends, 1);
    assert_int_equal(test->answer.status, CLUSTER_TXN_UNKNOWN);
}

/* A session that ends is followed by another, or by none in time. r[verify
 * cluster.store.etcd.space] */
static void a_question_goes_by_the_next_session(void **state)
{
    struct test *test = *state;
    uint64_t now_ns = HUB_SECOND;

    put(test);
    refuse(test, 0);
    cluster_etcd_calls_down(&test->calls);
    cluster_etcd_calls_tell(&test->calls);
    assert_int_equal(test->answer.ends, 0);
    (void)cluster_etcd_calls_due(&test->calls, now_ns);
    (void)cluster_etcd_calls_expire(&test->calls, now_ns + 60 * HUB_SECOND);
    cluster_etcd_calls_tell(&test->calls);
    assert_int_equal(test->answer.ends, 1);
    assert_int_equal(test->answer.status, CLUSTER_TXN_UNKNOWN);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_transaction_without_space_is_asked_whether_it_ran),
        EACH(one_without_a_marker_has_done_nothing),
        EACH(a_question_that_is_not_answered_leaves_it_open),
        EACH(a_question_goes_by_the_next_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
