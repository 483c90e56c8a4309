/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/record.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"

#define MACHINE_ID 16 /* bytes of a machine id, and of a boot id */

RAPAHUB_RECORD(cluster_record_meta, RAPAHUB_MEMBER(cluster_record_meta, uuid, bytes),
               RAPAHUB_MEMBER(cluster_record_meta, format, u32),
               RAPAHUB_MEMBER(cluster_record_meta, generation, u32),
               RAPAHUB_MEMBER(cluster_record_meta, feature_level, u32),
               RAPAHUB_MEMBER(cluster_record_meta, fencing, u8));
RAPAHUB_RECORD(cluster_record_counter, RAPAHUB_MEMBER(cluster_record_counter, next, u64));
RAPAHUB_RECORD(cluster_record_node, RAPAHUB_MEMBER(cluster_record_node, state, u8),
               RAPAHUB_MEMBER(cluster_record_node, capacity, u32),
               RAPAHUB_MEMBER(cluster_record_node, abi, u32),
               RAPAHUB_MEMBER(cluster_record_node, uuid, bytes),
               RAPAHUB_MEMBER(cluster_record_node, name, string),
               RAPAHUB_MEMBER(cluster_record_node, serial, string),
               RAPAHUB_MEMBER(cluster_record_node, zone, string));
RAPAHUB_RECORD(cluster_record_session, RAPAHUB_MEMBER(cluster_record_session, boot, u32),
               RAPAHUB_MEMBER(cluster_record_session, revoked, bool),
               RAPAHUB_MEMBER(cluster_record_session, seq, u64),
               RAPAHUB_MEMBER(cluster_record_session, ttl_ns, u64),
               RAPAHUB_MEMBER(cluster_record_session, machine_id, bytes),
               RAPAHUB_MEMBER(cluster_record_session, boot_id, bytes),
               RAPAHUB_MEMBER(cluster_record_session, folder_device, u64),
               RAPAHUB_MEMBER(cluster_record_session, folder_inode, u64));
RAPAHUB_RECORD(cluster_record_lead, RAPAHUB_MEMBER(cluster_record_lead, node, u32),
               RAPAHUB_MEMBER(cluster_record_lead, session, u64));
RAPAHUB_RECORD(cluster_record_pool, RAPAHUB_MEMBER(cluster_record_pool, state, u8),
               RAPAHUB_MEMBER(cluster_record_pool, containers, u32),
               RAPAHUB_MEMBER(cluster_record_pool, slots_count, u32),
               RAPAHUB_MEMBER(cluster_record_pool, digest, bytes),
               RAPAHUB_MEMBER(cluster_record_pool, spec, bytes),
               RAPAHUB_MEMBER(cluster_record_pool, manifest, bytes));
RAPAHUB_RECORD(cluster_record_name, RAPAHUB_MEMBER(cluster_record_name, pool, u64));
RAPAHUB_RECORD(cluster_record_holders, RAPAHUB_MEMBER(cluster_record_holders, joining, u32));
RAPAHUB_RECORD(cluster_record_operation, RAPAHUB_MEMBER(cluster_record_operation, kind, u8),
               RAPAHUB_MEMBER(cluster_record_operation, step, u8),
               RAPAHUB_MEMBER(cluster_record_operation, budget_ms, u32),
               RAPAHUB_MEMBER(cluster_record_operation, result, i32),
               RAPAHUB_MEMBER(cluster_record_operation, arguments, bytes),
               RAPAHUB_MEMBER(cluster_record_operation, text, string));
RAPAHUB_RECORD(cluster_record_method, RAPAHUB_MEMBER(cluster_record_method, id, u64),
               RAPAHUB_MEMBER(cluster_record_method, signature, string));
