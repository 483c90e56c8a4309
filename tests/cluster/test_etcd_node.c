/* SPDX-License-Identifier: Apache-2.0 */
/* A node whose metastore is in etcd, both as real processes: it is started again and killed,
 * members of etcd die and stand still, its database is full, and whatever is not its metastore is
 * refused. */
#include <signal.h>
#include <sys/stat.h>

#include "tests/cluster/joined_stage.h"
#include "tests/metastore/etcd_process.h"

#define FILL   60000 /* bytes that fill a database, at a time */
#define PUTS   200
#define QUOTA  "4194304"
#define WITHIN 20 /* seconds for a call */

static struct etcd_process three, small, secure;

static const char pools[] = "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX
                            "/bin/counter.so\n    durability: acked\n    containers: 2\n";
static const char more[] =
    "pools:\n  - pool_name: more\n    module: " TEST_PREFIX "/bin/counter.so\n";

/* ---- the stage ---- */

/* A first node on a prefix of its own. */
static struct join_stage *begin_on(struct etcd_process *etcd, const char *prefix)
{
    static char url[ETCD_PROCESS_URL];
    void *stage = NULL;

    etcd_process_url(etcd, prefix, url);
    join_metastore = url;
    assert_int_equal(join_begin(&stage), 0);
    return stage;
}

static void end_stage(struct join_stage *stage)
{
    void *state = stage;

    join_end(&state);
    join_metastore = NULL;
}

static void data_of(const struct join_stage *stage, char to[NODE_PROCESS_PATH + 8])
{
    snprintf(to, NODE_PROCESS_PATH + 8, "%s/data", stage->first.folder);
}

/* `rapahub node init` on an empty folder, or that of the stage, fails, and says why. */
static void init_refused(struct join_stage *stage, bool own, const char *url, const char *tls,
                         const char *text)
{
    char own_data[NODE_PROCESS_PATH + 8];
    const char *const words[] = {PROCESS_RAPAHUB,
                                 "node",
                                 "init",
                                 own ? own_data : stage->data,
                                 "--metastore",
                                 url,
                                 tls ? "--metastore-tls" : NULL,
                                 tls,
                                 NULL};

    data_of(stage, own_data);
    assert_int_not_equal(join_run(stage, words), 0);
    join_says(stage, text);
    process_result_fini(&stage->result);
    assert_int_equal(
        process_run_argv((const char *[]){"rm", "-rf", stage->data, NULL}, &stage->result), 0);
}

/* ---- a life ---- */

/* r[verify cluster.folder.metastore] */
static void a_node_keeps_its_pools_in_etcd(void **state)
{
    struct join_stage *stage = begin_on(&three, "whole");
    struct node_process *node = &stage->first;
    char data[NODE_PROCESS_PATH + 8];

    (void)state;
    AWAIT(node, join_metastore, "node", "status");
    node_process_apply(node, pools);
    assert_int_equal(joined_add(node, "tally#0.add"), 1);
    node_process_end(node);
    data_of(stage, data);
    assert_int_equal(
        join_run(stage, (const char *const[]){PROCESS_RAPAHUB, "fsck", "--data", data, NULL}), 0);
    join_says(stage, join_metastore);
    node_process_begin(node);
    join_await(node);
    assert_int_equal(joined_add(node, "tally#0.add"), 2);
    joined_kill(node);
    join_await(node);
    assert_int_equal(joined_add(node, "tally#0.add"), 3);
    assert_int_equal(JOIN_ASK(stage, "delete", "tally"), 0);
    assert_false(joined_says(node, (const char *const[]){"get", "pools", NULL}, "tally"));
    end_stage(stage);
}

/* ---- etcd fails ---- */

/* A member that dies is passed over; orders that come meanwhile are carried out.
 * r[verify cluster.store.etcd.member] */
static void the_death_of_the_leader_of_etcd_is_passed_over(void **state)
{
    struct join_stage *stage = begin_on(&three, "leader");
    struct node_process *node = &stage->first;
    pid_t daemon = node_process_daemon(node);
    unsigned leader = etcd_process_leader(&three);

    (void)state;
    node_process_apply(node, pools);
    etcd_process_kill(&three, leader);
    assert_int_equal(joined_add(node, "tally#0.add"), 1);
    for (unsigned i = 0; JOIN_ASK(stage, "delete", "tally", "--timeout", "50s") != 0; i++)
        assert_true(i < 5);
    AWAIT(node, "[]", "get", "pools", "-o", "json");
    etcd_process_start(&three, leader);
    node_process_apply(node, more);
    assert_int_equal(node_process_daemon(node), daemon);
    end_stage(stage);
}

