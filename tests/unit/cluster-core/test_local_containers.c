/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/map/local_containers.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)
#define MOST 3

static struct cluster_local_containers *open_locals(void)
{
    struct cluster_local_containers *locals;

    assert_int_equal(cluster_local_containers_create(MOST, 1, &locals), 0);
    return locals;
}

static int begin(struct cluster_local_containers *locals, uint32_t container, uint32_t life)
{
    return cluster_local_containers_begin(locals, POOL, container, cluster_ids_token(0, 1, life),
                                          cluster_ids_lineage(1, life));
}

/* r[verify cluster.local.states] */
static void the_states_are_these(void **state)
{
    const uint32_t may[CLUSTER_LOCAL_STATES] = {
        [CLUSTER_LOCAL_BEGINNING] =
            HUB_TO(CLUSTER_LOCAL_SERVING) | HUB_TO(CLUSTER_LOCAL_HELD) | HUB_TO(CLUSTER_LOCAL_DOWN),
        [CLUSTER_LOCAL_SERVING] = HUB_TO(CLUSTER_LOCAL_HELD) | HUB_TO(CLUSTER_LOCAL_DOWN),
        [CLUSTER_LOCAL_HELD] = HUB_TO(CLUSTER_LOCAL_SERVING) | HUB_TO(CLUSTER_LOCAL_DOWN),
        [CLUSTER_LOCAL_DOWN] = HUB_TO(CLUSTER_LOCAL_BEGINNING)};

    (void)state;
    for (uint32_t from = 0; from < CLUSTER_LOCAL_STATES; from++)
        for (uint32_t to = 0; to < CLUSTER_LOCAL_STATES; to++)
            assert_int_equal(hub_states_may(&cluster_local_states, from, to),
                             (may[from] & HUB_TO(to)) != 0);
}

/* r[verify cluster.local.token] r[verify cluster.local.states] */
static void a_life_follows_a_life_with_a_greater_token(void **state)
{
    struct cluster_local_containers *locals = open_locals();

    (void)state;
    assert_int_equal(begin(locals, 2, 1), 0);
    assert_int_equal(begin(locals, 2, 2), RAPAHUB_ESTATE);
    cluster_local_containers_move(locals, POOL, 2, CLUSTER_LOCAL_SERVING);
    assert_int_equal(begin(locals, 2, 2), RAPAHUB_ESTATE);
    cluster_local_containers_move(locals, POOL, 2, CLUSTER_LOCAL_DOWN);
    assert_int_equal(begin(locals, 2, 1), RAPAHUB_ESTALE);
    assert_int_equal(begin(locals, 2, 0), RAPAHUB_ESTALE);
    assert_int_equal(begin(locals, 2, 2), 0);
    assert_int_equal(cluster_local_containers_find(locals, POOL, 2)->lineage,
                     cluster_ids_lineage(1, 2));
    assert_int_equal(cluster_local_containers_count(locals), 1);
    cluster_local_containers_release(&locals);
}

/* r[verify cluster.map.bounds] */
static void more_containers_than_a_node_may_have_are_refused(void **state)
{
    struct cluster_local_containers *locals = open_locals();

    (void)state;
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(begin(locals, i, 0), 0);
    assert_int_equal(begin(locals, MOST, 0), RAPAHUB_EFULL);
    cluster_local_containers_remove(locals, POOL, 1);
    cluster_local_containers_remove(locals, POOL, 1);
    assert_null(cluster_local_containers_find(locals, POOL, 1));
    assert_int_equal(begin(locals, MOST, 0), 0);
    cluster_local_containers_release(&locals);
}

/* r[verify cluster.resolve.query] */
static void any_is_the_least_that_serves(void **state)
{
    struct cluster_local_containers *locals = open_locals();

    (void)state;
    assert_null(cluster_local_containers_any(locals, POOL));
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(begin(locals, MOST - i, 0), 0);
    assert_int_equal(cluster_local_containers_any(locals, POOL)->container, 1);
    cluster_local_containers_move(locals, POOL, 3, CLUSTER_LOCAL_SERVING);
    assert_int_equal(cluster_local_containers_any(locals, POOL)->container, 3);
    cluster_local_containers_move(locals, POOL, 2, CLUSTER_LOCAL_SERVING);
    assert_int_equal(cluster_local_containers_any(locals, POOL)->container, 2);
    cluster_local_containers_move(locals, POOL, 2, CLUSTER_LOCAL_HELD);
    assert_int_equal(cluster_local_containers_any(locals, POOL)->container, 3);
    cluster_local_containers_move(locals, POOL, 3, CLUSTER_LOCAL_DOWN);
    cluster_local_containers_move(locals, POOL, 1, CLUSTER_LOCAL_DOWN);
    assert_int_equal(cluster_local_containers_any(locals, POOL)->container, 1);
    assert_int_equal(begin(locals, 1, 1), 0);
    cluster_local_containers_move(locals, POOL, 1, CLUSTER_LOCAL_SERVING);
    assert_int_equal(begin(locals, 0, 0), RAPAHUB_EFULL);
    cluster_local_containers_remove(locals, POOL, 3);
    assert_int_equal(begin(locals, 0, 0), 0);
    assert_int_equal(cluster_local_containers_any(locals, POOL)->container, 1);
    assert_null(cluster_local_containers_any(locals, POOL + 1));
    cluster_local_containers_release(&locals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_states_are_these),
        cmocka_unit_test(a_life_follows_a_life_with_a_greater_token),
        cmocka_unit_test(more_containers_than_a_node_may_have_are_refused),
        cmocka_unit_test(any_is_the_least_that_serves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
