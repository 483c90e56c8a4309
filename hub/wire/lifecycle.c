/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/lifecycle.h"

#include <rapahub/error.h>
#include <rapahub/method.h>

#include "hub/base/bytes.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

/* An entry with its result and arguments as descriptions. The id is that of the canonical text; a
 * test computes it again. */
#define HUB_ENTRY(method, id, ...)                                                               \
    {                                                                                            \
        "rapahub." method, (const struct rapahub_type *const[]){__VA_ARGS__, NULL}, UINT64_C(id) \
    }
#define HUB_TYPE(word) &rapahub_type_##word

const struct hub_lifecycle_entry hub_lifecycle_table[HUB_LIFECYCLE_COUNT] = {
    [HUB_LIFECYCLE_READY] =
        HUB_ENTRY("ready", 0x4ccf8d3753c87616, HUB_TYPE(void), HUB_TYPE(hub_ready)),
    [HUB_LIFECYCLE_METHODS] =
        HUB_ENTRY("methods", 0x3077c6a4754718a3, HUB_TYPE(string), HUB_TYPE(u32)),
    [HUB_LIFECYCLE_BEGIN] =
        HUB_ENTRY("begin", 0xc2f3263543e66dd2, HUB_TYPE(void), HUB_TYPE(hub_begin)),
    [HUB_LIFECYCLE_WRITE] =
        HUB_ENTRY("write", 0x9fca4a953b6ad477, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(bytes)),
    [HUB_LIFECYCLE_LOAD] =
        HUB_ENTRY("load", 0xda4e39e17346dc4b, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(u32)),
    [HUB_LIFECYCLE_SAVE] =
        HUB_ENTRY("save", 0x5f0b47e6e450989d, HUB_TYPE(hub_saved), HUB_TYPE(u64)),
    [HUB_LIFECYCLE_READ] =
        HUB_ENTRY("read", 0x2634c9314819988f, HUB_TYPE(bytes), HUB_TYPE(u64), HUB_TYPE(u64)),
    [HUB_LIFECYCLE_PLUG] =
        HUB_ENTRY("plug", 0xe75c9e15b165c817, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(bool)),
    [HUB_LIFECYCLE_WORK] = HUB_ENTRY("work", 0x1002950aa418d8b3, HUB_TYPE(u64), HUB_TYPE(u64)),
    [HUB_LIFECYCLE_MIGRATE] =
        HUB_ENTRY("migrate", 0x997987006e956037, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(u64)),
    [HUB_LIFECYCLE_EXPAND] =
        HUB_ENTRY("expand", 0x5894d6d30dc180f2, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(u64)),
    [HUB_LIFECYCLE_RECOVER] = HUB_ENTRY("recover", 0x6497e2cac51c81b1, HUB_TYPE(u64), HUB_TYPE(u64),
                                        HUB_TYPE(hub_container)),
    [HUB_LIFECYCLE_HEALTH] = HUB_ENTRY("health", 0xb1f52fcf235a7422, HUB_TYPE(u8), HUB_TYPE(u64)),
    [HUB_LIFECYCLE_FINI] = HUB_ENTRY("fini", 0x33fbbcc189c3517b, HUB_TYPE(void), HUB_TYPE(u64)),
    [HUB_LIFECYCLE_PING] = HUB_ENTRY("ping", 0x3c1c9dedf768d9f7, HUB_TYPE(u8)),
    [HUB_LIFECYCLE_DOWN] =
        HUB_ENTRY("down", 0xf682440bcd99842e, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(hub_down)),
    [HUB_LIFECYCLE_SAVE_CHANGES] = HUB_ENTRY("save_changes", 0xbc533525addee998,
                                             HUB_TYPE(hub_changes), HUB_TYPE(u64), HUB_TYPE(bool)),
    [HUB_LIFECYCLE_LOAD_CHANGES] =
        HUB_ENTRY("load_changes", 0x2793fcd354f6db85, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(u32)),
    [HUB_LIFECYCLE_BEGIN_TOKEN] = HUB_ENTRY("begin_token", 0xa3cb97d305ceb66b, HUB_TYPE(void),
                                            HUB_TYPE(hub_begin), HUB_TYPE(u64)),
    [HUB_LIFECYCLE_ROUTE] = HUB_ENTRY("route", 0x10c2901dfaf576ab, HUB_TYPE(hub_routed),
                                      HUB_TYPE(u64), HUB_TYPE(hub_asked)),
    [HUB_LIFECYCLE_ROLE] =
        HUB_ENTRY("role", 0xc1a5e95c61bddd32, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(hub_granted)),
    [HUB_LIFECYCLE_ROLES] =
        HUB_ENTRY("roles", 0x34e428c971ea7023, HUB_TYPE(void), HUB_TYPE(u64), HUB_TYPE(u8)),
};

