/* SPDX-License-Identifier: Apache-2.0 */
/* Links between nodes, over TCP and TLS: they come up, are lost, come again, and carry frames. */
#include <errno.h>

#include "tests/unit/cluster-node/peers_stage.h"

#define LARGE ((size_t)3 << 20) /* bytes of the arguments of a call: in parts */

static void dial(struct peers_stage *stage, unsigned at)
{
    assert_int_equal(cluster_peer_links_dial(stage->nodes[at].links, stage->address), 0);
}

/* Node 2 comes, in this boot, with its session. */
static void come(struct peers_stage *stage, unsigned at, uint32_t boot)
{
    peers_begin(stage, at, 2, boot);
    cluster_peer_links_set_session(stage->nodes[at].links, SESSION(2));
    dial(stage, at);
}

/* ---- up and lost ---- */

/* r[verify cluster.nodes.hello] r[verify cluster.nodes.session] */
static void two_nodes_know_each_other(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];

    peers_begin(stage, 1, 2, 9);
    dial(stage, 1);
    PEERS_UNTIL(stage,
                peers_is_up(one, CLUSTER_PEER_STORE, 2) && peers_is_up(two, CLUSTER_PEER_STORE, 1));
    assert_int_equal(one->boot, 9);
    assert_int_equal(one->up[CLUSTER_PEER_CALLS], 0); /* node 2 has no session yet */
    assert_true(peers_is_up(two, CLUSTER_PEER_CALLS, 1));
    assert_true(two->session == SESSION(1) && two->boot == 5);
    assert_int_equal(cluster_peer_links_dialled(two->links), 1);
    assert_int_equal(cluster_peer_links_dialled(one->links), 0);
    cluster_peer_links_set_session(two->links, SESSION(2));
    PEERS_UNTIL(stage, peers_is_up(one, CLUSTER_PEER_CALLS, 2));
    assert_true(one->session == SESSION(2));
    assert_int_equal(one->ups[CLUSTER_PEER_STORE], 1);
    assert_int_equal(cluster_peer_links_counts(one->links)->links, 1);
    assert_int_equal(cluster_peer_links_counts(one->links)->refused, 0);
}

/* r[verify cluster.nodes.dial] */
static void a_link_that_is_lost_is_dialled_again(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];

    come(stage, 1, 3);
    for (unsigned i = 1; i <= 3; i++) {
        PEERS_UNTIL(stage, peers_is_up(one, CLUSTER_PEER_CALLS, 2) &&
                               peers_is_up(two, CLUSTER_PEER_CALLS, 1));
        assert_int_equal(two->ups[CLUSTER_PEER_CALLS], i);
        cluster_peer_links_close_taken(one->links);
        assert_int_equal(one->up[CLUSTER_PEER_STORE], 0);
        PEERS_UNTIL(stage, two->losses[CLUSTER_PEER_CALLS] == i);
        assert_int_equal(two->losses[CLUSTER_PEER_STORE], i);
        assert_int_equal(cluster_peer_links_dialled(two->links), 0);
    }
}

/* r[verify cluster.nodes.dial] */
static void a_node_that_is_away_is_dialled_ever_more_rarely(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *two = &stage->nodes[1];
    uint64_t now_ns = hub_clock_now(), next_ns, waits[9];
    unsigned count = 0;

    hub_fd_release(&stage->listener); /* the port is free: each attempt fails at once */
    stage->listener = -1;
    stage->deaf = true;
    come(stage, 1, 3);
    for (unsigned i = 0; i < 2000 && count < 9; i++) {
        next_ns = cluster_peer_links_step(two->links, now_ns);
        pause_ms(1);
        if (next_ns == HUB_NEVER || next_ns <= now_ns || next_ns > now_ns + 6 * HUB_SECOND)
            continue;
        if (cluster_peer_links_step(two->links, now_ns) != next_ns)
            continue; /* its socket is not known to have failed yet */
        waits[count++] = next_ns - now_ns;
        now_ns = next_ns;
    }
    assert_true(count >= 7);
    assert_true(waits[0] <= 200 * HUB_MILLISECOND);
    for (unsigned i = 1; i < count; i++)
        assert_true(waits[i] >= waits[i - 1] || waits[i] > 4 * HUB_SECOND);
    assert_true(waits[count - 1] <= 5 * HUB_SECOND);
}

