/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of the metastore, as a reading and a watch tell of them. */
#include <string.h>

#include "cluster/node/map/map_nodes.h"
#include "tests/support/testing.h"

static struct cluster_event_queue *events;
static struct cluster_map_nodes nodes;

static int open_stage(void **state)
{
    (void)state;
    assert_int_equal(cluster_event_queue_create(&events), 0);
    cluster_map_nodes_init(&nodes, events);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    assert_null(cluster_event_queue_take(events));
    cluster_map_nodes_fini(&nodes);
    cluster_event_queue_release(&events);
    return 0;
}

static void take(enum cluster_keys_kind kind, uint32_t node, uint64_t revision, const char *value)
{
    const struct cluster_key key = {.kind = kind, .node = node};
    struct cluster_pair pair = {.create_rev = revision, .mod_rev = revision};

    if (value)
        pair.value = (struct rapahub_bytes){value, strlen(value)};
    assert_int_equal(cluster_map_nodes_take(&nodes, &key, &pair, value == NULL), 0);
}

static void expect(uint32_t node, uint64_t session, const char *record)
{
    const struct cluster_event *event = cluster_event_queue_take(events);

    assert_non_null(event);
    assert_int_equal(event->kind, CLUSTER_EVENT_NODE);
    assert_int_equal(event->node, node);
    assert_int_equal(event->session, session);
    assert_int_equal(event->body.bytes.size, strlen(record));
    assert_memory_equal(event->body.bytes.data, record, strlen(record));
    cluster_event_queue_done(events);
}

/* r[verify cluster.nodes.record] */
static void a_node_is_told_with_its_session(void **state)
{
    (void)state;
    take(CLUSTER_KEY_SESSION, 2, 5, "s"); /* of no node that is known */
    take(CLUSTER_KEY_NODE, 2, 4, "joins");
    expect(2, 5, "joins");
    take(CLUSTER_KEY_NODE, 2, 6, "active");
    expect(2, 5, "active");
    take(CLUSTER_KEY_SESSION, 2, 7, NULL);
    expect(2, 0, "active");
    take(CLUSTER_KEY_SESSION, 2, 8, "s");
    expect(2, 8, "active");
    take(CLUSTER_KEY_NODE, 2, 9, NULL);
    expect(2, 8, "");
}

/* A reading that began before the watch told of it comes after. */
static void what_is_older_is_left_out(void **state)
{
    (void)state;
    take(CLUSTER_KEY_NODE, 2, 4, "active");
    expect(2, 0, "active");
    take(CLUSTER_KEY_SESSION, 2, 9, "s");
    expect(2, 9, "active");
    take(CLUSTER_KEY_SESSION, 2, 5, "s");
    take(CLUSTER_KEY_SESSION, 2, 9, "s");
    take(CLUSTER_KEY_NODE, 2, 4, "active");
    take(CLUSTER_KEY_NODE, 2, 3, NULL);
    assert_null(cluster_event_queue_take(events));
}

/* The node that leads puts its session again and again. */
static void a_session_that_is_put_again_is_not_told(void **state)
{
    const struct cluster_key key = {.kind = CLUSTER_KEY_SESSION, .node = 2};
    const struct cluster_pair again = {.create_rev = 9, .mod_rev = 12, .value = {"s", 1}};

    (void)state;
    take(CLUSTER_KEY_NODE, 2, 4, "active");
    expect(2, 0, "active");
    take(CLUSTER_KEY_SESSION, 2, 9, "s");
    expect(2, 9, "active");
    assert_int_equal(cluster_map_nodes_take(&nodes, &key, &again, false), 0);
    assert_null(cluster_event_queue_take(events));
    assert_int_equal(nodes.nodes[0].session_revision, 12);
    take(CLUSTER_KEY_SESSION, 2, 13, NULL);
    expect(2, 0, "active");
}

static void all_is_told_once_more(void **state)
{
    (void)state;
    take(CLUSTER_KEY_NODE, 2, 4, "active");
    take(CLUSTER_KEY_NODE, 3, 5, "joins");
    take(CLUSTER_KEY_SESSION, 4, 6, "s"); /* of no node that is known */
    expect(2, 0, "active");
    expect(3, 0, "joins");
    assert_int_equal(cluster_map_nodes_tell_all(&nodes), 0);
    expect(2, 0, "active");
    expect(3, 0, "joins");
}

static void there_are_at_most_so_many(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= CLUSTER_MAP_NODES_MAX; i++) {
        take(CLUSTER_KEY_NODE, i, i, "active");
        expect(i, 0, "active");
    }
    take(CLUSTER_KEY_NODE, CLUSTER_MAP_NODES_MAX + 1, 1000, "active");
    assert_null(cluster_event_queue_take(events));
    take(CLUSTER_KEY_NODE, 1, 1001, "left");
    expect(1, 0, "left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_is_told_with_its_session, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(what_is_older_is_left_out, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(a_session_that_is_put_again_is_not_told, open_stage,
                                        close_stage),
        cmocka_unit_test_setup_teardown(all_is_told_once_more, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(there_are_at_most_so_many, open_stage, close_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
