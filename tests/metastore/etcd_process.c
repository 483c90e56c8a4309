/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/etcd_process.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/metastore/etcd/etcd.h"
#include "hub/base/clock.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define LIVES_NS (120 * HUB_SECOND)
#define WORDS    40
#define TEXT     256

bool etcd_process_possible(void)
{
    struct process_result result;
    int r;

    if (!process_possible())
        return false;
    r = process_run_argv((const char *[]){"etcd", "--version", NULL}, &result);
    if (r < 0) {
        fprintf(stderr, "SKIPPED: etcd is not installed: apt install etcd-server etcd-client\n");
        return false;
    }
    process_result_fini(&result);
    return true;
}

/* ---- certificates ---- */

static void openssl(struct etcd_process *etcd, const char *const *words)
{
    struct process_result result;
    const struct process_options options = {.argv = words, .folder = etcd->tls};

    assert_int_equal(process_run(&options, &result), 0);
    if (result.status != 0)
        fail_msg("%s", result.err);
    process_result_fini(&result);
}

#define KEY "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"

static void make_certificate(struct etcd_process *etcd, const char *name, const char *host,
                             const char *ca)
{
    char pem[32], key[32], subject[32], ca_key[32], san[64], ca_pem[32];

    snprintf(pem, sizeof pem, "%s.pem", name);
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(subject, sizeof subject, "/CN=%s", name);
    snprintf(san, sizeof san, "subjectAltName=%s", host);
    snprintf(ca_pem, sizeof ca_pem, "%s.pem", ca);
    snprintf(ca_key, sizeof ca_key, "%s.key", ca);
    openssl(etcd, (const char *[]){"openssl", "req", "-x509", KEY, "-subj", subject, "-addext", san,
                                   "-addext", "basicConstraints=critical,CA:false", "-CA", ca_pem,
                                   "-CAkey", ca_key, "-out", pem, "-keyout", key, NULL});
}

static void make_certificates(struct etcd_process *etcd)
{
    snprintf(etcd->tls, sizeof etcd->tls, "%s/tls", etcd->folder);
    assert_int_equal(mkdir(etcd->tls, 0700), 0);
    openssl(etcd, (const char *[]){"openssl", "req", "-x509", KEY, "-subj", "/CN=ca", "-out",
                                   "ca.pem", "-keyout", "ca.key", NULL});
    make_certificate(etcd, "server", "IP:127.0.0.1", "ca");
    make_certificate(etcd, "client", "DNS:client", "ca");
}

/* ---- members ---- */

