/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes of TLS: two sides who come to know each other, and everybody who is refused. */
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>

#include "tests/unit/cluster-link/tls_stage.h"

struct pair {
    int fds[2];
    struct cluster_tls *client, *server;
    int client_end, server_end; /* of the handshake: 1, or a failure */
    char client_text[200], server_text[200];
    const char *client_rule, *server_rule;
};

static void note_end(int r, int *end, char text[200], const char **rule)
{
    if (r == 0 || *end != 0)
        return;
    *end = r;
    snprintf(text, 200, "%s", r < 0 ? rapahub_last_error()->text : "");
    *rule = r < 0 ? rapahub_last_error()->rule : "";
}

/* The client learns of a refusal when it reads. */
static int step_client(struct pair *pair)
{
    char byte[1];
    struct hub_received received = {.bytes = byte, .room = 1};
    int r = cluster_tls_handshake(pair->client);

    if (r != 1 || pair->server_end >= 0)
        return pair->server_end == 0 && r == 1 ? 0 : r;
    return cluster_tls_table.receive(pair->client, pair->fds[0], &received);
}

static void shake(struct pair *pair)
{
    for (unsigned i = 0; i < 40 && (pair->client_end == 0 || pair->server_end == 0); i++) {
        if (pair->server_end == 0)
            note_end(cluster_tls_handshake(pair->server), &pair->server_end, pair->server_text,
                     &pair->server_rule);
        if (pair->server_end < 0 && pair->server) {
            cluster_tls_release(&pair->server);
            shutdown(pair->fds[1], SHUT_RDWR);
        }
        if (pair->client_end == 0)
            note_end(step_client(pair), &pair->client_end, pair->client_text, &pair->client_rule);
    }
}

static void meet(struct pair *pair, const struct cluster_tls_context *client,
                 const struct cluster_tls_context *server)
{
    *pair = (struct pair){.client_rule = ""};
    make_pair(pair->fds);
    pair->client = session_of(client, pair->fds[0], CLUSTER_TLS_CLIENT);
    pair->server = session_of(server, pair->fds[1], CLUSTER_TLS_SERVER);
    shake(pair);
}

static void part(struct pair *pair)
{
    cluster_tls_release(&pair->client);
    cluster_tls_release(&pair->server);
    close(pair->fds[0]);
    close(pair->fds[1]);
}

/* r[verify cluster.link.peer] */
static void each_side_learns_the_name_of_the_other(void **state)
{
    struct stage stage;
    struct pair pair;

    (void)state;
    open_stage(&stage);
    meet(&pair, stage.ana, stage.node);
    assert_int_equal(pair.client_end, 1);
    assert_int_equal(pair.server_end, 1);
    assert_int_equal(cluster_tls_peer(pair.client)->kind, CLUSTER_PEER_NODE);
    assert_int_equal(cluster_tls_peer(pair.client)->node, 3);
    assert_int_equal(cluster_tls_peer(pair.server)->kind, CLUSTER_PEER_CLIENT);
    assert_int_equal(cluster_tls_peer(pair.server)->role, CLUSTER_PEER_OPERATOR);
    assert_string_equal(cluster_tls_peer(pair.server)->name, "ana");
    part(&pair);
    close_stage(&stage);
}

/* Rewrites the folder of ana and meets the node with it. */
static void meet_as(struct stage *stage, struct pair *pair, const struct cluster_ca *by,
                    const struct cluster_peer_name *name, uint64_t at_s)
{
    cluster_tls_context_release(&stage->ana);
    write_identity_at(stage->folders[ANA], by, name, "client", at_s);
    assert_int_equal(cluster_tls_open(stage->folders[ANA], "client", &stage->ana), 0);
    meet(pair, stage->ana, stage->node);
}

static void expect(struct pair *pair, int server, const char *rule, const char *server_text,
                   const char *client_text)
{
    assert_int_equal(pair->server_end, server);
    assert_string_equal(pair->server_rule, rule);
    assert_non_null(strstr(pair->server_text, server_text));
    assert_int_equal(pair->client_end, RAPAHUB_EACCES);
    assert_non_null(strstr(pair->client_text, client_text));
    part(pair);
}

