/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/pool_spec.h"

#include <string.h>

#include "cluster/base/ids.h"
#include "cluster/base/keys.h"

const char *const cluster_pool_spec_durabilities[] = {[CLUSTER_DURABILITY_NONE] = "none",
                                                      [CLUSTER_DURABILITY_LOCAL] = "local",
                                                      [CLUSTER_DURABILITY_CHECKPOINT] =
                                                          "checkpoint",
                                                      [CLUSTER_DURABILITY_ACKED] = "acked",
                                                      [CLUSTER_DURABILITIES] = NULL};

#define KEY(member, type) RAPAHUB_MEMBER(cluster_pool_spec, member, type)

RAPAHUB_RECORD(cluster_pool_option, RAPAHUB_MEMBER(cluster_pool_option, key, string),
               RAPAHUB_MEMBER(cluster_pool_option, word, string),
               RAPAHUB_MEMBER(cluster_pool_option, number, u64));
RAPAHUB_RECORD(cluster_pool_method, RAPAHUB_MEMBER(cluster_pool_method, id, u64),
               RAPAHUB_MEMBER(cluster_pool_method, repeat, bool),
               RAPAHUB_MEMBER(cluster_pool_method, outside, bool));
RAPAHUB_RECORD(cluster_pool_spec, KEY(name, string), KEY(module, string), KEY(version, string),
               KEY(digest, bytes), KEY(containers, u32), KEY(own_guests, bool), KEY(durability, u8),
               KEY(on_daemon_death, u8), KEY(on_fence, u8), KEY(copies, u32), KEY(min_copies, u32),
               KEY(repeat_all, bool), KEY(idle_to_zero_ns, u64), KEY(spread_zones, bool),
               KEY(trust, string), KEY(params, string));

/* The keys of a pool file, in the order of the members and lists of the record. */
static const char *const file_keys[] = {
    "pool_name",    "module",          "module",   "module", "containers", "guests",
    "durability",   "on_daemon_death", "on_fence", "copies", "min_copies", "repeat",
    "idle_to_zero", "placement",       "trust",    "params",
};
static const char *const list_keys[] = {"repeat", "placement", "placement", "supervise"};

static const char *why_not_method(const void *value)
{
    const struct cluster_pool_method *method = value;

    return method->repeat || method->outside ? NULL : "it says nothing of a method that it names";
}

static const char *why_not_node(const void *value)
{
    return *(const uint32_t *)value == 0 ? "a node has a number" : NULL;
}

static const char *why_not_option(const void *value)
{
    const struct cluster_pool_option *option = value;

    return cluster_keys_is_name(option->key) && (option->word.size == 0 || option->number == 0) &&
                   option->word.size <= CLUSTER_KEYS_NAME_MAX
               ? NULL
               : "an option without a key, or with two values";
}

static const char *why_not_copies(const struct cluster_pool_spec *spec)
{
    bool copied = spec->durability >= CLUSTER_DURABILITY_CHECKPOINT;

    if (spec->durability >= CLUSTER_DURABILITIES)
        return "its durability is unknown";
    if (copied != (spec->copies > 0) || spec->copies > CLUSTER_POOL_SPEC_COPIES_MAX)
        return "it has copies where it is durable by them, and at most 16";
    if (spec->min_copies > spec->copies || copied != (spec->min_copies > 0))
        return "min_copies is from 1 to copies";
    return NULL;
}

/* r[impl cluster.pool.spec] */
static const char *why_not_spec(const void *value)
{
    const struct cluster_pool_spec *spec = value;

    if (!cluster_keys_is_name(spec->name) || !cluster_keys_is_name(spec->module) ||
        !cluster_keys_is_version(spec->version))
        return "its name, its module or its version is none";
    if (spec->digest.size != CLUSTER_POOL_SPEC_DIGEST)
        return "a digest has 32 bytes";
    if (spec->containers > CLUSTER_CONTAINERS_MAX)
        return "it has more than 4096 containers";
    if (spec->on_daemon_death >= CLUSTER_DAEMON_CHOICES || spec->on_fence >= CLUSTER_FENCE_CHOICES)
        return "what follows a death is unknown";
    if (spec->params.size > CLUSTER_POOL_SPEC_PARAMS_MAX ||
        spec->trust.size > CLUSTER_KEYS_NAME_MAX)
        return "its params or its trust are too long";
    return why_not_copies(spec);
}

