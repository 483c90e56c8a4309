/* SPDX-License-Identifier: Apache-2.0 */
/* Three nodes of one cluster whose metastore is in etcd, as real processes: each reaches it by
 * itself. The tests follow each other on one cluster. */
#include <sys/wait.h>

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

/* r[verify cluster.join.place] */
static void a_node_that_joins_has_the_metastore_in_its_folder(void **state)
{
    (void)state;
    assert_true(has_file(mesh->joined->data, "node.metastore"));
    assert_false(has_file(mesh->joined->data, "node.seat"));
    AWAIT(node(2), join_metastore, "node", "status");
    AWAIT(node(3), join_metastore, "node", "status");
    joined_refuses(node(2), (const char *const[]){"delete", "none", NULL}, 6,
                   "give it to node 1, which leads, with --node 127.0.0.1:");
}

/* r[verify cluster.join.place] r[verify cluster.nodes.mesh] */
static void the_others_serve_while_the_first_is_lost(void **state)
{
    char before[2][256], after[256];

    (void)state;
    mesh_push(node(1), TEST_PREFIX "/bin/counter.so");
    node_process_apply(node(1), pools);
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
    assert_int_equal(JOIN_ASK(mesh->joined->stage, "delete", "on3"), 0);
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
    };

    if (!etcd_process_possible())
        return 77;
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