/* r[verify cluster.link.certificate] */
static void a_certificate_out_of_its_time_is_refused(void **state)
{
    struct stage stage;
    struct pair pair;
    struct cluster_peer_name ana;

    (void)state;
    open_stage(&stage);
    ana = client_name(&stage.ca, CLUSTER_PEER_ADMIN, "ana");
    meet_as(&stage, &pair, &stage.ca, &ana, wall_s() - 91 * CLUSTER_CA_DAY_S);
    assert_int_equal(cluster_tls_check_dates(stage.ana), RAPAHUB_EACCES);
    expect(&pair, RAPAHUB_EACCES, "cluster.link.certificate", "it has expired", "it has expired");
    meet_as(&stage, &pair, &stage.ca, &ana, wall_s() + CLUSTER_CA_DAY_S);
    assert_int_equal(cluster_tls_check_dates(stage.ana), RAPAHUB_EACCES);
    expect(&pair, RAPAHUB_EACCES, "cluster.link.certificate", "it is not valid yet",
           "not valid yet");
    meet_as(&stage, &pair, &stage.ca, &ana, wall_s());
    assert_int_equal(cluster_tls_check_dates(stage.ana), 0);
    assert_int_equal(pair.server_end, 1);
    part(&pair);
    close_stage(&stage);
}

/* Both authorities say that they are of the same cluster. */
static void a_certificate_of_another_authority_is_refused(void **state)
{
    struct stage stage;
    struct pair pair;
    struct cluster_peer_name ana;
    struct cluster_ca forged;

    (void)state;
    open_stage(&stage);
    make_authority(&forged, 7);
    ana = client_name(&forged, CLUSTER_PEER_ADMIN, "ana");
    meet_as(&stage, &pair, &forged, &ana, wall_s());
    assert_int_equal(pair.client_end, RAPAHUB_EACCES); /* it sees the node's first */
    assert_non_null(strstr(pair.client_text, "no authority that is trusted here"));
    part(&pair);
    /* A liar who trusts the node's authority. */
    assert_int_equal(
        X509_STORE_add_cert(SSL_CTX_get_cert_store(stage.ana->ssl), stage.ca.certificate), 1);
    meet(&pair, stage.ana, stage.node);
    expect(&pair, RAPAHUB_EACCES, "cluster.link.certificate", "no authority that is trusted here",
           "no authority that is trusted there");
    cluster_ca_fini(&forged);
    close_stage(&stage);
}

/* The authority of a cluster signs no name of another one; a stolen key would. */
static void a_name_of_another_cluster_is_refused(void **state)
{
    struct stage stage;
    struct pair pair;
    struct cluster_peer_name ana;

    (void)state;
    open_stage(&stage);
    memset(stage.ca.uuid, 8, sizeof stage.ca.uuid);
    ana = client_name(&stage.ca, CLUSTER_PEER_ADMIN, "ana");
    meet_as(&stage, &pair, &stage.ca, &ana, wall_s());
    assert_int_equal(pair.server_end, RAPAHUB_EACCES);
    assert_string_equal(pair.server_rule, "cluster.link.peer");
    assert_non_null(strstr(pair.server_text, "it is of another cluster"));
    assert_string_equal(pair.client_rule, "cluster.link.peer");
    part(&pair);
    close_stage(&stage);
}

/* r[verify cluster.link.tls] */
static void an_older_tls_is_refused(void **state)
{
    struct stage stage;
    struct pair pair;

    (void)state;
    open_stage(&stage);
    assert_int_equal(SSL_CTX_set_min_proto_version(stage.ana->ssl, TLS1_2_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(stage.ana->ssl, TLS1_2_VERSION), 1);
    meet(&pair, stage.ana, stage.node);
    assert_int_equal(pair.server_end, RAPAHUB_EPROTOCOL);
    assert_string_equal(pair.server_rule, "cluster.link.tls");
    assert_int_equal(pair.client_end, RAPAHUB_EPROTOCOL);
    assert_non_null(strstr(pair.client_text, "does not speak TLS 1.3"));
    part(&pair);
    close_stage(&stage);
}

static void without_a_certificate_nothing_goes(void **state)
{
    struct cluster_tls_context bare;
    struct stage stage;
    struct pair pair;

    (void)state;
    open_stage(&stage);
    bare = *stage.ana;
    bare.ssl = SSL_CTX_new(TLS_method());
    assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(bare.ssl), stage.ca.certificate),
                     1);
    meet(&pair, &bare, stage.node);
    assert_int_equal(pair.server_end, RAPAHUB_EACCES);
    assert_non_null(strstr(pair.server_text, "has no certificate"));
    assert_non_null(strstr(pair.client_text, "there was none"));
    part(&pair);
    SSL_CTX_free(bare.ssl);
    close_stage(&stage);
}