/* Also after a test that failed: the next ones use the same etcd. */
static int go_on(void **state)
{
    (void)state;
    etcd_process_signal(&small, 0, SIGCONT);
    return 0;
}

/* Calls go on where no member answers; an order is refused, or waits, and the daemon stays.
 * r[verify cluster.node.modules.away] */
static void calls_go_on_while_etcd_stands_still(void **state)
{
    struct join_stage *stage = begin_on(&small, "still");
    struct node_process *node = &stage->first;
    pid_t daemon = node_process_daemon(node);
    uint64_t begun_ns;

    (void)state;
    node_process_apply(node, pools);
    etcd_process_signal(&small, 0, SIGSTOP);
    begun_ns = hub_clock_now();
    for (long i = 1; i <= 5; i++)
        assert_int_equal(joined_add(node, "tally#0.add"), i);
    assert_true(hub_clock_now() - begun_ns < WITHIN * HUB_SECOND);
    assert_true(joined_says(node, (const char *const[]){"get", "pools", NULL}, "ACTIVE"));
    joined_refuses(node, (const char *const[]){"token", "create", "--timeout", "20s", NULL}, 75,
                   "the metastore does not answer");
    joined_refuses(node, (const char *const[]){"delete", "tally", "--timeout", "3s", NULL}, 5,
                   "the operation goes on");
    etcd_process_signal(&small, 0, SIGCONT);
    AWAIT(node, "[]", "get", "pools", "-o", "json");
    assert_int_equal(node_process_daemon(node), daemon);
    end_stage(stage);
}

/* The daemon is begun again until etcd answers. r[verify cluster.warden.death] */
static void a_daemon_that_dies_while_etcd_stands_still_comes_back(void **state)
{
    struct join_stage *stage = begin_on(&small, "dies");
    struct node_process *node = &stage->first;

    (void)state;
    node_process_apply(node, pools);
    assert_int_equal(joined_add(node, "tally#0.add"), 1);
    etcd_process_signal(&small, 0, SIGSTOP);
    joined_kill(node);
    pause_ms(2000);
    etcd_process_signal(&small, 0, SIGCONT);
    join_await(node);
    assert_int_equal(joined_add(node, "tally#0.add"), 2);
    end_stage(stage);
}

/* r[verify cluster.store.etcd.space] */
static void orders_to_a_full_etcd_are_refused_and_calls_go_on(void **state)
{
    const struct etcd_process_options options = {.members = 1, .quota = QUOTA};
    struct etcd_process full;
    struct join_stage *stage;
    char *large = malloc(FILL + 1);
    unsigned puts = 0;

    (void)state;
    memset(large, 'x', FILL);
    large[FILL] = '\0';
    etcd_process_begin(&full, &options);
    stage = begin_on(&full, "full");
    node_process_apply(&stage->first, pools);
    while (puts < PUTS &&
           etcd_process_ctl(&full, 0, (const char *const[]){"put", "other", large, NULL}))
        puts++;
    assert_true(puts < PUTS);
    joined_refuses(&stage->first, (const char *const[]){"delete", "tally", NULL}, 13,
                   "the metastore is full; nothing was done");
    assert_int_equal(joined_add(&stage->first, "tally#0.add"), 1);
    end_stage(stage);
    etcd_process_end(&full);
    free(large);
}

/* ---- what is refused ---- */

/* r[verify cluster.boot.store] */
static void the_metastore_of_another_cluster_is_refused(void **state)
{
    struct join_stage *stage = begin_on(&small, "mine");
    char other[ETCD_PROCESS_URL];

    (void)state;
    init_refused(stage, false, join_metastore, NULL, "the metastore of another cluster");
    node_process_end(&stage->first);
    etcd_process_url(&small, "theirs", other);
    init_refused(stage, true, other, NULL, "the metastore of this node is");
    etcd_process_url(&three, "mine", other);
    init_refused(stage, true, other, NULL, "there is no store with this prefix in this etcd");
    init_refused(stage, false, "sqlite:/x", NULL, "is no metastore; write etcd://");
    node_process_begin(&stage->first);
    end_stage(stage);
}

/* The node of the stage does not begin, and says why. */
static void begin_refused(struct join_stage *stage, const char *text)
{
    char data[NODE_PROCESS_PATH + 8], run[NODE_PROCESS_PATH + 8];

    data_of(stage, data);
    snprintf(run, sizeof run, "%s/run", stage->first.folder);
    assert_int_not_equal(join_run(stage, (const char *const[]){TEST_PREFIX "/bin/rapahubd",
                                                               "--data", data, "--run", run, NULL}),
                         0);
    join_says(stage, text);
}

