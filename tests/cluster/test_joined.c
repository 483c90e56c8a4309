/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes of one cluster as real processes: the seat, and a node that has joined it. Either is
 * killed, ends, and comes again; a copy of a folder and a revoked certificate are refused. */
#include "tests/cluster/joined_stage.h"

/* ---- tests ---- */

static const char pools[] =
    "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX "/bin/counter.so\n    containers: 2\n";

/* r[verify cluster.join.active] r[verify cluster.join.follows] r[verify cluster.node.nodes] */
static void a_node_that_has_joined_knows_the_cluster(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;

    AWAIT(first, "second", "get", "nodes");
    AWAIT(second, joined->stage->address, "get", "nodes");
    AWAIT(second, "ACTIVE", "get", "nodes");
    assert_false(joined_says(first, (const char *const[]){"get", "nodes", NULL}, "JOINING"));
    assert_int_equal(joined_boot_of(second), 2);
    node_process_apply(first, pools);
    AWAIT(second, "tally", "get", "pools");
    assert_int_equal(JOIN_ASK(joined->stage, "delete", "tally"), 0);
    for (unsigned i = 0; joined_says(second, (const char *const[]){"get", "pools", NULL}, "tally");
         i++) {
        assert_true(i < 600);
        pause_ms(50);
    }
}

/* r[verify cluster.join.orders] */
static void orders_are_for_the_node_with_the_metastore(void **state)
{
    struct joined *joined = *state;
    const struct node_process *second = &joined->second;
    const char *const orders[][5] = {
        {"delete", "tally", NULL}, {"token", "create", NULL}, {"get", "operations", NULL}};

    for (unsigned i = 0; i < sizeof orders / sizeof *orders; i++) {
        joined_refuses(second, orders[i], 6, "node 2 carries out no orders");
        joined_refuses(second, orders[i], 6, joined->stage->address);
    }
}

/* r[verify cluster.join.waits] r[verify cluster.nodes.dial] */
static void it_serves_while_the_seat_is_away(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    pid_t daemon = node_process_daemon(second);

    node_process_apply(first, pools);
    AWAIT(second, "tally", "get", "pools");
    joined_kill(first); /* its warden begins it again */
    assert_true(joined_says(second, (const char *const[]){"get", "pools", NULL}, "tally"));
    AWAIT(first, "second", "get", "nodes");
    assert_int_equal(JOIN_ASK(joined->stage, "delete", "tally"), 0);
    for (unsigned i = 0; joined_says(second, (const char *const[]){"get", "pools", NULL}, "tally");
         i++) {
        assert_true(i < 600);
        pause_ms(50);
    }
    assert_int_equal(node_process_daemon(second), daemon); /* it has not died of that */
}

/* r[verify cluster.join.waits] */
static void it_waits_for_the_seat_when_it_starts(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    static const char *const status[] = {"node", "status", NULL};
    struct process_result result;

    node_process_end(second);
    node_process_end(first);
    node_process_begin(second);
    assert_int_not_equal(node_process_rapahub(second, status, &result), 0);
    process_result_fini(&result);
    node_process_end(second); /* in order, while it waits */
    node_process_begin(second);
    node_process_begin(first);
    join_await(first);
    join_await(second);
    AWAIT(second, "ACTIVE", "get", "nodes");
}

/* r[verify cluster.nodes.one] */
static void a_life_that_is_killed_is_followed_by_the_next(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    uint32_t boot = joined_boot_of(second);
    char next[16];

    joined_kill(second);
    for (unsigned i = 0; i < 600; i++) {
        snprintf(next, sizeof next, "  %u", boot + 1);
        if (joined_says(first, (const char *const[]){"get", "nodes", NULL}, next))
            break;
        pause_ms(50);
    }
    join_await(second);
    assert_int_equal(joined_boot_of(second), boot + 1);
    joined_kill(first);
    joined_kill(second);
    join_await(first);
    join_await(second);
    assert_int_equal(joined_boot_of(second), boot + 2);
    AWAIT(second, "ACTIVE", "get", "nodes");
}

static void copy_folder(const char *from, const char *to)
{
    const char *const argv[] = {"/bin/cp", "-a", from, to, NULL};
    const struct process_options options = {.argv = argv, .within_ns = UINT64_C(60000000000)};
    struct process_result result;

    assert_int_equal(process_run(&options, &result), 0);
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
}

/* The session of the first is in the metastore, with the place of its folder. */
static void a_copy_of_a_folder_is_refused(void **state)
{
    struct joined *joined = *state;
    char copy[NODE_PROCESS_PATH + 16], run[NODE_PROCESS_PATH + 32], data[NODE_PROCESS_PATH + 32];
    const char *const argv[] = {TEST_PREFIX "/bin/rapahubd", data, run, "--name=copy", NULL};
    const struct process_options options = {.argv = argv, .within_ns = UINT64_C(60000000000)};
    struct process process;
    struct process_result result;

    snprintf(copy, sizeof copy, "%s/copy", joined->second.folder);
    copy_folder(joined->data, copy);
    snprintf(data, sizeof data, "--data=%s", copy);
    snprintf(run, sizeof run, "--run=%s/run", joined->second.folder);
    assert_int_equal(process_start(&options, &process), 0);
    if (!process_until_text(&process, "in another folder", true, UINT64_C(30000000000)))
        fail_msg("the copy says: %s", process.err);
    assert_int_equal(process_kill(&process, SIGTERM), 0); /* its warden would try again */
    assert_int_equal(process_finish(&process, &result), 0);
    process_result_fini(&result);
    AWAIT(&joined->second, "ACTIVE", "get", "nodes");
}

