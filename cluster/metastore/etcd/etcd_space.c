/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_space.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/base/ids.h"
#include "hub/base/names.h"

bool cluster_etcd_space_is_prefix(const char *text)
{
    size_t size = strspn(text, HUB_NAMES_LETTERS);

    return size > 0 && size <= CLUSTER_ETCD_PREFIX_MAX && text[size] == '\0';
}

void cluster_etcd_space_init(struct cluster_etcd_space *space, const char *prefix)
{
    *space = (struct cluster_etcd_space){0};
    space->lead_size = (size_t)snprintf(space->lead, sizeof space->lead, "/%s/k", prefix);
}

/* Bytes of "/PREFIX/". */
static int parent(const struct cluster_etcd_space *space)
{
    return (int)space->lead_size - 1;
}

size_t cluster_etcd_space_meta(const struct cluster_etcd_space *space,
                               char to[CLUSTER_ETCD_SPACE_NAME])
{
    return (size_t)snprintf(to, CLUSTER_ETCD_SPACE_NAME, "%.*smeta", parent(space), space->lead);
}

bool cluster_etcd_space_strip(const struct cluster_etcd_space *space, struct rapahub_bytes key,
                              struct rapahub_bytes *out)
{
    if (key.size <= space->lead_size || memcmp(key.data, space->lead, space->lead_size) != 0)
        return false;
    *out = (struct rapahub_bytes){(const char *)key.data + space->lead_size,
                                  key.size - space->lead_size};
    return true;
}

static void put(const struct cluster_etcd_space *space, char to[CLUSTER_ETCD_SPACE_NAME],
                uint64_t client, const char *rest)
{
    snprintf(to, CLUSTER_ETCD_SPACE_NAME, "%.*sw/%016" PRIx64 "%s", parent(space), space->lead,
             client, rest);
}

/* The digits of a number are followed by '/', and '0' comes after it; 'g' after all digits. */
void cluster_etcd_space_mark(const struct cluster_etcd_space *space, struct cluster_txn_id id,
                             struct cluster_etcd_space_marker *out)
{
    unsigned slot = (unsigned)(id.seq % CLUSTER_TXN_FLIGHT_MAX);
    uint64_t last = id.client | UINT32_MAX;
    char rest[32];

    snprintf(rest, sizeof rest, "/%02x/", slot);
    put(space, out->slot_from, id.client, rest);
    snprintf(rest, sizeof rest, "/%02x/%016" PRIx64, slot, id.seq);
    put(space, out->own, id.client, rest);
    snprintf(rest, sizeof rest, "/%02x/%016" PRIx64 "/c", slot, id.seq);
    put(space, out->conflict, id.client, rest);
    snprintf(rest, sizeof rest, "/%02x/g", slot);
    put(space, out->slot_to, id.client, rest);
    put(space, out->boots_from, id.client & ~(uint64_t)UINT32_MAX, "");
    put(space, out->boots_to, id.client, "");
    out->later_from[0] = '\0';
    if (id.client != last)
        put(space, out->later_from, id.client + 1, "");
    put(space, out->later_to, last, "0");
}

bool cluster_etcd_space_revision(const struct cluster_etcd_space *space, int64_t own, uint64_t *out)
{
    if (own <= 0 || (uint64_t)own > CLUSTER_OWN_REVISION_MAX)
        return false;
    *out = cluster_ids_revision(space->generation, (uint64_t)own);
    return true;
}
