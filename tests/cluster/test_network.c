/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that come over the network: the command line, programs, a node that dies, and whatever a
 * client gets told that cannot be served. */
#include <sys/wait.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/cluster/network_stage.h"
#include "tests/support/testing.h"

#define SECOND UINT64_C(1000000000)

static const char pools[] =
    "pools:\n"
    "  - pool_name: tally\n"
    "    module: " TEST_PREFIX "/bin/counter.so\n"
    "    containers: 2\n"
    "    durability: acked\n"
    "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n";

static void run(const struct network *network, const char *const words[], const char *expected)
{
    struct process_result result;

    if (node_process_rapahub(&network->node, words, &result) != 0 || !strstr(result.out, expected))
        fail_msg("%s %s: %s%s", words[0], words[1], result.out, result.err);
    process_result_fini(&result);
}

/* A client of a folder, and what it gets told where it is not served. */
static int open_with(const char *const nodes[], const char *tls, struct rapahub_client **out)
{
    const struct rapahub_client_options options = {
        .nodes = nodes, .tls = tls, .wait_ns = 10 * SECOND};

    return rapahub_client_open(&options, out);
}

static int open_as(const struct network *network, const char *tls, struct rapahub_client **out)
{
    const char *const nodes[] = {network->node.address, NULL};

    return open_with(nodes, tls, out);
}

static void expect_refusal(const struct network *network, const char *tls, int code,
                           const char *text)
{
    struct rapahub_client *client = NULL;

    assert_int_equal(open_as(network, tls, &client), code);
    if (!strstr(rapahub_last_error()->text, text))
        fail_msg("'%s' is not in '%s'", text, rapahub_last_error()->text);
    assert_null(client);
}

/* r[verify cluster.client.network] */
static void the_command_line_works_over_the_network(void **state)
{
    struct process_result result;
    struct network network;

    (void)state;
    network_open(&network);
    node_process_apply(&network.node, pools);
    run(&network, (const char *[]){"call", "tally#1.add", "40", NULL}, "40");
    run(&network, (const char *[]){"call", "tally#1.add", "2", NULL}, "42");
    run(&network, (const char *[]){"get", "pools", NULL}, "tally");
    run(&network, (const char *[]){"describe", "pool", "tally", NULL}, "ACTIVE");
    run(&network, (const char *[]){"node", "ps", NULL}, "tally");
    run(&network, (const char *[]){"node", "status", NULL}, network.node.address);
    run(&network, (const char *[]){"module", "ls", NULL}, "counter");
    run(&network, (const char *[]){"delete", "tally", NULL}, "");
    assert_int_not_equal(node_process_rapahub(&network.node,
                                              (const char *[]){"call", "talli.add", "1", NULL},
                                              &result),
                         0);
    assert_non_null(strstr(result.err, "there is no pool 'talli'"));
    assert_non_null(strstr(result.err, "rapahub get pools"));
    process_result_fini(&result);
    network_close(&network);
}

/* r[verify cluster.client.role] r[verify cluster.client.network] */
static void a_client_has_the_role_of_its_certificate(void **state)
{
    static const char *const add[] = {"call", "tally#0.add", "1", NULL};
    char viewer[IDENTITY_PATH], operator[IDENTITY_PATH];
    struct process_result result;
    struct network network;

    (void)state;
    network_open(&network);
    node_process_apply(&network.node, pools);
    snprintf(viewer, sizeof viewer, "%.200s/viewer", network.node.folder);
    snprintf(operator, sizeof operator, "%.200s/operator", network.node.folder);
    write_client(viewer, &network.ca, CLUSTER_PEER_VIEWER, "vera");
    write_client(operator, & network.ca, CLUSTER_PEER_OPERATOR, "oleg");
    assert_int_equal(setenv("RAPAHUB_CLIENT_TLS", viewer, 1), 0);
    run(&network, (const char *[]){"get", "pools", NULL}, "tally");
    assert_int_not_equal(node_process_rapahub(&network.node, add, &result), 0);
    assert_non_null(strstr(result.err, "a call takes an operator; you are a viewer"));
    assert_non_null(strstr(result.err, "hint: the role is that of the certificate"));
    process_result_fini(&result);
    assert_int_equal(setenv("RAPAHUB_CLIENT_TLS", operator, 1), 0);
    run(&network, add, "1");
    assert_int_not_equal(
        node_process_rapahub(&network.node, (const char *[]){"delete", "tally", NULL}, &result), 0);
    assert_non_null(strstr(result.err, "admin"));
    assert_non_null(strstr(result.err, "hint: the role is that of the certificate"));
    process_result_fini(&result);
    network_close(&network);
}

