/* SPDX-License-Identifier: Apache-2.0 */
/* The node with the authority gives others their certificates. */
#include "tests/unit/cluster-node/renewal_stage.h"

static int ask(struct stage *stage, uint32_t from)
{
    struct cluster_pem request;
    struct evp_pkey_st *key;
    struct cluster_body body;

    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_int_equal(cluster_csr_make(key, &request), 0);
    cluster_private_key_release(&key);
    body.renew.request = (struct rapahub_string){request.text, request.size};
    return frame(stage, from, CLUSTER_FRAME_RENEW, &body);
}

static void is_told(int32_t status, const char *text)
{
    assert_int_equal(sent.type, CLUSTER_FRAME_RENEWED);
    assert_int_equal(sent.to, PEER);
    assert_int_equal(sent.status, status);
    if (!strstr(sent.text, text))
        fail_msg("no '%s' in '%s'", text, sent.text);
}

/* The record has the number of the new certificate before the node has it.
 * r[verify cluster.renewal.grant] */
static void a_certificate_is_in_the_record_before_it_is_given(void **state)
{
    struct stage stage = begin(state, 0);
    struct x509_st *made = NULL;
    struct cluster_peer_name name;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    char text[CLUSTER_CERTIFICATE_SERIAL_TEXT];
    size_t size;

    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    has_read(CLUSTER_NODE_ACTIVE, 41);
    assert_int_equal(asked.rev, 41);
    assert_int_equal(asked.record.node.state, CLUSTER_NODE_ACTIVE);
    assert_int_equal(asked.record.node.capacity, 3);
    assert_int_equal(sent.count, 0);
    has_written(CLUSTER_TXN_OK);
    assert_int_equal(sent.count, 1);
    is_told(0, "");
    assert_int_equal(
        cluster_certificate_read((struct rapahub_bytes){sent.pem.text, sent.pem.size}, &made), 0);
    assert_int_equal(cluster_certificate_check_issuer(made, stage.ca.certificate), 0);
    assert_int_equal(cluster_certificate_peer(made, &name, serial, &size), 0);
    assert_int_equal(name.kind, CLUSTER_PEER_NODE);
    assert_int_equal(name.node, PEER);
    cluster_certificate_serial_text(serial, size, text);
    assert_string_equal(text, asked.serial);
    cluster_certificate_release(&made);
    end(&stage);
}

/* r[verify cluster.renewal.grant] */
static void a_node_that_asks_too_often_loses_its_link(void **state)
{
    struct stage stage = begin(state, 0);

    assert_int_equal(ask(&stage, PEER), RAPAHUB_EPROTOCOL); /* it is not linked */
    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    assert_int_equal(ask(&stage, PEER), RAPAHUB_EPROTOCOL); /* before the answer */
    has_read(CLUSTER_NODE_ACTIVE, 41);
    has_written(CLUSTER_TXN_OK);
    assert_int_equal(ask(&stage, PEER), RAPAHUB_EPROTOCOL); /* too soon after it */
    assert_int_equal(asked.count, 2);
    assert_int_equal(sent.count, 1);
    end(&stage);
}

/* However long the metastore takes. r[verify cluster.renewal.grant] */
static void a_node_waits_for_its_answer(void **state)
{
    static struct cluster_grants grants;
    struct stage stage = begin(state, 0);
    struct cluster_body_renew renew;
    struct cluster_pem request;
    struct evp_pkey_st *key;

    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_int_equal(cluster_csr_make(key, &request), 0);
    cluster_private_key_release(&key);
    renew.request = (struct rapahub_string){request.text, request.size};
    cluster_grants_init(&grants, &(struct cluster_grants_parts){.identity = stage.identity});
    cluster_grants_up(&grants, PEER);
    assert_int_equal(cluster_grants_ask(&grants, PEER, &renew, 1), 0);
    assert_int_equal(cluster_grants_ask(&grants, PEER, &renew, 1 + 2 * CLUSTER_GRANTS_GAP_NS),
                     RAPAHUB_EPROTOCOL);
    has_read(CLUSTER_NODE_ACTIVE, 41);
    has_written(CLUSTER_TXN_OK);
    assert_int_equal(cluster_grants_ask(&grants, PEER, &renew, 1 + CLUSTER_GRANTS_GAP_NS), 0);
    assert_int_equal(asked.count, 3);
    end(&stage);
}

