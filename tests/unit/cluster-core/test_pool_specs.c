/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/txn.h"
#include "cluster/core/map/pool_specs.h"
#include "tests/support/testing.h"

#define PLACES 2

static uint8_t bytes[CLUSTER_TXN_VALUE_MAX];

static struct cluster_record_pool record_of(uint8_t fill, size_t spec, size_t manifest)
{
    memset(bytes, fill, sizeof bytes);
    return (struct cluster_record_pool){.state = fill,
                                        .containers = fill,
                                        .slots_count = 4096,
                                        .digest = {bytes, 32},
                                        .spec = {bytes, spec},
                                        .manifest = {bytes, manifest}};
}

static void has(const struct cluster_pool_specs *specs, uint32_t place, uint8_t fill, size_t spec,
                size_t manifest)
{
    struct cluster_record_pool kept = cluster_pool_specs_of(specs, place);
    const struct rapahub_bytes views[] = {kept.digest, kept.spec, kept.manifest};

    assert_int_equal(kept.containers, fill);
    assert_int_equal(kept.digest.size, 32);
    assert_int_equal(kept.spec.size, spec);
    assert_int_equal(kept.manifest.size, manifest);
    for (int i = 0; i < 3; i++)
        for (size_t at = 0; at < views[i].size; at++)
            assert_int_equal(((const uint8_t *)views[i].data)[at], fill);
}

/* r[verify cluster.map.pools] */
static void a_record_is_kept_as_it_was(void **state)
{
    struct cluster_pool_specs *specs;
    struct cluster_record_pool record;

    (void)state;
    assert_int_equal(cluster_pool_specs_create(PLACES, &specs), 0);
    record = record_of(1, 100, 0);
    assert_int_equal(cluster_pool_specs_set(specs, 1, &record), 0);
    record = record_of(2, 7, 900);
    assert_int_equal(cluster_pool_specs_set(specs, 2, &record), 0);
    has(specs, 1, 1, 100, 0);
    has(specs, 2, 2, 7, 900);
    record = record_of(3, 50, 60);
    assert_int_equal(cluster_pool_specs_set(specs, 1, &record), 0);
    has(specs, 1, 3, 50, 60);
    has(specs, 2, 2, 7, 900);
    cluster_pool_specs_release(&specs);
}

/* r[verify cluster.map.bounds] */
static void the_memory_of_records_is_used_again(void **state)
{
    struct cluster_pool_specs *specs;
    struct cluster_record_pool record;

    (void)state;
    assert_int_equal(cluster_pool_specs_create(PLACES, &specs), 0);
    record = record_of(9, 1000, 10);
    assert_int_equal(cluster_pool_specs_set(specs, 2, &record), 0);
    for (uint8_t i = 1; i < 60; i++) {
        record = record_of(i, 100000, 80000 - i);
        assert_int_equal(cluster_pool_specs_set(specs, 1, &record), 0);
        has(specs, 1, i, 100000, 80000 - i);
        has(specs, 2, 9, 1000, 10);
    }
    cluster_pool_specs_release(&specs);
}

/* r[verify cluster.map.bounds] */
static void more_than_there_is_memory_for_is_refused(void **state)
{
    struct cluster_pool_specs *specs;
    struct cluster_record_pool record;

    (void)state;
    assert_int_equal(cluster_pool_specs_create(PLACES, &specs), 0);
    for (uint32_t place = 1; place <= PLACES; place++) {
        record = record_of(1, CLUSTER_TXN_VALUE_MAX, CLUSTER_TXN_VALUE_MAX - 200);
        assert_int_equal(cluster_pool_specs_set(specs, place, &record), 0);
    }
    record = record_of(2, 1000, 0);
    assert_int_equal(cluster_pool_specs_set(specs, 1, &record), RAPAHUB_EFULL);
    has(specs, 1, 1, CLUSTER_TXN_VALUE_MAX, CLUSTER_TXN_VALUE_MAX - 200);
    cluster_pool_specs_clear(specs, 2);
    record = record_of(2, 1000, 0);
    assert_int_equal(cluster_pool_specs_set(specs, 1, &record), 0);
    has(specs, 1, 2, 1000, 0);
    cluster_pool_specs_release(&specs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_kept_as_it_was),
        cmocka_unit_test(the_memory_of_records_is_used_again),
        cmocka_unit_test(more_than_there_is_memory_for_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