static int count(struct rapahub_client *client, struct rapahub_container_id tally, int64_t *out)
{
    const int64_t one = 1;
    const void *const arguments[] = {&one, NULL};
    const struct rapahub_call call = {
        .target = tally, .method = "add(i64) -> i64", .arguments = arguments};

    return rapahub_client_call(client, &call, out);
}

/* r[verify cluster.client.network] */
static void shared_memory_stays_on_its_machine(void **state)
{
    struct network network;
    struct rapahub_client *client;
    const char *nodes[] = {NULL, NULL};
    struct rapahub_client_options options = {.nodes = nodes,
                                             .tls = network.ana,
                                             .wait_ns = 10 * SECOND,
                                             .transport = RAPAHUB_CLIENT_SHARED_MEMORY};

    (void)state;
    network_open(&network);
    nodes[0] = network.node.address;
    assert_int_equal(rapahub_client_open(&options, &client), RAPAHUB_ENOTSUP);
    nodes[0] = network.local;
    assert_int_equal(rapahub_client_open(&options, &client), 0);
    rapahub_client_close(client);
    network_close(&network);
}

static void read_serial(const char *folder, char to[CLUSTER_CERTIFICATE_SERIAL_TEXT])
{
    char path[IDENTITY_PATH + 16], text[8192];
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct cluster_peer_name name;
    struct x509_st *certificate = NULL;
    size_t size;
    FILE *file;

    snprintf(path, sizeof path, "%s/client.pem", folder);
    file = fopen(path, "re");
    assert_non_null(file);
    size = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_int_equal(
        cluster_certificate_read((struct rapahub_bytes){(const uint8_t *)text, size}, &certificate),
        0);
    assert_int_equal(cluster_certificate_peer(certificate, &name, serial, &size), 0);
    cluster_certificate_serial_text(serial, size, to);
    cluster_certificate_release(&certificate);
}

/* r[verify cluster.link.revoked] r[verify cluster.link.certificate] */
static void a_certificate_that_is_revoked_is_good_for_nothing(void **state)
{
    struct rapahub_container_id tally = {{0, 0}, 0};
    struct rapahub_client *client, *good;
    char bob[IDENTITY_PATH], serial[CLUSTER_CERTIFICATE_SERIAL_TEXT];
    const char *nodes[] = {NULL, NULL};
    const struct rapahub_client_options options = {
        .nodes = nodes, .tls = bob, .wait_ns = 10 * SECOND, .call_timeout_ns = SECOND};
    struct network network;
    int64_t sum = 0;
    int r = 0;

    (void)state;
    network_open(&network);
    node_process_apply(&network.node, pools);
    snprintf(bob, sizeof bob, "%.200s/bob", network.node.folder);
    write_client(bob, &network.ca, CLUSTER_PEER_OPERATOR, "bob");
    read_serial(bob, serial);
    assert_int_equal(open_as(&network, network.ana, &good), 0);
    nodes[0] = network.node.address;
    assert_int_equal(rapahub_client_open(&options, &client), 0);
    assert_int_equal(rapahub_client_pool(client, "tally", &tally.pool), 0);
    assert_int_equal(count(client, tally, &sum), 0);
    run(&network, (const char *[]){"node", "revoke", serial, NULL}, "");
    for (int ms = 0; ms < 5000 && r == 0; ms++) { /* its link ends, and no other is taken */
        r = count(client, tally, &sum);
        pause_ms(1);
    }
    if (r != RAPAHUB_ETIMEDOUT && r != RAPAHUB_ENETTIMEOUT)
        fail_msg("%s: %s", rapahub_error_name(r), rapahub_last_error()->text);
    r = count(client, tally, &sum); /* it was away from the start */
    assert_true(r == RAPAHUB_ETIMEDOUT || r == RAPAHUB_ENETTIMEOUT);
    if (!strstr(rapahub_last_error()->text, "revoked"))
        fail_msg("%s", rapahub_last_error()->text);
    rapahub_client_close(client);
    expect_refusal(&network, bob, RAPAHUB_EACCES, "revoked");
    assert_int_equal(count(good, tally, &sum), 0); /* its neighbour goes on */
    rapahub_client_close(good);
    network_close(&network);
}

