/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the detector of dead nodes: spans of suspicions, what news goes first, the order of
 * probes, relays, and who is drawn. */
#include "cluster/base/ids.h"
#include "cluster/core/swim/gossip.h"
#include "cluster/core/swim/local_health.h"
#include "cluster/core/swim/members.h"
#include "cluster/core/swim/probe_order.h"
#include "cluster/core/swim/relays.h"
#include "cluster/core/swim/suspicion.h"
#include "tests/support/testing.h"

#define SECOND UINT64_C(1000000000)
#define MANY   100

/* r[verify cluster.swim.suspicion] */
static void spans_are_those_of_the_rule(void **state)
{
    const struct cluster_suspicion_rule lan = {SECOND, 4, 0}, fixed = {SECOND, 4, 10 * SECOND};

    (void)state;
    assert_int_equal(cluster_suspicion_log2(1), 0);
    assert_int_equal(cluster_suspicion_log2(8), 3 * 65536);
    assert_in_range(cluster_suspicion_log2(1000), 653100, 653150); /* 9.96578 */
    assert_int_equal(cluster_suspicion_log10_up(129, 4), 9);       /* 8.44 */
    assert_int_equal(cluster_suspicion_log10_up(11, 4), 5);        /* 4.17 */
    assert_in_range(cluster_suspicion_span(&lan, 8, 3), 3999999000, 4000000000);
    assert_in_range(cluster_suspicion_span(&lan, 8, 0), 23999990000, 24000000000);
    assert_in_range(cluster_suspicion_span(&lan, 8, 1), 13999900000, 14001000000); /* half of it */
    assert_in_range(cluster_suspicion_span(&lan, 1000, 3), 11990000000, 12000000000);
    assert_true(cluster_suspicion_span(&lan, 8, 2) < cluster_suspicion_span(&lan, 8, 1));
    assert_in_range(cluster_suspicion_span(&lan, 3, 1), 3999999000, 4000000000); /* there is one */
    assert_in_range(cluster_suspicion_span(&lan, 2, 0), 3999999000, 4000000000); /* there is none */
    assert_int_equal(cluster_suspicion_span(&fixed, 1000, 0), 10 * SECOND);
}

static void an_accuser_counts_once(void **state)
{
    struct cluster_member member = {.id = 3};

    (void)state;
    assert_true(cluster_suspicion_accuse(&member, 1));
    assert_false(cluster_suspicion_accuse(&member, 1));
    for (uint32_t i = 2; i <= CLUSTER_ACCUSERS_MAX; i++)
        assert_true(cluster_suspicion_accuse(&member, i));
    assert_false(cluster_suspicion_accuse(&member, 99));
    assert_int_equal(member.accusers_count, CLUSTER_ACCUSERS_MAX);
}

/* r[verify cluster.swim.health] */
static void health_is_bounded_and_lengthens_spans(void **state)
{
    uint8_t health = 0;

    (void)state;
    assert_int_equal(cluster_local_health_better(0), 0);
    for (unsigned i = 0; i < 20; i++)
        health = cluster_local_health_worse(health);
    assert_int_equal(health, CLUSTER_LOCAL_HEALTH_MAX);
    assert_int_equal(cluster_local_health_span(0, 5), 5);
    assert_int_equal(cluster_local_health_span(health, 5), 45);
    assert_int_equal(cluster_local_health_better(health), 7);
}

static struct cluster_members members;

static int open_members(void **state)
{
    (void)state;
    assert_int_equal(cluster_members_init(&members, MANY, 5), 0);
    for (uint32_t i = 1; i <= MANY; i++)
        assert_non_null(cluster_members_add(&members, 10 * i, cluster_ids_revision(0, i)));
    return 0;
}

static int close_members(void **state)
{
    (void)state;
    cluster_members_fini(&members);
    return 0;
}

/* r[verify cluster.swim.gossip] */
static void news_sent_least_goes_first_and_refutations_before_it(void **state)
{
    struct cluster_datagram datagram = {0};
    struct cluster_gossip gossip;

    (void)state;
    cluster_gossip_init(&gossip);
    for (uint32_t i = 1; i <= MANY; i++)
        cluster_gossip_add(&gossip, cluster_members_find(&members, 10 * i));
    assert_int_equal(gossip.count, MANY);
    cluster_gossip_fill(&gossip, 3, &datagram);
    assert_int_equal(datagram.updates_count, CLUSTER_DATAGRAM_UPDATES_MAX);
    assert_int_equal(datagram.updates[0].id, 10);
    cluster_members_find(&members, 70)->refuted = true;
    cluster_gossip_add(&gossip, cluster_members_find(&members, 70));
    datagram.updates_count = 0;
    cluster_gossip_fill(&gossip, 3, &datagram);
    assert_int_equal(datagram.updates[0].id, 70);
    assert_int_equal(datagram.updates[1].id, 630); /* the first that was not sent yet */
    for (unsigned i = 0; i < 8 && gossip.count > 0; i++) {
        datagram.updates_count = 0;
        cluster_gossip_fill(&gossip, 3, &datagram);
    }
    assert_int_equal(gossip.count, 0); /* 300 in all, 62 each time */
}