RAPAHUB_RECORD(cluster_record_module, RAPAHUB_MEMBER(cluster_record_module, name, string),
               RAPAHUB_MEMBER(cluster_record_module, version, string),
               RAPAHUB_MEMBER(cluster_record_module, machine, string),
               RAPAHUB_MEMBER(cluster_record_module, abi, u32),
               RAPAHUB_MEMBER(cluster_record_module, state_version, u32),
               RAPAHUB_MEMBER(cluster_record_module, size, u64),
               RAPAHUB_MEMBER(cluster_record_module, digest, bytes),
               RAPAHUB_MEMBER(cluster_record_module, signature, bytes));
RAPAHUB_RECORD(cluster_record_import, RAPAHUB_MEMBER(cluster_record_import, pool, u64),
               RAPAHUB_MEMBER(cluster_record_import, file, string));
RAPAHUB_RECORD(cluster_record_join_token, RAPAHUB_MEMBER(cluster_record_join_token, uses, u32),
               RAPAHUB_MEMBER(cluster_record_join_token, tries, u32),
               RAPAHUB_MEMBER(cluster_record_join_token, until_s, u64),
               RAPAHUB_MEMBER(cluster_record_join_token, digest, bytes));
RAPAHUB_RECORD(cluster_record_revoked, RAPAHUB_MEMBER(cluster_record_revoked, at_s, u64),
               RAPAHUB_MEMBER(cluster_record_revoked, until_s, u64));

static const char *why_not_meta(const void *value)
{
    const struct cluster_record_meta *meta = value;

    if (meta->uuid.size != CLUSTER_RECORD_UUID)
        return "a uuid has 16 bytes";
    if (meta->generation > CLUSTER_GENERATION_MAX)
        return "its generation is above 2047";
    return meta->fencing < CLUSTER_FENCINGS ? NULL : "its fencing is unknown";
}

static const char *why_not_counter(const void *value)
{
    return ((const struct cluster_record_counter *)value)->next == 0 ? "0 is no number" : NULL;
}

static const char *why_not_node(const void *value)
{
    const struct cluster_record_node *node = value;

    if (node->state == 0 || node->state >= CLUSTER_NODE_STATES)
        return "its state is unknown";
    if (node->uuid.size != CLUSTER_RECORD_UUID)
        return "a uuid has 16 bytes";
    if (!cluster_keys_is_name(node->name) ||
        (node->zone.size > 0 && !cluster_keys_is_name(node->zone)))
        return "its name or its zone is no name";
    return node->serial.size > CLUSTER_KEYS_SERIAL_MAX ? "its serial number is too long" : NULL;
}

static const char *why_not_address(const void *value)
{
    const struct rapahub_string *address = value;

    return address->size > 0 && address->size <= CLUSTER_RECORD_TEXT_MAX ? NULL
                                                                         : "an address is none";
}

static const char *why_not_session(const void *value)
{
    const struct cluster_record_session *session = value;

    if (session->boot == 0 || session->seq == 0)
        return "it has no boot, or no number";
    if (session->machine_id.size != MACHINE_ID || session->boot_id.size != MACHINE_ID)
        return "an id of a machine, or of its boot, has 16 bytes";
    return NULL;
}

static const char *why_not_lead(const void *value)
{
    const struct cluster_record_lead *lead = value;

    return lead->node > 0 && cluster_ids_is_revision(lead->session) ? NULL : "it names no leader";
}

/* Says whether some slot is of a container that the pool does not have. */
static bool leads_beyond(const struct cluster_record_pool *pool)
{
    struct cluster_list list = pool->slots;
    const uint16_t *slots = list.of;
    uint16_t slot;

    for (uint32_t i = 0; slots && i < list.count; i++)
        if (slots[i] >= pool->containers)
            return true;
    while (!slots && cluster_record_next_slot(&list, &slot))
        if (slot >= pool->containers)
            return true;
    return false;
}

