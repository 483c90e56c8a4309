/* SPDX-License-Identifier: Apache-2.0 */
/* An etcd whose database is full: what is told of a transaction is what became of it. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/etcd/etcd.h"
#include "cluster/metastore/marker.h"
#include "hub/base/clock.h"
#include "tests/metastore/etcd_process.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define FILLS 16
#define LARGE 100000

static const struct cluster_metastore_end *const ends[] = {&cluster_etcd_end, NULL};

struct test {
    struct cluster_metastore *store;
    struct cluster_marker *marker;
};

static void open_store(struct test *test, struct etcd_process *etcd, const char *prefix)
{
    const struct cluster_metastore_options options = {.create = true};
    char url[ETCD_PROCESS_URL];

    etcd_process_url(etcd, prefix, url);
    if (cluster_metastore_open(ends, url, &options, &test->store) != 0)
        fail_msg("%s", rapahub_last_error()->text);
    assert_int_equal(cluster_marker_open(test->store, cluster_txn_client(3, 1), &test->marker), 0);
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

static struct store_answer read_all(struct test *test)
{
    const struct cluster_span span = {store_stage_bytes("/"), store_stage_bytes("0"), 0, 100};
    uint64_t deadline = hub_clock_after(20 * HUB_SECOND);
    struct store_answer answer = {0};

    assert_int_equal(cluster_metastore_range(test->store, &span, store_stage_on_range, &answer), 0);
    while (answer.ends == 0 && hub_clock_left(deadline) > 0)
        step(test);
    assert_int_equal(answer.ends, 1);
    return answer;
}

/* Puts that fill a database together, so that etcd has taken them before it sees that there is no
 * space. */
struct filling {
    struct store_answer of[FILLS];
    size_t ends;
};

static void fill(struct test *test, struct filling *filling, const char *large)
{
    uint64_t deadline = hub_clock_after(60 * HUB_SECOND);

    *filling = (struct filling){.ends = 0};
    for (unsigned i = 0; i < FILLS; i++) {
        char key[16];
        const struct cluster_write put = {CLUSTER_PUT, {key, 0}, store_stage_bytes(large)};
        struct cluster_write named = put;

        snprintf(key, sizeof key, "/large.%02u", i);
        named.key = store_stage_bytes(key);
        assert_int_equal(cluster_marker_submit(
                             test->marker, &(struct cluster_txn){.then = &named, .then_count = 1},
                             store_stage_on_txn, &filling->of[i]),
                         0);
    }
    while (filling->ends < FILLS && hub_clock_left(deadline) > 0) {
        step(test);
        filling->ends = 0;
        for (unsigned i = 0; i < FILLS; i++)
            filling->ends += filling->of[i].ends > 0;
    }
    assert_int_equal(filling->ends, FILLS);
}

/* Says of how many puts there was no space; each of the others, and none of these, raised the
 * version of its key. */
static unsigned check_filled(struct test *test, const struct filling *filling,
                             uint64_t versions[FILLS])
{
    struct store_answer found = read_all(test);
    unsigned refused = 0;

    assert_int_equal(found.status, CLUSTER_TXN_OK);
    for (unsigned i = 0; i < FILLS; i++) {
        char key[16];
        uint64_t version = 0;

        snprintf(key, sizeof key, "/large.%02u", i);
        for (size_t at = 0; at < found.count; at++)
            if (strcmp(found.pairs[at].key, key) == 0)
                version = found.pairs[at].version;
        versions[i] += filling->of[i].status == CLUSTER_TXN_OK;
        if (filling->of[i].status == CLUSTER_TXN_NO_SPACE)
            refused++;
        else
            assert_int_equal(filling->of[i].status, CLUSTER_TXN_OK);
        assert_int_equal(version, versions[i]);
    }
    return refused;
}

/* The put that fills it is carried out, though etcd answers that it was not.
 * r[verify cluster.store.etcd.space] */
static void a_full_database_says_so_truly_and_reads_go_on(void **state)
{
    const struct etcd_process_options options = {.members = 1, .quota = "1048576"};
    char *large = malloc(LARGE + 1);
    uint64_t versions[FILLS] = {0};
    struct filling filling;
    struct etcd_process etcd;
    struct test test = {0};
    unsigned refused = 0, still;

    (void)state;
    memset(large, 'x', LARGE);
    large[LARGE] = '\0';
    etcd_process_begin(&etcd, &options);
    open_store(&test, &etcd, "full");
    for (unsigned round = 0; refused == 0 && round < 100; round++) {
        fill(&test, &filling, large);
        refused = check_filled(&test, &filling, versions);
    }
    assert_int_not_equal(refused, 0);
    fill(&test, &filling, "small");
    still = check_filled(&test, &filling, versions);
    assert_int_equal(still, FILLS);
    close_test(&test);
    etcd_process_end(&etcd);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_database_says_so_truly_and_reads_go_on),
    };

    if (!etcd_process_possible())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