/* r[verify cluster.nodes.one] */
static void a_later_life_takes_the_place_of_the_one_before(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *before = &stage->nodes[1],
                      *after = &stage->nodes[2];

    come(stage, 1, 3);
    PEERS_UNTIL(stage, peers_is_up(one, CLUSTER_PEER_CALLS, 2));
    come(stage, 2, 4);
    PEERS_UNTIL(stage, peers_is_up(after, CLUSTER_PEER_CALLS, 1));
    assert_int_equal(one->boot, 4);
    assert_int_equal(one->ups[CLUSTER_PEER_STORE], 2);
    assert_int_equal(one->losses[CLUSTER_PEER_STORE], 1);
    PEERS_UNTIL(stage, before->losses[CLUSTER_PEER_STORE] == 1);
    PEERS_UNTIL(stage, peers_broken(one, "cluster.nodes.one") >= 2); /* it tries again, in vain */
    assert_int_equal(after->losses[CLUSTER_PEER_STORE], 0);
    assert_int_equal(before->ups[CLUSTER_PEER_STORE], 1);
    assert_true(cluster_peer_links_counts(one->links)->refused >= 2);
}

/* r[verify cluster.nodes.one] */
static void two_of_one_life_are_one_too_many(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *copy = &stage->nodes[2];

    come(stage, 1, 3);
    PEERS_UNTIL(stage, peers_is_up(one, CLUSTER_PEER_CALLS, 2));
    come(stage, 2, 3);
    PEERS_UNTIL(stage, peers_broken(one, "cluster.nodes.one") > 0);
    assert_int_equal(copy->ups[CLUSTER_PEER_STORE], 0);
    assert_int_equal(one->losses[CLUSTER_PEER_STORE], 0);
}

/* Who begins to use the links later is told which are up. */
/* A node gets its session between its HELLO and the answer. r[verify cluster.nodes.session] */
static void a_session_that_begins_in_a_greeting_is_told(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];

    stage->deaf = true;
    peers_begin(stage, 1, 2, 9);
    dial(stage, 1);
    for (unsigned i = 0; i < 5; i++)
        peers_turn(stage);
    cluster_peer_links_set_session(two->links, SESSION(2));
    stage->deaf = false;
    PEERS_UNTIL(stage, peers_is_up(one, CLUSTER_PEER_CALLS, 2));
    assert_true(one->session == SESSION(2));
}

static void a_user_that_comes_later_is_told(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];

    come(stage, 1, 3);
    cluster_peer_links_set_user(two->links, CLUSTER_PEER_CALLS, NULL, NULL);
    PEERS_UNTIL(stage,
                peers_is_up(one, CLUSTER_PEER_CALLS, 2) && peers_is_up(two, CLUSTER_PEER_STORE, 1));
    assert_int_equal(two->ups[CLUSTER_PEER_CALLS], 0);
    cluster_peer_links_set_user(two->links, CLUSTER_PEER_CALLS, &peers_calls, two);
    assert_true(peers_is_up(two, CLUSTER_PEER_CALLS, 1));
}

/* ---- frames ---- */

static const struct cluster_frame call_header = {.type = CLUSTER_FRAME_CALL,
                                                 .ttl = CLUSTER_FRAME_TTL,
                                                 .uid = {SESSION(2), 17},
                                                 .pool = PEERS_POOL,
                                                 .container = 4};

/* The bytes of a CALL with arguments of this size, in `memory`, which is to be freed. */
static struct rapahub_bytes call_of(size_t size, uint8_t **memory)
{
    uint8_t *arguments = calloc(1, size + 1), *bytes;
    struct hub_writer writer;
    struct cluster_body body = {
        .call = {.method_id = 1, .left_us = 5, .arguments = {arguments, size}}};

    for (size_t i = 0; i < size; i++)
        arguments[i] = (uint8_t)(i * 7 + i / 251);
    hub_writer_count(&writer);
    assert_int_equal(cluster_body_put(&writer, CLUSTER_FRAME_CALL, &body), 0);
    bytes = *memory = malloc(writer.size);
    hub_writer_init(&writer, bytes, writer.size);
    assert_int_equal(cluster_body_put(&writer, CLUSTER_FRAME_CALL, &body), 0);
    free(arguments);
    return (struct rapahub_bytes){bytes, writer.size};
}

