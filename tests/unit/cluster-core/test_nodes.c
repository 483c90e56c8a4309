/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/core/nodes/nodes.h"
#include "tests/support/testing.h"

static const struct cluster_record_node east = {
    .state = CLUSTER_NODE_DRAINING, .capacity = 7, .zone = {"east", 4}};
static const struct cluster_record_node nowhere = {.state = CLUSTER_NODE_ACTIVE};

/* r[verify cluster.nodes.record] */
static void a_node_is_as_its_record_says(void **state)
{
    struct cluster_nodes *nodes;
    const struct cluster_nodes_node *node;

    (void)state;
    assert_int_equal(cluster_nodes_create(1, 2, &nodes), 0);
    assert_int_equal(cluster_nodes_put(nodes, 9, 50, &east), 0);
    node = cluster_nodes_find(nodes, 9);
    assert_int_equal(node->state, CLUSTER_NODE_DRAINING);
    assert_int_equal(node->capacity, 7);
    assert_string_equal(node->zone, "east");
    assert_int_equal(cluster_nodes_session(nodes, 9), 50);
    assert_int_equal(cluster_nodes_put(nodes, 9, 60, &nowhere), 0);
    assert_int_equal(node->capacity, 1);
    assert_string_equal(node->zone, "");
    assert_int_equal(cluster_nodes_session(nodes, 9), 60);
    assert_int_equal(cluster_nodes_session(nodes, 8), 0);
    cluster_nodes_release(&nodes);
}

static void a_node_goes_but_not_this_one(void **state)
{
    struct cluster_nodes *nodes;
    uint32_t place = 0;

    (void)state;
    assert_int_equal(cluster_nodes_create(1, 2, &nodes), 0);
    assert_int_equal(cluster_nodes_put(nodes, 9, 50, &east), 0);
    assert_int_equal(cluster_nodes_put(nodes, 9, 0, NULL), 0);
    assert_int_equal(cluster_nodes_put(nodes, 9, 0, NULL), 0);
    assert_int_equal(cluster_nodes_put(nodes, 1, 0, NULL), 0);
    assert_null(cluster_nodes_find(nodes, 9));
    assert_int_equal(cluster_nodes_after(nodes, &place)->node, 1);
    assert_int_equal(cluster_nodes_at(nodes, place)->state, CLUSTER_NODE_ACTIVE);
    assert_null(cluster_nodes_after(nodes, &place));
    cluster_nodes_release(&nodes);
}

/* r[verify cluster.nodes.record] */
static void there_are_at_most_so_many(void **state)
{
    struct cluster_nodes *nodes;

    (void)state;
    assert_int_equal(cluster_nodes_create(1, 2, &nodes), 0);
    assert_int_equal(cluster_nodes_put(nodes, 2, 50, &east), 0);
    assert_int_equal(cluster_nodes_put(nodes, 3, 50, &east), 0);
    assert_int_equal(cluster_nodes_put(nodes, 4, 50, &east), RAPAHUB_EFULL);
    assert_int_equal(cluster_nodes_put(nodes, 3, 60, &nowhere), 0);
    cluster_nodes_release(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_as_its_record_says),
        cmocka_unit_test(a_node_goes_but_not_this_one),
        cmocka_unit_test(there_are_at_most_so_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
