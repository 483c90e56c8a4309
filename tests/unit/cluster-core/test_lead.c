/* SPDX-License-Identifier: Apache-2.0 */
/* What a node knows of the lead, and what it does to lead itself. */
#include "cluster/core/session/lead.h"
#include "tests/support/testing.h"

#define OWN   2
#define OTHER 1
#define NOW   UINT64_C(100000000000)
#define MS    UINT64_C(1000000)

static const struct cluster_lead_record of_other = {OTHER, 40, 50};

static struct cluster_lead begun(void)
{
    struct cluster_lead lead;

    cluster_lead_begin(&lead, OWN, 60, &of_other, NOW);
    cluster_lead_see(&lead, 40, 55, NOW);
    return lead;
}

static enum cluster_lead_action action(struct cluster_lead *lead, uint32_t rank, uint64_t at_ns)
{
    return cluster_lead_step(lead, rank, at_ns).action;
}

/* r[verify cluster.lead.gone] r[verify cluster.lead.claim] */
static void a_silent_session_is_waited_for_and_then_the_turn(void **state)
{
    struct cluster_lead lead = begun();
    uint64_t gone_ns = NOW + CLUSTER_LEAD_SILENCE_NS;
    struct cluster_lead_step step;

    (void)state;
    assert_int_equal(cluster_lead_next(&lead), gone_ns);
    assert_int_equal(action(&lead, 1, gone_ns - 1), CLUSTER_LEAD_NOTHING);
    assert_int_equal(lead.state, CLUSTER_LEAD_FOLLOWS);
    assert_int_equal(action(&lead, 1, gone_ns), CLUSTER_LEAD_NOTHING);
    assert_int_equal(lead.state, CLUSTER_LEAD_WAITS);
    assert_int_equal(cluster_lead_next(&lead), gone_ns + 1000 * MS);
    assert_int_equal(action(&lead, 1, gone_ns + 1000 * MS - 1), CLUSTER_LEAD_NOTHING);
    step = cluster_lead_step(&lead, 1, gone_ns + 1000 * MS);
    assert_int_equal(step.action, CLUSTER_LEAD_CLAIM);
    assert_int_equal(step.term, 50);
    assert_int_equal(step.other, OTHER);
    assert_int_equal(step.seen, 55);
    assert_int_equal(action(&lead, 1, gone_ns + 9000 * MS), CLUSTER_LEAD_NOTHING);
}

/* r[verify cluster.lead.gone] */
static void a_put_of_the_session_ends_the_wait(void **state)
{
    struct cluster_lead lead = begun();
    uint64_t gone_ns = NOW + CLUSTER_LEAD_SILENCE_NS;

    (void)state;
    (void)action(&lead, 0, gone_ns);
    cluster_lead_see(&lead, 40, 70, gone_ns + 1);
    assert_int_equal(lead.state, CLUSTER_LEAD_FOLLOWS);
    assert_int_equal(action(&lead, 0, gone_ns + 600 * MS), CLUSTER_LEAD_NOTHING);
    assert_int_equal(cluster_lead_next(&lead), gone_ns + 1 + CLUSTER_LEAD_SILENCE_NS);
}

/* r[verify cluster.lead.gone] */
static void a_session_that_is_over_is_not_waited_for(void **state)
{
    struct cluster_lead lead = begun();

    (void)state;
    cluster_lead_see(&lead, 80, 80, NOW + 5); /* the next life of the node */
    assert_int_equal(action(&lead, 0, NOW + 5), CLUSTER_LEAD_NOTHING);
    assert_int_equal(cluster_lead_step(&lead, 0, NOW + 5 + 500 * MS).seen, 0);
    assert_int_equal(lead.state, CLUSTER_LEAD_CLAIMS);
}

/* r[verify cluster.lead.renew] r[verify cluster.lead.follow] */
static void a_claim_that_happened_leads_until_a_higher_term(void **state)
{
    const struct cluster_lead_record lower = {3, 41, 65}, higher = {3, 41, 95};
    struct cluster_lead lead = begun();

    (void)state;
    cluster_lead_see(&lead, 0, 0, NOW);
    (void)action(&lead, 0, NOW);
    (void)action(&lead, 0, NOW + 500 * MS);
    cluster_lead_claimed(&lead, 90, NOW + 510 * MS);
    assert_int_equal(cluster_lead_term(&lead), 90);
    assert_int_equal(action(&lead, 0, NOW + 510 * MS), CLUSTER_LEAD_RENEW);
    assert_int_equal(action(&lead, 0, NOW + 5000 * MS), CLUSTER_LEAD_NOTHING); /* one at a time */
    cluster_lead_renewed(&lead);
    assert_int_equal(action(&lead, 0, NOW + 5000 * MS), CLUSTER_LEAD_RENEW);
    cluster_lead_take(&lead, &lower, NOW + 5000 * MS);
    assert_int_equal(cluster_lead_term(&lead), 90);
    cluster_lead_take(&lead, &higher, NOW + 5000 * MS);
    assert_int_equal(cluster_lead_term(&lead), 0);
    assert_int_equal(lead.record.node, 3);
}

/* r[verify cluster.lead.claim] */
static void a_claim_that_did_not_happen_waits_anew(void **state)
{
    const struct cluster_lead_record higher = {3, 41, 95};
    struct cluster_lead lead = begun();

    (void)state;
    cluster_lead_see(&lead, 0, 0, NOW);
    (void)action(&lead, 0, NOW);
    (void)action(&lead, 0, NOW + 500 * MS);
    cluster_lead_take(&lead, &higher, NOW + 505 * MS);
    assert_int_equal(lead.state, CLUSTER_LEAD_CLAIMS); /* its end is to come */
    cluster_lead_see(&lead, 41, 94, NOW + 505 * MS);
    cluster_lead_claimed(&lead, 93, NOW + 510 * MS); /* late: another one was the next */
    assert_int_equal(lead.state, CLUSTER_LEAD_FOLLOWS);
    assert_int_equal(cluster_lead_next(&lead), NOW + 505 * MS + CLUSTER_LEAD_SILENCE_NS);
}

/* The watch may tell of the own claim before its transaction ends. */
static void the_own_record_leads_whoever_tells_it(void **state)
{
    const struct cluster_lead_record own = {OWN, 60, 90};
    struct cluster_lead lead = begun();

    (void)state;
    cluster_lead_see(&lead, 0, 0, NOW);
    (void)action(&lead, 0, NOW);
    (void)action(&lead, 0, NOW + 500 * MS);
    cluster_lead_take(&lead, &own, NOW + 505 * MS);
    assert_int_equal(cluster_lead_term(&lead), 90);
    cluster_lead_claimed(&lead, 90, NOW + 510 * MS);
    assert_int_equal(cluster_lead_term(&lead), 90);
    cluster_lead_begin(&lead, OWN, 60, &own, NOW);
    assert_int_equal(cluster_lead_term(&lead), 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_session_is_waited_for_and_then_the_turn),
        cmocka_unit_test(a_put_of_the_session_ends_the_wait),
        cmocka_unit_test(a_session_that_is_over_is_not_waited_for),
        cmocka_unit_test(a_claim_that_happened_leads_until_a_higher_term),
        cmocka_unit_test(a_claim_that_did_not_happen_waits_anew),
        cmocka_unit_test(the_own_record_leads_whoever_tells_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