/* r[verify cluster.store.old] */
static void an_etcd_of_before_is_refused(void **state)
{
    const struct etcd_process_options options = {.members = 1};
    struct etcd_process old;
    struct join_stage *stage;
    char snapshot[80];

    (void)state;
    etcd_process_begin(&old, &options);
    stage = begin_on(&old, "old");
    snprintf(snapshot, sizeof snapshot, "%s/snapshot", old.folder);
    assert_true(
        etcd_process_ctl(&old, 0, (const char *const[]){"snapshot", "save", snapshot, NULL}));
    node_process_apply(&stage->first, pools);
    node_process_end(&stage->first);
    etcd_process_restore(&old, snapshot);
    begin_refused(stage, "put the newer one back");
    end_stage(stage);
    etcd_process_end(&old);
}

/* r[verify cluster.store.etcd.tls] */
static void a_side_that_does_not_speak_tls_is_refused(void **state)
{
    struct join_stage *stage = begin_on(&small, "plain");
    char url[ETCD_PROCESS_URL], by_tls[ETCD_PROCESS_URL + 1];

    (void)state;
    etcd_process_url(&small, "secure", url);
    snprintf(by_tls, sizeof by_tls, "etcds%s", strchr(url, ':'));
    init_refused(stage, false, by_tls, secure.tls, "TLS");
    init_refused(stage, false, by_tls, NULL, "etcd/ca.pem");
    etcd_process_url(&secure, "secure", by_tls);
    snprintf(url, sizeof url, "etcd%s", strchr(by_tls, ':'));
    init_refused(stage, false, url, NULL, "see whether etcd runs there");
    end_stage(stage);
}

/* The certificates are where the folder has them. r[verify cluster.store.etcd.tls] */
static void a_node_reaches_etcd_by_tls(void **state)
{
    struct node_process node;
    char url[ETCD_PROCESS_URL], data[NODE_PROCESS_PATH + 8], etcd[NODE_PROCESS_PATH + 16];
    struct process_result result;

    (void)state;
    node_process_open(&node);
    snprintf(data, sizeof data, "%s/data", node.folder);
    snprintf(etcd, sizeof etcd, "%s/etcd", data);
    assert_int_equal(mkdir(data, 0700), 0);
    assert_int_equal(
        process_run_argv((const char *[]){"cp", "-r", secure.tls, etcd, NULL}, &result), 0);
    process_result_fini(&result);
    etcd_process_url(&secure, "own", url);
    assert_int_equal(process_run_argv((const char *[]){PROCESS_RAPAHUB, "node", "init", data,
                                                       "--metastore", url, NULL},
                                      &result),
                     0);
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
    node_process_begin(&node);
    join_await(&node);
    node_process_apply(&node, pools);
    assert_int_equal(joined_add(&node, "tally#1.add"), 1);
    node_process_close(&node);
}

/* ---- a second node ---- */

/* It reaches the metastore by itself. r[verify cluster.join.follows] */
static void a_second_node_joins(void **state)
{
    char url[ETCD_PROCESS_URL];
    struct joined *joined;
    void *stage = NULL;

    (void)state;
    etcd_process_url(&three, "two", url);
    join_metastore = url;
    assert_int_equal(joined_begin(&stage), 0);
    joined = stage;
    node_process_apply(&joined->stage->first, pools);
    AWAIT(&joined->second, "tally", "get", "pools");
    assert_int_equal(joined_add(&joined->second, "tally#0.add"), 1);
    AWAIT(&joined->stage->first, "second", "get", "nodes");
    joined_end(&stage);
    join_metastore = NULL;
}

static int begin_all(void **state)
{
    (void)state;
    etcd_process_begin(&three, &(struct etcd_process_options){.members = 3});
    etcd_process_begin(&small, &(struct etcd_process_options){.members = 1});
    etcd_process_begin(&secure, &(struct etcd_process_options){.members = 1, .tls = true});
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    etcd_process_end(&three);
    etcd_process_end(&small);
    etcd_process_end(&secure);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_keeps_its_pools_in_etcd),
        cmocka_unit_test(the_death_of_the_leader_of_etcd_is_passed_over),
        cmocka_unit_test_teardown(calls_go_on_while_etcd_stands_still, go_on),
        cmocka_unit_test_teardown(a_daemon_that_dies_while_etcd_stands_still_comes_back, go_on),
        cmocka_unit_test(orders_to_a_full_etcd_are_refused_and_calls_go_on),
        cmocka_unit_test(the_metastore_of_another_cluster_is_refused),
        cmocka_unit_test(an_etcd_of_before_is_refused),
        cmocka_unit_test(a_side_that_does_not_speak_tls_is_refused),
        cmocka_unit_test(a_node_reaches_etcd_by_tls),
        cmocka_unit_test(a_second_node_joins),
    };

    if (!etcd_process_possible())
        return 77;
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