/* r[verify cluster.client.again] */
static void a_client_outlasts_the_node(void **state)
{
    struct rapahub_container_id tally = {{0, 0}, 0};
    struct rapahub_client *client;
    struct network network;
    int64_t sum = 0;

    (void)state;
    network_open(&network);
    node_process_apply(&network.node, pools);
    assert_int_equal(open_as(&network, network.ana, &client), 0);
    assert_int_equal(rapahub_client_pool(client, "tally", &tally.pool), 0);
    assert_int_equal(count(client, tally, &sum), 0);
    assert_int_equal(sum, 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(node_process_kill_daemon(&network.node));
        if (count(client, tally, &sum) != 0)
            fail_msg("a call after a death of the node: %s", rapahub_last_error()->text);
    }
    assert_int_equal(rapahub_client_current_transport(client), RAPAHUB_CLIENT_SOCKET);
    rapahub_client_close(client);
    network_close(&network);
}

/* r[verify cluster.client.again] */
static void the_next_node_is_taken_where_one_does_not_answer(void **state)
{
    struct rapahub_client *client;
    struct network network;
    char nobody[64], unix_path[NODE_PROCESS_PATH + 8];
    const char *nodes[] = {nobody, unix_path, network.node.address, NULL};

    (void)state;
    network_open(&network);
    snprintf(nobody, sizeof nobody, "127.0.0.1:%u", network_free_port());
    snprintf(unix_path, sizeof unix_path, "%s.no", network.local);
    assert_int_equal(open_with(nodes, network.ana, &client), 0);
    rapahub_client_close(client);
    nodes[2] = NULL;
    assert_int_equal(open_with((const char *[]){nobody, NULL}, network.ana, &client),
                     RAPAHUB_ENETTIMEOUT);
    assert_non_null(strstr(rapahub_last_error()->text, "nobody listens there"));
    network_close(&network);
}

/* A renewed certificate is read for the next connection. r[verify cluster.client.certificate] */
static void a_certificate_is_looked_at_before_it_is_shown(void **state)
{
    struct network network;
    struct cluster_peer_name bea;
    struct rapahub_client *client;
    char folder[IDENTITY_PATH];

    (void)state;
    network_open(&network);
    bea = client_name(&network.ca, CLUSTER_PEER_OPERATOR, "bea");
    snprintf(folder, sizeof folder, "%.200s/bea", network.node.folder);
    expect_refusal(&network, folder, RAPAHUB_ENOENT, "client.pem");
    write_identity_at(folder, &network.ca, &bea, "client", wall_s() - 91 * CLUSTER_CA_DAY_S);
    expect_refusal(&network, folder, RAPAHUB_EACCES, "bea/client.pem: ");
    write_identity_at(folder, &network.ca, &bea, "client", wall_s() + CLUSTER_CA_DAY_S);
    expect_refusal(&network, folder, RAPAHUB_EACCES, "bea/client.pem: ");
    write_identity_at(folder, &network.ca, &bea, "client", wall_s());
    assert_int_equal(open_as(&network, folder, &client), 0);
    rapahub_client_close(client);
    network_close(&network);
}

