/* SPDX-License-Identifier: Apache-2.0 */
/* pool_records: the record of a pool as the metastore would have it, for tests of the map. */
#ifndef TESTS_UNIT_CLUSTER_CORE_POOL_RECORDS_H
#define TESTS_UNIT_CLUSTER_CORE_POOL_RECORDS_H

#include <string.h>

#include "cluster/wire/pool_spec.h"
#include "cluster/wire/record.h"
#include "hub/base/bytes.h"
#include "tests/support/testing.h"

#define POOL_RECORDS_DIGEST "0123456789abcdef0123456789abcdef"

struct pool_records_pool {
    const char *name;
    uint32_t containers;
    const uint64_t *methods;
    uint32_t methods_count;
    const struct cluster_pool_method *said; /* of methods, in the spec */
    uint32_t said_count;
    const uint16_t *slots; /* NULL: as at creation */
    uint32_t slots_count;
    bool repeat_all;
    uint8_t durability;
};

struct pool_records {
    uint8_t spec[4096], manifest[32768], record[65536];
    struct cluster_record read; /* views of the bytes above */
};

static inline struct rapahub_string pool_records_text(const char *text)
{
    return (struct rapahub_string){text, strlen(text)};
}

static inline struct rapahub_bytes pool_records_spec(const struct pool_records_pool *pool,
                                                     struct pool_records *to)
{
    bool copied = pool->durability >= CLUSTER_DURABILITY_CHECKPOINT;
    struct cluster_pool_spec spec = {.name = pool_records_text(pool->name),
                                     .module = pool_records_text("counter"),
                                     .version = pool_records_text("1.0"),
                                     .digest = {POOL_RECORDS_DIGEST, 32},
                                     .containers = pool->containers,
                                     .repeat_all = pool->repeat_all,
                                     .durability = pool->durability,
                                     .copies = copied ? 2 : 0,
                                     .min_copies = copied,
                                     .methods = {.of = pool->said, .count = pool->said_count}};
    struct hub_writer writer;

    hub_writer_init(&writer, to->spec, sizeof to->spec);
    assert_int_equal(cluster_pool_spec_put(&writer, &spec), 0);
    return (struct rapahub_bytes){to->spec, writer.size};
}

static inline struct rapahub_bytes pool_records_manifest(const struct pool_records_pool *pool,
                                                         struct pool_records *to)
{
    static struct cluster_record_method methods[CLUSTER_RECORD_METHODS_MAX];
    struct cluster_record record = {.module = {.name = pool_records_text("counter"),
                                               .version = pool_records_text("1.0"),
                                               .machine = pool_records_text("x86_64"),
                                               .abi = 1,
                                               .size = 1,
                                               .digest = {POOL_RECORDS_DIGEST, 32}}};
    struct hub_writer writer;

    for (uint32_t i = 0; i < pool->methods_count; i++)
        methods[i] =
            (struct cluster_record_method){pool->methods[i], pool_records_text("f() -> void")};
    record.module.methods = (struct cluster_list){.of = methods, .count = pool->methods_count};
    hub_writer_init(&writer, to->manifest, sizeof to->manifest);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_MODULE, &record), 0);
    return (struct rapahub_bytes){to->manifest, writer.size};
}

/* Writes the record and reads it again. It is good until the next. */
static inline const struct cluster_record_pool *pool_records_of(
    const struct pool_records_pool *pool, struct pool_records *to)
{
    struct cluster_record record = {.pool = {.state = CLUSTER_POOL_ACTIVE,
                                             .containers = pool->containers,
                                             .slots_count = pool->slots_count,
                                             .digest = {POOL_RECORDS_DIGEST, 32}}};
    struct hub_writer writer;

    if (!pool->slots)
        record.pool.slots_count = cluster_pool_new_slots(pool->containers).count;
    else
        record.pool.slots = (struct cluster_list){.of = pool->slots, .count = pool->slots_count};
    record.pool.spec = pool_records_spec(pool, to);
    record.pool.manifest = pool_records_manifest(pool, to);
    hub_writer_init(&writer, to->record, sizeof to->record);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_POOL, &record), 0);
    assert_int_equal(cluster_record_read(CLUSTER_KEY_POOL,
                                         (struct rapahub_bytes){to->record, writer.size},
                                         &to->read),
                     0);
    return &to->read.pool;
}

#endif
