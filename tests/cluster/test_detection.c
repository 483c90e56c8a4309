/* SPDX-License-Identifier: Apache-2.0 */
/* Three nodes of one cluster as real processes, which find out which of them live. One is killed,
 * stopped for a while, ends in order, and comes again; strangers send what they like. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "cluster/wire/datagram.h"
#include "hub/base/clock.h"
#include "tests/cluster/joined_stage.h"

#define CALLS 25

static struct joined *joined;
static struct node_process third;
static char third_data[NODE_PROCESS_PATH + 16], third_option[96], config[64];

static struct node_process *node(unsigned number)
{
    return number == 1 ? &joined->stage->first : number == 2 ? &joined->second : &third;
}

/* ---- what a node says of another one ---- */

struct said {
    char verdict[16];
    uint64_t session;
    unsigned refutations;
};

/* Reads the row of a node in the list that `by` gives; without a verdict: "". */
static struct said ask(unsigned by, unsigned of)
{
    static const char *const words[] = {"get", "nodes", "--json", NULL};
    struct process_result result;
    struct said said = {.session = 0};
    unsigned long long session = 0;
    char row[40];
    const char *at, *end;

    snprintf(row, sizeof row, "{\"number\":%u,", of);
    if (node_process_rapahub(node(by), words, &result) == 0 && (at = strstr(result.out, row))) {
        end = strchr(at, '}');
        at = strstr(at, "\"verdict\":\"");
        if (at && at < end)
            assert_int_equal(sscanf(at, "\"verdict\":\"%15[a-z]\"", said.verdict), 1);
        at = at ? strstr(at, "\"incarnation\":\"") : NULL;
        if (at && at < end)
            assert_int_equal(sscanf(at, "\"incarnation\":\"%llu.%u\"", &session, &said.refutations),
                             2);
    }
    said.session = session;
    process_result_fini(&result);
    return said;
}

/* Waits until one node holds that of another one, and returns what it says then. */
static struct said await(unsigned by, unsigned of, const char *verdict)
{
    uint64_t until_ns = hub_clock_after(120 * HUB_SECOND);
    struct said said = ask(by, of);

    while (strcmp(said.verdict, verdict) != 0) {
        if (hub_clock_left(until_ns) == 0)
            fail_msg("node %u says that node %u is '%s', not '%s'", by, of, said.verdict, verdict);
        pause_ms(20);
        said = ask(by, of);
    }
    return said;
}

static unsigned long count_of(unsigned by, const char *key)
{
    static const char *const words[] = {"node", "status", "--json", NULL};
    struct process_result result;
    char member[64];
    unsigned long count = 0;
    const char *at;

    snprintf(member, sizeof member, "\"%s\":", key);
    assert_int_equal(node_process_rapahub(node(by), words, &result), 0);
    at = strstr(result.out, member);
    if (!at)
        fail_msg("no %s in: %s", key, result.out);
    else
        count = strtoul(at + strlen(member), NULL, 10);
    process_result_fini(&result);
    return count;
}

/* ---- the stage ---- */

/* All daemons of the test have the settings of one file. */
static void write_config(const char *profile)
{
    FILE *file;
    int fd;

    snprintf(config, sizeof config, "/tmp/rapahub-detection-XXXXXX");
    fd = mkstemp(config);
    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    assert_non_null(file);
    fprintf(file, "detection: %s\n", profile);
    fclose(file);
    assert_int_equal(setenv("RAPAHUB_CONFIG", config, 1), 0);
}

static void begin_third(void)
{
    struct join_words words = {.name = "third", .data = third_data};

    node_process_open(&third);
    snprintf(third_data, sizeof third_data, "%s/data", third.folder);
    snprintf(third_option, sizeof third_option, "--listen=127.0.0.1:%u", network_free_port());
    third.option = third_option;
    join_make_token(joined->stage, "1");
    if (join_type(joined->stage, &words) != 0)
        fail_msg("join: %s", joined->stage->result.err);
    node_process_begin(&third);
    join_await(&third);
}

static int open_stage(void **state)
{
    write_config("fast");
    assert_int_equal(joined_begin(state), 0);
    joined = *state;
    begin_third();
    for (unsigned by = 1; by <= 3; by++)
        for (unsigned of = 1; of <= 3; of++)
            (void)await(by, of, "alive");
    return 0;
}