static void expect_call(const struct peers_node *node, struct rapahub_bytes bytes)
{
    assert_int_equal(node->header.type, CLUSTER_FRAME_CALL);
    assert_int_equal(node->header.container, 4);
    assert_true(node->header.uid.origin == SESSION(2) && node->header.uid.number == 17);
    assert_int_equal(node->size, bytes.size);
    assert_memory_equal(node->body, bytes.data, bytes.size);
}

/* r[verify cluster.nodes.frame] */
static void a_call_comes_as_it_was_sent(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];
    const size_t sizes[] = {0, 40, LARGE};

    come(stage, 1, 3);
    PEERS_UNTIL(stage,
                peers_is_up(one, CLUSTER_PEER_CALLS, 2) && peers_is_up(two, CLUSTER_PEER_CALLS, 1));
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *memory;
        struct rapahub_bytes bytes = call_of(sizes[i], &memory);

        assert_int_equal(cluster_peer_links_send(two->links, 1, &call_header, bytes), 0);
        PEERS_UNTIL(stage, one->frames == i + 1);
        expect_call(one, bytes);
        free(memory);
    }
    assert_int_equal(
        cluster_peer_links_send(two->links, 3, &call_header, (struct rapahub_bytes){NULL, 0}),
        -ENOTCONN);
}

/* r[verify cluster.nodes.frame] */
static void a_report_goes_to_its_user(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];
    const struct cluster_frame header = {.type = CLUSTER_FRAME_STEP_DONE};
    const struct cluster_body body = {
        .step_done = {.pool = PEERS_POOL, .epoch = 4, .step = CLUSTER_STEP_BEGUN}};
    struct cluster_body came;
    uint8_t bytes[200];
    struct hub_writer writer;

    come(stage, 1, 3);
    PEERS_UNTIL(stage,
                peers_is_up(one, CLUSTER_PEER_STEPS, 2) && peers_is_up(two, CLUSTER_PEER_STEPS, 1));
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_body_put(&writer, header.type, &body), 0);
    assert_int_equal(
        cluster_peer_links_send(two->links, 1, &header, (struct rapahub_bytes){bytes, writer.size}),
        0);
    PEERS_UNTIL(stage, one->frames == 1);
    assert_int_equal(one->header.type, CLUSTER_FRAME_STEP_DONE);
    assert_int_equal(
        cluster_body_read(header.type, (struct rapahub_bytes){one->body, one->size}, &came), 0);
    assert_int_equal(came.step_done.epoch, 4);
    assert_int_equal(cluster_peer_links_session(one->links, 2), SESSION(2));
    assert_int_equal(cluster_peer_links_session(one->links, 3), 0);
}

/* Calls wait for credit, in order, up to a bound; then the link ends.
 * r[verify cluster.nodes.bounds] */
static void calls_wait_for_credit_up_to_a_bound(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];
    uint8_t *memory;
    struct rapahub_bytes bytes = call_of(LARGE, &memory);
    int r = 0;

    come(stage, 1, 3);
    PEERS_UNTIL(stage,
                peers_is_up(one, CLUSTER_PEER_CALLS, 2) && peers_is_up(two, CLUSTER_PEER_CALLS, 1));
    for (unsigned i = 0; i < 5; i++) /* 15 MiB: 9 of credit, and 6 that wait */
        assert_int_equal(cluster_peer_links_send(two->links, 1, &call_header, bytes), 0);
    PEERS_UNTIL(stage, one->frames == 5);
    expect_call(one, bytes);
    for (unsigned i = 0; i < 7 && r == 0; i++)
        r = cluster_peer_links_send(two->links, 1, &call_header, bytes);
    assert_int_equal(r, RAPAHUB_EFULL);
    free(memory);
    PEERS_UNTIL(stage, two->losses[CLUSTER_PEER_CALLS] == 1);
    assert_int_equal(peers_broken(two, "cluster.nodes.bounds"), 1);
}