static size_t revoked_size;
static unsigned revoked_asked;

static bool is_revoked(void *user, const uint8_t *serial, size_t size)
{
    (void)user, (void)serial;
    revoked_asked++;
    revoked_size = size;
    return true;
}

/* r[verify cluster.link.certificate] */
static void a_revoked_certificate_is_refused(void **state)
{
    static const struct cluster_tls_hooks hooks = {is_revoked};
    struct cluster_tls_options options = {.side = CLUSTER_TLS_SERVER, .hooks = &hooks};
    struct stage stage;
    struct pair pair = {.client_rule = ""};

    (void)state;
    open_stage(&stage);
    options.deadline_ns = hub_clock_after(60 * HUB_SECOND);
    make_pair(pair.fds);
    pair.client = session_of(stage.ana, pair.fds[0], CLUSTER_TLS_CLIENT);
    assert_int_equal(cluster_tls_create(stage.node, pair.fds[1], &options, &pair.server), 0);
    shake(&pair);
    assert_int_equal(revoked_asked, 1);
    assert_int_equal(revoked_size, 16);
    expect(&pair, RAPAHUB_EACCES, "cluster.link.certificate", "revoked", "it has been revoked");
    close_stage(&stage);
}

/* A client takes no client for a node. */
static void a_client_is_no_node(void **state)
{
    struct stage stage;
    struct pair pair;

    (void)state;
    open_stage(&stage);
    meet(&pair, stage.ana, stage.ana);
    assert_true(pair.client_end < 0);
    part(&pair);
    close_stage(&stage);
}

/* r[verify cluster.link.handshake] */
static void a_handshake_ends_in_time(void **state)
{
    struct cluster_tls_options options = {.side = CLUSTER_TLS_SERVER};
    struct cluster_tls *tls;
    struct stage stage;
    int fds[2];

    (void)state;
    open_stage(&stage);
    make_pair(fds);
    options.deadline_ns = hub_clock_after(HUB_SECOND);
    assert_int_equal(cluster_tls_create(stage.node, fds[1], &options, &tls), 0);
    assert_int_equal(cluster_tls_handshake(tls), 0);
    assert_int_equal(cluster_tls_events(tls), POLLIN);
    assert_int_equal(cluster_tls_table.due(tls), options.deadline_ns);
    assert_int_equal(send(fds[0], "\x16\x03\x01", 3, 0), 3);
    while (hub_clock_left(options.deadline_ns) > 0)
        assert_true(cluster_tls_handshake(tls) == 0 || hub_clock_left(options.deadline_ns) == 0);
    assert_int_equal(cluster_tls_handshake(tls), RAPAHUB_ETIMEDOUT);
    assert_string_equal(rapahub_last_error()->rule, "cluster.link.handshake");
    cluster_tls_release(&tls);
    close(fds[0]);
    close(fds[1]);
    close_stage(&stage);
}

/* r[verify cluster.link.tls] */
static void what_is_no_tls_is_refused(void **state)
{
    static const char texts[][24] = {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
                                     "\x16\x03\x01\x00\x05hello-hello", "\x17\x03\x03\x00\x02hi"};
    struct stage stage;

    (void)state;
    open_stage(&stage);
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cluster_tls *tls;
        int fds[2];

        make_pair(fds);
        tls = session_of(stage.node, fds[1], CLUSTER_TLS_SERVER);
        assert_int_equal(send(fds[0], texts[i], sizeof texts[i], 0), (ssize_t)sizeof texts[i]);
        assert_int_equal(cluster_tls_handshake(tls), RAPAHUB_EPROTOCOL);
        assert_string_equal(rapahub_last_error()->rule, "cluster.link.tls");
        assert_non_null(strstr(rapahub_last_error()->text, "does not speak TLS 1.3"));
        cluster_tls_release(&tls);
        close(fds[0]);
        close(fds[1]);
    }
    close_stage(&stage);
}

