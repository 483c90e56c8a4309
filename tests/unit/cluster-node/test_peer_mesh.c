/* SPDX-License-Identifier: Apache-2.0 */
/* Links to all other nodes, by their records: who dials, and whose link ends. */
#include "cluster/node/peers/peer_mesh.h"
#include "tests/unit/cluster-node/peers_stage.h"

#define SEAT  9 /* it is never there */
#define CALLS CLUSTER_PEER_CALLS

static int tell(const struct peers_node *to, uint32_t node, uint64_t session,
                const char *const *addresses, uint32_t count)
{
    struct rapahub_string of[CLUSTER_RECORD_ADDRESSES_MAX];
    static const uint8_t uuid[CLUSTER_RECORD_UUID] = {1};
    struct cluster_record record = {.node = {.state = CLUSTER_NODE_ACTIVE,
                                             .uuid = {uuid, sizeof uuid},
                                             .name = rapahub_string_of("n"),
                                             .addresses = {.of = of, .count = count}}};
    uint8_t bytes[1024];
    struct hub_writer writer;

    for (uint32_t i = 0; i < count; i++)
        of[i] = rapahub_string_of(addresses[i]);
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_NODE, &record), 0);
    assert_int_equal(
        cluster_record_read(CLUSTER_KEY_NODE, (struct rapahub_bytes){bytes, writer.size}, &record),
        0);
    return cluster_peer_mesh_take(to->links, node, session, &record.node);
}

/* Node `number` of the stage begins, and hears that node `other` listens where node 1 does. */
static void begin(struct peers_stage *stage, uint32_t number, uint32_t boot, uint32_t other)
{
    struct peers_node *node = &stage->nodes[1];
    const char *const addresses[] = {stage->address};

    peers_begin(stage, 1, number, boot);
    cluster_peer_links_set_session(node->links, SESSION(number));
    cluster_peer_mesh_begin(node->links, SEAT, true);
    assert_int_equal(tell(node, number, SESSION(number), addresses, 1), 0);
    assert_int_equal(tell(node, other, SESSION(other), addresses, 1), 0);
}

/* r[verify cluster.nodes.mesh] */
static void the_higher_number_dials(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];
    const char *const nowhere[] = {"127.0.0.1:1"};

    cluster_peer_mesh_begin(one->links, SEAT, true);
    assert_int_equal(tell(one, 1, SESSION(1), nowhere, 1), 0);
    assert_int_equal(tell(one, 2, SESSION(2), nowhere, 1), 0);
    assert_true(cluster_peer_links_step(one->links, hub_clock_now()) == HUB_NEVER);
    begin(stage, 2, 3, 1);
    PEERS_UNTIL(stage, peers_is_up(one, CALLS, 2) && peers_is_up(two, CALLS, 1));
    assert_int_equal(cluster_peer_links_dialled(two->links), 0); /* it is not the seat */
}

/* Only the node with the higher number has an address. */
static void a_node_without_an_address_dials(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0];
    const char *const nowhere[] = {"127.0.0.1:1"};

    cluster_peer_mesh_begin(one->links, SEAT, true);
    assert_int_equal(tell(one, 1, SESSION(1), NULL, 0), 0);
    assert_int_equal(tell(one, 2, SESSION(2), nowhere, 1), 0);
    assert_int_equal(tell(one, 3, SESSION(3), NULL, 0), 0); /* neither: it says so */
    assert_true(cluster_peer_links_step(one->links, hub_clock_now()) != HUB_NEVER);
    assert_int_equal(tell(one, 1, SESSION(1), nowhere, 1), 0);
    PEERS_UNTIL(stage, cluster_peer_links_step(one->links, hub_clock_now()) == HUB_NEVER);
}

/* r[verify cluster.nodes.mesh] */
static void the_seat_and_the_dead_are_not_dialled(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *two = &stage->nodes[1];
    const char *const here[] = {stage->address};

    begin(stage, 2, 3, SEAT);
    assert_int_equal(tell(two, 1, 0, here, 1), 0); /* it has no session */
    assert_true(cluster_peer_links_step(two->links, hub_clock_now()) == HUB_NEVER);
    assert_int_equal(tell(two, 1, SESSION(1), here, 1), 0);
    PEERS_UNTIL(stage, peers_is_up(two, CALLS, 1));
}