static const char *why_not_pool(const void *value)
{
    const struct cluster_record_pool *pool = value;
    const struct cluster_pool_slots slots = {NULL, pool->slots_count, pool->containers};

    if (pool->state >= CLUSTER_POOL_STATES)
        return "its state is unknown";
    if (pool->digest.size != CLUSTER_RECORD_DIGEST)
        return "a digest has 32 bytes";
    if (pool->slots.count == 0 && !cluster_pool_has_sound_slots(&slots))
        return "it cannot have so many slots";
    if (pool->slots.count != 0 &&
        (pool->slots.count != pool->slots_count || pool->containers == 0 ||
         pool->containers > CLUSTER_CONTAINERS_MAX || leads_beyond(pool)))
        return "it has other slots than it says";
    return pool->spec.size == 0 ? "it has no spec" : NULL;
}

static const char *why_not_slot(const void *value)
{
    return cluster_ids_is_container(*(const uint16_t *)value) ? NULL : "a slot of no container";
}

static const char *why_not_name(const void *value)
{
    return cluster_ids_is_pool(((const struct cluster_record_name *)value)->pool)
               ? NULL
               : "no pool has this number";
}

static const char *why_not_entry(const void *value)
{
    return cluster_entry_is_sound(value) ? NULL : "its members do not fit each other";
}

static const char *why_not_holder(const void *value)
{
    return *(const uint32_t *)value == 0 ? "a node has a number" : NULL;
}

static const char *why_not_holders(const void *value)
{
    const struct cluster_record_holders *holders = value;
    struct cluster_list nodes = holders->nodes;
    const uint32_t *of = nodes.of;
    uint32_t node, last = 0;

    for (uint32_t i = 0; i < holders->nodes.count; i++) {
        if (of)
            node = of[i];
        else
            (void)cluster_format_next(&nodes, &rapahub_type_u32, &node);
        if (node <= last || node == holders->joining)
            return "its nodes do not rise, or one of them joins";
        last = node;
    }
    return last == 0 ? "it names no node" : NULL;
}

static const char *why_not_operation(const void *value)
{
    const struct cluster_record_operation *operation = value;

    if (operation->kind == 0)
        return "its kind is none";
    return operation->text.size > CLUSTER_RECORD_TEXT_MAX ? "its text is too long" : NULL;
}

static const char *why_not_module(const void *value)
{
    const struct cluster_record_module *module = value;

    if (!cluster_keys_is_name(module->name) || !cluster_keys_is_version(module->version) ||
        !cluster_keys_is_name(module->machine))
        return "its name, its version or its machine is none";
    if (module->digest.size != CLUSTER_RECORD_DIGEST || module->size == 0)
        return "it has no file";
    return module->signature.size > CLUSTER_RECORD_TEXT_MAX ? "its signature is too long" : NULL;
}

static const char *why_not_method(const void *value)
{
    const struct cluster_record_method *method = value;

    return method->signature.size > 0 && method->signature.size <= CLUSTER_RECORD_TEXT_MAX
               ? NULL
               : "a method without a signature";
}

static const char *why_not_import(const void *value)
{
    const struct cluster_record_import *import = value;

    return cluster_ids_is_pool(import->pool) && import->file.size <= CLUSTER_RECORD_TEXT_MAX
               ? NULL
               : "no pool has this number";
}

static const char *why_not_join_token(const void *value)
{
    const struct cluster_record_join_token *token = value;

    if (token->digest.size != CLUSTER_RECORD_DIGEST)
        return "a digest has 32 bytes";
    if (token->uses > CLUSTER_RECORD_USES_MAX)
        return "it has too many uses";
    return token->tries > CLUSTER_RECORD_TRIES_MAX ? "it has too many tries" : NULL;
}

static const char *why_not_revoked(const void *value)
{
    const struct cluster_record_revoked *revoked = value;

    return revoked->until_s > revoked->at_s ? NULL : "it ends before it begins";
}

