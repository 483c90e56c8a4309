/* SPDX-License-Identifier: Apache-2.0 */
/* A node with a certificate of the cluster that does as it likes: what it breaks ends its own link,
 * and is counted. */
#include "cluster/node/peers/peer_mesh.h"
#include "hub/base/random.h"
#include "tests/unit/cluster-node/peers_stage.h"

/* A good link beside the bad one: it is touched by nothing. */
static void come(struct peers_stage *stage)
{
    peers_begin(stage, 1, 3, 3);
    cluster_peer_links_set_session(stage->nodes[1].links, SESSION(3));
    assert_int_equal(cluster_peer_links_dial(stage->nodes[1].links, stage->address), 0);
    PEERS_UNTIL(stage, peers_is_up(&stage->nodes[0], CLUSTER_PEER_CALLS, 3));
}

static void expect_untouched(const struct peers_stage *stage)
{
    assert_int_equal(stage->nodes[1].losses[CLUSTER_PEER_STORE], 0);
    assert_true(peers_is_up(&stage->nodes[0], CLUSTER_PEER_STORE, 3));
}

/* ---- HELLO ---- */

enum wrong { ROLE, PROTOCOL, CLUSTER, NUMBER, OWN_NUMBER, WRONGS };

static const struct {
    int32_t code;
    const char *text;
} answers[WRONGS] = {[ROLE] = {RAPAHUB_EACCES, "is no client"},
                     [PROTOCOL] = {RAPAHUB_EABI, "protocols from 2 on"},
                     [CLUSTER] = {RAPAHUB_EACCES, "another cluster"},
                     [NUMBER] = {RAPAHUB_EACCES, "that it is node 4"},
                     [OWN_NUMBER] = {RAPAHUB_EACCES, "as this node is"}};

static void spoil(struct cluster_body_hello *hello, enum wrong wrong)
{
    static const uint8_t other[CLUSTER_BODY_UUID] = {1};

    if (wrong == ROLE) {
        hello->role = CLUSTER_ROLE_CLIENT;
        hello->node = hello->boot = 0;
        hello->origin = UINT64_MAX;
    }
    if (wrong == PROTOCOL)
        hello->protocol_least = hello->protocol_most = 2;
    if (wrong == CLUSTER)
        hello->cluster = (struct rapahub_bytes){other, sizeof other};
    if (wrong == NUMBER)
        hello->node = 4;
    if (wrong == OWN_NUMBER)
        hello->node = 1;
}

/* r[verify cluster.nodes.hello] r[verify cluster.nodes.broken] */
static void who_is_not_what_it_says_is_told_so(void **state)
{
    struct peers_stage *stage = *state;

    come(stage);
    for (enum wrong wrong = ROLE; wrong < WRONGS; wrong++) {
        uint64_t before = peers_broken(&stage->nodes[0], "cluster.nodes.hello");
        struct cluster_body hello = peers_hello(stage, wrong == OWN_NUMBER ? 1 : 2, 1);
        struct peers_side side;

        spoil(&hello.hello, wrong);
        peers_side_open(stage, &side, wrong == OWN_NUMBER ? 1 : 2);
        peers_side_put(&side, CLUSTER_FRAME_HELLO, &hello);
        PEERS_SIDE_UNTIL(stage, &side, side.failure != 0);
        assert_int_equal(side.type, CLUSTER_FRAME_CLOSE);
        assert_int_equal(side.code, answers[wrong].code);
        assert_non_null(strstr(side.text, answers[wrong].text));
        assert_int_equal(peers_broken(&stage->nodes[0], "cluster.nodes.hello"), before + 1);
        peers_side_close(&side);
    }
    expect_untouched(stage);
}

static void greet(struct peers_stage *stage, struct peers_side *side)
{
    const struct cluster_body hello = peers_hello(stage, 2, 1);

    peers_side_open(stage, side, 2);
    peers_side_put(side, CLUSTER_FRAME_HELLO, &hello);
    PEERS_SIDE_UNTIL(stage, side, side->type == CLUSTER_FRAME_HELLO_OK);
}

/* ---- DEATH ---- */

static const struct cluster_record_node fenced = {.state = CLUSTER_NODE_FENCED};
static unsigned deaths;

static int on_death(void *user, uint32_t from, const struct cluster_frame *header,
                    struct rapahub_bytes bytes)
{
    struct cluster_body body;

