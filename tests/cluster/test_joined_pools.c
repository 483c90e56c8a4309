/* SPDX-License-Identifier: Apache-2.0 */
/* Pools whose containers are on two nodes, as real processes: calls from each to each, and deaths
 * of either. */
#include "tests/cluster/joined_stage.h"

#define CONTAINERS 4

static const char both[] = "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX
                           "/bin/counter.so\n    containers: 4\n    durability: acked\n"
                           "    placement: {nodes: [1, 2]}\n";

struct owner {
    unsigned node, epoch;
    char state[16];
};

/* The owner of each container, as a node knows it. */
static void look_at_owners(const struct node_process *node, struct owner owners[CONTAINERS])
{
    static const char *const words[] = {"describe", "pool", "tally", "--json", NULL};
    struct process_result result;
    const char *at;

    memset(owners, 0, CONTAINERS * sizeof *owners);
    assert_int_equal(node_process_rapahub(node, words, &result), 0);
    at = result.out;
    for (unsigned i = 0; i < CONTAINERS; i++) {
        char key[32];

        snprintf(key, sizeof key, "\"container\":%u,", i);
        at = strstr(result.out, key);
        if (!at || sscanf(at + strlen(key), "\"state\":\"%15[A-Z]\",\"owner\":%u,\"epoch\":\"%u\"",
                          owners[i].state, &owners[i].node, &owners[i].epoch) != 3)
            fail_msg("no container %u in: %s", i, result.out);
    }
    process_result_fini(&result);
}

static bool are_active(const struct owner owners[CONTAINERS])
{
    for (unsigned i = 0; i < CONTAINERS; i++)
        if (strcmp(owners[i].state, "ACTIVE") != 0)
            return false;
    return true;
}

static void await_active(const struct node_process *node, struct owner owners[CONTAINERS])
{
    for (unsigned i = 0; i < 1200; i++) {
        look_at_owners(node, owners);
        if (are_active(owners))
            return;
        pause_ms(50);
    }
    fail_msg("containers of node 2 are not active again");
}

static void push(const struct node_process *node)
{
    static const char *const words[] = {"module", "push", TEST_PREFIX "/bin/counter.so", NULL};
    struct process_result result;

    if (node_process_rapahub(node, words, &result) != 0)
        fail_msg("module push: %s", result.err);
    process_result_fini(&result);
}

static unsigned count_of(const struct owner owners[CONTAINERS], unsigned node)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CONTAINERS; i++)
        count += owners[i].node == node;
    return count;
}

static void add_to_each(const struct node_process *node, long total)
{
    char target[32];

    for (unsigned i = 0; i < CONTAINERS; i++) {
        snprintf(target, sizeof target, "tally#%u.add", i);
        assert_int_equal(joined_add(node, target), total);
    }
}

static void begin_on_both(const struct joined *joined, struct owner owners[CONTAINERS])
{
    push(&joined->stage->first);
    node_process_apply(&joined->stage->first, both);
    await_active(&joined->stage->first, owners);
    assert_in_range(count_of(owners, 1), 1, CONTAINERS - 1);
    assert_int_equal(count_of(owners, 1) + count_of(owners, 2), CONTAINERS);
    AWAIT(&joined->second, "\"name\":\"tally\"", "describe", "pool", "tally", "--json");
    await_active(&joined->second, owners);
}

/* A node that dies has its containers again, in its next session: each in a new epoch, with all
 * that was answered. r[verify cluster.step.done] r[verify cluster.nodes.record] */
static void containers_are_on_both_nodes(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    struct owner before[CONTAINERS], after[CONTAINERS];

    begin_on_both(joined, before);
    add_to_each(first, 1);
    add_to_each(second, 2);
    joined_kill(second);
    add_to_each(first, 3);
    await_active(first, after);
    for (unsigned i = 0; i < CONTAINERS; i++) {
        assert_int_equal(after[i].node, before[i].node);
        if (before[i].node == 2)
            assert_true(after[i].epoch > before[i].epoch);
    }
    join_await(second);
    add_to_each(second, 4);
}

/* r[verify cluster.step.again] */
static void containers_go_on_when_the_seat_dies(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    struct owner owners[CONTAINERS];

    begin_on_both(joined, owners);
    add_to_each(second, 1);
    joined_kill(first);
    add_to_each(second, 2);
    join_await(first);
    await_active(first, owners);
    joined_kill(first);
    joined_kill(second);
    join_await(first);
    join_await(second);
    await_active(first, owners);
    add_to_each(first, 3);
    assert_int_equal(JOIN_ASK(joined->stage, "delete", "tally"), 0);
    assert_false(joined_says(first, (const char *const[]){"get", "pools", NULL}, "tally"));
}

/* r[verify cluster.node.modules.here] r[verify cluster.placement.named] */
static void a_pool_without_nodes_stays_where_it_was_pushed(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    static const char alone[] = "pools:\n  - pool_name: alone\n    module: " TEST_PREFIX
                                "/bin/counter.so\n    containers: 4\n";

    node_process_apply(first, alone); /* it names no nodes */
    assert_false(joined_says(
        first, (const char *const[]){"describe", "pool", "alone", "--json", NULL}, "\"owner\":2"));
    joined_refuses(
        second,
        (const char *const[]){"module", "push", TEST_PREFIX "/tests/modules/ledger.so", NULL}, 3,
        "which leads, with --node");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, joined_begin, joined_end)
    const struct CMUnitTest tests[] = {
        TEST(containers_are_on_both_nodes),
        TEST(containers_go_on_when_the_seat_dies),
        TEST(a_pool_without_nodes_stays_where_it_was_pushed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
