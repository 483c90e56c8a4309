/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/store_keys.h"

#include <rapahub/error.h>

#include "hub/base/bytes.h"

#define PAGE 512

int cluster_store_keys_build(const struct cluster_key *key, const struct cluster_record *record,
                             struct cluster_store_keys_put *out)
{
    struct hub_writer writer;
    int size = cluster_keys_build(key, out->key), r;

    if (size < 0)
        return size;
    out->key_bytes = (struct rapahub_bytes){(const uint8_t *)out->key, (size_t)size};
    out->value_bytes = (struct rapahub_bytes){NULL, 0};
    if (!record)
        return 0;
    hub_writer_init(&writer, out->value, sizeof out->value);
    r = cluster_record_put(&writer, key->kind, record);
    out->value_bytes = (struct rapahub_bytes){out->value, writer.size};
    return r;
}

struct reading {
    const struct cluster_store_wait *wait;
    cluster_store_keys_visit *visit;
    void *user;
};

static bool has_record(enum cluster_keys_kind kind)
{
    return kind != CLUSTER_KEY_LOG && kind != CLUSTER_KEY_MODULE_HAVE;
}

static int damaged(const struct reading *reading, const struct cluster_pair *pair)
{
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.boot.store",
                        "%s: '%.*s' is damaged (%s): put a backup of the metastore in its place",
                        reading->wait->url, (int)pair->key.size, (const char *)pair->key.data,
                        rapahub_last_error()->text);
}

static int take(void *user, const struct cluster_pair *pair)
{
    const struct reading *reading = user;
    struct cluster_record record;
    struct cluster_key key;

    if (cluster_keys_parse(pair->key, &key) < 0)
        return damaged(reading, pair);
    if (has_record(key.kind) && cluster_record_read(key.kind, pair->value, &record) < 0)
        return damaged(reading, pair);
    return reading->visit(reading->user, &key, pair, has_record(key.kind) ? &record : NULL);
}

int cluster_store_keys_get(const struct cluster_store_wait *wait, const struct cluster_key *key,
                           uint64_t revision, cluster_store_keys_visit *visit, void *user)
{
    struct reading reading = {wait, visit, user};
    char from[CLUSTER_KEYS_SIZE_MAX + 1];
    int size = cluster_keys_build(key, from);

    if (size < 0)
        return size;
    from[size] = 0;
    return cluster_store_wait_range(
        wait,
        &(struct cluster_span){.from = {(const uint8_t *)from, (size_t)size},
                               .to = {(const uint8_t *)from, (size_t)size + 1},
                               .rev = revision,
                               .pairs_max = 1},
        take, &reading);
}

int cluster_store_keys_all(const struct cluster_store_wait *wait, enum cluster_keys_kind kind,
                           uint64_t revision, cluster_store_keys_visit *visit, void *user)
{
    struct reading reading = {wait, visit, user};
    char from[CLUSTER_KEYS_SIZE_MAX], past[CLUSTER_KEYS_SIZE_MAX];
    int size = cluster_keys_prefix(kind, 0, from, past);

    if (size < 0)
        return size;
    return cluster_store_wait_range(
        wait,
        &(struct cluster_span){.from = {(const uint8_t *)from, (size_t)size},
                               .to = {(const uint8_t *)past, (size_t)size},
                               .rev = revision,
                               .pairs_max = PAGE},
        take, &reading);
}