#define LIST(type, member, most, check)                                                   \
    {                                                                                     \
        &rapahub_type_##type, offsetof(struct cluster_pool_spec, member), (most), (check) \
    }

static const struct cluster_format format = {
    "the spec of a pool",
    &rapahub_type_cluster_pool_spec,
    {LIST(cluster_pool_method, methods, CLUSTER_POOL_SPEC_METHODS_MAX, why_not_method),
     LIST(u32, nodes, CLUSTER_POOL_SPEC_NODES_MAX, why_not_node),
     LIST(u32, not_on, CLUSTER_POOL_SPEC_NODES_MAX, why_not_node),
     LIST(cluster_pool_option, options, CLUSTER_POOL_SPEC_OPTIONS_MAX, why_not_option)},
    why_not_spec};

int cluster_pool_spec_put(struct hub_writer *writer, const struct cluster_pool_spec *spec)
{
    return cluster_format_put(writer, &format, spec);
}

int cluster_pool_spec_read(struct rapahub_bytes from, struct cluster_pool_spec *out)
{
    memset(out, 0, sizeof *out);
    return cluster_format_read(&format, from, out);
}

static bool is_same_view(struct rapahub_bytes one, struct rapahub_bytes other)
{
    return one.size == other.size && (one.size == 0 || memcmp(one.data, other.data, one.size) == 0);
}

/* Strings and bytes are the same kind of view. */
_Static_assert(sizeof(struct rapahub_string) == sizeof(struct rapahub_bytes), "both are views");

static bool is_same_member(const struct rapahub_member *member, const void *one, const void *other)
{
    const char *a = (const char *)one + member->offset, *b = (const char *)other + member->offset;
    struct rapahub_bytes views[2];

    if (member->type->kind != RAPAHUB_KIND_STRING && member->type->kind != RAPAHUB_KIND_BYTES)
        return memcmp(a, b, member->type->size) == 0;
    memcpy(&views[0], a, sizeof views[0]);
    memcpy(&views[1], b, sizeof views[1]);
    return is_same_view(views[0], views[1]);
}

static uint32_t note(const char **keys, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (keys[i] == key || strcmp(keys[i], key) == 0)
            return count;
    keys[count] = key;
    return count + 1;
}

/* r[impl cluster.pool.differ] */
uint32_t cluster_pool_spec_differ(const struct cluster_pool_spec *one,
                                  const struct cluster_pool_spec *other,
                                  const char *keys[CLUSTER_POOL_SPEC_KEYS])
{
    const struct rapahub_member *members = rapahub_members_cluster_pool_spec;
    uint32_t count = 0;

    for (size_t i = 0; members[i].name; i++)
        if (!is_same_member(&members[i], one, other))
            count = note(keys, count, file_keys[i]);
    for (size_t i = 0; format.lists[i].type; i++) {
        const struct cluster_list *a =
            (const struct cluster_list *)((const char *)one + format.lists[i].at);
        const struct cluster_list *b =
            (const struct cluster_list *)((const char *)other + format.lists[i].at);

        if (a->count != b->count || !is_same_view(a->encoded, b->encoded))
            count = note(keys, count, list_keys[i]);
    }
    return count;
}

bool cluster_pool_spec_next_method(struct cluster_list *list, struct cluster_pool_method *out)
{
    return cluster_format_next(list, &rapahub_type_cluster_pool_method, out);
}

bool cluster_pool_spec_next_node(struct cluster_list *list, uint32_t *out)
{
    return cluster_format_next(list, &rapahub_type_u32, out);
}

bool cluster_pool_spec_next_option(struct cluster_list *list, struct cluster_pool_option *out)
{
    return cluster_format_next(list, &rapahub_type_cluster_pool_option, out);
}