static void news_of_one_round_counts_once(void **state)
{
    struct cluster_datagram datagram = {0};
    struct cluster_gossip gossip;

    (void)state;
    cluster_gossip_init(&gossip);
    cluster_gossip_add(&gossip, cluster_members_find(&members, 10));
    for (unsigned i = 0; i < 5; i++) {
        datagram.updates_count = 0;
        cluster_gossip_fill(&gossip, 0, &datagram);
        assert_int_equal(datagram.updates_count, 1);
    }
    cluster_gossip_fill(&gossip, 1, &datagram);
    assert_int_equal(datagram.updates_count, 1); /* there already */
    assert_int_equal(gossip.count, 0);
}

/* r[verify cluster.swim.probe] */
static void each_place_comes_once_in_a_pass(void **state)
{
    struct cluster_probe_order order = {0};
    struct hub_random random;
    uint32_t before[MANY], differ = 0;

    (void)state;
    hub_random_init(&random, 1);
    for (unsigned pass = 0; pass < 20; pass++) {
        bool seen[MANY + 1] = {false};

        for (uint32_t i = 0; i < MANY; i++) {
            uint32_t place = cluster_probe_order_next(&order, &random, MANY);

            assert_in_range(place, 1, MANY);
            assert_false(seen[place]);
            seen[place] = true;
            differ += pass > 0 && before[i] != place;
            before[i] = place;
        }
    }
    assert_true(differ > 19 * MANY / 2);
    assert_int_equal(cluster_probe_order_next(&(struct cluster_probe_order){0}, &random, 1), 1);
}

static void those_that_are_drawn_differ_and_live(void **state)
{
    const struct cluster_members_drawn some = {CLUSTER_MEMBER_SUSPECTED, 40, 60},
                                       living = {CLUSTER_MEMBER_PROBE_FAILED, 10, 0};
    struct cluster_member *drawn[MANY];
    struct hub_random random;

    (void)state;
    hub_random_init(&random, 1);
    for (uint32_t i = 3; i <= MANY; i++)
        cluster_members_move(&members, cluster_members_find(&members, 10 * i),
                             i % 2 ? CLUSTER_MEMBER_DEAD : CLUSTER_MEMBER_SUSPECTED);
    for (unsigned round = 0; round < 100; round++) {
        uint32_t count = cluster_members_draw(&members, &random, &some, drawn, 3);

        for (uint32_t i = 0; i < count; i++) {
            assert_true(drawn[i]->state != CLUSTER_MEMBER_DEAD);
            assert_true(drawn[i]->id != 40 && drawn[i]->id != 60);
            for (uint32_t j = 0; j < i; j++)
                assert_ptr_not_equal(drawn[i], drawn[j]);
        }
        count = cluster_members_draw(&members, &random, &living, drawn, 3);
        assert_true(count <= 1);
        assert_true(count == 0 || drawn[0]->id == 20);
    }
}

/* r[verify cluster.swim.states] r[verify cluster.swim.members] */
static void members_are_found_and_those_that_left_are_not_counted(void **state)
{
    (void)state;
    assert_null(cluster_members_find(&members, 15));
    assert_null(cluster_members_add(&members, 7, cluster_ids_revision(0, 1)));
    assert_int_equal(members.present, MANY);
    cluster_members_move(&members, cluster_members_find(&members, 50), CLUSTER_MEMBER_LEFT);
    cluster_members_move(&members, cluster_members_find(&members, 50), CLUSTER_MEMBER_LEFT);
    assert_int_equal(members.present, MANY - 1);
    cluster_members_remove(&members, cluster_members_find(&members, 50));
    assert_int_equal(members.present, MANY - 1);
    cluster_members_remove(&members, cluster_members_find(&members, 60));
    assert_int_equal(members.present, MANY - 2);
    assert_null(cluster_members_find(&members, 60));
    assert_non_null(cluster_members_add(&members, 7, cluster_ids_revision(0, 1)));
}

/* r[verify cluster.swim.relay] */
static void relays_are_found_by_number_and_target(void **state)
{
    struct cluster_relays relays = {0};
    struct cluster_relay *relay;

    (void)state;
    for (uint32_t i = 1; i <= CLUSTER_RELAYS_MAX; i++) {
        relay = cluster_relays_take(&relays, i);
        assert_non_null(relay);
        relay->target = 100 + i;
    }
    assert_null(cluster_relays_take(&relays, 1000));
    relay = cluster_relays_find(&relays, 5, 105);
    assert_non_null(relay);
    assert_null(cluster_relays_find(&relays, 5, 106));
    assert_null(cluster_relays_find(&relays, 0, 0));
    relay->sequence = 0;
    assert_ptr_equal(cluster_relays_take(&relays, 1000), relay);
}

#define MEMBERS(name) cmocka_unit_test_setup_teardown(name, open_members, close_members)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_those_of_the_rule),
        cmocka_unit_test(an_accuser_counts_once),
        cmocka_unit_test(health_is_bounded_and_lengthens_spans),
        MEMBERS(news_sent_least_goes_first_and_refutations_before_it),
        MEMBERS(news_of_one_round_counts_once),
        cmocka_unit_test(each_place_comes_once_in_a_pass),
        MEMBERS(those_that_are_drawn_differ_and_live),
        MEMBERS(members_are_found_and_those_that_left_are_not_counted),
        cmocka_unit_test(relays_are_found_by_number_and_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
