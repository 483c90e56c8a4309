/* SPDX-License-Identifier: Apache-2.0 */
/* Two detectors with a link between their nodes, and a relay in the way of datagrams from the first
 * to the second. */
#include <string.h>

#include "cluster/node/detection/detector.h"
#include "cluster/node/detection/detector_state.h"
#include "tests/unit/cluster-node/peers_stage.h"

#define STEP_NS (20 * HUB_MILLISECOND)

/* What the relay does with datagrams. */
enum way { HAND_ON, TWICE, BEND, CUT, OTHER_NODE, OTHER_KEY, DROP };

static struct peers_stage *stage;
static struct cluster_detector *one, *two;
static int relay;
static struct cluster_host_port_address at_two;
static enum way way;
static unsigned relayed;

/* ---- the stage ---- */

/* Opens a socket at a free port of this machine, and tells its address. */
static int open_socket(struct cluster_host_port_address *at, char text[CLUSTER_HOST_PORT_TEXT])
{
    const struct cluster_host_port where = {.host = "127.0.0.1"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(cluster_host_port_in_numbers(&where, at));
    assert_int_equal(bind(fd, (const void *)&at->of, at->size), 0);
    assert_int_equal(getsockname(fd, (void *)&at->of, &at->size), 0);
    cluster_host_port_print(at, text);
    return fd;
}

static bool moves; /* the lead may change hands */

static struct cluster_detector *make(uint32_t number, const char *address)
{
    const struct cluster_detector_options options = {.cluster = stage->ca.uuid,
                                                     .node = number,
                                                     .boot = 5,
                                                     .session = SESSION(number),
                                                     .lead = number == 1 ? 0 : 1,
                                                     .moves = moves,
                                                     .profile = "fast",
                                                     .address = rapahub_string_of(address),
                                                     .links = stage->nodes[number - 1].links};
    struct cluster_detector *detector;

    assert_int_equal(cluster_detector_create(&options, &detector), 0);
    return detector;
}

static void tell(struct cluster_detector *of, uint32_t node, uint64_t session, const char *address)
{
    const struct rapahub_string text = rapahub_string_of(address);
    const struct cluster_record record = {
        .node = {.state = CLUSTER_NODE_ACTIVE,
                 .uuid = {stage->ca.uuid, sizeof stage->ca.uuid},
                 .name = rapahub_string_of("node"),
                 .serial = rapahub_string_of("1"),
                 .addresses = {.of = &text, .count = address[0] ? 1 : 0}}};
    struct cluster_record read;
    struct hub_writer writer;
    uint8_t bytes[300];

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_NODE, &record), 0);
    assert_int_equal(
        cluster_record_read(CLUSTER_KEY_NODE, (struct rapahub_bytes){bytes, writer.size}, &read),
        0);
    cluster_detector_node(of, node, session, &read.node);
}

static void link_nodes(void)
{
    peers_begin(stage, 1, 2, 3);
    cluster_peer_links_set_session(stage->nodes[1].links, SESSION(2));
    assert_int_equal(cluster_peer_links_dial(stage->nodes[1].links, stage->address), 0);
}

static int open_stage(void **state)
{
    char of_one[CLUSTER_HOST_PORT_TEXT], of_two[CLUSTER_HOST_PORT_TEXT];
    char of_relay[CLUSTER_HOST_PORT_TEXT];
    struct cluster_host_port_address at;
    int fds[2];

    assert_int_equal(peers_open(state), 0);
    stage = *state;
    link_nodes();
    fds[0] = open_socket(&at, of_one);
    fds[1] = open_socket(&at_two, of_two);
    relay = open_socket(&at, of_relay);
    close(fds[0]);
    close(fds[1]);
    one = make(1, of_one);
    two = make(2, of_two);
    tell(one, 2, SESSION(2), of_relay);
    tell(two, 1, SESSION(1), of_one);
    assert_int_equal(cluster_detector_begin(one), 0);
    assert_int_equal(cluster_detector_begin(two), 0);
    way = HAND_ON;
    relayed = 0;
    return 0;
}

static int close_stage(void **state)
{
    cluster_detector_release(&one);
    cluster_detector_release(&two);
    hub_fd_release(&relay);
    return peers_close(state);
}