    (void)user;
    assert_int_equal(from, 2);
    assert_int_equal(header->type, CLUSTER_FRAME_DEATH);
    assert_int_equal(cluster_body_read(header->type, bytes, &body), 0);
    deaths++;
    return body.death.session == SESSION(2)
               ? 0
               : rapahub_fail(RAPAHUB_ESTALE, "cluster.death.session", "a session of before");
}

static void on_link(void *user, uint32_t node)
{
    (void)user;
    (void)node;
}

static void on_link_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    (void)session;
    (void)boot;
    on_link(user, node);
}

static const struct cluster_peer_links_hooks death_hooks = {on_link_up, on_link, on_death};

/* Sends a DEATH by the certificate of node 2, and returns the code of the answer. */
static int32_t send_death(struct peers_stage *stage, uint32_t node, uint64_t session)
{
    const struct cluster_body body = {.death = {.node = node, .boot = 1, .session = session}};
    struct peers_side side;
    int32_t code;

    peers_side_open(stage, &side, 2);
    peers_side_put(&side, CLUSTER_FRAME_DEATH, &body);
    PEERS_SIDE_UNTIL(stage, &side, side.failure != 0);
    assert_int_equal(side.type, CLUSTER_FRAME_CLOSE);
    code = side.code;
    peers_side_close(&side);
    return code;
}

/* r[verify cluster.death.certificate] r[verify cluster.death.session] */
static void only_its_own_certificate_says_that_a_node_is_dead(void **state)
{
    struct peers_stage *stage = *state;
    struct cluster_peer_links *links = stage->nodes[0].links;
    uint64_t refused;

    deaths = 0;
    cluster_peer_links_set_user(links, CLUSTER_PEER_STEPS, NULL, NULL);
    assert_int_equal(send_death(stage, 2, SESSION(2)), RAPAHUB_EAGAIN); /* it is just starting */
    cluster_peer_links_set_user(links, CLUSTER_PEER_STEPS, &death_hooks, NULL);
    come(stage);
    refused = cluster_peer_links_counts(links)->refused;
    assert_int_equal(send_death(stage, 3, SESSION(3)), RAPAHUB_EACCES);
    assert_int_equal(send_death(stage, 1, SESSION(1)), RAPAHUB_EACCES);
    assert_int_equal(deaths, 0);
    assert_int_equal(peers_broken(&stage->nodes[0], "cluster.death.certificate"), 3);
    assert_int_equal(send_death(stage, 2, SESSION(2) - 1), RAPAHUB_ESTALE);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(send_death(stage, 2, SESSION(2)), 0);
    assert_int_equal(deaths, 21);
    assert_int_equal(cluster_peer_links_counts(links)->refused, refused + 3);
    assert_true(peers_is_up(&stage->nodes[0], CLUSTER_PEER_CALLS, 3));
    cluster_peer_links_set_user(links, CLUSTER_PEER_STEPS, NULL, NULL);
}

/* r[verify cluster.session.back] */
static void a_session_that_is_over_does_not_come_back(void **state)
{
    struct peers_stage *stage = *state;
    struct cluster_peer_links *links = stage->nodes[0].links;
    const struct cluster_record_node active = {.state = CLUSTER_NODE_ACTIVE};
    struct cluster_body hello = peers_hello(stage, 2, 1);
    struct peers_side side;

    come(stage);
    assert_int_equal(cluster_peer_mesh_take(links, 2, SESSION(2), &active), 0);
    greet(stage, &side);
    assert_int_equal(cluster_peer_mesh_take(links, 2, 0, &fenced), 0);
    PEERS_SIDE_UNTIL(stage, &side, side.failure != 0);
    assert_int_equal(side.code, RAPAHUB_EFENCED);
    peers_side_close(&side);
    peers_side_open(stage, &side, 2);
    peers_side_put(&side, CLUSTER_FRAME_HELLO, &hello); /* the same session */
    PEERS_SIDE_UNTIL(stage, &side, side.failure != 0);
    assert_int_equal(side.code, RAPAHUB_EFENCED);
    peers_side_close(&side);
    hello.hello.origin = 0; /* it begins anew */
    hello.hello.boot++;
    peers_side_open(stage, &side, 2);
    peers_side_put(&side, CLUSTER_FRAME_HELLO, &hello);
    PEERS_SIDE_UNTIL(stage, &side, side.type == CLUSTER_FRAME_HELLO_OK);
    peers_side_close(&side);
    expect_untouched(stage);
}

/* ---- frames ---- */