static int close_stage(void **state)
{
    node_process_close(&third);
    assert_int_equal(joined_end(state), 0);
    assert_int_equal(unlink(config), 0);
    return 0;
}

/* The warden would begin the next daemon. */
static void kill_all(struct node_process *of)
{
    pid_t daemon = node_process_daemon(of);

    assert_true(daemon > 0);
    assert_int_equal(kill(of->warden, SIGSTOP), 0);
    assert_int_equal(kill(daemon, SIGKILL), 0);
    assert_int_equal(kill(of->warden, SIGKILL), 0);
    assert_int_equal(waitpid(of->warden, NULL, 0), of->warden);
    of->warden = 0;
}

/* ---- tests ---- */

/* r[verify cluster.detect.shown] r[verify cluster.swim.suspicion] */
static void a_node_that_is_killed_is_suspected_and_then_dead(void **state)
{
    struct said before = ask(1, 3), after;
    uint64_t begun_ns = hub_clock_now(), suspected_ns;

    (void)state;
    kill_all(&third);
    (void)await(1, 3, "suspect");
    suspected_ns = hub_clock_now();
    after = await(1, 3, "dead");
    print_message("killed: suspect after %.1f s, dead after %.1f s\n",
                  (double)(suspected_ns - begun_ns) / 1e9,
                  (double)(hub_clock_now() - begun_ns) / 1e9);
    assert_true(after.session == before.session);
    (void)await(2, 3, "dead");
    assert_string_equal(ask(1, 2).verdict, "alive");
    AWAIT(node(1), "ACTIVE", "get", "nodes"); /* the record of the node is as it was */
    node_process_begin(&third);
    join_await(&third);
    assert_true(await(1, 3, "alive").session > before.session);
    assert_true(await(2, 3, "alive").session > before.session);
}

/* r[verify cluster.swim.incarnation] r[verify cluster.swim.stall] */
static void a_node_that_was_stopped_refutes(void **state)
{
    pid_t daemon = node_process_daemon(&joined->second);
    struct said before = ask(1, 2), after;

    (void)state;
    assert_int_equal(kill(daemon, SIGSTOP), 0);
    (void)await(1, 2, "suspect");
    assert_int_equal(kill(daemon, SIGCONT), 0);
    after = await(1, 2, "alive");
    assert_true(after.session == before.session);
    assert_true(after.refutations > before.refutations);
    assert_int_equal(node_process_daemon(&joined->second), daemon);
    (void)await(3, 2, "alive");
    (void)await(2, 1, "alive"); /* it holds the others for no less alive */
    (void)await(2, 3, "alive");
}

/* r[verify cluster.detect.leave] r[verify cluster.swim.left] */
static void a_node_that_ends_in_order_has_left(void **state)
{
    struct said before = ask(1, 3);

    (void)state;
    node_process_end(&third);
    (void)await(1, 3, "left");
    (void)await(2, 3, "left");
    node_process_begin(&third);
    join_await(&third);
    assert_true(await(1, 3, "alive").session > before.session);
    (void)await(3, 1, "alive");
}

/* All nodes get another key when the node that leads begins again. r[verify cluster.detect.key] */
static void the_node_with_the_metastore_comes_again(void **state)
{
    struct said before = ask(2, 1);

    (void)state;
    kill_all(node(1));
    (void)await(2, 1, "dead");
    (void)await(3, 1, "dead");
    assert_string_equal(ask(2, 3).verdict, "alive");
    node_process_begin(node(1));
    join_await(node(1));
    assert_true(await(2, 1, "alive").session > before.session);
    for (unsigned by = 1; by <= 3; by++)
        for (unsigned of = 1; of <= 3; of++)
            (void)await(by, of, "alive");
    assert_int_equal(count_of(2, "datagrams_forged"), 0);
}

/* ---- strangers ---- */

static int connect_to(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    to.sin_port = htons((uint16_t)strtoul(strchr(address, ':') + 1, NULL, 10));
    assert_int_equal(connect(fd, (const void *)&to, sizeof to), 0);
    return fd;
}