/* ---- turns ---- */

static void hand_on(uint8_t *bytes, size_t size)
{
    const struct sockaddr *to = (const void *)&at_two.of;
    unsigned times = way == TWICE ? 2 : way == DROP ? 0 : 1;

    if (way == BEND)
        bytes[size - 1] ^= 1;
    if (way == OTHER_NODE)
        bytes[4] ^= 0x40;
    if (way == OTHER_KEY)
        bytes[1] ^= 0x40;
    size -= way == CUT ? 1 : 0;
    for (unsigned i = 0; i < times; i++)
        (void)sendto(relay, bytes, size, MSG_DONTWAIT, to, at_two.size);
    relayed++;
}

static bool turn(void)
{
    uint8_t bytes[2000];
    ssize_t size;

    peers_turn(stage);
    while ((size = recv(relay, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        hand_on(bytes, (size_t)size);
    if (one)
        (void)cluster_detector_step(one, hub_clock_now(), 0, true);
    if (two)
        (void)cluster_detector_step(two, hub_clock_now(), 0, true);
    return true;
}

#define UNTIL(what) PEERS_UNTIL(stage, turn() && (what))

static const char *verdict(const struct cluster_detector *of, uint32_t node)
{
    struct cluster_detector_verdict out;

    return cluster_detector_verdict(of, node, &out) ? out.word : "none";
}

static bool holds(const struct cluster_detector *of, uint32_t node, const char *word)
{
    return strcmp(verdict(of, node), word) == 0;
}

static struct cluster_keyring_figures keys_of(const struct cluster_detector *of)
{
    return cluster_detector_figures(of).keys;
}

static void await_datagrams(void)
{
    UNTIL(keys_of(one).opened > 1 && keys_of(two).opened > 1);
}

/* ---- tests ---- */

/* r[verify cluster.detect.key] r[verify cluster.detect.members] */
static void nodes_get_a_key_and_probe_each_other(void **state)
{
    struct cluster_detector_verdict out;

    (void)state;
    assert_true(holds(two, 1, "none")); /* it has no key yet */
    assert_true(holds(two, 2, "alive"));
    await_datagrams();
    assert_true(cluster_detector_verdict(one, 2, &out));
    assert_string_equal(out.word, "alive");
    assert_true(out.since_s > 0);
    assert_true(out.incarnation.session == SESSION(2));
    assert_int_equal(out.incarnation.refutations, 0);
    assert_true(holds(two, 1, "alive") && holds(one, 1, "alive"));
    assert_true(holds(one, 3, "none"));
    assert_int_equal(cluster_detector_after(two, 0), 1);
    assert_int_equal(cluster_detector_after(two, 1), 2);
    assert_int_equal(cluster_detector_after(two, 2), 0);
    assert_int_equal(cluster_detector_after(one, 0), 1);
    assert_false(cluster_detector_leader_is_away(one) || cluster_detector_leader_is_away(two));
    assert_string_equal(cluster_detector_figures(one).profile, "fast");
}

/* In a time that the test makes, which begins now. r[verify cluster.detect.shown] */
static void a_node_that_is_gone_is_suspected_and_then_dead(void **state)
{
    uint64_t now_ns, begun_ns, suspected_ns = 0;
    struct cluster_detector_verdict out;

    (void)state;
    await_datagrams();
    cluster_detector_release(&two);
    peers_end(&stage->nodes[1]);
    begun_ns = now_ns = hub_clock_now();
    while (!holds(one, 2, "dead") && now_ns < begun_ns + 60 * HUB_SECOND) {
        now_ns += STEP_NS;
        (void)cluster_detector_step(one, now_ns, 0, false);
        if (suspected_ns == 0 && holds(one, 2, "suspect"))
            suspected_ns = now_ns;
    }
    assert_true(holds(one, 2, "dead"));
    assert_true(suspected_ns > 0 && suspected_ns - begun_ns <= 3 * HUB_SECOND);
    assert_true(now_ns - suspected_ns >= HUB_SECOND && now_ns - begun_ns <= 15 * HUB_SECOND);
    tell(one, 2, SESSION(2), "127.0.0.1:1");
    tell(one, 2, 0, "127.0.0.1:1"); /* its session has ended */
    assert_true(holds(one, 2, "dead"));
    tell(one, 2, SESSION(9), ""); /* a later life that listens nowhere */
    assert_true(holds(one, 2, "none"));
    tell(one, 2, SESSION(9), "127.0.0.1:1");
    assert_true(holds(one, 2, "alive"));
    cluster_detector_node(one, 2, 0, NULL);
    assert_false(cluster_detector_verdict(one, 2, &out));
}

/* r[verify cluster.detect.pushpull] */
static void a_node_that_its_link_alone_reaches_is_alive(void **state)
{
    struct cluster_swim_figures figures;

    (void)state;
    await_datagrams();
    way = DROP;
    UNTIL(cluster_detector_figures(one).swim.failed_directly >= 2);
    figures = cluster_detector_figures(one).swim;
    assert_true(figures.failed == 0);
    assert_true(holds(one, 2, "alive") && holds(two, 1, "alive"));
}

/* r[verify cluster.detect.counted] r[verify cluster.detect.bounds] */
static void what_is_not_sealed_is_counted_and_without_effect(void **state)
{
    static const enum way ways[] = {TWICE, BEND, CUT, OTHER_NODE, OTHER_KEY};

    (void)state;
    await_datagrams();
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        unsigned before = relayed;

        way = ways[i];
        UNTIL(relayed > before);
        way = HAND_ON;
    }
    UNTIL(keys_of(two).unknown_key > 0);
    assert_true(keys_of(two).replayed > 0);
    assert_true(keys_of(two).forged > 0);
    assert_true(keys_of(two).malformed > 0);
    assert_true(cluster_detector_figures(two).strangers > 0);
    assert_true(holds(one, 2, "alive") && holds(two, 1, "alive"));
    assert_true(holds(two, 65, "none"));
}

/* r[verify cluster.detect.leave] */
static void a_node_that_stops_in_order_has_left(void **state)
{
    (void)state;
    await_datagrams();
    way = DROP; /* its own datagrams come to the other one */
    cluster_detector_leave(two);
    cluster_detector_leave(two); /* once */
    UNTIL(holds(one, 2, "left"));
    assert_true(holds(two, 2, "left"));
}

/* All datagrams of the first are lost, but the link is there. r[verify cluster.detect.leave] */
static void the_link_says_it_where_datagrams_are_lost(void **state)
{
    (void)state;
    await_datagrams();
    way = DROP;
    cluster_detector_leave(one);
    UNTIL(holds(two, 1, "left"));
}

/* r[verify cluster.detect.key] */
static void the_key_is_changed_while_datagrams_go_on(void **state)
{
    uint64_t opened;

    (void)state;
    await_datagrams();
    cluster_detector_renew_key(two); /* it is not for it to do */
    for (unsigned i = 0; i < 3; i++) {
        cluster_detector_renew_key(one);
        opened = keys_of(one).opened;
        UNTIL(keys_of(one).opened > opened + 2);
    }
    assert_int_equal(keys_of(one).forged + keys_of(two).forged, 0);
    assert_true(holds(one, 2, "alive") && holds(two, 1, "alive"));
}

static int say(unsigned at, uint32_t to, uint8_t type, const struct cluster_body *body)
{
    const struct cluster_frame header = {.type = type};
    uint8_t bytes[200];
    struct hub_writer writer;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_body_put(&writer, type, body), 0);
    return cluster_peer_links_send(stage->nodes[at].links, to, &header,
                                   (struct rapahub_bytes){bytes, writer.size});
}

/* r[verify cluster.detect.key] */
static void a_key_of_a_node_that_does_not_lead_ends_its_link(void **state)
{
    static const uint8_t secret[CLUSTER_BODY_KEY] = {1};
    const struct cluster_body key = {
        .datagram_key = {.number = 200, .key = {secret, sizeof secret}}};

    (void)state;
    await_datagrams();
    assert_int_equal(say(1, 1, CLUSTER_FRAME_DATAGRAM_KEY, &key), 0);
    UNTIL(peers_broken(&stage->nodes[0], "cluster.detect.key") == 1);
    assert_int_equal(keys_of(one).forged, 0);
}

/* Node 2 leads, and node 1 hears of that after it has got a key of it.
 * r[verify cluster.detect.key] */
static void a_key_is_taken_when_its_node_is_known_to_lead(void **state)
{
    static const uint8_t secret[CLUSTER_BODY_KEY] = {1};
    const struct cluster_body key = {
        .datagram_key = {.number = 200, .key = {secret, sizeof secret}}};
    uint8_t before;

    (void)state;
    await_datagrams();
    assert_int_equal(cluster_detector_set_lead(two, 0), 0); /* it hands out the key of before */
    before = one->keys.number;
    assert_int_equal(say(1, 1, CLUSTER_FRAME_DATAGRAM_KEY, &key), 0);
    UNTIL(one->offered_by == 2 && one->offered_number == 200);
    assert_int_equal(one->keys.number, before);
    assert_int_equal(cluster_detector_set_lead(one, 2), 0);
    assert_int_equal(one->keys.number, 200);
    assert_int_equal(peers_broken(&stage->nodes[0], "cluster.detect.key"), 0);
}

static int open_moving(void **state)
{
    moves = true;
    return open_stage(state);
}

static int close_moving(void **state)
{
    moves = false;
    return close_stage(state);
}

/* r[verify cluster.detect.pushpull] */
static void hearsay_of_the_own_death_is_refuted(void **state)
{
    const struct cluster_update update = {1, SESSION(1), 0, 2, CLUSTER_DATAGRAM_DEAD};
    const struct cluster_body all = {
        .push_pull = {.answer = false, .updates = {.of = &update, .count = 1}}};
    struct cluster_detector_verdict out;

    (void)state;
    await_datagrams();
    for (unsigned i = 0; i < 50; i++) /* more than is answered */
        assert_int_equal(say(1, 1, CLUSTER_FRAME_PUSH_PULL, &all), 0);
    UNTIL(cluster_detector_verdict(two, 1, &out) && out.incarnation.refutations > 0);
    assert_string_equal(out.word, "alive");
    assert_int_equal(cluster_detector_figures(one).swim.refuted, 1); /* the others are old */
}

/* r[verify cluster.detect.socket] */
static void a_node_that_listens_nowhere_watches_nobody(void **state)
{
    (void)state;
    cluster_detector_release(&two);
    two = make(2, "");
    tell(two, 1, SESSION(1), "127.0.0.1:1");
    assert_int_equal(cluster_detector_begin(two), 0);
    assert_int_equal(cluster_detector_fd(two), -1);
    UNTIL(peers_is_up(&stage->nodes[1], CLUSTER_PEER_CALLS, 1));
    for (unsigned i = 0; i < 20; i++)
        turn();
    assert_true(holds(two, 1, "none") && holds(two, 2, "none"));
    assert_null(cluster_detector_figures(two).profile);
    assert_int_equal(peers_broken(&stage->nodes[1], "cluster.nodes.frame"), 0);
}

static void a_profile_that_is_none_is_refused(void **state)
{
    const struct cluster_detector_options options = {
        .cluster = stage->ca.uuid, .node = 3, .profile = "slow"};
    struct cluster_detector *detector;

    (void)state;
    assert_int_equal(cluster_detector_create(&options, &detector), RAPAHUB_EINVAL);
    assert_null(detector);
    assert_non_null(strstr(rapahub_last_error()->text, "lan, fast, wan or seed"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
    const struct CMUnitTest tests[] = {
        TEST(nodes_get_a_key_and_probe_each_other),
        TEST(a_node_that_is_gone_is_suspected_and_then_dead),
        TEST(a_node_that_its_link_alone_reaches_is_alive),
        TEST(what_is_not_sealed_is_counted_and_without_effect),
        TEST(a_node_that_stops_in_order_has_left),
        TEST(the_link_says_it_where_datagrams_are_lost),
        TEST(the_key_is_changed_while_datagrams_go_on),
        TEST(a_key_of_a_node_that_does_not_lead_ends_its_link),
        cmocka_unit_test_setup_teardown(a_key_is_taken_when_its_node_is_known_to_lead, open_moving,
                                        close_moving),
        TEST(hearsay_of_the_own_death_is_refuted),
        TEST(a_node_that_listens_nowhere_watches_nobody),
        TEST(a_profile_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
