/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/pool_spec_of.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/wire/pool_spec.h"
#include "cluster/wire/record.h"
#include "hub/base/bytes.h"

#define DIGEST                                 \
    {                                          \
        "0123456789abcdef0123456789abcdef", 32 \
    }

static struct rapahub_string text(const char *of)
{
    return (struct rapahub_string){of, strlen(of)};
}

struct rapahub_string pool_spec_of_name(uint32_t name)
{
    static const char names[] = "abcdefgh";

    return (struct rapahub_string){&names[name], 1};
}

static struct rapahub_bytes written(const struct hub_writer *writer, int status)
{
    if (status < 0)
        abort();
    return (struct rapahub_bytes){writer->data, writer->size};
}

static struct rapahub_bytes write_spec(const struct pool_spec_of_what *what)
{
    static uint8_t to[1024];
    bool copied = what->durability >= CLUSTER_DURABILITY_CHECKPOINT;
    const struct cluster_pool_spec spec = {.name = pool_spec_of_name(what->name),
                                           .module = text("kv"),
                                           .version = text("1"),
                                           .digest = DIGEST,
                                           .containers = what->containers,
                                           .durability = what->durability,
                                           .copies = copied,
                                           .min_copies = copied};
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    return written(&writer, cluster_pool_spec_put(&writer, &spec));
}

struct rapahub_bytes pool_spec_of_manifest(void)
{
    static uint8_t to[1024];
    const struct cluster_record_method methods[] = {{7, text("once() -> void")}};
    const struct cluster_record record = {.module = {.name = text("kv"),
                                                     .version = text("1"),
                                                     .machine = text("x86_64"),
                                                     .abi = 1,
                                                     .size = 1,
                                                     .digest = DIGEST,
                                                     .methods = {.of = methods, .count = 1}}};
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    return written(&writer, cluster_record_put(&writer, CLUSTER_KEY_MODULE, &record));
}

struct cluster_key pool_spec_of_module(void)
{
    return (struct cluster_key){
        .kind = CLUSTER_KEY_MODULE, .text = text("kv"), .version = text("1")};
}

struct cluster_orders_order pool_spec_of(const struct pool_spec_of_what *what, uint64_t number,
                                         uint64_t module_revision)
{
    return (struct cluster_orders_order){.kind = CLUSTER_ORDER_APPLY,
                                         .number = number,
                                         .spec = write_spec(what),
                                         .digest = DIGEST,
                                         .manifest = pool_spec_of_manifest(),
                                         .module_revision = module_revision};
}
