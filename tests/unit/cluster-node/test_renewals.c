/* SPDX-License-Identifier: Apache-2.0 */
/* A node without the authority asks for another certificate, takes a good one, and refuses any
 * other. */
#include "tests/unit/cluster-node/renewal_stage.h"

/* ---- a node without the authority ---- */

/* r[verify cluster.renewal.ask] */
static void a_node_asks_when_two_thirds_are_over(void **state)
{
    struct stage stage = begin(state, AUTHORITY);
    uint64_t now_ns = hub_clock_now(), next_ns;
    struct cluster_pem pem;

    up(&stage, AUTHORITY);
    next_ns = cluster_renewals_step(stage.renewals, now_ns);
    assert_true(next_ns == now_ns + 3600 * HUB_SECOND);
    now_s = DUE;
    assert_true(cluster_renewals_step(stage.renewals, next_ns - 1) == next_ns);
    assert_int_equal(sent.count, 0);
    assert_true(cluster_renewals_step(stage.renewals, next_ns) == next_ns + 60 * HUB_SECOND);
    assert_int_equal(sent.count, 1);
    assert_int_equal(sent.to, AUTHORITY);
    assert_int_equal(sent.type, CLUSTER_FRAME_RENEW);
    (void)cluster_renewals_step(stage.renewals, next_ns + 60 * HUB_SECOND);
    assert_int_equal(sent.count, 1); /* the answer is still to come */
    sign(&stage, &stage.ca, stage.thread->data.node, DUE, &pem);
    assert_int_equal(answer(&stage, &pem), 0);
    assert_false(cluster_node_identity_is_due(stage.identity)); /* it is being written */
    wait_for_change(&stage);
    assert_false(cluster_node_identity_is_due(stage.identity));
    assert_true(cluster_node_identity_own(stage.identity)->until_s == DUE + CLUSTER_CA_PEER_S);
    end(&stage);
}

/* r[verify cluster.renewal.ask] */
static void it_asks_again_on_a_link_that_comes(void **state)
{
    struct stage stage = begin(state, AUTHORITY);
    uint64_t now_ns = hub_clock_now();

    now_s = DUE;
    (void)cluster_renewals_step(stage.renewals, now_ns);
    assert_int_equal(sent.count, 0);
    up(&stage, AUTHORITY);
    (void)cluster_renewals_step(stage.renewals, now_ns);
    assert_int_equal(sent.count, 1);
    lost(&stage, AUTHORITY);
    up(&stage, AUTHORITY);
    (void)cluster_renewals_step(stage.renewals, now_ns);
    assert_int_equal(sent.count, 2);
    up(&stage, PEER);
    lost(&stage, PEER); /* nothing to it */
    (void)cluster_renewals_step(stage.renewals, now_ns + 60 * HUB_SECOND);
    assert_int_equal(sent.count, 2);
    end(&stage);
}

static void is_refused(struct stage *stage, const struct cluster_pem *pem, uint64_t *now_ns)
{
    unsigned before = sent.count;

    assert_int_equal(answer(stage, pem), 0);
    assert_int_equal(cluster_node_identity_changes(stage->identity), 0);
    *now_ns += 60 * HUB_SECOND;
    (void)cluster_renewals_step(stage->renewals, *now_ns);
    assert_int_equal(sent.count, before + 1); /* it asks again, after a minute */
}

/* What the authority sends is checked like all that comes from elsewhere.
 * r[verify cluster.renewal.ask] */
static void a_certificate_that_is_not_its_own_is_refused(void **state)
{
    struct stage stage = begin(state, AUTHORITY);
    uint32_t node = stage.thread->data.node;
    uint64_t now_ns = hub_clock_now();
    struct cluster_pem pem = {.text = "no certificate", .size = 14}, mine;
    struct evp_pkey_st *key;
    struct cluster_ca other;

    up(&stage, AUTHORITY);
    now_s = DUE;
    (void)cluster_renewals_step(stage.renewals, now_ns);
    mine = sent.pem;
    is_refused(&stage, &pem, &now_ns);
    sign(&stage, &stage.ca, node + 1, DUE, &pem);
    is_refused(&stage, &pem, &now_ns);
    sign(&stage, &stage.ca, node, NOW, &pem); /* no longer than the one of now */
    is_refused(&stage, &pem, &now_ns);
    sign(&stage, &stage.ca, node, DUE + 3600, &pem); /* not valid yet */
    is_refused(&stage, &pem, &now_ns);
    assert_int_equal(cluster_ca_make(stage.ca.uuid, NOW, &other), 0);
    sign(&stage, &other, node, DUE, &pem);
    is_refused(&stage, &pem, &now_ns);
    cluster_ca_fini(&other);
    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_int_equal(cluster_csr_make(key, &sent.pem), 0);
    sign(&stage, &stage.ca, node, DUE, &pem); /* for another key */
    cluster_private_key_release(&key);
    is_refused(&stage, &pem, &now_ns);
    assert_memory_equal(sent.pem.text, mine.text, 27); /* a request as before */
    sign(&stage, &stage.ca, node, DUE, &pem);
    assert_int_equal(answer(&stage, &pem), 0);
    wait_for_change(&stage);
    end(&stage);
}

static void a_refusal_of_the_authority_is_asked_again(void **state)
{
    struct stage stage = begin(state, AUTHORITY);
    const struct cluster_body body = {
        .renewed = {.status = RAPAHUB_ESTATE, .text = rapahub_string_of("not here")}};
    uint64_t now_ns = hub_clock_now();

    up(&stage, AUTHORITY);
    now_s = DUE;
    (void)cluster_renewals_step(stage.renewals, now_ns);
    assert_int_equal(frame(&stage, AUTHORITY, CLUSTER_FRAME_RENEWED, &body), 0);
    (void)cluster_renewals_step(stage.renewals, now_ns + 59 * HUB_SECOND);
    assert_int_equal(sent.count, 1);
    (void)cluster_renewals_step(stage.renewals, now_ns + 60 * HUB_SECOND);
    assert_int_equal(sent.count, 2);
    end(&stage);
}

/* r[verify cluster.renewal.ask] */
static void a_certificate_that_was_not_asked_for_ends_the_link(void **state)
{
    struct stage stage = begin(state, AUTHORITY);
    const struct cluster_body body = {.renewed = {.certificate = rapahub_string_of("one")}};

    up(&stage, AUTHORITY);
    up(&stage, PEER);
    assert_int_equal(frame(&stage, AUTHORITY, CLUSTER_FRAME_RENEWED, &body), RAPAHUB_EPROTOCOL);
    now_s = DUE;
    (void)cluster_renewals_step(stage.renewals, hub_clock_now());
    assert_int_equal(frame(&stage, PEER, CLUSTER_FRAME_RENEWED, &body), RAPAHUB_EPROTOCOL);
    assert_int_equal(frame(&stage, AUTHORITY, CLUSTER_FRAME_RENEWED, &body), 0);
    assert_int_equal(frame(&stage, AUTHORITY, CLUSTER_FRAME_RENEWED, &body), RAPAHUB_EPROTOCOL);
    end(&stage);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, thread_stage_begin, thread_stage_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_asks_when_two_thirds_are_over),
        TEST(it_asks_again_on_a_link_that_comes),
        TEST(a_certificate_that_is_not_its_own_is_refused),
        TEST(a_refusal_of_the_authority_is_asked_again),
        TEST(a_certificate_that_was_not_asked_for_ends_the_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