#define TYPE(tag)  &rapahub_type_cluster_record_##tag
#define PLAIN(tag) TYPE(tag), {{0}}, why_not_##tag
#define LIST(tag, member, type, most, check)                                     \
    {                                                                            \
        {                                                                        \
            type, offsetof(struct cluster_record_##tag, member), (most), (check) \
        }                                                                        \
    }

static const struct cluster_format formats[CLUSTER_KEY_KINDS] = {
    [CLUSTER_KEY_META] = {"the record of the cluster", PLAIN(meta)},
    [CLUSTER_KEY_NEXT_NODE] = {"the next node", PLAIN(counter)},
    [CLUSTER_KEY_NEXT_POOL] = {"the next pool", PLAIN(counter)},
    [CLUSTER_KEY_NODE] = {"a node", TYPE(node),
                          LIST(node, addresses, &rapahub_type_string, CLUSTER_RECORD_ADDRESSES_MAX,
                               why_not_address),
                          why_not_node},
    [CLUSTER_KEY_SESSION] = {"a session", PLAIN(session)},
    [CLUSTER_KEY_LEAD] = {"the leader", PLAIN(lead)},
    [CLUSTER_KEY_POOL] = {"a pool", TYPE(pool),
                          LIST(pool, slots, &rapahub_type_u16, CLUSTER_POOL_SLOTS_MAX,
                               why_not_slot),
                          why_not_pool},
    [CLUSTER_KEY_NAME] = {"the name of a pool", PLAIN(name)},
    [CLUSTER_KEY_ENTRY] = {"an entry", &rapahub_type_cluster_entry, {{0}}, why_not_entry},
    [CLUSTER_KEY_HOLD] = {"the holders of copies", TYPE(holders),
                          LIST(holders, nodes, &rapahub_type_u32, CLUSTER_RECORD_HOLDERS_MAX,
                               why_not_holder),
                          why_not_holders},
    [CLUSTER_KEY_OPERATION] = {"an operation", PLAIN(operation)},
    [CLUSTER_KEY_RECOVERY] = {"a recovery", PLAIN(operation)},
    [CLUSTER_KEY_MODULE] = {"a module", TYPE(module),
                            LIST(module, methods, TYPE(method), CLUSTER_RECORD_METHODS_MAX,
                                 why_not_method),
                            why_not_module},
    [CLUSTER_KEY_TOKEN] = {"a join token", PLAIN(join_token)},
    [CLUSTER_KEY_REVOKED] = {"a revoked certificate", PLAIN(revoked)},
    [CLUSTER_KEY_IMPORT] = {"an import", PLAIN(import)},
};

/* r[impl cluster.record.kind] */
static const struct cluster_format *format_of(enum cluster_keys_kind kind)
{
    return (uint32_t)kind < CLUSTER_KEY_KINDS && formats[kind].what ? &formats[kind] : NULL;
}

static int refuse(enum cluster_keys_kind kind)
{
    return rapahub_fail(RAPAHUB_EINVAL, "cluster.wire.strict", "keys of kind %d have no records",
                        kind);
}

int cluster_record_put(struct hub_writer *writer, enum cluster_keys_kind kind,
                       const struct cluster_record *record)
{
    const struct cluster_format *format = format_of(kind);

    return format ? cluster_format_put(writer, format, record) : refuse(kind);
}

int cluster_record_read(enum cluster_keys_kind kind, struct rapahub_bytes from,
                        struct cluster_record *out)
{
    const struct cluster_format *format = format_of(kind);

    memset(out, 0, sizeof *out);
    return format ? cluster_format_read(format, from, out) : refuse(kind);
}

bool cluster_record_next_node(struct cluster_list *list, uint32_t *out)
{
    return cluster_format_next(list, &rapahub_type_u32, out);
}

bool cluster_record_next_address(struct cluster_list *list, struct rapahub_string *out)
{
    return cluster_format_next(list, &rapahub_type_string, out);
}

bool cluster_record_next_slot(struct cluster_list *list, uint16_t *out)
{
    return cluster_format_next(list, &rapahub_type_u16, out);
}

bool cluster_record_next_method(struct cluster_list *list, struct cluster_record_method *out)
{
    return cluster_format_next(list, TYPE(method), out);
}