static void expect_end(struct peers_stage *stage, struct peers_side *side, const char *rule,
                       uint64_t before)
{
    PEERS_SIDE_UNTIL(stage, side, side->failure != 0);
    assert_int_equal(peers_broken(&stage->nodes[0], rule), before + 1);
    peers_side_close(side);
    PEERS_UNTIL(stage, cluster_peer_links_counts(stage->nodes[0].links)->links == 1);
}

/* r[verify cluster.nodes.frame] */
static void a_frame_at_the_wrong_time_ends_the_link(void **state)
{
    struct peers_stage *stage = *state;
    const struct cluster_body piece = {.piece = {.bytes = {"abc", 3}}},
                              hello = peers_hello(stage, 2, 1);
    struct cluster_body other = peers_hello(stage, 2, 7);
    struct peers_side side;

    peers_side_open(stage, &side, 2);
    peers_side_put(&side, CLUSTER_FRAME_STORE_REQUEST, &piece);
    come(stage);
    expect_end(stage, &side, "cluster.nodes.frame", 0);
    greet(stage, &side);
    peers_side_put(&side, CLUSTER_FRAME_HELLO, &hello);
    expect_end(stage, &side, "cluster.nodes.hello", 0);
    peers_side_open(stage, &side, 2);
    other.hello.origin = 0;
    peers_side_put(&side, CLUSTER_FRAME_HELLO, &other);
    PEERS_SIDE_UNTIL(stage, &side, side.type == CLUSTER_FRAME_HELLO_OK);
    other.hello.boot = 8;
    other.hello.origin = SESSION(2);
    peers_side_put(&side, CLUSTER_FRAME_HELLO, &other); /* another life */
    PEERS_SIDE_UNTIL(stage, &side, side.failure != 0);
    assert_int_equal(peers_broken(&stage->nodes[0], "cluster.nodes.hello"), 2);
    peers_side_close(&side);
}

/* Kinds of frames that clients have, or those that join.
 * r[verify cluster.nodes.frame] r[verify cluster.nodes.broken] */
static void frames_that_no_node_sends_end_the_link(void **state)
{
    struct peers_stage *stage = *state;
    static const uint8_t types[] = {CLUSTER_FRAME_HELLO_OK, CLUSTER_FRAME_SHARE,
                                    CLUSTER_FRAME_SHARED};
    struct peers_side side;

    come(stage);
    for (unsigned i = 0; i < sizeof types; i++) {
        struct cluster_body body = {.share = {.payload_max = 1}};

        if (types[i] == CLUSTER_FRAME_HELLO_OK)
            body = peers_hello(stage, 2, 1);
        if (types[i] == CLUSTER_FRAME_SHARED)
            body = (struct cluster_body){.shared = {.status = -5, .text = {"no", 2}}};
        greet(stage, &side);
        peers_side_put(&side, types[i], &body);
        expect_end(stage, &side, "cluster.nodes.frame", i);
    }
    expect_untouched(stage);
}

/* A CALL, before the session of its node is known. */
static void a_call_without_a_session_ends_the_link(void **state)
{
    struct peers_stage *stage = *state;
    struct cluster_body hello = peers_hello(stage, 2, 1);
    const struct cluster_frame frame = {
        .type = CLUSTER_FRAME_CANCEL, .uid = {SESSION(2), 1}, .pool = PEERS_POOL};
    struct peers_side side;

    come(stage);
    hello.hello.origin = 0;
    peers_side_open(stage, &side, 2);
    peers_side_put(&side, CLUSTER_FRAME_HELLO, &hello);
    PEERS_SIDE_UNTIL(stage, &side, side.type == CLUSTER_FRAME_HELLO_OK);
    assert_int_equal(cluster_connection_put(side.connection, &frame, &(struct cluster_body){0}), 0);
    expect_end(stage, &side, "cluster.nodes.frame", 0);
    expect_untouched(stage);
}

/* ---- bytes ---- */

/* Sends bytes that no connection would, by TLS. */
static void send_bytes(struct peers_stage *stage, struct peers_side *side, const void *bytes,
                       size_t size)
{
    size_t sent = 0;

    while (sent < size) {
        ssize_t n = cluster_tls_table.send(side->tls, side->fd, (const char *)bytes + sent,
                                           size - sent, NULL);

        if (n < 0)
            return; /* the node has closed already */
        sent += (size_t)n;
        peers_turn(stage);
    }
}

