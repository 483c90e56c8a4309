/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever may come to the port of a node: each of these ends alone, with a rule that the node
 * counts, while a good client is served on. */
#include <inttypes.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "cluster/link/tcp.h"
#include "cluster/link/tls.h"
#include "cluster/link/tls_context.h"
#include "cluster/wire/frame.h"
#include "tests/cluster/network_stage.h"
#include "tests/support/testing.h"

#define CONNECTIONS_SHORT 1000u
#define SOON_MS           20000
#define STATUS            "status() -> string"

/* ---- the good client ---- */

struct good {
    struct rapahub_client *client;
    pthread_t thread;
    atomic_bool ends;
    unsigned calls, failures;
    uint64_t longest_ns;
};

static int ask(struct rapahub_client *client, struct rapahub_string *out)
{
    const struct rapahub_call call = {.target = {{UINT32_MAX, 16}, 0}, .method = STATUS};

    return rapahub_client_call(client, &call, out);
}

static void *be_good(void *user)
{
    struct good *good = user;

    while (!good->ends) {
        uint64_t then = hub_clock_now(), took;
        struct rapahub_string text;

        good->failures += ask(good->client, &text) != 0;
        good->calls++;
        took = hub_clock_now() - then;
        good->longest_ns = took > good->longest_ns ? took : good->longest_ns;
        pause_ms(2);
    }
    return NULL;
}

static void begin_good(const struct network *network, struct good *good)
{
    const char *const nodes[] = {network->node.address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes, .tls = network->ana};

    *good = (struct good){.calls = 0};
    assert_int_equal(rapahub_client_open(&options, &good->client), 0);
    assert_int_equal(pthread_create(&good->thread, NULL, be_good, good), 0);
}

static void end_good(struct good *good, const char *beside)
{
    good->ends = true;
    pthread_join(good->thread, NULL);
    rapahub_client_close(good->client);
    printf("%s: a client beside it made %u calls, of which %u failed; the longest took %.1f ms\n",
           beside, good->calls, good->failures, (double)good->longest_ns / 1e6);
    assert_true(good->calls > 0);
    assert_int_equal(good->failures, 0);
}

/* ---- figures ---- */

static uint64_t figure(const struct network *network, const char *name)
{
    const char *const nodes[] = {network->local, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};
    struct rapahub_client *client;
    struct rapahub_string text;
    char wanted[80], all[4096];
    const char *at;

    assert_int_equal(rapahub_client_open(&options, &client), 0);
    assert_int_equal(ask(client, &text), 0);
    snprintf(all, sizeof all, "%.*s", (int)text.size, text.data);
    rapahub_client_close(client);
    snprintf(wanted, sizeof wanted, "\"%s\":", name);
    at = strstr(all, wanted);
    return at ? strtoull(at + strlen(wanted) + strspn(at + strlen(wanted), " \""), NULL, 10) : 0;
}

static void await_figure(const struct network *network, const char *name, uint64_t least)
{
    uint64_t is = 0;

    for (int ms = 0; ms < SOON_MS && is < least; ms += 20) {
        is = figure(network, name);
        if (is < least)
            pause_ms(20);
    }
    if (is < least)
        fail_msg("%s is %" PRIu64, name, is);
}

/* ---- bare connections ---- */

static int reach(const struct network *network)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(network->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (void *)&address, sizeof address), 0);
    return fd;
}

/* Waits until the node has closed it. */
static void await_close(int fd)
{
    char bytes[512];
    ssize_t n = 1;

    while (n > 0) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

        assert_int_equal(poll(&poll_fd, 1, SOON_MS), 1);
        n = recv(fd, bytes, sizeof bytes, 0);
    }
    close(fd);
}

static void say(const struct network *network, const char *bytes, size_t size)
{
    int fd = reach(network);

    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
    await_close(fd);
}

/* r[verify cluster.link.tls] r[verify cluster.client.broken] */
static void plain_text_ends_its_connection(void **state)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", zeros[4096];
    struct network network;
    struct good good;

    (void)state;
    network_open(&network);
    begin_good(&network, &good);
    for (unsigned i = 0; i < 50; i++) {
        say(&network, http, sizeof http);
        say(&network, zeros, sizeof zeros);
    }
    await_figure(&network, "cluster.link.tls", 100);
    end_good(&good, "plain text");
    network_close(&network);
}

/* r[verify cluster.link.handshake] */
static void half_a_handshake_and_a_slow_one_end_in_time(void **state)
{
    static const char begin[] = {0x16, 3, 1, 2, 0, 1, 0, 1, (char)0xfc, 3, 3};
    struct network network;
    struct good good;
    uint64_t then;
    int half, slow, silent;

    (void)state;
    network_open(&network);
    begin_good(&network, &good);
    then = hub_clock_now();
    half = reach(&network);
    slow = reach(&network);
    silent = reach(&network);
    assert_int_equal(send(half, begin, sizeof begin, MSG_NOSIGNAL), (ssize_t)sizeof begin);
    for (unsigned i = 0; i < 60 && send(slow, begin + i % 11, 1, MSG_NOSIGNAL) == 1; i++)
        pause_ms(100);
    await_close(half);
    await_close(silent);
    assert_true(hub_clock_now() - then < 15 * HUB_SECOND);
    close(slow);
    await_figure(&network, "cluster.link.handshake", 2);
    end_good(&good, "half a handshake");
    network_close(&network);
}

