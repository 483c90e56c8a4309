/* SPDX-License-Identifier: Apache-2.0 */
/* Three nodes of one cluster whose metastore is in etcd, as real processes: each reaches it by
 * itself. The tests follow each other on one cluster. */
#include <sys/wait.h>

#include "hub/base/clock.h"
#include "tests/cluster/mesh_stage.h"
#include "tests/metastore/etcd_process.h"

static struct etcd_process etcd;
static struct mesh *mesh;

static const char pools[] =
    "pools:\n  - pool_name: on2\n    module: " TEST_PREFIX
    "/bin/counter.so\n    durability: acked\n"
    "    placement: {nodes: [2]}\n  - pool_name: on3\n    module: " TEST_PREFIX
    "/bin/counter.so\n    placement: {nodes: [3]}\n";

static struct node_process *node(unsigned number)
{
    return number == 1   ? &mesh->joined->stage->first
           : number == 2 ? &mesh->joined->second
                         : &mesh->third;
}

/* The host of a node is lost, with all that runs there. */
static void lose_host(unsigned number)
{
    struct node_process *of = node(number);
    pid_t daemon = node_process_daemon(of);

    assert_true(daemon > 0);
    assert_int_equal(kill(of->warden, SIGSTOP), 0);
    assert_int_equal(kill(daemon, SIGKILL), 0);
    assert_int_equal(kill(of->warden, SIGKILL), 0);
    assert_int_equal(waitpid(of->warden, NULL, 0), of->warden);
    of->warden = 0;
}

static void come_back(unsigned number)
{
    node_process_begin(node(number));
    join_await(node(number));
}

/* What a node says of itself: the line of its status that begins so. */
static void line_of(unsigned number, const char *name, char to[256])
{
    static const char *const words[] = {"node", "status", NULL};
    struct process_result result;
    const char *at;

    assert_int_equal(node_process_rapahub(node(number), words, &result), 0);
    at = strstr(result.out, name);
    assert_non_null(at);
    snprintf(to, 256, "%.*s", (int)strcspn(at, "\n"), at);
    process_result_fini(&result);
}

static bool has_file(const char *data, const char *name)
{
    char path[NODE_PROCESS_PATH + 64];

    snprintf(path, sizeof path, "%s/%s", data, name);
    return access(path, F_OK) == 0;
}

/* ---- the lead ---- */

/* Which node leads, as another one says; 0: that does not answer. */
static unsigned leader_by(unsigned number)
{
    static const char *const words[] = {"node", "status", "--json", NULL};
    static const char key[] = "\"leader\":";
    struct process_result result;
    const char *at = NULL;
    unsigned leader = 0;

    if (node_process_rapahub(node(number), words, &result) == 0)
        at = strstr(result.out, key);
    if (at)
        leader = (unsigned)strtoul(at + sizeof key - 1, NULL, 10);
    process_result_fini(&result);
    return leader;
}

/* Waits until a node says that another one than this leads; returns which. */
static unsigned await_other(unsigned number, unsigned leader)
{
    for (unsigned i = 0; i < 1200; i++) {
        unsigned now = leader_by(number);

        if (now != 0 && now != leader)
            return now;
        pause_ms(50);
    }
    fail_msg("node %u does not come to follow another node than %u", number, leader);
    return 0;
}

/* Gives an order to the node that leads, as node 3 says; on a slow machine another one may lead by
 * then. */
static void order(const char *const words[])
{
    struct process_result result;
    int status = -1;

    for (unsigned i = 0; i < 20 && status != 0; i++) {
        unsigned leader = leader_by(3);

        if (leader != 0) {
            status = node_process_rapahub(node(leader), words, &result);
            process_result_fini(&result);
        }
        if (status != 0)
            pause_ms(200);
    }
    if (status != 0)
        fail_msg("%s: status %d", words[0], status);
}
#define ORDER(...) order((const char *const[]){__VA_ARGS__, NULL})