static void another_writer_of_the_record_is_no_harm(void **state)
{
    struct stage stage = begin(state, 0);

    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    has_read(CLUSTER_NODE_ACTIVE, 41);
    has_written(CLUSTER_TXN_CONFLICT);
    has_read(CLUSTER_NODE_DRAINING, 42);
    assert_int_equal(asked.rev, 42);
    assert_int_equal(asked.record.node.state, CLUSTER_NODE_DRAINING);
    has_written(CLUSTER_TXN_OK);
    is_told(0, "");
    end(&stage);
}

static void an_end_of_conflicts_is_told(void **state)
{
    struct stage stage = begin(state, 0);

    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    for (unsigned i = 0; i < 100 && sent.count == 0; i++) {
        has_read(CLUSTER_NODE_ACTIVE, 41 + i);
        has_written(CLUSTER_TXN_CONFLICT);
    }
    is_told(RAPAHUB_EIO, "CONFLICT");
    end(&stage);
}

/* It comes by another link, when it may ask again. */
static void again(struct stage *stage)
{
    lost(stage, PEER);
    up(stage, PEER);
    ahead_ns += CLUSTER_GRANTS_GAP_NS;
    assert_int_equal(ask(stage, PEER), 0);
}

/* A thief of its key gets no certificate with each of many links. r[verify cluster.renewal.grant]
 */
static void another_link_is_no_other_turn(void **state)
{
    struct stage stage = begin(state, 0);

    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    has_read(CLUSTER_NODE_ACTIVE, 41);
    has_written(CLUSTER_TXN_OK);
    for (unsigned i = 0; i < 3; i++) {
        lost(&stage, PEER);
        up(&stage, PEER);
        assert_int_equal(ask(&stage, PEER), 0); /* it may not know that the last one was heard */
        is_told(RAPAHUB_EAGAIN, "less than 30 s");
        assert_int_equal(asked.count, 2);
    }
    again(&stage);
    assert_int_equal(asked.count, 3);
    end(&stage);
}

/* r[verify cluster.renewal.grant] */
static void a_node_that_is_none_gets_no_certificate(void **state)
{
    const struct cluster_pair none = {.mod_rev = 0};
    struct stage stage = begin(state, 0);

    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    has_read(CLUSTER_NODE_LEFT, 41);
    is_told(RAPAHUB_EACCES, "has left");
    again(&stage);
    asked.on_txn(asked.user, CLUSTER_TXN_OK, 99, &none, 1);
    is_told(RAPAHUB_EACCES, "no node 2");
    end(&stage);
}

static void a_metastore_that_fails_is_told(void **state)
{
    struct stage stage = begin(state, 0);

    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    asked.on_txn(asked.user, CLUSTER_TXN_CLOSED, 0, NULL, 0);
    is_told(RAPAHUB_EIO, "CLOSED");
    asked.refusal = -EBUSY;
    again(&stage);
    is_told(-EBUSY, "busy");
    end(&stage);
}

/* The node may come again before the metastore has answered: it asks anew then. */
static void a_link_may_be_lost_while_the_metastore_works(void **state)
{
    struct stage stage = begin(state, 0);

    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    lost(&stage, PEER);
    up(&stage, PEER);
    has_read(CLUSTER_NODE_ACTIVE, 41);
    assert_int_equal(asked.count, 1); /* nothing is written for a node that is gone */
    assert_int_equal(sent.count, 0);
    again(&stage);
    has_read(CLUSTER_NODE_ACTIVE, 41);
    lost(&stage, PEER);
    has_written(CLUSTER_TXN_OK);
    assert_int_equal(sent.count, 0);
    end(&stage);
}

static void a_node_without_the_authority_says_so(void **state)
{
    struct stage stage = begin(state, AUTHORITY);

    up(&stage, PEER);
    assert_int_equal(ask(&stage, PEER), 0);
    is_told(RAPAHUB_ESTATE, "does not have the authority");
    assert_int_equal(asked.count, 0);
    end(&stage);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, thread_stage_begin, thread_stage_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_certificate_is_in_the_record_before_it_is_given),
        TEST(a_node_that_asks_too_often_loses_its_link),
        TEST(a_node_waits_for_its_answer),
        TEST(another_writer_of_the_record_is_no_harm),
        TEST(an_end_of_conflicts_is_told),
        TEST(another_link_is_no_other_turn),
        TEST(a_node_that_is_none_gets_no_certificate),
        TEST(a_metastore_that_fails_is_told),
        TEST(a_link_may_be_lost_while_the_metastore_works),
        TEST(a_node_without_the_authority_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