/* r[verify cluster.link.handshake] */
static void a_thousand_connections_leave_a_place(void **state)
{
    const char *wanted = getenv("RAPAHUB_TEST_CONNECTIONS");
    unsigned count = wanted ? (unsigned)strtoul(wanted, NULL, 10) : CONNECTIONS_SHORT;
    struct rlimit files;
    struct network network;
    struct good good;
    int *fds = calloc(count, sizeof *fds);

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_true(fds && files.rlim_cur > count + 100);
    network_open(&network);
    begin_good(&network, &good);
    for (unsigned i = 0; i < count; i++)
        fds[i] = reach(&network);
    await_figure(&network, "cluster.link.handshake", count - 64);
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    end_good(&good, "many connections");
    network_close(&network);
    free(fds);
}

/* ---- sessions ---- */

struct session {
    int fd;
    struct cluster_tls *tls;
};

static void connect_session(const struct network *network,
                            const struct cluster_tls_context *context, struct session *out)
{
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_CLIENT,
                                                .deadline_ns = hub_clock_after(20 * HUB_SECOND)};

    out->fd = reach(network);
    assert_int_equal(cluster_tls_create(context, out->fd, &options, &out->tls), 0);
}

static void end_session(struct session *session)
{
    cluster_tls_release(&session->tls);
    close(session->fd);
}

/* Returns how the handshake ends for the client, or what it reads first. */
static int shake(struct session *session, char *bytes, size_t room)
{
    struct hub_received received = {.bytes = bytes, .room = room};
    int r = 0;

    for (int ms = 0; r == 0 && ms < SOON_MS; ms += 100) {
        struct pollfd fd = {.fd = session->fd};

        r = cluster_tls_table.receive(session->tls, session->fd, &received);
        fd.events = cluster_tls_table.events(session->tls, false);
        if (r == 0)
            (void)poll(&fd, 1, 100);
    }
    return r;
}

/* Comes with a folder, whatever is in it, and is refused by a rule. */
static void be_refused(const struct network *network, const char *folder, const char *rule)
{
    uint64_t before = figure(network, rule);
    struct cluster_tls_context *context;
    struct session session;
    char bytes[512];
    int r;

    assert_int_equal(cluster_tls_open(folder, "client", &context), 0);
    connect_session(network, context, &session);
    r = shake(&session, bytes, sizeof bytes); /* a name of another cluster it refuses, too */
    if (r > 0)
        assert_int_equal(bytes[4], CLUSTER_FRAME_CLOSE); /* it is told why */
    else
        assert_int_equal(r, RAPAHUB_EACCES);
    await_figure(network, rule, before + 1);
    end_session(&session);
    cluster_tls_context_release(&context);
}

/* Comes with the certificate of a node, and says nothing: that is no client, and not a node for
 * long. */
static void be_silent_as_node(const struct network *network, const char *folder)
{
    uint64_t before = figure(network, "cluster.nodes.hello");
    struct cluster_tls_context *context;
    struct session session;
    char bytes[512];

    assert_int_equal(cluster_tls_open(folder, "client", &context), 0);
    connect_session(network, context, &session);
    assert_true(shake(&session, bytes, sizeof bytes) > 0);
    assert_int_not_equal(bytes[4], CLUSTER_FRAME_CLOSE);
    await_figure(network, "cluster.nodes.hello", before + 1);
    end_session(&session);
    cluster_tls_context_release(&context);
}

/* The one who forges trusts the node, or would see its certificate first. */
static void be_forged(const struct network *network, const struct cluster_ca *by,
                      const char *folder)
{
    const struct cluster_peer_name eve = client_name(by, CLUSTER_PEER_ADMIN, "eve");
    struct cluster_tls_context *context;
    struct session session;
    char bytes[512];

    write_identity_at(folder, by, &eve, "client", wall_s());
    assert_int_equal(cluster_tls_open(folder, "client", &context), 0);
    assert_int_equal(
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context->ssl), network->ca.certificate), 1);
    connect_session(network, context, &session);
    assert_int_equal(shake(&session, bytes, sizeof bytes), RAPAHUB_EACCES);
    assert_non_null(strstr(rapahub_last_error()->text, "no authority that is trusted there"));
    end_session(&session);
    cluster_tls_context_release(&context);
}