static uint16_t free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (void *)&at, size), 0);
    assert_int_equal(getsockname(fd, (void *)&at, &size), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void put_members(const struct etcd_process *etcd, char *to, size_t size)
{
    size_t at = 0;

    for (unsigned i = 0; i < etcd->options.members; i++)
        at += (size_t)snprintf(to + at, size - at, "%sm%u=http://127.0.0.1:%u", i > 0 ? "," : "", i,
                               etcd->peer_ports[i]);
}

/* A member dies with the test, and its log goes to a file of its folder. */
void etcd_process_start(struct etcd_process *etcd, unsigned member)
{
    char name[8], data[TEXT], log[TEXT], peer[TEXT], client[TEXT], all[TEXT], cert[TEXT], key[TEXT],
        ca[TEXT];
    const char *words[WORDS] = {"setpriv",
                                "--pdeathsig",
                                "KILL",
                                "etcd",
                                "--name",
                                name,
                                "--data-dir",
                                data,
                                "--logger",
                                "zap",
                                "--log-outputs",
                                log,
                                "--log-level",
                                "error",
                                "--listen-peer-urls",
                                peer,
                                "--initial-advertise-peer-urls",
                                peer,
                                "--listen-client-urls",
                                client,
                                "--advertise-client-urls",
                                client,
                                "--initial-cluster",
                                all,
                                "--heartbeat-interval",
                                "50",
                                "--election-timeout",
                                "500",
                                "--max-request-bytes",
                                "4194304",
                                "--quota-backend-bytes",
                                etcd->options.quota ? etcd->options.quota : "2147483648",
                                "--cert-file",
                                cert,
                                "--key-file",
                                key,
                                "--trusted-ca-file",
                                ca,
                                "--client-cert-auth"};
    const struct process_options options = {.argv = words, .within_ns = LIVES_NS};

    if (!etcd->options.tls)
        words[32] = NULL;
    snprintf(name, sizeof name, "m%u", member);
    snprintf(data, sizeof data, "%s/%s", etcd->folder, name);
    snprintf(log, sizeof log, "%s/%s.log", etcd->folder, name);
    snprintf(peer, sizeof peer, "http://127.0.0.1:%u", etcd->peer_ports[member]);
    snprintf(client, sizeof client, "%s://127.0.0.1:%u", etcd->options.tls ? "https" : "http",
             etcd->client_ports[member]);
    snprintf(cert, sizeof cert, "%s/server.pem", etcd->tls);
    snprintf(key, sizeof key, "%s/server.key", etcd->tls);
    snprintf(ca, sizeof ca, "%s/ca.pem", etcd->tls);
    put_members(etcd, all, sizeof all);
    assert_int_equal(process_start(&options, &etcd->of[member]), 0);
    etcd->runs[member] = true;
}

void etcd_process_kill(struct etcd_process *etcd, unsigned member)
{
    struct process_result result;

    if (!etcd->runs[member])
        return;
    process_kill(&etcd->of[member], SIGKILL);
    process_finish(&etcd->of[member], &result);
    process_result_fini(&result);
    etcd->runs[member] = false;
}

void etcd_process_signal(struct etcd_process *etcd, unsigned member, int signal)
{
    assert_int_equal(process_kill(&etcd->of[member], signal), 0);
}

void etcd_process_begin(struct etcd_process *etcd, const struct etcd_process_options *options)
{
    *etcd = (struct etcd_process){.options = *options, .folder = "/dev/shm/etcd.XXXXXX"};
    assert_non_null(mkdtemp(etcd->folder));
    if (options->tls)
        make_certificates(etcd);
    for (unsigned i = 0; i < options->members; i++) {
        etcd->client_ports[i] = free_port();
        etcd->peer_ports[i] = free_port();
    }
    for (unsigned i = 0; i < options->members; i++)
        etcd_process_start(etcd, i);
}

void etcd_process_end(struct etcd_process *etcd)
{
    struct process_result result;

    for (unsigned i = 0; i < etcd->options.members; i++)
        etcd_process_kill(etcd, i);
    if (process_run_argv((const char *[]){"rm", "-rf", etcd->folder, NULL}, &result) == 0)
        process_result_fini(&result);
}

/* ---- etcdctl ---- */

static bool ctl(struct etcd_process *etcd, unsigned member, const char *const *words,
                const char *text)
{
    char endpoint[TEXT];
    const char *argv[WORDS] = {"etcdctl", "--endpoints", endpoint};
    const char *const variables[] = {"ETCDCTL_API=3", NULL};
    const struct process_options options = {.argv = argv, .variables = variables};
    struct process_result result;
    bool ok;

    for (unsigned i = 0; words[i]; i++)
        argv[3 + i] = words[i];
    snprintf(endpoint, sizeof endpoint, "127.0.0.1:%u", etcd->client_ports[member]);
    if (process_run(&options, &result) < 0)
        return false;
    ok = result.status == 0 && (!text || strstr(result.out, text));
    process_result_fini(&result);
    return ok;
}

bool etcd_process_ctl(struct etcd_process *etcd, unsigned member, const char *const *words)
{
    return ctl(etcd, member, words, NULL);
}

/* A member says: endpoint, id, version, size, whether it leads, ... */
static bool leads(struct etcd_process *etcd, unsigned member)
{
    const char *const words[] = {"endpoint", "status", NULL};

    return etcd->runs[member] &&
           (ctl(etcd, member, words, "kB, true") || ctl(etcd, member, words, "MB, true"));
}

unsigned etcd_process_leader(struct etcd_process *etcd)
{
    uint64_t deadline = hub_clock_after(10 * HUB_SECOND);

    while (hub_clock_left(deadline) > 0) {
        for (unsigned i = 0; i < etcd->options.members; i++)
            if (leads(etcd, i))
                return i;
        pause_ms(100);
    }
    fail_msg("%s", "no member of etcd leads");
    return 0;
}

void etcd_process_restore(struct etcd_process *etcd, const char *snapshot)
{
    char data[TEXT], peer[TEXT], all[TEXT];
    struct process_result result;

    assert_int_equal(etcd->options.members, 1);
    etcd_process_kill(etcd, 0);
    snprintf(data, sizeof data, "%s/m0", etcd->folder);
    assert_int_equal(process_run_argv((const char *[]){"rm", "-rf", data, NULL}, &result), 0);
    process_result_fini(&result);
    snprintf(peer, sizeof peer, "http://127.0.0.1:%u", etcd->peer_ports[0]);
    put_members(etcd, all, sizeof all);
    assert_true(
        etcd_process_ctl(etcd, 0,
                         (const char *const[]){"snapshot", "restore", snapshot, "--name", "m0",
                                               "--data-dir", data, "--initial-cluster", all,
                                               "--initial-advertise-peer-urls", peer, NULL}));
    etcd_process_start(etcd, 0);
}

void etcd_process_url(const struct etcd_process *etcd, const char *prefix,
                      char to[ETCD_PROCESS_URL])
{
    size_t at = (size_t)snprintf(to, ETCD_PROCESS_URL, "etcd%s://", etcd->options.tls ? "s" : "");

    for (unsigned i = 0; i < etcd->options.members; i++)
        at += (size_t)snprintf(to + at, ETCD_PROCESS_URL - at, "%s127.0.0.1:%u", i > 0 ? "," : "",
                               etcd->client_ports[i]);
    snprintf(to + at, ETCD_PROCESS_URL - at, "/%s", prefix);
}

/* ---- the suites ---- */

struct etcd_process *etcd_process_of_suite;

/* The suites name SCHEME:/dev/shm/metastore.XXXXXX/meta.db. */
static int open_in(const struct cluster_metastore_end *end, const char *url,
                   const struct cluster_metastore_options *options, struct cluster_metastore **out)
{
    struct cluster_metastore_options mine = *options;
    char prefix[64], real[ETCD_PROCESS_URL];
    const char *folder = strstr(url, "metastore.");

    snprintf(prefix, sizeof prefix, "%.*s", (int)strcspn(folder, "/"), folder);
    etcd_process_url(etcd_process_of_suite, prefix, real);
    mine.tls = etcd_process_of_suite->tls;
    return end->open(real, &mine, out);
}

static int open_plain(const char *url, const struct cluster_metastore_options *options,
                      struct cluster_metastore **out)
{
    return open_in(&cluster_etcd_end, url, options, out);
}

static int open_tls(const char *url, const struct cluster_metastore_options *options,
                    struct cluster_metastore **out)
{
    return open_in(&cluster_etcds_end, url, options, out);
}

/* The store that is opened has the back end's own table: these are only its beginning. */
const struct cluster_metastore_end etcd_process_suite_end = {
    .scheme = "etcd", .watches_max = CLUSTER_METASTORE_WATCHES_MAX, .open = open_plain};
const struct cluster_metastore_end etcd_process_tls_suite_end = {
    .scheme = "etcds", .watches_max = CLUSTER_METASTORE_WATCHES_MAX, .open = open_tls};
