/* SPDX-License-Identifier: Apache-2.0 */
/* The pair of a light and a heavy fence orders like two full ones: of two threads that each store
 * and then look, at least one sees the store of the other. */
#include <pthread.h>

#include "hub/base/barrier.h"
#include "tests/support/testing.h"

#define ROUNDS 20000

static struct hub_a32 a, b, turn, done;
static uint32_t seen_by_light;

static void *light(void *user)
{
    (void)user;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        while (hub_observe(&turn) != round)
            hub_pause();
        hub_store_relaxed(&a, round);
        hub_fence_light(&a);
        seen_by_light = hub_load_relaxed(&b);
        hub_publish(&done, round);
    }
    return NULL;
}

static void one_of_both_sides_sees_the_other(void **state)
{
    uint32_t missed = 0;
    pthread_t thread;

    (void)state;
    if (hub_barrier_join() < 0)
        skip();
    assert_int_equal(pthread_create(&thread, NULL, light, NULL), 0);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t seen;

        hub_publish(&turn, round);
        hub_store_relaxed(&b, round);
        hub_barrier_heavy(&b);
        seen = hub_load_relaxed(&a);
        while (hub_observe(&done) != round)
            hub_pause();
        missed += seen != round && seen_by_light != round;
    }
    pthread_join(thread, NULL);
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_of_both_sides_sees_the_other)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