static void apply(const char *text)
{
    struct process_result result;
    int status = -1;

    for (unsigned i = 0; i < 20 && status != 0; i++) {
        unsigned leader = leader_by(3);

        if (leader != 0) {
            status = node_process_try_apply(node(leader), text, &result);
            process_result_fini(&result);
        }
        if (status != 0)
            pause_ms(200);
    }
    assert_int_equal(status, 0);
}

/* A node that does not lead takes no order, and says which does. */
static void refused_by_a_follower(void)
{
    char text[48];
    unsigned leader = leader_by(3), other = leader == 2 ? 3 : 2;

    snprintf(text, sizeof text, "give it to node %u, which leads", leader);
    joined_refuses(node(other), (const char *const[]){"delete", "none", NULL}, 6, text);
}

/* ---- etcd ---- */

/* r[verify cluster.join.place] */
static void a_node_that_joins_has_the_metastore_in_its_folder(void **state)
{
    (void)state;
    assert_true(has_file(mesh->joined->data, "node.metastore"));
    assert_false(has_file(mesh->joined->data, "node.seat"));
    AWAIT(node(2), join_metastore, "node", "status");
    AWAIT(node(3), join_metastore, "node", "status");
    refused_by_a_follower();
}

/* r[verify cluster.join.place] r[verify cluster.nodes.mesh] */
static void the_others_serve_while_the_first_is_lost(void **state)
{
    char before[2][256], after[256];

    (void)state;
    mesh_push(node(1), TEST_PREFIX "/bin/counter.so");
    apply(pools);
    AWAIT(node(2), "\"state\":\"ACTIVE\"", "describe", "pool", "on2", "--json");
    AWAIT(node(2), "\"state\":\"ACTIVE\"", "describe", "pool", "on3", "--json");
    mesh_await_link(node(2), 3, "UP");
    line_of(2, "session", before[0]);
    line_of(3, "session", before[1]);
    lose_host(1);
    mesh_await_link(node(2), 1, "DOWN");
    assert_int_equal(joined_add(node(2), "on2.add"), 1);
    assert_int_equal(joined_add(node(3), "on2.add"), 2);
    assert_int_equal(joined_add(node(2), "on3.add"), 1);
    line_of(2, "session", after);
    assert_string_equal(after, before[0]);
    line_of(3, "session", after);
    assert_string_equal(after, before[1]);
    come_back(1);
    assert_int_equal(joined_add(node(1), "on2.add"), 3);
    assert_int_equal(joined_add(node(1), "on3.add"), 2);
    ORDER("delete", "on3");
}

static void write_line(const char *url)
{
    char path[NODE_PROCESS_PATH + 64];
    FILE *file;

    snprintf(path, sizeof path, "%s/node.metastore", mesh->data);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", url);
    fclose(file);
}

/* Node 3, which does not run, does not begin with this metastore, and says why. */
static void refused_at(const char *prefix, const char *text)
{
    char run[NODE_PROCESS_PATH + 8], url[ETCD_PROCESS_URL];
    const char *const words[] = {
        TEST_PREFIX "/bin/rapahubd", "--data", mesh->data, "--run", run, NULL};

    snprintf(run, sizeof run, "%s/run", mesh->third.folder);
    etcd_process_url(&etcd, prefix, url);
    write_line(url);
    assert_int_not_equal(join_run(mesh->joined->stage, words), 0);
    join_says(mesh->joined->stage, text);
}

/* r[verify cluster.boot.store] */
static void another_metastore_is_refused(void **state)
{
    struct join_stage *stage = mesh->joined->stage;
    char theirs[ETCD_PROCESS_URL];

    (void)state;
    node_process_end(node(3));
    etcd_process_url(&etcd, "theirs", theirs);
    assert_int_equal(
        join_run(stage, (const char *const[]){PROCESS_RAPAHUB, "node", "init", stage->data,
                                              "--metastore", theirs, NULL}),
        0);
    refused_at("none", "there is no store with this prefix in this etcd");
    refused_at("theirs", "the metastore of another cluster");
    write_line(join_metastore);
    come_back(3);
}

/* ---- another one leads ---- */

/* What the one that led had begun goes on, and what people order is for the next one.
 * r[verify cluster.lead.gone] r[verify cluster.lead.claim] r[verify cluster.lead.follow] */
