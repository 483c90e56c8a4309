/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of datagrams: made, taken, and forgotten. */
#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/detection/detector_keys.h"
#include "tests/support/testing.h"

static const uint8_t cluster[16] = {1};
static struct cluster_detector_keys leader, member;

static int open_stage(void **state)
{
    (void)state;
    assert_int_equal(cluster_detector_keys_create(&leader, cluster, 1, 7), 0);
    assert_int_equal(cluster_detector_keys_create(&member, cluster, 2, 3), 0);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    cluster_detector_keys_release(&leader);
    cluster_detector_keys_release(&member);
    return 0;
}

static int take(uint64_t now_ns)
{
    return cluster_detector_keys_take(&member, leader.number, leader.bytes, now_ns);
}

/* Says whether a datagram of the one is opened by the other. */
static bool reaches(struct cluster_detector_keys *from, struct cluster_detector_keys *to)
{
    const struct cluster_datagram datagram = {
        .type = CLUSTER_DATAGRAM_PING, .target = 2, .session = cluster_ids_revision(0, 9)};
    uint8_t payload[CLUSTER_DATAGRAM_PAYLOAD_MAX], bytes[CLUSTER_DATAGRAM_MAX];
    uint32_t node;
    int size = cluster_keyring_seal(from->ring, payload, cluster_datagram_write(&datagram, payload),
                                    bytes);

    return size > 0 && cluster_keyring_open(to->ring, bytes, (size_t)size, &node, payload) >= 0;
}

/* r[verify cluster.detect.key] */
static void a_key_is_made_and_taken(void **state)
{
    (void)state;
    assert_false(leader.has);
    assert_false(reaches(&leader, &member));
    assert_int_equal(cluster_detector_keys_make(&leader, 1), 0);
    assert_true(leader.has);
    assert_false(reaches(&leader, &member));
    assert_int_equal(take(1), 0);
    assert_int_equal(take(1), 0); /* again */
    assert_true(reaches(&leader, &member) && reaches(&member, &leader));
    assert_int_equal(cluster_detector_keys_step(&member, 2), HUB_NEVER);
}

/* r[verify cluster.detect.key] */
static void the_key_before_goes_on_for_a_while(void **state)
{
    uint64_t end_ns = 5 + CLUSTER_DETECTOR_KEYS_BEFORE;

    (void)state;
    assert_int_equal(cluster_detector_keys_make(&leader, 1), 0);
    assert_int_equal(take(1), 0);
    assert_int_equal(cluster_detector_keys_make(&leader, 5), 0);
    assert_true(reaches(&member, &leader));
    assert_false(reaches(&leader, &member)); /* it has the next one only when it is told */
    assert_int_equal(cluster_detector_keys_step(&leader, end_ns - 1), end_ns);
    assert_true(reaches(&member, &leader));
    assert_int_equal(cluster_detector_keys_step(&leader, end_ns), HUB_NEVER);
    assert_false(reaches(&member, &leader));
    assert_int_equal(take(end_ns), 0);
    assert_true(reaches(&leader, &member) && reaches(&member, &leader));
}

static void many_keys_follow_each_other(void **state)
{
    (void)state;
    for (uint64_t i = 1; i < 600; i++) { /* numbers come again */
        assert_int_equal(cluster_detector_keys_make(&leader, i), 0);
        assert_int_equal(take(i), 0);
        assert_true(reaches(&leader, &member) && reaches(&member, &leader));
    }
}

/* r[verify cluster.detect.key] */
static void another_key_with_the_number_of_the_one_in_use_is_not_taken(void **state)
{
    uint8_t another[CLUSTER_KEYRING_KEY] = {1};

    (void)state;
    assert_int_equal(cluster_detector_keys_make(&leader, 1), 0);
    assert_int_equal(take(1), 0);
    assert_int_equal(cluster_detector_keys_take(&member, leader.number, another, 1),
                     RAPAHUB_EEXIST);
    assert_true(reaches(&leader, &member));
    assert_int_equal(cluster_detector_keys_make(&leader, 1), 0);
    assert_int_equal(take(1), 0);
    assert_int_equal(cluster_detector_keys_take(&member, (uint8_t)(leader.number - 1), another, 1),
                     0); /* that of the key before */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
    const struct CMUnitTest tests[] = {
        TEST(a_key_is_made_and_taken),
        TEST(the_key_before_goes_on_for_a_while),
        TEST(many_keys_follow_each_other),
        TEST(another_key_with_the_number_of_the_one_in_use_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
