/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/peers.h"
#include "cluster/core/map/known_lives.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)

static const struct cluster_limits limits = {.peers = 2, .peer_calls = 3, .peer_bytes = 100};

/* r[verify cluster.peer.bounds] */
static void calls_of_a_peer_are_bounded(void **state)
{
    struct cluster_peers *peers;

    (void)state;
    assert_int_equal(cluster_peers_create(&limits, &peers), 0);
    assert_null(cluster_peers_find(peers, 7));
    assert_false(cluster_peers_may_send(peers, 7));
    cluster_peers_add(peers, 7)->up = true;
    assert_non_null(cluster_peers_add(peers, 8));
    assert_null(cluster_peers_add(peers, 9));
    assert_ptr_equal(cluster_peers_add(peers, 7), cluster_peers_find(peers, 7));
    for (int i = 0; i < 3; i++) {
        assert_true(cluster_peers_may_send(peers, 7));
        assert_true(cluster_peers_may_take(peers, 7, 20));
        cluster_peers_count_sent(peers, 7, 1);
        cluster_peers_count_came(peers, 7, 1, 20);
    }
    assert_false(cluster_peers_may_send(peers, 7));
    assert_false(cluster_peers_may_take(peers, 7, 20));
    assert_false(cluster_peers_may_send(peers, 8)); /* its link is not up */
    cluster_peers_count_came(peers, 7, -1, 20);
    assert_true(cluster_peers_may_take(peers, 7, 60));
    assert_false(cluster_peers_may_take(peers, 7, 61));
    assert_int_equal(cluster_peers_figures(peers).sent, 3);
    assert_int_equal(cluster_peers_figures(peers).bytes, 40);
    cluster_peers_remove(peers, 8);
    assert_non_null(cluster_peers_add(peers, 9));
    cluster_peers_release(&peers);
}

/* r[verify cluster.peer.lineage] */
static void what_is_known_of_a_life_is_of_its_epoch(void **state)
{
    struct cluster_known_lives *lives;

    (void)state;
    assert_int_equal(cluster_known_lives_create(3, 5, &lives), 0);
    assert_int_equal(cluster_known_lives_get(lives, POOL, 1, 4), 0);
    assert_true(cluster_known_lives_put(lives, POOL, 1, 4, 0x40001));
    assert_false(cluster_known_lives_put(lives, POOL, 1, 4, 0x40001));
    assert_int_equal(cluster_known_lives_get(lives, POOL, 1, 4), 0x40001);
    assert_int_equal(cluster_known_lives_get(lives, POOL, 1, 5), 0);
    assert_int_equal(cluster_known_lives_get(lives, POOL + 1, 1, 4), 0);
    assert_false(cluster_known_lives_put(lives, POOL, 1, 3, 0x30000));
    assert_false(cluster_known_lives_put(lives, POOL, 1, 0, 0x50000));
    assert_false(cluster_known_lives_put(lives, POOL, 1, 5, 0));
    assert_true(cluster_known_lives_put(lives, POOL, 1, 5, 0x50000));
    for (uint32_t c = 2; c < 20; c++)
        assert_true(cluster_known_lives_put(lives, POOL, c, 1, 0x10000));
    cluster_known_lives_release(&lives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_a_peer_are_bounded),
        cmocka_unit_test(what_is_known_of_a_life_is_of_its_epoch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
