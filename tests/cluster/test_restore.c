/* SPDX-License-Identifier: Apache-2.0 */
/* The disk of the node with the metastore is lost, but for a backup: the cluster goes on with what
 * the backup has. States that were acknowledged after it are there, and no number is given twice.
 */
#include <unistd.h>

#include "tests/cluster/joined_stage.h"

static const char pools[] = "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX
                            "/bin/counter.so\n    durability: acked\n";
static const char later[] =
    "pools:\n  - pool_name: later\n    module: " TEST_PREFIX "/bin/counter.so\n";

/* A command with the folder of the first node. */
static int rapahub(const struct joined *joined, const char *verb, const char *file, char *out,
                   size_t size)
{
    char data[NODE_PROCESS_PATH + 16];
    const char *const argv[] = {PROCESS_RAPAHUB, "metastore", verb, file, "--data", data, NULL};
    const struct process_options options = {.argv = argv, .within_ns = UINT64_C(60000000000)};
    struct process_result result;
    int status;

    snprintf(data, sizeof data, "%s/data", joined->stage->first.folder);
    assert_int_equal(process_run(&options, &result), 0);
    snprintf(out, size, "%s%s", result.out, result.err);
    status = result.status;
    process_result_fini(&result);
    return status;
}

static void remove_metastore(const struct joined *joined)
{
    static const char *const names[] = {"meta.db", "meta.db-wal"};
    char path[NODE_PROCESS_PATH + 32];

    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/data/%s", joined->stage->first.folder, names[i]);
        (void)unlink(path);
    }
}

static unsigned long number_of(const struct node_process *node, const char *pool)
{
    const char *const words[] = {"describe", "pool", pool, NULL};
    struct process_result result;
    unsigned long number = 0;
    const char *at;

    assert_int_equal(node_process_rapahub(node, words, &result), 0);
    at = strstr(result.out, "\nid ");
    if (at)
        number = strtoul(at + 3 + strspn(at + 3, " "), NULL, 10);
    process_result_fini(&result);
    return number;
}

/* r[verify cluster.store.backup] r[verify cluster.store.restore] */
static void a_cluster_goes_on_from_a_backup(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    char backup[NODE_PROCESS_PATH + 32], out[1024];
    unsigned long lost;

    node_process_apply(first, pools);
    AWAIT(second, "tally", "get", "pools");
    assert_int_equal(joined_add(second, "tally#0.add"), 1);
    assert_int_equal(JOIN_ASK(joined->stage, "metastore", "backup", "one"), 0);
    assert_int_not_equal(JOIN_ASK(joined->stage, "metastore", "backup", "one"), 0);
    joined_refuses(second, (const char *const[]){"metastore", "backup", NULL}, 6,
                   "node 2 carries out no orders");
    assert_int_equal(joined_add(second, "tally#0.add"), 2);
    node_process_apply(first, later);
    AWAIT(second, "later", "get", "pools");
    lost = number_of(first, "later");
    assert_true(lost > 0);
    snprintf(backup, sizeof backup, "%s/data/backups/one", first->folder);
    assert_int_equal(rapahub(joined, "restore", backup, out, sizeof out), 75); /* it runs */
    node_process_end(first);
    remove_metastore(joined);
    if (rapahub(joined, "restore", backup, out, sizeof out) != 0)
        fail_msg("restore: %s", out);
    node_process_begin(first);
    join_await(first);
    AWAIT(first, "ACTIVE", "get", "nodes");
    for (unsigned i = 0;
         !joined_says(second, (const char *const[]){"get", "pools", NULL}, "tally") ||
         joined_says(second, (const char *const[]){"get", "pools", NULL}, "later");
         i++) {
        assert_true(i < 600);
        pause_ms(50);
    }
    assert_int_equal(joined_add(second, "tally#0.add"), 3); /* what was acknowledged is there */
    node_process_apply(first, later);
    assert_true(number_of(first, "later") > lost);
    AWAIT(second, "later", "get", "pools");
    assert_int_equal(joined_add(second, "later#0.add"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cluster_goes_on_from_a_backup, joined_begin, joined_end),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
