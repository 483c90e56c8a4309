/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/base/pool_records.h"
#include "hub/base/bytes.h"
#include "tests/support/testing.h"

#define DIGEST                                 \
    {                                          \
        "0123456789abcdef0123456789abcdef", 32 \
    }

static struct rapahub_bytes written(const struct hub_writer *writer, int status)
{
    assert_int_equal(status, 0);
    return (struct rapahub_bytes){writer->data, writer->size};
}

/* The value of a pool's key; without a manifest, if that is not wanted. */
static struct rapahub_bytes write_pool(uint8_t *to, size_t room, const char *name, bool whole)
{
    uint8_t spec_bytes[1024], manifest_bytes[1024];
    const struct cluster_pool_spec spec = {.name = rapahub_string_of(name),
                                           .module = rapahub_string_of("kv"),
                                           .version = rapahub_string_of("1"),
                                           .digest = DIGEST,
                                           .containers = 1};
    const struct cluster_record module = {.module = {.name = rapahub_string_of("kv"),
                                                     .version = rapahub_string_of("1"),
                                                     .machine = rapahub_string_of("x86_64"),
                                                     .size = 1,
                                                     .digest = DIGEST}};
    struct cluster_record pool = {
        .pool = {.state = CLUSTER_POOL_ACTIVE, .containers = 1, .digest = DIGEST}};
    struct hub_writer writer;

    pool.pool.slots_count = cluster_pool_new_slots(1).count;
    hub_writer_init(&writer, spec_bytes, sizeof spec_bytes);
    pool.pool.spec = written(&writer, cluster_pool_spec_put(&writer, &spec));
    hub_writer_init(&writer, manifest_bytes, sizeof manifest_bytes);
    pool.pool.manifest = written(&writer, cluster_record_put(&writer, CLUSTER_KEY_MODULE, &module));
    pool.pool.manifest.size -= whole ? 0 : 1;
    hub_writer_init(&writer, to, room);
    return written(&writer, cluster_record_put(&writer, CLUSTER_KEY_POOL, &pool));
}

static void a_record_is_kept_with_its_spec_and_its_manifest(void **state)
{
    struct cluster_pool_records *records;
    const struct cluster_pool_records_pool *pool;
    uint8_t to[4096];

    (void)state;
    assert_int_equal(cluster_pool_records_create(2, &records), 0);
    assert_int_equal(cluster_pool_records_put(records, 7, write_pool(to, sizeof to, "one", true)),
                     0);
    assert_int_equal(cluster_pool_records_put(records, 7, write_pool(to, sizeof to, "two", true)),
                     0);
    memset(to, 0, sizeof to);
    pool = cluster_pool_records_find(records, 7);
    assert_memory_equal(pool->spec.name.data, "two", 3);
    assert_memory_equal(pool->manifest.name.data, "kv", 2);
    cluster_pool_records_remove(records, 7);
    cluster_pool_records_remove(records, 7);
    assert_null(cluster_pool_records_find(records, 7));
    cluster_pool_records_release(&records);
}

static void a_record_that_is_not_sound_changes_nothing(void **state)
{
    struct cluster_pool_records *records;
    uint8_t to[4096];

    (void)state;
    assert_int_equal(cluster_pool_records_create(2, &records), 0);
    assert_int_equal(cluster_pool_records_put(records, 7, write_pool(to, sizeof to, "one", true)),
                     0);
    assert_int_equal(cluster_pool_records_put(records, 7, write_pool(to, sizeof to, "two", false)),
                     RAPAHUB_EFORMAT);
    assert_int_equal(cluster_pool_records_put(records, 7, (struct rapahub_bytes){to, 3}),
                     RAPAHUB_EFORMAT);
    assert_memory_equal(cluster_pool_records_find(records, 7)->spec.name.data, "one", 3);
    assert_int_equal(cluster_pool_records_put(records, 8, write_pool(to, sizeof to, "two", true)),
                     0);
    assert_int_equal(cluster_pool_records_put(records, 9, write_pool(to, sizeof to, "three", true)),
                     RAPAHUB_ENOSPC);
    cluster_pool_records_release(&records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_kept_with_its_spec_and_its_manifest),
        cmocka_unit_test(a_record_that_is_not_sound_changes_nothing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