/* r[verify cluster.link.certificate] r[verify cluster.link.peer] */
static void certificates_that_are_of_no_use_are_refused(void **state)
{
    struct network network;
    struct cluster_peer_name name;
    struct cluster_ca forged, stolen;
    struct good good;
    char folder[IDENTITY_PATH];
    uint64_t before;

    (void)state;
    network_open(&network);
    begin_good(&network, &good);
    snprintf(folder, sizeof folder, "%.200s/bad", network.node.folder);
    name = client_name(&network.ca, CLUSTER_PEER_ADMIN, "eve");
    write_identity_at(folder, &network.ca, &name, "client", wall_s() - 91 * CLUSTER_CA_DAY_S);
    be_refused(&network, folder, "cluster.link.certificate");
    write_identity_at(folder, &network.ca, &name, "client", wall_s() + CLUSTER_CA_DAY_S);
    be_refused(&network, folder, "cluster.link.certificate");
    name = node_name(&network.ca, 7);
    write_identity_at(folder, &network.ca, &name, "client", wall_s());
    be_silent_as_node(&network, folder);
    stolen = network.ca; /* its key makes names of another cluster */
    memset(stolen.uuid, 8, sizeof stolen.uuid);
    name = client_name(&stolen, CLUSTER_PEER_ADMIN, "eve");
    write_identity_at(folder, &stolen, &name, "client", wall_s());
    be_refused(&network, folder, "cluster.link.peer");
    before = figure(&network, "cluster.link.certificate");
    assert_int_equal(cluster_ca_make(network.ca.uuid, wall_s() - CLUSTER_CA_DAY_S, &forged), 0);
    be_forged(&network, &forged, folder);
    await_figure(&network, "cluster.link.certificate", before + 1);
    cluster_ca_fini(&forged);
    end_good(&good, "certificates");
    network_close(&network);
}

/* r[verify cluster.link.tls] */
static void an_older_tls_is_refused(void **state)
{
    struct network network;
    struct good good;
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    SSL *ssl;
    int fd;

    (void)state;
    assert_int_equal(SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION), 1);
    network_open(&network);
    begin_good(&network, &good);
    fd = reach(&network);
    ssl = SSL_new(context);
    assert_int_equal(SSL_set_fd(ssl, fd), 1);
    assert_true(SSL_connect(ssl) <= 0);
    await_figure(&network, "cluster.link.tls", 1);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    end_good(&good, "TLS 1.2");
    network_close(&network);
}

/* Sends bytes by a session with a good certificate, and awaits the end of the connection. */
static void send_frames(const struct network *network, const void *bytes, size_t size)
{
    struct cluster_tls_context *context;
    struct session session;
    ssize_t n = 0;
    char got[512];
    int r = 1;

    assert_int_equal(cluster_tls_open(network->ana, "client", &context), 0);
    connect_session(network, context, &session);
    for (int ms = 0; n == 0 && ms < SOON_MS; ms++) {
        n = cluster_tls_table.send(session.tls, session.fd, bytes, size, NULL);
        pause_ms(n == 0 ? 1 : 0);
    }
    assert_int_equal(n, (ssize_t)size);
    while (r > 0)
        r = shake(&session, got, sizeof got);
    assert_int_equal(r, RAPAHUB_ECLOSED);
    end_session(&session);
    cluster_tls_context_release(&context);
}

/* r[verify cluster.frame.checksum] r[verify cluster.client.broken] */
static void bad_frames_after_the_handshake_end_their_connection(void **state)
{
    uint8_t garbage[4096], frame[CLUSTER_FRAME_SIZE];
    struct network network;
    struct good good;

    (void)state;
    network_open(&network);
    begin_good(&network, &good);
    for (unsigned i = 0; i < sizeof garbage; i++)
        garbage[i] = (uint8_t)(i * 37 + 11);
    send_frames(&network, garbage, sizeof garbage);
    cluster_frame_write(&(struct cluster_frame){.type = CLUSTER_FRAME_PING}, frame);
    frame[CLUSTER_FRAME_SIZE - 1] ^= 1;
    send_frames(&network, frame, sizeof frame);
    await_figure(&network, "cluster.frame.checksum", 2);
    frame[CLUSTER_FRAME_SIZE - 1] ^= 1;
    cluster_frame_write(&(struct cluster_frame){.type = CLUSTER_FRAME_CLOSE, .body_size = 4},
                        frame);
    memset(garbage, 0xff, sizeof garbage);
    memcpy(garbage, frame, sizeof frame);
    send_frames(&network, garbage, sizeof garbage);
    end_good(&good, "bad frames");
    network_close(&network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_ends_its_connection),
        cmocka_unit_test(half_a_handshake_and_a_slow_one_end_in_time),
        cmocka_unit_test(a_thousand_connections_leave_a_place),
        cmocka_unit_test(certificates_that_are_of_no_use_are_refused),
        cmocka_unit_test(an_older_tls_is_refused),
        cmocka_unit_test(bad_frames_after_the_handshake_end_their_connection),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