/* ---- calls ---- */

#define KILLS 6 /* of one of the daemons, in turn */
#define EACH  8 /* calls after each of them */

static const char acked[] =
    "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX "/bin/counter.so\n"
    "    containers: 2\n    durability: acked\n";

/* The containers are the first node's. r[verify cluster.peer.send] */
static void a_call_goes_to_the_node_of_its_container(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;

    node_process_apply(first, acked);
    AWAIT(second, "tally", "get", "pools");
    assert_int_equal(joined_add(second, "tally#1.add"), 1);
    assert_int_equal(joined_add(first, "tally#1.add"), 2);
    assert_int_equal(joined_add(second, "tally#1.add"), 3);
    assert_int_equal(joined_add(second, "tally#0.add"), 1);
    joined_refuses(second, (const char *const[]){"call", "tally#1.add", "-1", NULL}, 12,
                   "is negative");
    joined_refuses(second, (const char *const[]){"call", "tally#2.add", "1", NULL}, 2, "2");
}

/* Its caller does not notice: it waits, and goes on. */
static void a_call_outlasts_the_deaths_of_both_nodes(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    long total = 0;

    node_process_apply(first, acked);
    AWAIT(second, "tally", "get", "pools");
    for (unsigned i = 0; i < KILLS; i++) {
        joined_kill(i % 2 == 0 ? first : second);
        if (i % 2 == 1)
            join_await(second);
        for (unsigned k = 0; k < EACH; k++)
            assert_int_equal(joined_add(second, "tally#0.add"), ++total);
    }
}

/* An order at the seat, of which the other node hears by the metastore: a client that was good
 * there is refused. r[verify cluster.identity.revoked] */
static void a_certificate_is_revoked_for_all_nodes(void **state)
{
    struct joined *joined = *state;
    struct node_process remote = joined->second;
    static const char *const status[] = {"node", "status", NULL};
    char out[NODE_PROCESS_PATH + 16], serial[64];
    const char *at;

    snprintf(out, sizeof out, "%s/ana", joined->second.folder);
    snprintf(remote.address, sizeof remote.address, "%s", joined->address);
    assert_int_equal(JOIN_ASK(joined->stage, "node", "certificate", "--name", "ana", "--out", out),
                     0);
    at = strstr(joined->stage->result.out, "serial");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "serial %63s", serial), 1);
    assert_int_equal(setenv("RAPAHUB_CLIENT_TLS", out, 1), 0);
    assert_true(joined_says(&remote, status, "ACTIVE"));
    AWAIT(&joined->stage->first, joined->address, "get", "nodes");
    assert_int_equal(JOIN_ASK(joined->stage, "node", "revoke", serial), 0);
    for (unsigned i = 0; joined_says(&remote, status, "ACTIVE"); i++) {
        assert_true(i < 600);
        pause_ms(50);
    }
    assert_int_equal(unsetenv("RAPAHUB_CLIENT_TLS"), 0);
}

/* r[verify cluster.link.revoked] */
static void a_node_whose_certificate_is_revoked_is_cut_off(void **state)
{
    struct joined *joined = *state;
    struct process_result result;
    static const char *const status[] = {"node", "status", NULL};
    char serial[64];
    const char *at;

    assert_int_equal(node_process_rapahub(&joined->second, status, &result), 0);
    at = strstr(result.out, "\ncertificate  ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\ncertificate %63s", serial), 1);
    process_result_fini(&result);
    AWAIT(&joined->stage->first, "linked_nodes\":1", "node", "status", "--json");
    assert_int_equal(JOIN_ASK(joined->stage, "node", "revoke", serial), 0);
    AWAIT(&joined->stage->first, "linked_nodes\":0", "node", "status", "--json");
    assert_true(joined_says(&joined->second, status, "ACTIVE")); /* it goes on, alone */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, joined_begin, joined_end)
    const struct CMUnitTest tests[] = {
        TEST(a_node_that_has_joined_knows_the_cluster),
        TEST(orders_are_for_the_node_with_the_metastore),
        TEST(it_serves_while_the_seat_is_away),
        TEST(it_waits_for_the_seat_when_it_starts),
        TEST(a_life_that_is_killed_is_followed_by_the_next),
        TEST(a_copy_of_a_folder_is_refused),
        TEST(a_call_goes_to_the_node_of_its_container),
        TEST(a_call_outlasts_the_deaths_of_both_nodes),
        TEST(a_certificate_is_revoked_for_all_nodes),
        TEST(a_node_whose_certificate_is_revoked_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
