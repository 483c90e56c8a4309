/* SPDX-License-Identifier: Apache-2.0 */
/* Three nodes as real processes: calls between two of which none is the seat. */
#include "tests/cluster/mesh_stage.h"

#define KILLS 8
#define EACH  4 /* calls after each of them */

static const char on_third[] = "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX
                               "/bin/counter.so\n    containers: 2\n    durability: acked\n"
                               "    placement: {nodes: [3]}\n";

/* The containers are node 3's. */
static void begin_on_third(const struct mesh *mesh)
{
    const struct node_process *first = &mesh->joined->stage->first;

    mesh_push(first, TEST_PREFIX "/bin/counter.so");
    mesh_push(&mesh->third, TEST_PREFIX "/bin/counter.so");
    node_process_apply(first, on_third);
    AWAIT(&mesh->joined->second, "\"owner\":3", "describe", "pool", "tally", "--json");
}

/* r[verify cluster.nodes.mesh] r[verify cluster.node.nodes] */
static void a_call_goes_from_node_to_node(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *first = &mesh->joined->stage->first, *second = &mesh->joined->second;

    begin_on_third(mesh);
    mesh_await_link(second, 3, "UP");
    mesh_await_link(second, 1, "UP");
    assert_true(mesh_has_link(second, 2, "SELF"));
    mesh_await_link(&mesh->third, 2, "UP");
    assert_int_equal(joined_add(second, "tally#1.add"), 1);
    assert_int_equal(joined_add(&mesh->third, "tally#1.add"), 2);
    joined_kill(first); /* which has no part in it */
    assert_int_equal(joined_add(second, "tally#1.add"), 3);
    assert_int_equal(joined_add(second, "tally#0.add"), 1);
    joined_refuses(second, (const char *const[]){"call", "tally#1.add", "-1", NULL}, 12,
                   "is negative");
    mesh_await_link(first, 3, "UP");
    assert_int_equal(joined_add(first, "tally#1.add"), 4);
}

/* Its caller does not notice: it waits, and goes on. */
static void a_call_outlasts_the_deaths_of_both_nodes(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *second = &mesh->joined->second;
    long total = 0;

    begin_on_third(mesh);
    for (unsigned i = 0; i < KILLS; i++) {
        joined_kill(i % 2 == 0 ? &mesh->third : second);
        if (i % 2 == 1)
            join_await(second);
        for (unsigned k = 0; k < EACH; k++)
            assert_int_equal(joined_add(second, "tally#0.add"), ++total);
    }
}

/* All die at once, again and again: each finds the others. */
static void links_come_back_after_a_storm(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *const all[] = {&mesh->joined->stage->first, &mesh->joined->second,
                                        &mesh->third};

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 3; i++)
            joined_kill(all[i]);
        for (unsigned i = 0; i < 3; i++)
            join_await(all[i]);
        for (unsigned i = 0; i < 3; i++)
            for (unsigned k = 1; k <= 3; k++)
                if (k != i + 1)
                    mesh_await_link(all[i], k, "UP");
    }
}

/* Node 2 dials node 3, which cannot dial it. */
static void a_node_that_does_not_listen_has_links(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *second = &mesh->joined->second;

    node_process_end(second);
    second->option = NULL;
    node_process_begin(second);
    join_await(second);
    mesh_await_link(second, 3, "UP");
    mesh_await_link(&mesh->third, 2, "UP");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, mesh_begin, mesh_end)
    const struct CMUnitTest tests[] = {
        TEST(a_call_goes_from_node_to_node),
        TEST(a_call_outlasts_the_deaths_of_both_nodes),
        TEST(links_come_back_after_a_storm),
        TEST(a_node_that_does_not_listen_has_links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
