/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "cluster/client/client_lead.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define THREADS 4
#define TIMES   2000

struct rest {
    struct cluster_client_lead *lead;
    struct hub_a32 stop, times;
};

static void *rest(void *user)
{
    struct rest *resting = user;

    while (hub_observe(&resting->stop) == 0) {
        cluster_client_lead_rest(resting->lead);
        hub_add(&resting->times, 1);
    }
    return NULL;
}

static void claim(struct cluster_client_lead *lead)
{
    for (unsigned i = 0; i < 30000; i++) {
        if (cluster_client_lead_claim(lead))
            return;
        pause_ms(1);
    }
    fail();
}

static void nobody_leads_beside_the_thread_of_the_client(void **state)
{
    struct cluster_client_lead lead = {.since_ns = 0};

    (void)state;
    assert_false(cluster_client_lead_claim(&lead));
    cluster_client_lead_call(&lead); /* it leads, so it is not called */
    assert_int_equal(hub_observe(&lead.called), 0);
}

static void the_thread_leads_again_when_nobody_has_for_a_while(void **state)
{
    struct cluster_client_lead lead = {.since_ns = 0};

    (void)state;
    cluster_client_lead_rest(&lead); /* returns by itself */
    assert_false(cluster_client_lead_claim(&lead));
}

static void the_thread_rests_while_another_leads(void **state)
{
    struct cluster_client_lead lead = {.since_ns = 0};
    struct rest resting = {.lead = &lead};
    pthread_t thread;
    uint32_t times;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, rest, &resting), 0);
    claim(&lead);
    times = hub_observe(&resting.times);
    assert_false(cluster_client_lead_claim(&lead));
    cluster_client_lead_call(&lead); /* who leads looks itself when it leaves */
    pause_ms(50);
    assert_int_equal(hub_observe(&resting.times), times);
    assert_true(cluster_client_lead_leave(&lead)); /* it was long */
    hub_publish(&resting.stop, 1);
    cluster_client_lead_call(&lead);
    pthread_join(thread, NULL);
    assert_int_equal(hub_observe(&resting.times), times + 1);
    assert_false(cluster_client_lead_claim(&lead));
}

struct crowd {
    struct cluster_client_lead lead;
    struct hub_a32 inside, times, ended;
};

static void *lead_often(void *user)
{
    struct crowd *crowd = user;

    for (unsigned i = 0; i < TIMES;) {
        if (!cluster_client_lead_claim(&crowd->lead))
            continue;
        assert_int_equal(hub_add(&crowd->inside, 1), 0);
        hub_add(&crowd->times, 1);
        assert_int_equal(hub_add(&crowd->inside, UINT32_MAX), 1);
        (void)cluster_client_lead_leave(&crowd->lead);
        if (i++ % 16 == 0)
            cluster_client_lead_call(&crowd->lead);
    }
    hub_add(&crowd->ended, 1);
    return NULL;
}

/* With the thread of the client among them, which is called now and then. */
static void one_leads_at_a_time(void **state)
{
    struct crowd crowd = {.lead = {.since_ns = 0}};
    pthread_t threads[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, lead_often, &crowd), 0);
    while (hub_observe(&crowd.ended) < THREADS) {
        assert_int_equal(hub_add(&crowd.inside, 1), 0);
        assert_int_equal(hub_add(&crowd.inside, UINT32_MAX), 1);
        cluster_client_lead_rest(&crowd.lead);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(hub_observe(&crowd.times), THREADS * TIMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_leads_beside_the_thread_of_the_client),
        cmocka_unit_test(the_thread_leads_again_when_nobody_has_for_a_while),
        cmocka_unit_test(the_thread_rests_while_another_leads),
        cmocka_unit_test(one_leads_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
