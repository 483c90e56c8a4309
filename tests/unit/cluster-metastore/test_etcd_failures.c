/* SPDX-License-Identifier: Apache-2.0 */
/* etcd as it fails: members that die and stand still, a database that is full, compaction under a
 * watch, addresses and certificates that are wrong. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/metastore/etcd/etcd.h"
#include "cluster/metastore/marker.h"
#include "hub/base/clock.h"
#include "tests/metastore/etcd_process.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define MANY 40

static const struct cluster_metastore_end *const ends[] = {&cluster_etcd_end, &cluster_etcds_end,
                                                           NULL};

/* A store whose time is that of the clock. */
struct test {
    struct etcd_process *etcd;
    struct cluster_metastore *store;
    struct cluster_marker *marker;
    struct store_answer answer;
    size_t told, ended, disorder;
    uint64_t last;
    int status;
};

static struct etcd_process one, three;

static int try_open(struct test *test, const char *url, bool create, const char *tls)
{
    const struct cluster_metastore_options options = {.create = create, .tls = tls};

    return cluster_metastore_open(ends, url, &options, &test->store);
}

static void open_store(struct test *test, struct etcd_process *etcd, const char *prefix)
{
    static uint32_t boot;
    char url[ETCD_PROCESS_URL];

    test->etcd = etcd;
    etcd_process_url(etcd, prefix, url);
    if (try_open(test, url, true, NULL) != 0)
        fail_msg("%s", rapahub_last_error()->text);
    assert_int_equal(cluster_marker_open(test->store, cluster_txn_client(3, ++boot), &test->marker),
                     0);
}

static void close_test(struct test *test)
{
    cluster_metastore_close(test->store);
    cluster_marker_close(test->marker);
}

static void step(struct test *test)
{
    struct pollfd fd = {.fd = cluster_metastore_fd(test->store), .events = POLLIN};
    uint64_t next, now_ns;

    poll(&fd, 1, 5);
    now_ns = hub_clock_now();
    cluster_metastore_step(test->store, now_ns, &next);
    cluster_marker_step(test->marker, now_ns, &next);
}

/* Steps until *counter has `least`, at most `ms`. */
static bool until(struct test *test, const size_t *counter, size_t least, int ms)
{
    uint64_t deadline = hub_clock_after((uint64_t)ms * HUB_MILLISECOND);

    while (*counter < least && hub_clock_left(deadline) > 0)
        step(test);
    return *counter >= least;
}

static struct store_answer put_by(struct test *test, const char *key, const char *value,
                                  bool by_marker)
{
    const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes(key),
                                      store_stage_bytes(value)};
    const struct cluster_txn txn = {.id = store_stage_id(), .then = &put, .then_count = 1};
    uint64_t deadline = hub_clock_after(20 * HUB_SECOND);
    int r;

    test->answer = (struct store_answer){0};
    r = by_marker ? cluster_marker_submit(test->marker, &txn, store_stage_on_txn, &test->answer)
                  : cluster_metastore_submit(test->store, &txn, store_stage_on_txn, &test->answer);
    assert_int_equal(r, 0);
    while (test->answer.ends == 0 && hub_clock_left(deadline) > 0)
        step(test);
    assert_int_equal(test->answer.ends, 1);
    return test->answer;
}

/* What was certainly not done is done again: a machine under load may be without a session for
 * some time. */
static struct store_answer put(struct test *test, const char *key)
{
    for (unsigned i = 0; i < 4; i++)
        if (put_by(test, key, "1", true).status != CLUSTER_TXN_NOT_APPLIED)
            break;
    return test->answer;
}

static struct store_answer read_all(struct test *test)
{
    const struct cluster_span span = {store_stage_bytes("/"), store_stage_bytes("0"), 0, 100};
    uint64_t deadline = hub_clock_after(20 * HUB_SECOND);

    test->answer = (struct store_answer){0};
    assert_int_equal(
        cluster_metastore_range(test->store, &span, store_stage_on_range, &test->answer), 0);
    while (test->answer.ends == 0 && hub_clock_left(deadline) > 0)
        step(test);
    return test->answer;
}

static void on_change(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                      size_t count)
{
    struct test *test = user;

    (void)changes;
    test->ended += status != CLUSTER_TXN_OK;
    test->status = status;
    test->told += count;
    test->disorder += status == CLUSTER_TXN_OK && rev <= test->last;
    test->last = rev;
}

static void watch(struct test *test, uint64_t rev)
{
    const struct cluster_span span = {store_stage_bytes("/"), store_stage_bytes("0"), rev, 0};
    uint64_t number;

    assert_int_equal(cluster_metastore_watch(test->store, &span, on_change, test, &number), 0);
}

/* ---- members ---- */

