/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/pool_record.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/wire/pool_spec.h"
#include "hub/base/bytes.h"

#define DIGEST                                 \
    {                                          \
        "0123456789abcdef0123456789abcdef", 32 \
    }

static struct rapahub_string text(const char *of)
{
    return (struct rapahub_string){of, strlen(of)};
}

static struct rapahub_bytes written(const struct hub_writer *writer, int status)
{
    if (status < 0)
        abort();
    return (struct rapahub_bytes){writer->data, writer->size};
}

static struct rapahub_bytes write_spec(uint8_t durability)
{
    const uint32_t copies = durability >= CLUSTER_DURABILITY_CHECKPOINT;
    static uint8_t to[1024];
    const struct cluster_pool_method said = {.id = POOL_RECORD_REPEATS, .repeat = true};
    const struct cluster_pool_spec spec = {.name = text("kv"),
                                           .module = text("kv"),
                                           .version = text("1"),
                                           .digest = DIGEST,
                                           .containers = POOL_RECORD_CONTAINERS,
                                           .durability = durability,
                                           .copies = copies,
                                           .min_copies = copies,
                                           .methods = {.of = &said, .count = 1}};
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    return written(&writer, cluster_pool_spec_put(&writer, &spec));
}

static struct rapahub_bytes write_manifest(void)
{
    static uint8_t to[1024];
    const struct cluster_record_method methods[] = {{POOL_RECORD_ONCE, text("once() -> void")},
                                                    {POOL_RECORD_REPEATS, text("get() -> void")}};
    const struct cluster_record record = {.module = {.name = text("kv"),
                                                     .version = text("1"),
                                                     .machine = text("x86_64"),
                                                     .abi = 1,
                                                     .size = 1,
                                                     .digest = DIGEST,
                                                     .methods = {.of = methods, .count = 2}}};
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    return written(&writer, cluster_record_put(&writer, CLUSTER_KEY_MODULE, &record));
}

const struct cluster_record_pool *pool_record_durable(uint8_t durability)
{
    static uint8_t to[4096];
    static struct cluster_record read;
    const struct cluster_record record = {
        .pool = {.state = CLUSTER_POOL_ACTIVE,
                 .containers = POOL_RECORD_CONTAINERS,
                 .slots_count = cluster_pool_new_slots(POOL_RECORD_CONTAINERS).count,
                 .digest = DIGEST,
                 .spec = write_spec(durability),
                 .manifest = write_manifest()}};
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    if (cluster_record_read(
            CLUSTER_KEY_POOL,
            written(&writer, cluster_record_put(&writer, CLUSTER_KEY_POOL, &record)), &read) < 0)
        abort();
    return &read.pool;
}

const struct cluster_record_pool *pool_record_read(void)
{
    return pool_record_durable(CLUSTER_DURABILITY_NONE);
}
