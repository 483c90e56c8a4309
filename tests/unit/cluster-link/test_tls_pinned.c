/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody who has no certificate yet, and knows of the cluster the digest of its authority alone.
 */
#include <openssl/ssl.h>

#include "tests/unit/cluster-link/tls_stage.h"

struct pair {
    int fds[2];
    struct cluster_tls_context *pinned;
    struct cluster_tls *client, *server;
    int client_end, server_end;
    char client_text[200], server_text[200];
};

static void go_on(struct cluster_tls *tls, int *end, char text[200])
{
    int r = *end == 0 ? cluster_tls_handshake(tls) : 0;

    if (r == 0)
        return;
    *end = r;
    snprintf(text, 200, "%s", r < 0 ? rapahub_last_error()->text : "");
    rapahub_clear_error();
}

/* The one who shows no certificate meets a node. */
static void meet(struct pair *pair, const uint8_t *digest, const struct cluster_tls_context *node,
                 bool anonymous)
{
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_SERVER,
                                                .anonymous = anonymous,
                                                .deadline_ns = hub_clock_after(60 * HUB_SECOND)};

    *pair = (struct pair){.client_end = 0};
    make_pair(pair->fds);
    assert_int_equal(cluster_tls_open_pinned(digest, &pair->pinned), 0);
    pair->client = session_of(pair->pinned, pair->fds[0], CLUSTER_TLS_CLIENT);
    assert_int_equal(cluster_tls_create(node, pair->fds[1], &options, &pair->server), 0);
    for (unsigned i = 0; i < 20; i++) {
        go_on(pair->client, &pair->client_end, pair->client_text);
        go_on(pair->server, &pair->server_end, pair->server_text);
    }
}

static void part(struct pair *pair)
{
    cluster_tls_release(&pair->client);
    cluster_tls_release(&pair->server);
    cluster_tls_context_release(&pair->pinned);
    close(pair->fds[0]);
    close(pair->fds[1]);
}

static void open_with_digest(struct stage *stage, uint8_t digest[CLUSTER_CERTIFICATE_DIGEST])
{
    open_stage(stage);
    assert_int_equal(cluster_certificate_digest(stage->ca.certificate, digest), 0);
}

/* r[verify cluster.join.pinned] */
static void a_digest_is_enough_to_know_a_node(void **state)
{
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    struct stage stage;
    struct pair pair;

    (void)state;
    open_with_digest(&stage, digest);
    meet(&pair, digest, stage.node, true);
    assert_int_equal(pair.client_end, 1);
    assert_int_equal(pair.server_end, 1);
    assert_true(cluster_tls_is_anonymous(pair.server));
    assert_false(cluster_tls_is_anonymous(pair.client));
    assert_int_equal(cluster_tls_peer(pair.client)->node, 3);
    assert_memory_equal(cluster_tls_peer(pair.client)->uuid, stage.ca.uuid, CLUSTER_URI_UUID);
    assert_false(cluster_tls_is_revoked(pair.server));
    part(&pair);
    close_stage(&stage);
}

/* r[verify cluster.link.certificate] */
static void a_node_that_does_not_allow_it_refuses_who_is_anonymous(void **state)
{
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    struct stage stage;
    struct pair pair;

    (void)state;
    open_with_digest(&stage, digest);
    meet(&pair, digest, stage.node, false);
    assert_int_equal(pair.server_end, RAPAHUB_EACCES);
    assert_non_null(strstr(pair.server_text, "has no certificate"));
    part(&pair);
    close_stage(&stage);
}

static void expect_refusal(struct pair *pair, const char *text)
{
    assert_int_equal(pair->client_end, RAPAHUB_EACCES);
    if (!strstr(pair->client_text, text))
        fail_msg("'%s' is not in '%s'", text, pair->client_text);
    assert_int_not_equal(pair->server_end, 1);
    part(pair);
}