/* r[verify cluster.nodes.gone] */
static void a_node_that_is_gone_has_no_link(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];
    const char *const here[] = {stage->address};
    const struct cluster_record_node left = {.state = CLUSTER_NODE_LEFT};

    begin(stage, 2, 3, 1);
    PEERS_UNTIL(stage, peers_is_up(one, CALLS, 2) && peers_is_up(two, CALLS, 1));
    assert_int_equal(cluster_peer_mesh_take(one->links, 2, 0, NULL), 0);
    PEERS_UNTIL(stage, !peers_is_up(one, CALLS, 2) && !peers_is_up(two, CALLS, 1));
    PEERS_UNTIL(stage, peers_broken(one, "cluster.nodes.gone") >= 3); /* it has dialled again */
    assert_int_equal(one->ups[CALLS], 1);
    assert_int_equal(tell(one, 2, SESSION(2), here, 1), 0);
    PEERS_UNTIL(stage, peers_is_up(one, CALLS, 2) && peers_is_up(two, CALLS, 1));
    assert_int_equal(cluster_peer_mesh_take(two->links, 1, 0, &left), 0);
    PEERS_UNTIL(stage, !peers_is_up(one, CALLS, 2) && !peers_is_up(two, CALLS, 1));
    assert_true(cluster_peer_links_step(two->links, hub_clock_now()) == HUB_NEVER);
}

/* r[verify cluster.nodes.gone] */
static void an_earlier_session_has_no_link(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];

    begin(stage, 2, 3, 1);
    PEERS_UNTIL(stage, peers_is_up(one, CALLS, 2) && peers_is_up(two, CALLS, 1));
    assert_int_equal(tell(one, 2, SESSION(2), NULL, 0), 0);
    peers_turn(stage);
    assert_true(peers_is_up(one, CALLS, 2));
    assert_int_equal(tell(one, 2, SESSION(3), NULL, 0), 0);
    PEERS_UNTIL(stage, !peers_is_up(one, CALLS, 2) && !peers_is_up(two, CALLS, 1));
    PEERS_UNTIL(stage, peers_broken(one, "cluster.nodes.gone") >= 3);
    assert_int_equal(one->ups[CALLS], 1);
    peers_end(two);
    begin(stage, 2, 4, 1);
    cluster_peer_links_set_session(two->links, SESSION(3));
    PEERS_UNTIL(stage, peers_is_up(one, CALLS, 2) && peers_is_up(two, CALLS, 1));
}

/* Its end would end the calls of that one. r[verify cluster.nodes.gone] */
static void the_session_of_another_node_has_no_link(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];

    assert_int_equal(tell(one, 3, SESSION(7), NULL, 0), 0);
    begin(stage, 2, 3, 1);
    cluster_peer_links_set_session(two->links, SESSION(7));
    PEERS_UNTIL(stage, peers_broken(one, "cluster.nodes.gone") >= 2);
    assert_int_equal(one->ups[CALLS], 0);
}

/* A look-up has a thread, and another node chooses how often its record changes. */
static void a_name_is_no_address_of_a_record(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *two = &stage->nodes[1];
    const char *const name[] = {"localhost:1"};

    begin(stage, 2, 3, 1);
    assert_int_equal(tell(two, 1, SESSION(1), name, 1), 0);
    assert_true(cluster_peer_links_step(two->links, hub_clock_now()) == HUB_NEVER);
}

static void another_node_at_an_address_is_refused(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *four = &stage->nodes[1];

    begin(stage, 4, 3, 3);
    PEERS_UNTIL(stage, peers_broken(four, "cluster.nodes.hello") >= 2);
    assert_int_equal(four->ups[CLUSTER_PEER_STORE], 0);
}

/* Each is tried, and what is none is left out. */
static void one_of_several_addresses_is_enough(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *two = &stage->nodes[1];
    const char *const many[] = {"*:9413", "no address: at all", "127.0.0.1:1", stage->address};

    begin(stage, 2, 3, SEAT);
    assert_int_equal(tell(two, 1, SESSION(1), many, 4), 0);
    PEERS_UNTIL(stage, peers_is_up(two, CALLS, 1));
}

/* r[verify cluster.nodes.bounds] */
static void there_are_as_many_nodes_as_links(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0];
    uint32_t node = 2;

    while (node < 2 + CLUSTER_PEER_LINKS_MAX)
        assert_int_equal(tell(one, node++, 0, NULL, 0), 0);
    assert_int_equal(tell(one, node, 0, NULL, 0), RAPAHUB_EFULL);
    assert_int_equal(cluster_peer_mesh_take(one->links, 7, 0, NULL), 0);
    assert_int_equal(tell(one, node, 0, NULL, 0), 0); /* in the place of one that is gone */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_open, peers_close)
    const struct CMUnitTest tests[] = {
        TEST(the_higher_number_dials),
        TEST(a_node_without_an_address_dials),
        TEST(the_seat_and_the_dead_are_not_dialled),
        TEST(a_node_that_is_gone_has_no_link),
        TEST(an_earlier_session_has_no_link),
        TEST(the_session_of_another_node_has_no_link),
        TEST(a_name_is_no_address_of_a_record),
        TEST(another_node_at_an_address_is_refused),
        TEST(one_of_several_addresses_is_enough),
        TEST(there_are_as_many_nodes_as_links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