uint64_t hub_lifecycle_id(enum hub_lifecycle_method method)
{
    return hub_lifecycle_table[method].id;
}

enum hub_lifecycle_method hub_lifecycle_of_id(uint64_t id)
{
    int method = 0;

    while (method < HUB_LIFECYCLE_COUNT && hub_lifecycle_table[method].id != id)
        method++;
    return (enum hub_lifecycle_method)method;
}

/* Writes the same bytes as hub_payload_put for a struct hub_container, without its cost: each call
 * by a guest needs them. */
size_t hub_lifecycle_put_target(struct rapahub_container_id id, uint8_t *to)
{
    size_t size = hub_postcard_put_at(to, id.pool.major);

    size += hub_postcard_put_at(to + size, id.pool.minor);
    return size + hub_postcard_put_at(to + size, id.container);
}

int hub_lifecycle_decode_target(struct rapahub_bytes bytes, struct rapahub_container_id *out)
{
    struct hub_container container;
    struct hub_reader reader;

    hub_reader_init(&reader, bytes.data, bytes.size);
    hub_payload_decode(&reader, &rapahub_type_hub_container, &container);
    if (hub_postcard_end(&reader) < 0)
        return reader.failure;
    *out = (struct rapahub_container_id){{container.major, container.minor}, container.container};
    return 0;
}

/* r[impl hub.call.query] */
size_t hub_lifecycle_put_query(struct rapahub_container_id id, const struct rapahub_query *query,
                               uint8_t *to)
{
    size_t size = hub_lifecycle_put_target(id, to);

    to[size++] = (uint8_t)query->mode;
    size += hub_postcard_put_at(to + size, query->number);
    size += hub_postcard_put_at(to + size, query->offset);
    size += hub_postcard_put_at(to + size, query->count);
    size += hub_postcard_put_at(to + size, query->order);
    to[size++] = query->collect;
    return size;
}

/* r[impl hub.call.query] */
int hub_lifecycle_decode_query(struct rapahub_bytes bytes, struct rapahub_container_id *out,
                               struct rapahub_query *query)
{
    struct hub_container container;
    struct hub_reader reader;
    uint8_t mode;

    hub_reader_init(&reader, bytes.data, bytes.size);
    hub_payload_decode(&reader, &rapahub_type_hub_container, &container);
    mode = hub_postcard_read_byte(&reader);
    *query = (struct rapahub_query){.mode = (enum rapahub_query_mode)mode};
    query->number = hub_postcard_read_unsigned(&reader, 64);
    query->offset = (uint32_t)hub_postcard_read_unsigned(&reader, 32);
    query->count = (uint32_t)hub_postcard_read_unsigned(&reader, 32);
    query->order = (uint32_t)hub_postcard_read_unsigned(&reader, 32);
    query->collect = hub_postcard_read_bool(&reader);
    if (hub_postcard_end(&reader) < 0 || mode > RAPAHUB_QUERY_DYNAMIC)
        return RAPAHUB_EFORMAT;
    *out = (struct rapahub_container_id){{container.major, container.minor}, container.container};
    return 0;
}