static void pieces_of_the_store_go_to_its_user(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];
    const struct cluster_body piece = {.piece = {.more = false, .bytes = {"abc", 3}}};

    peers_begin(stage, 1, 2, 3);
    dial(stage, 1);
    PEERS_UNTIL(stage,
                peers_is_up(one, CLUSTER_PEER_STORE, 2) && peers_is_up(two, CLUSTER_PEER_STORE, 1));
    assert_true(cluster_peer_links_has_room(two->links, 1));
    assert_false(cluster_peer_links_has_room(two->links, 2));
    assert_int_equal(cluster_peer_links_put(two->links, 1, CLUSTER_FRAME_STORE_REQUEST, &piece), 0);
    PEERS_UNTIL(stage, one->frames == 1);
    assert_int_equal(one->header.type, CLUSTER_FRAME_STORE_REQUEST);
    one->verdict = RAPAHUB_EPROTOCOL;
    assert_int_equal(cluster_peer_links_put(two->links, 1, CLUSTER_FRAME_STORE_REQUEST, &piece), 0);
    PEERS_UNTIL(stage, one->losses[CLUSTER_PEER_STORE] == 1);
    assert_int_equal(peers_broken(one, "cluster.nodes.frame"), 1);
}

/* ---- certificates ---- */

static bool is_revoked(void *user, const uint8_t *serial, size_t size)
{
    (void)serial;
    return *(const bool *)user && size > 0;
}

static const struct cluster_tls_hooks guard = {is_revoked};

/* r[verify cluster.link.revoked] */
static void the_link_of_a_certificate_that_is_revoked_ends(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_node *one = &stage->nodes[0], *two = &stage->nodes[1];
    bool revoked = false;

    come(stage, 1, 3);
    cluster_peer_links_set_guard(two->links, &guard, &revoked);
    PEERS_UNTIL(stage,
                peers_is_up(one, CLUSTER_PEER_CALLS, 2) && peers_is_up(two, CLUSTER_PEER_CALLS, 1));
    cluster_peer_links_look_at_certificates(two->links);
    peers_turn(stage);
    assert_int_equal(two->losses[CLUSTER_PEER_CALLS], 0);
    revoked = true;
    cluster_peer_links_look_at_certificates(two->links);
    PEERS_UNTIL(stage,
                two->losses[CLUSTER_PEER_CALLS] == 1 && one->losses[CLUSTER_PEER_CALLS] == 1);
    for (unsigned i = 0; i < 500; i++)
        peers_turn(stage); /* it dials, and refuses the certificate in the handshake */
    assert_int_equal(two->ups[CLUSTER_PEER_STORE], 1);
    revoked = false;
    PEERS_UNTIL(stage, peers_is_up(two, CLUSTER_PEER_CALLS, 1));
}

static void a_certificate_of_another_number_is_not_taken(void **state)
{
    struct peers_stage *stage = *state;
    struct cluster_peer_links *links = NULL;
    const struct cluster_peer_links_life life = {
        .node = 3, .boot = 1, .cluster = stage->ca.uuid, .tls = stage->folders[2]};

    assert_int_equal(cluster_peer_links_create(&links), 0);
    assert_int_equal(cluster_peer_links_begin(links, &life), RAPAHUB_EACCES);
    assert_int_equal(cluster_peer_links_dial(links, "no port: here"), RAPAHUB_EINVAL);
    cluster_peer_links_release(&links);
    cluster_peer_links_release(&links);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_open, peers_close)
    const struct CMUnitTest tests[] = {
        TEST(two_nodes_know_each_other),
        TEST(a_link_that_is_lost_is_dialled_again),
        TEST(a_node_that_is_away_is_dialled_ever_more_rarely),
        TEST(a_later_life_takes_the_place_of_the_one_before),
        TEST(two_of_one_life_are_one_too_many),
        TEST(a_session_that_begins_in_a_greeting_is_told),
        TEST(a_user_that_comes_later_is_told),
        TEST(a_call_comes_as_it_was_sent),
        TEST(a_report_goes_to_its_user),
        TEST(calls_wait_for_credit_up_to_a_bound),
        TEST(pieces_of_the_store_go_to_its_user),
        TEST(the_link_of_a_certificate_that_is_revoked_ends),
        TEST(a_certificate_of_another_number_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
