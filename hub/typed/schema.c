/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/typed/schema.h"

#include <rapahub/envelope.h>

#include "hub/wire/signature.h"

static bool is_of_messages(const struct rapahub_type *type, unsigned depth)
{
    unsigned count = 0;

    if (type->kind != RAPAHUB_KIND_RECORD)
        return (unsigned)type->kind < RAPAHUB_KIND_RECORD && type->kind != RAPAHUB_KIND_VOID &&
               !hub_signature_is_stream(type);
    for (const struct rapahub_member *m = type->members; m && m->name; m++)
        if (++count > HUB_RECORD_MEMBERS || depth == HUB_RECORD_DEPTH || !m->type ||
            !is_of_messages(m->type, depth + 1))
            return false;
    return count > 0;
}

bool hub_schema_is_of_messages(const struct rapahub_type *type)
{
    return type && is_of_messages(type, 0);
}

/* 0 is for raw bytes. r[impl region.schema] */
uint32_t rapahub_schema_id(const struct rapahub_type *type)
{
    uint64_t hash;
    uint32_t id;

    if (!hub_schema_is_of_messages(type))
        return 0;
    hash = hub_signature_hash_type(type);
    id = (uint32_t)(hash >> 32) ^ (uint32_t)hash;
    return id ? id : 1;
}
