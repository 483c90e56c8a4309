/* SPDX-License-Identifier: Apache-2.0 */
/* A detector of dead nodes, told by hand what it hears. */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/swim/swim.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define SECOND UINT64_C(1000000000)
#define NODES  5

static struct cluster_swim *swim;
static uint64_t now_ns;

static uint64_t session_of(uint32_t number)
{
    return cluster_ids_revision(0, number);
}

static int begin(void **state)
{
    const struct cluster_swim_options options = {
        CLUSTER_SWIM_LAN, .node = 1, .session = session_of(1), .seed = 7, .members_max = NODES};

    (void)state;
    now_ns = SECOND;
    assert_int_equal(cluster_swim_create(&options, now_ns, &swim), 0);
    for (uint32_t i = 2; i <= NODES; i++)
        assert_int_equal(cluster_swim_add(swim, i, session_of(i)), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cluster_swim_release(&swim);
    return 0;
}

static struct cluster_datagram says(uint8_t type, uint32_t from, uint32_t sequence, uint32_t target)
{
    return (struct cluster_datagram){
        .type = type, .sequence = sequence, .target = target, .session = session_of(from)};
}

static int hear(uint32_t from, const struct cluster_datagram *datagram)
{
    uint8_t bytes[CLUSTER_DATAGRAM_PAYLOAD_MAX];
    size_t size = cluster_datagram_write(datagram, bytes);

    return cluster_swim_hear(swim, now_ns, from, bytes, size);
}

static void hear_update(uint32_t from, uint32_t id, uint32_t refutations, uint8_t state)
{
    struct cluster_datagram datagram = says(CLUSTER_DATAGRAM_GOSSIP, from, 0, 0);

    datagram.updates_count = 1;
    datagram.updates[0] = (struct cluster_update){id, session_of(id), refutations, from, state};
    assert_int_equal(hear(from, &datagram), 0);
}

/* Takes outputs until a datagram of the type comes. False: none comes. */
static bool take_datagram(uint8_t type, struct cluster_swim_output *out,
                          struct cluster_datagram *datagram)
{
    while (cluster_swim_take(swim, out))
        if (out->kind == CLUSTER_SWIM_OUTPUT_DATAGRAM &&
            cluster_datagram_read(out->data, out->size, datagram) == 0 && datagram->type == type)
            return true;
    return false;
}

static void take_all(void)
{
    struct cluster_swim_output output;

    while (cluster_swim_take(swim, &output))
        ;
}

/* Lets time pass, and returns the first datagram of the type. */
static bool await_datagram(uint8_t type, struct cluster_swim_output *out,
                           struct cluster_datagram *datagram)
{
    for (unsigned i = 0; i < 100; i++) {
        now_ns = cluster_swim_next(swim);
        cluster_swim_step(swim, now_ns);
        if (take_datagram(type, out, datagram))
            return true;
    }
    return false;
}

/* r[verify cluster.swim.probe] */
static void only_an_answer_with_the_probes_number_counts(void **state)
{
    struct cluster_swim_output output;
    struct cluster_datagram ping, request, wrong;

    (void)state;
    assert_true(await_datagram(CLUSTER_DATAGRAM_PING, &output, &ping));
    assert_int_equal(ping.target, output.node);
    wrong = says(CLUSTER_DATAGRAM_ACK, output.node, ping.sequence + 1, ping.target);
    assert_int_equal(hear(output.node, &wrong), 0);
    wrong = says(CLUSTER_DATAGRAM_ACK, output.node % NODES + 1 == 1 ? 2 : output.node % NODES + 1,
                 ping.sequence, ping.target); /* of one that was not asked */
    assert_int_equal(hear(output.node % NODES + 1 == 1 ? 2 : output.node % NODES + 1, &wrong), 0);
    assert_true(await_datagram(CLUSTER_DATAGRAM_REQUEST, &output, &request));
    assert_int_equal(request.target, ping.target);
    assert_int_equal(request.sequence, ping.sequence);
    assert_int_equal(cluster_swim_state(swim, ping.target), CLUSTER_MEMBER_PROBE_FAILED);
    wrong = says(CLUSTER_DATAGRAM_ACK, output.node, request.sequence, request.target);
    assert_int_equal(hear(output.node, &wrong), 0); /* by way of it: that is an answer */
    assert_int_equal(cluster_swim_state(swim, ping.target), CLUSTER_MEMBER_ALIVE);
    assert_int_equal(cluster_swim_figures(swim).failed, 0);
}

/* r[verify cluster.swim.probe] r[verify cluster.swim.states] */
static void a_member_that_never_answers_is_suspected_and_then_dead(void **state)
{
    struct cluster_swim_output output;
    struct cluster_datagram ping;
    uint64_t suspected_ns;

    (void)state;
    assert_true(await_datagram(CLUSTER_DATAGRAM_PING, &output, &ping));
    while (cluster_swim_state(swim, ping.target) != CLUSTER_MEMBER_SUSPECTED) {
        now_ns = cluster_swim_next(swim);
        cluster_swim_step(swim, now_ns);
    }
    suspected_ns = now_ns;
    while (cluster_swim_state(swim, ping.target) != CLUSTER_MEMBER_DEAD) {
        now_ns = cluster_swim_next(swim);
        cluster_swim_step(swim, now_ns);
    }
    assert_in_range(now_ns - suspected_ns, 4 * SECOND, 25 * SECOND);
    assert_true(cluster_swim_figures(swim).health > 0); /* nobody answered: it may be this node */
}

/* r[verify cluster.swim.suspicion] */
static void confirmations_shorten_a_suspicion(void **state)
{
    uint64_t then = now_ns;

    (void)state;
    hear_update(2, 5, 0, CLUSTER_DATAGRAM_SUSPECTED);
    hear_update(2, 5, 0, CLUSTER_DATAGRAM_SUSPECTED); /* the same one again */
    hear_update(3, 5, 0, CLUSTER_DATAGRAM_SUSPECTED);
    hear_update(4, 5, 0, CLUSTER_DATAGRAM_SUSPECTED);
    assert_int_equal(cluster_swim_state(swim, 5), CLUSTER_MEMBER_SUSPECTED);
    while (cluster_swim_state(swim, 5) == CLUSTER_MEMBER_SUSPECTED) {
        now_ns = cluster_swim_next(swim);
        cluster_swim_step(swim, now_ns);
        take_all();
    }
    assert_int_equal(cluster_swim_state(swim, 5), CLUSTER_MEMBER_DEAD);
    assert_in_range(now_ns - then, 4 * SECOND, 14 * SECOND); /* three of three, or two */
}

/* r[verify cluster.swim.incarnation] */
static void the_worst_of_equal_incarnations_holds_and_a_later_one_refutes(void **state)
{
    (void)state;
    hear_update(2, 5, 0, CLUSTER_DATAGRAM_DEAD);
    hear_update(3, 5, 0, CLUSTER_DATAGRAM_SUSPECTED);
    hear_update(3, 5, 0, CLUSTER_DATAGRAM_ALIVE);
    assert_int_equal(cluster_swim_state(swim, 5), CLUSTER_MEMBER_DEAD);
    hear_update(3, 5, 1, CLUSTER_DATAGRAM_ALIVE);
    assert_int_equal(cluster_swim_state(swim, 5), CLUSTER_MEMBER_ALIVE);
    hear_update(3, 5, 0, CLUSTER_DATAGRAM_DEAD); /* of before */
    assert_int_equal(cluster_swim_state(swim, 5), CLUSTER_MEMBER_ALIVE);
    hear_update(3, 5, 1, CLUSTER_DATAGRAM_LEFT);
    hear_update(3, 5, 9, CLUSTER_DATAGRAM_ALIVE);
    assert_int_equal(cluster_swim_state(swim, 5), CLUSTER_MEMBER_LEFT);
    assert_int_equal(cluster_swim_add(swim, 5, session_of(6)), 0); /* a later life */
    assert_int_equal(cluster_swim_state(swim, 5), CLUSTER_MEMBER_ALIVE);
    assert_int_equal(cluster_swim_add(swim, 5, session_of(5)), RAPAHUB_EINVAL);
}

/* r[verify cluster.swim.incarnation] */
static void a_node_refutes_its_own_death_at_once(void **state)
{
    struct cluster_swim_output output;
    struct cluster_datagram gossip;

    (void)state;
    take_all();
    hear_update(2, 1, 0, CLUSTER_DATAGRAM_DEAD);
    assert_true(take_datagram(CLUSTER_DATAGRAM_GOSSIP, &output, &gossip));
    assert_int_equal(gossip.refutations, 1);
    assert_int_equal(gossip.updates_count, 1);
    assert_int_equal(gossip.updates[0].id, 1);
    assert_int_equal(gossip.updates[0].state, CLUSTER_DATAGRAM_ALIVE);
    assert_int_equal(gossip.updates[0].refutations, 1);
    assert_int_equal(cluster_swim_figures(swim).health, 1);
    hear_update(2, 1, 0, CLUSTER_DATAGRAM_DEAD); /* refuted already */
    hear_update(2, 1, 9, CLUSTER_DATAGRAM_DEAD); /* nobody else raises them */
    assert_int_equal(cluster_swim_figures(swim).refuted, 1);
    assert_int_equal(cluster_swim_figures(swim).impossible, 1);
}

/* r[verify cluster.swim.relay] */
static void a_member_that_is_asked_probes_for_another_and_says_what_it_found(void **state)
{
    struct cluster_datagram asks = says(CLUSTER_DATAGRAM_REQUEST, 2, 77, 3), got;
    struct cluster_swim_output output;

    (void)state;
    take_all();
    assert_int_equal(hear(2, &asks), 0);
    assert_true(take_datagram(CLUSTER_DATAGRAM_PING, &output, &got));
    assert_int_equal(output.node, 3);
    got = says(CLUSTER_DATAGRAM_ACK, 3, got.sequence, 3);
    assert_int_equal(hear(3, &got), 0);
    assert_true(take_datagram(CLUSTER_DATAGRAM_ACK, &output, &got));
    assert_int_equal(output.node, 2);
    assert_int_equal(got.sequence, 77);
    assert_int_equal(got.target, 3);
    assert_int_equal(hear(2, &asks), 0); /* and without an answer */
    assert_true(await_datagram(CLUSTER_DATAGRAM_NACK, &output, &got));
    assert_int_equal(output.node, 2);
    assert_int_equal(got.sequence, 77);
}

/* r[verify cluster.swim.pushpull] */
static void hearsay_of_a_death_is_a_suspicion(void **state)
{
    const struct cluster_update update = {5, session_of(5), 0, 2, CLUSTER_DATAGRAM_DEAD};

    (void)state;
    cluster_swim_merge(swim, now_ns, &update);
    assert_int_equal(cluster_swim_state(swim, 5), CLUSTER_MEMBER_SUSPECTED);
}

/* r[verify cluster.swim.stall] */
static void a_node_that_was_stopped_suspects_nobody_for_it(void **state)
{
    struct cluster_swim_output output;
    struct cluster_datagram ping, ack;

    (void)state;
    assert_true(await_datagram(CLUSTER_DATAGRAM_PING, &output, &ping));
    now_ns += 60 * SECOND;
    ack = says(CLUSTER_DATAGRAM_ACK, output.node, ping.sequence, ping.target);
    cluster_swim_step(swim, now_ns); /* even where its timers are looked at first */
    assert_int_equal(cluster_swim_state(swim, ping.target), CLUSTER_MEMBER_PROBE_FAILED);
    assert_int_equal(hear(output.node, &ack), 0);
    assert_int_equal(cluster_swim_state(swim, ping.target), CLUSTER_MEMBER_ALIVE);
    assert_int_equal(cluster_swim_figures(swim).stalls, 1);
    assert_true(cluster_swim_figures(swim).stalled_ns > 59 * SECOND);
}

/* r[verify cluster.swim.datagram] */
static void strangers_earlier_lives_and_garbage_change_nothing(void **state)
{
    struct cluster_datagram datagram = says(CLUSTER_DATAGRAM_GOSSIP, 2, 0, 0);
    uint8_t bytes[CLUSTER_DATAGRAM_PAYLOAD_MAX];
    struct hub_random random;
    size_t size;

    (void)state;
    datagram.updates_count = 1;
    datagram.updates[0] = (struct cluster_update){3, session_of(3), 0, 2, CLUSTER_DATAGRAM_DEAD};
    assert_int_equal(hear(9, &datagram), 0);
    datagram.session = session_of(1);
    assert_int_equal(hear(2, &datagram), 0);
    assert_int_equal(cluster_swim_figures(swim).unknown, 1);
    assert_int_equal(cluster_swim_figures(swim).earlier, 1);
    hub_random_init(&random, 3);
    for (unsigned i = 0; i < 20000; i++) {
        size = hub_random_below(&random, sizeof bytes + 1);
        for (size_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)hub_random_next(&random);
        (void)cluster_swim_hear(swim, now_ns, 2, bytes, size);
    }
    assert_int_equal(cluster_swim_figures(swim).malformed, 20000);
    assert_int_equal(cluster_swim_state(swim, 3), CLUSTER_MEMBER_ALIVE);
}

/* A member that asks without end. r[verify cluster.swim.relay] */
static void requests_without_end_are_bounded(void **state)
{
    struct cluster_swim_output output;
    unsigned sent = 0;

    (void)state;
    take_all();
    for (uint32_t i = 1; i <= 10000; i++) {
        struct cluster_datagram asks = says(CLUSTER_DATAGRAM_REQUEST, 2, i, 3);

        assert_int_equal(hear(2, &asks), 0);
    }
    while (cluster_swim_take(swim, &output))
        sent++;
    assert_in_range(sent, 1, 64);
    for (uint32_t i = 1; i <= 10000; i++) {
        struct cluster_datagram asks = says(CLUSTER_DATAGRAM_PING, 2, i, 1);

        assert_int_equal(hear(2, &asks), 0);
    }
    for (sent = 0; cluster_swim_take(swim, &output); sent++)
        ;
    assert_int_equal(sent, 256);
    assert_int_equal(cluster_swim_figures(swim).lost, 10000 - 256);
}

/* r[verify cluster.swim.left] */
static void one_that_leaves_says_so(void **state)
{
    struct cluster_swim_output output;
    struct cluster_datagram gossip;

    (void)state;
    take_all();
    cluster_swim_leave(swim);
    cluster_swim_step(swim, now_ns);
    assert_true(await_datagram(CLUSTER_DATAGRAM_GOSSIP, &output, &gossip));
    assert_int_equal(gossip.updates[0].id, 1);
    assert_int_equal(gossip.updates[0].state, CLUSTER_DATAGRAM_LEFT);
    hear_update(2, 1, 0, CLUSTER_DATAGRAM_DEAD);
    assert_int_equal(cluster_swim_figures(swim).refuted, 0);
}

/* r[verify cluster.swim.members] */
static void members_are_bounded_and_can_be_forgotten(void **state)
{
    struct cluster_swim_options bad = {CLUSTER_SWIM_LAN, .node = 0, .session = session_of(1)};
    struct cluster_swim *none;

    (void)state;
    assert_int_equal(cluster_swim_add(swim, 6, session_of(6)), RAPAHUB_EFULL);
    hear_update(2, 5, 0, CLUSTER_DATAGRAM_SUSPECTED);
    cluster_swim_forget(swim, 5);
    cluster_swim_forget(swim, 5);
    cluster_swim_forget(swim, 1); /* never itself */
    assert_int_equal(cluster_swim_state(swim, 5), 0);
    assert_int_equal(cluster_swim_state(swim, 1), CLUSTER_MEMBER_ALIVE);
    assert_int_equal(cluster_swim_add(swim, 6, session_of(6)), 0);
    assert_int_equal(cluster_swim_add(swim, 0, session_of(6)), RAPAHUB_EINVAL);
    assert_int_equal(cluster_swim_create(&bad, now_ns, &none), RAPAHUB_EINVAL);
    assert_null(none);
    for (unsigned i = 0; i < 200; i++) {
        now_ns = cluster_swim_next(swim);
        cluster_swim_step(swim, now_ns);
        take_all();
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_an_answer_with_the_probes_number_counts),
        TEST(a_member_that_never_answers_is_suspected_and_then_dead),
        TEST(confirmations_shorten_a_suspicion),
        TEST(the_worst_of_equal_incarnations_holds_and_a_later_one_refutes),
        TEST(a_node_refutes_its_own_death_at_once),
        TEST(a_member_that_is_asked_probes_for_another_and_says_what_it_found),
        TEST(hearsay_of_a_death_is_a_suspicion),
        TEST(a_node_that_was_stopped_suspects_nobody_for_it),
        TEST(strangers_earlier_lives_and_garbage_change_nothing),
        TEST(requests_without_end_are_bounded),
        TEST(one_that_leaves_says_so),
        TEST(members_are_bounded_and_can_be_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