/* r[verify cluster.link.key] */
static void files_that_do_not_fit_are_named(void **state)
{
    struct cluster_tls_context *context = NULL;
    char path[IDENTITY_PATH + 16];
    struct stage stage;

    (void)state;
    open_stage(&stage);
    snprintf(path, sizeof path, "%s/client.key", stage.folders[ANA]);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(cluster_tls_open(stage.folders[ANA], "client", &context), RAPAHUB_EACCES);
    assert_string_equal(rapahub_last_error()->rule, "cluster.link.key");
    assert_non_null(strstr(rapahub_last_error()->text, "client.key: others may use this key"));
    assert_int_equal(truncate(path, 20), 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(cluster_tls_open(stage.folders[ANA], "client", &context), RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "client.key: "));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(cluster_tls_open(stage.folders[ANA], "client", &context), RAPAHUB_ENOENT);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(cluster_tls_open(stage.folders[ANA], "client", &context), RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "it is no file"));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* nothing waits for who writes into it */
    assert_int_equal(cluster_tls_open(stage.folders[ANA], "client", &context), RAPAHUB_EINVAL);
    assert_null(context);
    close_stage(&stage);
}

/* The certificate of one with the key of the other. */
static void a_key_of_another_certificate_is_refused(void **state)
{
    struct cluster_tls_context *context = NULL;
    char from[IDENTITY_PATH + 16], to[IDENTITY_PATH + 16];
    struct stage stage;

    (void)state;
    open_stage(&stage);
    snprintf(from, sizeof from, "%s/node.key", stage.folders[NODE]);
    snprintf(to, sizeof to, "%s/client.key", stage.folders[ANA]);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(cluster_tls_open(stage.folders[ANA], "client", &context), RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "client.key: "));
    close_stage(&stage);
}

/* r[verify cluster.link.revoked] */
static void a_renewed_certificate_is_taken_and_another_name_is_not(void **state)
{
    struct cluster_peer_name name;
    struct stage stage;

    (void)state;
    open_stage(&stage);
    cluster_tls_context_release(&stage.node);
    name = node_name(&stage.ca, 3);
    write_identity_at(stage.folders[NODE], &stage.ca, &name, "node",
                      wall_s() - 200 * CLUSTER_CA_DAY_S);
    assert_int_equal(cluster_tls_open(stage.folders[NODE], "node", &stage.node), 0);
    assert_int_equal(cluster_tls_check_dates(stage.node), RAPAHUB_EACCES);
    write_node(stage.folders[NODE], &stage.ca, 3);
    assert_int_equal(cluster_tls_context_renew(stage.node, stage.folders[NODE], "node"), 0);
    assert_int_equal(cluster_tls_check_dates(stage.node), 0);
    write_node(stage.folders[NODE], &stage.ca, 4);
    assert_int_equal(cluster_tls_context_renew(stage.node, stage.folders[NODE], "node"),
                     RAPAHUB_EACCES);
    assert_int_equal(cluster_tls_check_dates(stage.node), 0);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_side_learns_the_name_of_the_other),
        cmocka_unit_test(a_certificate_out_of_its_time_is_refused),
        cmocka_unit_test(a_certificate_of_another_authority_is_refused),
        cmocka_unit_test(a_name_of_another_cluster_is_refused),
        cmocka_unit_test(an_older_tls_is_refused),
        cmocka_unit_test(without_a_certificate_nothing_goes),
        cmocka_unit_test(a_revoked_certificate_is_refused),
        cmocka_unit_test(a_client_is_no_node),
        cmocka_unit_test(a_handshake_ends_in_time),
        cmocka_unit_test(what_is_no_tls_is_refused),
        cmocka_unit_test(files_that_do_not_fit_are_named),
        cmocka_unit_test(a_key_of_another_certificate_is_refused),
        cmocka_unit_test(a_renewed_certificate_is_taken_and_another_name_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