static void expect_drop(struct peers_stage *stage, struct peers_side *side)
{
    PEERS_SIDE_UNTIL(stage, side, side->failure != 0);
    peers_side_close(side);
    PEERS_UNTIL(stage, cluster_peer_links_counts(stage->nodes[0].links)->links == 1);
}

static uint64_t all_broken(const struct peers_node *node)
{
    const struct cluster_rule_counts *counts = &cluster_peer_links_counts(node->links)->broken;
    uint64_t all = 0;

    for (uint32_t i = 0; i < counts->count; i++)
        all += counts->all[i].times;
    return all;
}

/* r[verify cluster.nodes.broken] */
static void garbage_is_counted_and_ends_the_link(void **state)
{
    struct peers_stage *stage = *state;
    struct hub_random random;
    uint8_t bytes[512];

    hub_random_init(&random, 44);
    come(stage);
    for (unsigned round = 0; round < 20; round++) {
        struct peers_side side;
        uint64_t before = all_broken(&stage->nodes[0]);

        if (round % 2 == 0)
            peers_side_open(stage, &side, 2);
        else
            greet(stage, &side);
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)hub_random_next(&random);
        send_bytes(stage, &side, bytes, sizeof bytes);
        expect_drop(stage, &side);
        assert_int_equal(all_broken(&stage->nodes[0]), before + 1);
    }
    expect_untouched(stage);
}

/* Headers with a right checksum: of a body that is too large, and of a type of no release.
 * r[verify cluster.nodes.broken] */
static void a_header_that_asks_for_too_much_ends_the_link(void **state)
{
    struct peers_stage *stage = *state;
    const struct cluster_frame headers[] = {
        {.type = CLUSTER_FRAME_STORE_REQUEST, .body_size = CLUSTER_FRAME_BODY_MAX + 1},
        {.type = CLUSTER_FRAME_STORE_REQUEST, .body_size = UINT32_MAX},
        {.type = 99, .body_size = 1}};

    come(stage);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t bytes[CLUSTER_FRAME_SIZE];
        uint64_t before = all_broken(&stage->nodes[0]);
        struct peers_side side;

        greet(stage, &side);
        cluster_frame_write(&headers[i], bytes);
        send_bytes(stage, &side, bytes, sizeof bytes);
        expect_drop(stage, &side);
        assert_int_equal(all_broken(&stage->nodes[0]), before + 1);
    }
    expect_untouched(stage);
}

/* ---- time and number ---- */

/* r[verify cluster.nodes.hello] */
static void who_says_nothing_has_a_while(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_side side;
    uint64_t now_ns;

    peers_side_open(stage, &side, 2);
    now_ns = hub_clock_now() + 6 * HUB_SECOND; /* as far as the node knows */
    while (peers_broken(&stage->nodes[0], "cluster.nodes.hello") == 0) {
        peers_accept(stage);
        (void)cluster_peer_links_step(stage->nodes[0].links, now_ns);
    }
    PEERS_SIDE_UNTIL(stage, &side, side.failure != 0);
    peers_side_close(&side);
}

/* r[verify cluster.nodes.bounds] */
static void a_node_has_few_links_at_once(void **state)
{
    struct peers_stage *stage = *state;
    struct peers_side sides[CLUSTER_PEER_LINKS_NODE + 1];

    come(stage);
    for (unsigned i = 0; i <= CLUSTER_PEER_LINKS_NODE; i++)
        peers_side_open(stage, &sides[i], 2);
    PEERS_SIDE_UNTIL(stage, &sides[CLUSTER_PEER_LINKS_NODE],
                     sides[CLUSTER_PEER_LINKS_NODE].failure != 0);
    assert_int_equal(peers_broken(&stage->nodes[0], "cluster.nodes.bounds"), 1);
    for (unsigned i = 0; i <= CLUSTER_PEER_LINKS_NODE; i++)
        peers_side_close(&sides[i]);
    expect_untouched(stage);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_open, peers_close)
    const struct CMUnitTest tests[] = {
        TEST(who_is_not_what_it_says_is_told_so),
        TEST(only_its_own_certificate_says_that_a_node_is_dead),
        TEST(a_session_that_is_over_does_not_come_back),
        TEST(a_frame_at_the_wrong_time_ends_the_link),
        TEST(frames_that_no_node_sends_end_the_link),
        TEST(a_call_without_a_session_ends_the_link),
        TEST(garbage_is_counted_and_ends_the_link),
        TEST(a_header_that_asks_for_too_much_ends_the_link),
        TEST(who_says_nothing_has_a_while),
        TEST(a_node_has_few_links_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
