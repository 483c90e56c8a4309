/* SPDX-License-Identifier: Apache-2.0 */
/* A node's tables with the limits of a node in use: the memory that they take, empty and full. */
#include <stdio.h>
#include <unistd.h>

#include "cluster/core/calls/dedup.h"
#include "cluster/core/calls/parking.h"
#include "cluster/core/calls/retry.h"
#include "cluster/core/map/address_map.h"
#include "cluster/core/map/local_containers.h"
#include "cluster/core/map/pools.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)
#define MIB  ((size_t)1 << 20)

/* A sanitizer has memory of its own for each byte, so only the rest of the test says something. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURES 0
#else
#define MEASURES 1
#endif

static size_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
    assert_int_equal(fclose(file), 0);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* r[verify cluster.map.bounds] r[verify cluster.dedup.bounds] r[verify cluster.parking.bounds]
 * r[verify cluster.retry.bounds] */
static void the_limits_are_these(void **state)
{
    const struct cluster_limits limits = CLUSTER_LIMITS_DEFAULT;

    (void)state;
    assert_int_equal(limits.pools, 4096);
    assert_int_equal(limits.entries, 262144);
    assert_int_equal(limits.containers, 4000);
    assert_int_equal(limits.dedup_container, 65536);
    assert_int_equal(limits.dedup_container_bytes, 16 * MIB);
    assert_int_equal(limits.dedup_bytes, 128 * MIB);
    assert_int_equal(limits.parked_container, 1024);
    assert_int_equal(limits.parked_container_bytes, 16 * MIB);
    assert_int_equal(limits.parked_bytes, 64 * MIB);
    assert_int_equal(limits.retries, 100000);
    assert_int_equal(limits.retry_bytes, 256 * MIB);
}

/* r[verify cluster.map.bounds] */
static void empty_tables_take_next_to_no_memory(void **state)
{
    const struct cluster_limits limits = CLUSTER_LIMITS_DEFAULT;
    size_t before = resident();
    struct hub_random random;
    struct cluster_effects_queue *effects;
    struct cluster_payload *payload;
    struct cluster_pools *pools;
    struct cluster_address_map *map;
    struct cluster_local_containers *locals;
    struct cluster_dedup *dedup;
    struct cluster_parking *parking;
    struct cluster_retry *retry;

    (void)state;
    hub_random_init(&random, 1);
    assert_int_equal(cluster_effects_create(limits.effects, &effects), 0);
    assert_int_equal(cluster_payload_create(limits.payloads, effects, &payload), 0);
    assert_int_equal(cluster_pools_create(limits.pools, 1, &pools), 0);
    assert_int_equal(cluster_address_map_create(limits.entries, 1, &map), 0);
    assert_int_equal(cluster_local_containers_create(limits.containers, 1, &locals), 0);
    assert_int_equal(cluster_dedup_create(&limits, 1, payload, &dedup), 0);
    assert_int_equal(cluster_parking_create(&limits, 1, &parking), 0);
    assert_int_equal(cluster_retry_create(&limits, &random, &retry), 0);
    assert_true(!MEASURES || resident() < before + MIB);
    cluster_retry_release(&retry);
    cluster_parking_release(&parking);
    cluster_dedup_release(&dedup);
    cluster_local_containers_release(&locals);
    cluster_address_map_release(&map);
    cluster_pools_release(&pools);
    cluster_payload_release(&payload);
    cluster_effects_release(&effects);
}

/* r[verify cluster.map.bounds] */
static void an_entry_of_a_full_map_takes_96_bytes_at_most(void **state)
{
    const struct cluster_limits limits = CLUSTER_LIMITS_DEFAULT;
    struct cluster_address_map *map;
    size_t before;

    (void)state;
    assert_int_equal(cluster_address_map_create(limits.entries, 1, &map), 0);
    before = resident();
    for (uint32_t i = 0; i < limits.entries; i++)
        assert_non_null(cluster_address_map_add(map, POOL + i / 4096, i % 4096));
    assert_null(cluster_address_map_add(map, POOL + 4096, 0));
    if (MEASURES)
        assert_in_range(resident() - before, 1, (size_t)limits.entries * CLUSTER_ADDRESS_MAP_EACH);
    cluster_address_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limits_are_these),
        cmocka_unit_test(empty_tables_take_next_to_no_memory),
        cmocka_unit_test(an_entry_of_a_full_map_takes_96_bytes_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