/* A datagram as node 2 would send it, but for its proof. */
static size_t forge(uint8_t key, uint64_t counter, uint8_t to[CLUSTER_DATAGRAM_MAX])
{
    const struct cluster_datagram_clear clear = {
        .key = key,
        .size = CLUSTER_DATAGRAM_HEAD + CLUSTER_DATAGRAM_TAG,
        .node = 2,
        .salt = {(uint8_t)counter, (uint8_t)(counter >> 8)},
        .counter = counter};

    memset(to, 0, CLUSTER_DATAGRAM_MAX);
    cluster_datagram_write_clear(&clear, to);
    return CLUSTER_DATAGRAM_CLEAR + clear.size;
}

/* r[verify cluster.detect.counted] */
static void what_strangers_send_is_counted_and_without_effect(void **state)
{
    uint8_t bytes[CLUSTER_DATAGRAM_MAX];
    int fd = connect_to(joined->stage->address);
    unsigned long unknown = count_of(1, "datagrams_unknown_key");
    size_t size = 0;

    (void)state;
    for (unsigned key = 0; key < 256; key++) { /* one of the numbers is that of the key */
        size = forge((uint8_t)key, 1, bytes);
        assert_int_equal(send(fd, bytes, size, 0), size);
        pause_ms(1);
    }
    assert_int_equal(send(fd, bytes, size - 1, 0), size - 1);
    bytes[4] = 200;
    assert_int_equal(send(fd, bytes, size, 0), size);
    for (unsigned i = 0; count_of(1, "datagrams_of_strangers") == 0; i++) {
        assert_true(i < 600);
        pause_ms(10);
    }
    assert_true(count_of(1, "datagrams_unknown_key") > unknown);
    assert_true(count_of(1, "datagrams_forged") > 0);
    assert_true(count_of(1, "datagrams_malformed") > 0);
    assert_string_equal(ask(1, 2).verdict, "alive");
    assert_string_equal(ask(1, 200).verdict, "");
    close(fd);
}

static atomic_bool floods;

static void *flood(void *user)
{
    int fd = *(const int *)user;
    uint8_t bytes[CLUSTER_DATAGRAM_MAX];
    uint64_t sent = 0;

    while (atomic_load(&floods)) {
        size_t size = forge((uint8_t)sent, sent, bytes); /* a key that is there, now and then */

        sent += send(fd, bytes, size, MSG_DONTWAIT) == (ssize_t)size ? 1 : 0;
    }
    print_message("flood: %llu datagrams sent\n", (unsigned long long)sent);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

    return (one > two) - (one < two);
}

/* Returns the median of some calls to a container of the first node, each with its own process. */
static uint64_t time_calls(void)
{
    uint64_t spans[CALLS];

    for (unsigned i = 0; i < CALLS; i++) {
        uint64_t begun_ns = hub_clock_now();

        (void)joined_add(node(1), "tally#0.add");
        spans[i] = hub_clock_now() - begun_ns;
    }
    qsort(spans, CALLS, sizeof *spans, compare);
    return spans[CALLS / 2];
}

/* The sender takes a processor from the calls, which doubles their time on two.
 * r[verify cluster.detect.bounds] */
static void a_flood_does_not_hold_up_calls(void **state)
{
    static const char pools[] = "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX
                                "/bin/counter.so\n    containers: 1\n";
    int fd = connect_to(joined->stage->address);
    uint64_t before_ns, during_ns;
    pthread_t thread;

    (void)state;
    node_process_apply(node(1), pools);
    before_ns = time_calls();
    atomic_store(&floods, true);
    assert_int_equal(pthread_create(&thread, NULL, flood, &fd), 0);
    during_ns = time_calls();
    atomic_store(&floods, false);
    pthread_join(thread, NULL);
    close(fd);
    print_message("call: %.1f ms before, %.1f ms in the flood; dropped %lu, forged %lu\n",
                  (double)before_ns / 1e6, (double)during_ns / 1e6,
                  count_of(1, "datagrams_dropped"), count_of(1, "datagrams_forged"));
    assert_true(during_ns <= 8 * before_ns + HUB_SECOND / 10);
    for (unsigned of = 1; of <= 3; of++)
        (void)await(1, of, "alive"); /* also one whose datagrams found no room */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_is_killed_is_suspected_and_then_dead),
        cmocka_unit_test(a_node_that_was_stopped_refutes),
        cmocka_unit_test(a_node_that_ends_in_order_has_left),
        cmocka_unit_test(the_node_with_the_metastore_comes_again),
        cmocka_unit_test(what_strangers_send_is_counted_and_without_effect),
        cmocka_unit_test(a_flood_does_not_hold_up_calls),
    };

    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