/* Puts go on over it, each once, and a watch misses none. */
static void put_many(struct test *test, const char *name, void (*halfway)(struct test *test))
{
    char key[32];

    for (unsigned i = 0; i < MANY; i++) {
        if (i == MANY / 2)
            halfway(test);
        snprintf(key, sizeof key, "/%s%u", name, i);
        assert_int_equal(put(test, key).status, CLUSTER_TXN_OK);
    }
    assert_true(until(test, &test->told, MANY, 20000));
    assert_int_equal(test->told, MANY);
    assert_int_equal(test->disorder, 0);
    assert_int_equal(test->ended, 0);
    assert_int_equal(read_all(test).count, MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(test->answer.pairs[i].version, 1);
}

static unsigned victim;

static void kill_leader(struct test *test)
{
    victim = etcd_process_leader(test->etcd);
    etcd_process_kill(test->etcd, victim);
}

static void stop_used(struct test *test)
{
    (void)test;
    victim = 0; /* the first of the URL: it is used */
    etcd_process_signal(test->etcd, victim, SIGSTOP);
}

/* r[verify cluster.store.etcd.outcome] r[verify cluster.store.etcd.watch] */
static void the_death_of_the_leader_loses_and_doubles_nothing(void **state)
{
    struct test test = {0};

    (void)state;
    open_store(&test, &three, "leader");
    watch(&test, 0);
    put_many(&test, "k", kill_leader);
    close_test(&test);
    etcd_process_start(&three, victim);
    etcd_process_leader(&three);
}

/* r[verify cluster.store.etcd.deadline] r[verify cluster.store.etcd.member] */
static void a_member_that_stands_still_is_left_for_the_next(void **state)
{
    struct test test = {0};
    uint64_t began_ns;

    (void)state;
    open_store(&test, &three, "stopped");
    watch(&test, 0);
    began_ns = hub_clock_now();
    put_many(&test, "k", stop_used);
    assert_true(hub_clock_now() - began_ns < 15 * HUB_SECOND);
    etcd_process_signal(&three, victim, SIGCONT);
    close_test(&test);
}

/* r[verify cluster.store.etcd.deadline] */
static void without_a_majority_each_operation_ends(void **state)
{
    struct test test = {0};

    (void)state;
    open_store(&test, &three, "minority");
    assert_int_equal(put(&test, "/a").status, CLUSTER_TXN_OK);
    etcd_process_kill(&three, 0);
    etcd_process_kill(&three, 1);
    for (unsigned i = 0; i < 2; i++) {
        int status = put_by(&test, "/b", "1", false).status;

        assert_true(status == CLUSTER_TXN_UNKNOWN || status == CLUSTER_TXN_NOT_APPLIED);
    }
    assert_int_equal(read_all(&test).status, CLUSTER_TXN_NOT_APPLIED);
    etcd_process_start(&three, 0);
    etcd_process_start(&three, 1);
    assert_int_equal(put(&test, "/d").status, CLUSTER_TXN_OK);
    close_test(&test);
}

/* ---- compaction, space ---- */

/* A watch was told all up to some revision when its member died; until it is asked for again, etcd
 * is compacted. r[verify cluster.store.etcd.watch] */
static void a_watch_that_missed_a_compaction_ends(void **state)
{
    struct test test = {0}, other = {0};
    uint64_t deadline = hub_clock_after(10 * HUB_SECOND), rev = 0;

    (void)state;
    open_store(&test, &one, "compacted");
    put(&test, "/a");
    watch(&test, 0);
    assert_true(until(&test, &test.told, 1, 10000));
    open_store(&other, &one, "compacted");
    etcd_process_kill(&one, 0);
    etcd_process_start(&one, 0);
    for (unsigned i = 0; i < 3; i++)
        rev = put(&other, "/a").rev;
    cluster_metastore_compact(other.store, rev, store_stage_on_txn, &other.answer);
    for (other.answer.ends = 0; other.answer.ends == 0 && hub_clock_left(deadline) > 0;)
        step(&other);
    assert_int_equal(other.answer.status, CLUSTER_TXN_OK);
    assert_true(until(&test, &test.ended, 1, 10000));
    assert_int_equal(test.status, CLUSTER_TXN_COMPACTED);
    assert_int_equal(test.told, 1);
    close_test(&test);
    close_test(&other);
}

/* ---- wrong addresses ---- */

static void assert_refused(const char *url, bool create, const char *tls, int code,
                           const char *text)
{
    struct test test = {0};
    int r = try_open(&test, url, create, tls);

    if (r != code || !strstr(rapahub_last_error()->text, text))
        fail_msg("%s: %d %s", url, r, r < 0 ? rapahub_last_error()->text : "");
}

static void another_prefix_is_another_store(void **state)
{
    char url[ETCD_PROCESS_URL];
    struct test test = {0}, other = {0};

    (void)state;
    etcd_process_url(&one, "none", url);
    assert_refused(url, false, NULL, RAPAHUB_ECONFIG, "there is no store with this prefix");
    open_store(&test, &one, "own");
    put(&test, "/a");
    open_store(&other, &one, "owner");
    assert_int_equal(read_all(&other).count, 0);
    close_test(&test);
    close_test(&other);
}

static void urls_that_are_none_are_refused(void **state)
{
    (void)state;
    assert_refused("etcd:127.0.0.1:2379/x", true, NULL, RAPAHUB_ECONFIG, "write etcd://");
    assert_refused("etcd://127.0.0.1:2379", true, NULL, RAPAHUB_ECONFIG, "prefix");
    assert_refused("etcd://127.0.0.1:2379/a/b", true, NULL, RAPAHUB_ECONFIG, "prefix");
    assert_refused("etcd://127.0.0.1:2379,/a", true, NULL, RAPAHUB_ECONFIG, "host");
    assert_refused("etcd://a,b,c,d,e,f,g,h,i/a", true, NULL, RAPAHUB_ECONFIG, "more than 8");
    assert_refused("etcds://127.0.0.1:2379/a", true, NULL, RAPAHUB_ECONFIG, "certificate");
}

/* A server that says `text` to each that connects, in a child. */
static pid_t serve(const char *text, char url[ETCD_PROCESS_URL])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client;
    char bytes[1024];
    pid_t pid;

    assert_int_equal(bind(fd, (void *)&at, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (void *)&at, &size), 0);
    snprintf(url, ETCD_PROCESS_URL, "etcd://127.0.0.1:%u/x", ntohs(at.sin_port));
    pid = fork();
    if (pid == 0)
        alarm(30); /* it ends though the test has failed */
    while (pid == 0 && (client = accept(fd, NULL, NULL)) >= 0) {
        if (recv(client, bytes, sizeof bytes, 0) > 0)
            (void)send(client, text, strlen(text), MSG_NOSIGNAL);
        close(client);
    }
    if (pid == 0)
        _exit(0);
    close(fd);
    return pid;
}

