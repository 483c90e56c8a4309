/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/silence.h"
#include "tests/unit/cluster-link/ends.h"

static const struct cluster_silence fresh = {.ask_ns = 1000, .end_ns = 5000, .heard_ns = 100};

/* r[verify cluster.link.silent] */
static void a_silence_is_asked_about_once_and_then_ends(void **state)
{
    struct cluster_silence silence = fresh;

    (void)state;
    assert_int_equal(cluster_silence_due(&silence), 1100);
    assert_int_equal(cluster_silence_step(&silence, 1099), CLUSTER_SILENCE_NOTHING);
    assert_int_equal(cluster_silence_step(&silence, 1100), CLUSTER_SILENCE_ASK);
    assert_int_equal(cluster_silence_step(&silence, 1100), CLUSTER_SILENCE_NOTHING);
    assert_int_equal(cluster_silence_due(&silence), 5100);
    assert_int_equal(cluster_silence_step(&silence, 5099), CLUSTER_SILENCE_NOTHING);
    assert_int_equal(cluster_silence_step(&silence, 5100), CLUSTER_SILENCE_END);
}

static void bytes_that_come_begin_a_new_silence(void **state)
{
    struct cluster_silence silence = fresh;

    (void)state;
    assert_int_equal(cluster_silence_step(&silence, 1100), CLUSTER_SILENCE_ASK);
    cluster_silence_heard(&silence, 2000);
    assert_int_equal(cluster_silence_due(&silence), 3000);
    assert_int_equal(cluster_silence_step(&silence, 3000), CLUSTER_SILENCE_ASK);
}

/* A process that was stopped has heard nothing, and that proves nothing. */
static void an_own_stall_is_no_silence_of_the_other_side(void **state)
{
    struct cluster_silence silence = fresh;

    (void)state;
    assert_int_equal(cluster_silence_step(&silence, 60000), CLUSTER_SILENCE_ASK);
    assert_int_equal(cluster_silence_due(&silence), 64000);
}

/* A side that takes a large body over a slow network has no answer through. */
static void bytes_that_get_through_put_off_the_end(void **state)
{
    struct cluster_silence silence = fresh;

    (void)state;
    assert_int_equal(cluster_silence_step(&silence, 1100), CLUSTER_SILENCE_ASK);
    cluster_silence_moved(&silence, 4000);
    assert_int_equal(cluster_silence_step(&silence, 5100), CLUSTER_SILENCE_NOTHING);
    assert_int_equal(cluster_silence_step(&silence, 8000), CLUSTER_SILENCE_END);
}

/* r[verify cluster.link.alive] */
static void by_a_socket_of_the_machine_nothing_ends(void **state)
{
    struct cluster_silence silence = {.ask_ns = 1000}, never = {.ask_ns = 0};

    (void)state;
    assert_int_equal(cluster_silence_step(&silence, 2000), CLUSTER_SILENCE_ASK);
    assert_int_equal(cluster_silence_due(&silence), HUB_NEVER);
    assert_int_equal(cluster_silence_due(&never), HUB_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silence_is_asked_about_once_and_then_ends),
        cmocka_unit_test(bytes_that_come_begin_a_new_silence),
        cmocka_unit_test(an_own_stall_is_no_silence_of_the_other_side),
        cmocka_unit_test(bytes_that_get_through_put_off_the_end),
        cmocka_unit_test(by_a_socket_of_the_machine_nothing_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
