/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/map/address_map.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define POOL       UINT64_C(0x0000010000000000)
#define POOLS      4
#define CONTAINERS 8
#define MOST       (POOLS * CONTAINERS / 2)

/* r[verify cluster.map.bounds] */
static void a_map_that_is_full_refuses(void **state)
{
    struct cluster_address_map *map;

    (void)state;
    assert_int_equal(cluster_address_map_create(MOST, 1, &map), 0);
    for (uint32_t i = 0; i < MOST; i++)
        assert_non_null(cluster_address_map_add(map, POOL, i));
    assert_int_equal(cluster_address_map_space(map), 0);
    assert_null(cluster_address_map_add(map, POOL, MOST));
    assert_non_null(cluster_address_map_add(map, POOL, 0));
    cluster_address_map_remove(map, POOL, 3);
    assert_non_null(cluster_address_map_add(map, POOL, MOST));
    cluster_address_map_release(&map);
}

static void entries_are_those_of_an_array(void **state)
{
    uint64_t model[POOLS][CONTAINERS] = {{0}};
    uint32_t count = 0;
    struct hub_random random;
    struct cluster_address_map *map;

    (void)state;
    hub_random_init(&random, 3);
    assert_int_equal(cluster_address_map_create(MOST, 1, &map), 0);
    for (uint64_t step = 1; step < 20000; step++) {
        uint32_t pool = (uint32_t)hub_random_below(&random, POOLS);
        uint32_t container = (uint32_t)hub_random_below(&random, CONTAINERS);
        uint64_t *known = &model[pool][container];
        struct cluster_address *address = cluster_address_map_find(map, POOL + pool, container);

        assert_int_equal(address ? address->revision : 0, *known);
        if (*known != 0 && step % 2 == 0) {
            cluster_address_map_remove(map, POOL + pool, container);
            count--;
            *known = 0;
            continue;
        }
        address = cluster_address_map_add(map, POOL + pool, container);
        assert_int_equal(address != NULL, *known != 0 || count < MOST);
        if (!address)
            continue;
        count += *known == 0;
        *known = address->revision = step;
        assert_int_equal(cluster_address_map_count(map), count);
    }
    cluster_address_map_release(&map);
}

/* r[verify cluster.resolve.query] */
static void the_least_container_of_a_node_is_found(void **state)
{
    struct cluster_address_map *map;

    (void)state;
    assert_int_equal(cluster_address_map_create(MOST, 1, &map), 0);
    for (uint32_t i = 0; i < 4; i++)
        cluster_address_map_add(map, POOL, i)->entry.owner = 1 + i / 2;
    assert_int_equal(cluster_address_map_of_node(map, POOL, 4, 1), 0);
    assert_int_equal(cluster_address_map_of_node(map, POOL, 4, 2), 2);
    assert_int_equal(cluster_address_map_of_node(map, POOL, 4, 3), 4);
    assert_int_equal(cluster_address_map_of_node(map, POOL + 1, 4, 1), 4);
    assert_int_equal(cluster_address_map_of_node(map, POOL, 2, 2), 2);
    cluster_address_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_that_is_full_refuses),
        cmocka_unit_test(entries_are_those_of_an_array),
        cmocka_unit_test(the_least_container_of_a_node_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