/* r[verify cluster.store.etcd.member] r[verify cluster.store.etcd.hostile] */
static void an_address_that_answers_and_is_no_etcd_is_refused_at_once(void **state)
{
    static const char *const texts[] = {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
                                        "SSH-2.0-OpenSSH_9.2p1 Debian\r\n"};
    uint64_t began_ns = hub_clock_now();

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        char url[ETCD_PROCESS_URL];
        struct test test = {0};
        pid_t pid = serve(texts[i], url);
        int r = try_open(&test, url, true, NULL);

        assert_true(r == RAPAHUB_EPROTOCOL || r == RAPAHUB_ECLOSED);
        assert_non_null(strstr(rapahub_last_error()->text, "HTTP/2"));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
    assert_true(hub_clock_now() - began_ns < 8 * HUB_SECOND);
}

/* ---- TLS ---- */

/* r[verify cluster.store.etcd.tls] */
static void certificates_of_others_are_refused(void **state)
{
    const struct etcd_process_options options = {.members = 1, .tls = true};
    struct etcd_process etcd, other;
    char url[ETCD_PROCESS_URL + 8], plain[ETCD_PROCESS_URL + 8], path[160], own[160];
    struct test test = {0};

    (void)state;
    etcd_process_begin(&etcd, &options);
    etcd_process_begin(&other, &options);
    etcd_process_url(&etcd, "tls", url);
    assert_int_equal(try_open(&test, url, true, etcd.tls), 0);
    cluster_metastore_close(test.store);
    assert_refused(url, true, other.tls, RAPAHUB_EACCES, "its certificate is refused");
    snprintf(path, sizeof path, "%s/ca.pem", other.tls);
    snprintf(own, sizeof own, "%s/ca.pem", etcd.tls);
    unlink(path);
    assert_int_equal(link(own, path), 0);
    assert_refused(url, true, other.tls, RAPAHUB_EACCES, "refuses our certificate");
    snprintf(plain, sizeof plain, "etcd%.200s", url + strlen("etcds"));
    assert_refused(plain, true, NULL, RAPAHUB_ECLOSED, "wants TLS");
    etcd_process_url(&one, "tls", plain);
    snprintf(url, sizeof url, "etcds%.200s", plain + strlen("etcd"));
    assert_refused(url, true, etcd.tls, RAPAHUB_EPROTOCOL, "TLS");
    snprintf(path, sizeof path, "%s/client.key", etcd.tls);
    assert_int_equal(chmod(path, 0644), 0);
    assert_refused(url, true, etcd.tls, RAPAHUB_EACCES, "others may use this key");
    etcd_process_end(&etcd);
    etcd_process_end(&other);
}

static int begin(void **state)
{
    const struct etcd_process_options options = {.members = 1}, cluster = {.members = 3};

    (void)state;
    etcd_process_begin(&one, &options);
    etcd_process_begin(&three, &cluster);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    etcd_process_end(&one);
    etcd_process_end(&three);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_prefix_is_another_store),
        cmocka_unit_test(urls_that_are_none_are_refused),
        cmocka_unit_test(an_address_that_answers_and_is_no_etcd_is_refused_at_once),
        cmocka_unit_test(certificates_of_others_are_refused),
        cmocka_unit_test(a_watch_that_missed_a_compaction_ends),
        cmocka_unit_test(the_death_of_the_leader_loses_and_doubles_nothing),
        cmocka_unit_test(a_member_that_stands_still_is_left_for_the_next),
        cmocka_unit_test(without_a_majority_each_operation_ends),
    };

    if (!etcd_process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, begin, finish);
}
