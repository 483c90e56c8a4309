/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/delta.h"

#include "cluster/base/ids.h"
#include "cluster/wire/record.h"

RAPAHUB_RECORD(cluster_delta_change, RAPAHUB_MEMBER(cluster_delta_change, pool, u64),
               RAPAHUB_MEMBER(cluster_delta_change, container, u32),
               RAPAHUB_MEMBER(cluster_delta_change, owner_before, u32),
               RAPAHUB_MEMBER(cluster_delta_change, entry, cluster_entry));
RAPAHUB_RECORD(cluster_delta, RAPAHUB_MEMBER(cluster_delta, previous, u64));

static bool is_gone(const struct cluster_entry *entry)
{
    return entry->state == CLUSTER_ENTRY_NONE && entry->session == 0 && entry->epoch == 0 &&
           entry->lineage == 0 && entry->op == 0 && entry->owner == 0 && entry->destination == 0 &&
           entry->module == 0;
}

bool cluster_delta_is_sound(const struct cluster_delta_change *change)
{
    return cluster_ids_is_pool(change->pool) && cluster_ids_is_container(change->container) &&
           (is_gone(&change->entry) || cluster_entry_is_sound(&change->entry));
}

static const char *why_not_change(const void *value)
{
    return cluster_delta_is_sound(value) ? NULL : "a change that no entry can have";
}

/* r[impl cluster.delta.form] */
static const char *why_not_delta(const void *value)
{
    const struct cluster_delta *delta = value;

    if (delta->previous != 0 && !cluster_ids_is_revision(delta->previous))
        return "the revision before it can be none";
    return delta->changes.count == 0 ? "it changes nothing" : NULL;
}

static const struct cluster_format format = {
    "a delta",
    &rapahub_type_cluster_delta,
    {{&rapahub_type_cluster_delta_change, offsetof(struct cluster_delta, changes),
      CLUSTER_DELTA_CHANGES_MAX, why_not_change}},
    why_not_delta};

int cluster_delta_put(struct hub_writer *writer, const struct cluster_delta *delta)
{
    return cluster_format_put(writer, &format, delta);
}

int cluster_delta_read(struct rapahub_bytes from, struct cluster_delta *out)
{
    return cluster_format_read(&format, from, out);
}

bool cluster_delta_next(struct cluster_list *list, struct cluster_delta_change *out)
{
    return cluster_format_next(list, &rapahub_type_cluster_delta_change, out);
}

/* r[impl cluster.delta.chain] */
enum cluster_delta_step cluster_delta_step(uint64_t own, uint64_t revision, uint64_t previous)
{
    if (revision <= own)
        return CLUSTER_DELTA_DROP;
    return previous == own ? CLUSTER_DELTA_APPLY : CLUSTER_DELTA_ASK;
}