/* r[verify cluster.client.network] */
static void a_client_is_told_why_it_is_refused(void **state)
{
    struct network network;
    struct cluster_peer_name name;
    struct cluster_ca forged;
    char folder[IDENTITY_PATH], plain[64];
    const char *nodes[] = {plain, NULL};
    struct rapahub_client *client;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
    pid_t server;

    (void)state;
    network_open(&network);
    snprintf(folder, sizeof folder, "%.200s/other", network.node.folder);
    name = node_name(&network.ca, 2);
    write_identity_at(folder, &network.ca, &name, "client", wall_s());
    expect_refusal(&network, folder, RAPAHUB_EACCES, "node 2 is no client");
    assert_int_equal(cluster_ca_make(network.ca.uuid, wall_s() - CLUSTER_CA_DAY_S, &forged), 0);
    name = client_name(&forged, CLUSTER_PEER_ADMIN, "eve");
    write_identity_at(folder, &forged, &name, "client", wall_s());
    expect_refusal(&network, folder, RAPAHUB_EACCES, "no authority that is trusted here");
    cluster_ca_fini(&forged);
    address.sin_port = htons(network_free_port());
    assert_int_equal(bind(listener, (void *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 4), 0);
    snprintf(plain, sizeof plain, "127.0.0.1:%u", ntohs(address.sin_port));
    server = fork();
    if (server == 0) { /* a server of another protocol */
        fd = accept(listener, NULL, NULL);
        _exit(send(fd, "220 mail.example ESMTP\r\n", 24, 0) == 24 ? 0 : 1);
    }
    assert_int_equal(open_with(nodes, network.ana, &client), RAPAHUB_EPROTOCOL);
    assert_non_null(strstr(rapahub_last_error()->text, "does not speak TLS 1.3"));
    assert_non_null(strstr(rapahub_last_error()->text, plain));
    assert_int_equal(waitpid(server, NULL, 0), server);
    close(listener);
    network_close(&network);
}

/* r[verify cluster.client.network] */
static void a_node_without_a_certificate_does_not_listen(void **state)
{
    const char *argv[] = {TEST_PREFIX "/bin/rapahubd",
                          "--data",
                          NULL,
                          "--run",
                          NULL,
                          "--listen",
                          "127.0.0.1:0",
                          NULL};
    char data[NODE_PROCESS_PATH + 8], runs[NODE_PROCESS_PATH + 8];
    struct process_result result;
    struct node_process node;

    (void)state;
    node_process_open(&node);
    snprintf(data, sizeof data, "%s/data", node.folder);
    snprintf(runs, sizeof runs, "%s/run", node.folder);
    argv[2] = data;
    argv[4] = runs;
    assert_int_equal(process_run_argv(argv, &result), 0);
    assert_int_not_equal(result.status, 0);
    assert_false(result.timed_out);
    assert_non_null(strstr(result.err, "this node has no certificate"));
    assert_non_null(strstr(result.err, "rapahub node init"));
    process_result_fini(&result);
    node_process_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_line_works_over_the_network),
        cmocka_unit_test(a_client_has_the_role_of_its_certificate),
        cmocka_unit_test(shared_memory_stays_on_its_machine),
        cmocka_unit_test(a_certificate_that_is_revoked_is_good_for_nothing),
        cmocka_unit_test(a_client_outlasts_the_node),
        cmocka_unit_test(the_next_node_is_taken_where_one_does_not_answer),
        cmocka_unit_test(a_certificate_is_looked_at_before_it_is_shown),
        cmocka_unit_test(a_client_is_told_why_it_is_refused),
        cmocka_unit_test(a_node_without_a_certificate_does_not_listen),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