/* r[verify cluster.join.pinned] */
static void another_authority_is_refused(void **state)
{
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    struct cluster_ca forged;
    struct stage stage;
    struct pair pair;

    (void)state;
    open_with_digest(&stage, digest);
    digest[31] ^= 1;
    meet(&pair, digest, stage.node, true);
    expect_refusal(&pair, "no authority that is trusted here");
    digest[31] ^= 1;
    make_authority(&forged, 7); /* of the same name */
    cluster_tls_context_release(&stage.node);
    write_node(stage.folders[NODE], &forged, 3);
    assert_int_equal(cluster_tls_open(stage.folders[NODE], "node", &stage.node), 0);
    meet(&pair, digest, stage.node, true);
    expect_refusal(&pair, "no authority that is trusted here");
    /* and it may well send the certificate of the true one, which is no secret */
    assert_int_equal(SSL_CTX_add1_chain_cert(stage.node->ssl, stage.ca.certificate), 1);
    meet(&pair, digest, stage.node, true);
    expect_refusal(&pair, "refused");
    cluster_ca_fini(&forged);
    close_stage(&stage);
}

/* r[verify cluster.join.pinned] */
static void it_must_be_a_node_and_valid_now(void **state)
{
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    struct cluster_peer_name name;
    struct stage stage;
    struct pair pair;

    (void)state;
    open_with_digest(&stage, digest);
    meet(&pair, digest, stage.ana, true); /* a client that plays a node */
    expect_refusal(&pair, "refused");
    name = node_name(&stage.ca, 3);
    cluster_tls_context_release(&stage.node);
    write_identity_at(stage.folders[NODE], &stage.ca, &name, "node",
                      wall_s() - 91 * CLUSTER_CA_DAY_S);
    assert_int_equal(cluster_tls_open(stage.folders[NODE], "node", &stage.node), 0);
    meet(&pair, digest, stage.node, true);
    expect_refusal(&pair, "it has expired");
    close_stage(&stage);
}

/* A client with a certificate meets a node that does not ask for one. */
static void meet_ana(struct pair *pair, const struct stage *stage)
{
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_SERVER,
                                                .anonymous = true,
                                                .deadline_ns = hub_clock_after(60 * HUB_SECOND)};

    *pair = (struct pair){.client_end = 0};
    make_pair(pair->fds);
    pair->client = session_of(stage->ana, pair->fds[0], CLUSTER_TLS_CLIENT);
    assert_int_equal(cluster_tls_create(stage->node, pair->fds[1], &options, &pair->server), 0);
    for (unsigned i = 0; i < 20; i++) {
        go_on(pair->client, &pair->client_end, pair->client_text);
        go_on(pair->server, &pair->server_end, pair->server_text);
    }
}

/* r[verify cluster.link.certificate] */
static void a_certificate_that_is_shown_is_looked_at_all_the_same(void **state)
{
    struct cluster_peer_name eve;
    struct cluster_ca forged;
    struct stage stage;
    struct pair pair;

    (void)state;
    open_stage(&stage);
    meet_ana(&pair, &stage);
    assert_int_equal(pair.server_end, 1);
    assert_false(cluster_tls_is_anonymous(pair.server));
    assert_string_equal(cluster_tls_peer(pair.server)->name, "ana");
    part(&pair);
    make_authority(&forged, 7);
    eve = client_name(&forged, CLUSTER_PEER_ADMIN, "eve");
    write_identity_at(stage.folders[ANA], &forged, &eve, "client", wall_s());
    cluster_tls_context_release(&stage.ana);
    assert_int_equal(cluster_tls_open(stage.folders[ANA], "client", &stage.ana), 0);
    SSL_CTX_set_verify(stage.ana->ssl, SSL_VERIFY_NONE, NULL); /* she takes any node */
    meet_ana(&pair, &stage);
    assert_int_equal(pair.server_end, RAPAHUB_EACCES);
    assert_false(cluster_tls_is_anonymous(pair.server));
    part(&pair);
    cluster_ca_fini(&forged);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_digest_is_enough_to_know_a_node),
        cmocka_unit_test(a_node_that_does_not_allow_it_refuses_who_is_anonymous),
        cmocka_unit_test(another_authority_is_refused),
        cmocka_unit_test(it_must_be_a_node_and_valid_now),
        cmocka_unit_test(a_certificate_that_is_shown_is_looked_at_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