static void another_node_leads_when_the_one_that_led_is_lost(void **state)
{
    unsigned lost = leader_by(3), next;
    uint64_t begun_ns;

    (void)state;
    if (lost == 3) /* the stage asks it */
        skip();
    AWAIT(node(3), "LEADS", "get", "nodes");
    begun_ns = hub_clock_now();
    lose_host(lost);
    next = await_other(3, lost);
    print_message("node %u leads %u ms after the loss of node %u\n", next,
                  (unsigned)((hub_clock_now() - begun_ns) / HUB_MILLISECOND), lost);
    apply("pools:\n  - pool_name: after\n    module: " TEST_PREFIX
          "/bin/counter.so\n    containers: 2\n    placement: {nodes: [3]}\n");
    assert_int_equal(joined_add(node(3), "after#0.add"), 1);
    assert_int_equal(joined_add(node(next), "after#0.add"), 2);
    ORDER("delete", "after");
    ORDER("get", "operations");
    come_back(lost);
    (void)await_other(lost, lost);
    assert_int_equal(joined_add(node(lost), "on2.add"), 4);
    refused_by_a_follower();
}

/* It takes part as it did, and has the authority that it had. r[verify cluster.lead.follow] */
static void the_first_node_follows(void **state)
{
    const char *const words[] = {"node",  "certificate",      "--name", "ana",
                                 "--out", mesh->joined->data, NULL};
    const char *const others[] = {"node",  "certificate", "--name", "eve",
                                  "--out", mesh->data,    NULL};
    struct process_result result;

    (void)state;
    if (leader_by(3) == 1)
        skip();
    assert_int_equal(node_process_rapahub(node(1), words, &result), 0);
    process_result_fini(&result);
    joined_refuses(node(2), others, 6, "give it to node 1");
    apply("pools:\n  - pool_name: more\n    module: " TEST_PREFIX
          "/bin/counter.so\n    containers: 2\n    placement: {nodes: [1, 3]}\n");
    assert_int_equal(joined_add(node(1), "more#0.add"), 1);
    assert_int_equal(joined_add(node(1), "more#1.add"), 1);
    ORDER("delete", "more");
}

/* It is back before another one leads, or it is not: all is there. r[verify cluster.lead.claim] */
static void a_daemon_that_leads_dies(void **state)
{
    (void)state;
    for (long i = 5; i <= 6; i++) {
        unsigned leader = leader_by(3);

        joined_kill(node(leader));
        join_await(node(leader));
        assert_int_equal(joined_add(node(3), "on2.add"), i);
    }
    ORDER("get", "operations");
}

/* All begin anew, and one leads. r[verify cluster.lead.claim] */
static void a_cluster_that_was_ended_has_a_leader_again(void **state)
{
    (void)state;
    for (unsigned i = 3; i > 0; i--)
        node_process_end(node(i));
    come_back(3);
    assert_int_equal(await_other(3, leader_by(3) == 3 ? 0 : leader_by(3)), 3);
    come_back(2);
    come_back(1);
    assert_int_equal(joined_add(node(1), "on2.add"), 7);
    ORDER("delete", "on2");
}

static int begin_all(void **state)
{
    static char url[ETCD_PROCESS_URL];

    etcd_process_begin(&etcd, &(struct etcd_process_options){.members = 1});
    etcd_process_url(&etcd, "cluster", url);
    join_metastore = url;
    assert_int_equal(mesh_begin(state), 0);
    mesh = *state;
    return 0;
}

static int end_all(void **state)
{
    assert_int_equal(mesh_end(state), 0);
    etcd_process_end(&etcd);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_joins_has_the_metastore_in_its_folder),
        cmocka_unit_test(the_others_serve_while_the_first_is_lost),
        cmocka_unit_test(another_metastore_is_refused),
        cmocka_unit_test(another_node_leads_when_the_one_that_led_is_lost),
        cmocka_unit_test(the_first_node_follows),
        cmocka_unit_test(a_daemon_that_leads_dies),
        cmocka_unit_test(a_cluster_that_was_ended_has_a_leader_again),
    };

    if (!etcd_process_possible())
        return 77;
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
