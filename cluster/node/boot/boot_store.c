/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/boot_store.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/boot/store_keys.h"
#include "hub/base/random.h"

#define OLD "cluster.store.old"

int cluster_boot_store_check_age(const struct cluster_store_wait *wait, uint64_t seen,
                                 uint64_t *rev)
{
    int r = cluster_store_wait_sync(wait, rev);

    if (r < 0 || *rev >= seen)
        return r;
    return rapahub_fail(RAPAHUB_ESTOREOLD, OLD,
                        "%s: it is at revision %" PRIu64 ", and this node has seen %" PRIu64
                        ": put the newer one back",
                        wait->url, cluster_ids_own(*rev), cluster_ids_own(seen));
}

/* ---- a new metastore ---- */

static int build_all(const struct cluster_data_folder *folder, const char *name,
                     struct cluster_store_keys_put puts[4])
{
    const struct rapahub_bytes uuid = {folder->uuid, sizeof folder->uuid};
    uint64_t nonces[2] = {hub_random_nonce(), hub_random_nonce()};
    const struct cluster_record meta = {.meta = {.uuid = {nonces, sizeof nonces},
                                                 .format = CLUSTER_BOOT_STORE_FORMAT,
                                                 .feature_level = CLUSTER_BOOT_STORE_FEATURE,
                                                 .fencing = CLUSTER_FENCING_NONE}};
    const struct cluster_record next_node = {.counter = {(uint64_t)folder->node + 1}};
    const struct cluster_record next_pool = {.counter = {CLUSTER_POOL_MAJOR_LEAST}};
    const struct cluster_record node = {
        .node = {.state = CLUSTER_NODE_ACTIVE, .uuid = uuid, .name = {name, strlen(name)}}};
    int r =
        cluster_store_keys_build(&(struct cluster_key){.kind = CLUSTER_KEY_META}, &meta, &puts[0]);

    if (r == 0)
        r = cluster_store_keys_build(&(struct cluster_key){.kind = CLUSTER_KEY_NEXT_NODE},
                                     &next_node, &puts[1]);
    if (r == 0)
        r = cluster_store_keys_build(&(struct cluster_key){.kind = CLUSTER_KEY_NEXT_POOL},
                                     &next_pool, &puts[2]);
    if (r == 0)
        r = cluster_store_keys_build(
            &(struct cluster_key){.kind = CLUSTER_KEY_NODE, .node = folder->node}, &node, &puts[3]);
    return r;
}

static int write_all(const struct cluster_store_wait *wait,
                     const struct cluster_data_folder *folder, const char *name)
{
    struct cluster_store_keys_put puts[4];
    struct cluster_write writes[4];
    struct cluster_compare absent = {.kind = CLUSTER_ABSENT};
    uint64_t rev;
    int r = build_all(folder, name, puts), status;

    if (r < 0)
        return r;
    for (unsigned i = 0; i < 4; i++)
        writes[i] = (struct cluster_write){CLUSTER_PUT, puts[i].key_bytes, puts[i].value_bytes};
    absent.key = puts[0].key_bytes;
    return cluster_store_wait_txn(
        wait,
        &(struct cluster_txn){
            .compares = &absent, .compares_count = 1, .then = writes, .then_count = 4},
        &status, &rev);
}

/* ---- its records ---- */

struct found {
    bool meta, node;
    uint32_t format;
    uint8_t uuid[CLUSTER_DATA_FOLDER_UUID], of_node[CLUSTER_DATA_FOLDER_UUID];
};

static int take(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                const struct cluster_record *record)
{
    struct found *found = user;

    (void)pair;
    if (key->kind == CLUSTER_KEY_META) {
        found->meta = true;
        found->format = record->meta.format;
        memcpy(found->uuid, record->meta.uuid.data, sizeof found->uuid);
    } else {
        found->node = true;
        memcpy(found->of_node, record->node.uuid.data, sizeof found->of_node);
    }
    return 0;
}

static int look(const struct cluster_store_wait *wait, const struct cluster_data_folder *folder,
                struct found *found)
{
    int r = cluster_store_keys_get(wait, &(struct cluster_key){.kind = CLUSTER_KEY_META}, 0, take,
                                   found);

    if (r < 0)
        return r;
    return cluster_store_keys_get(
        wait, &(struct cluster_key){.kind = CLUSTER_KEY_NODE, .node = folder->node}, 0, take,
        found);
}

static int refuse_other(const struct cluster_store_wait *wait,
                        const struct cluster_data_folder *folder)
{
    if (folder->place.apart)
        return rapahub_fail(RAPAHUB_EFORMAT, "cluster.boot.store",
                            "%s: the metastore of another cluster, or of none: name that of this "
                            "one, or a prefix that is new",
                            wait->url);
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.boot.store",
                        "%s: the metastore of another node, or of none: put that of this node in "
                        "its place",
                        wait->url);
}

static int check(const struct cluster_store_wait *wait, const struct cluster_data_folder *folder,
                 uint64_t rev, const struct found *found)
{
    uint64_t seen = folder->store.revision;

    if (found->format > CLUSTER_BOOT_STORE_FORMAT)
        return rapahub_fail(RAPAHUB_EABI, "cluster.boot.store",
                            "%s: format %" PRIu32 ", this release reads %d: use a later release",
                            wait->url, found->format, CLUSTER_BOOT_STORE_FORMAT);
    if (!found->meta || !found->node ||
        memcmp(found->of_node, folder->uuid, sizeof found->of_node) != 0)
        return refuse_other(wait, folder);
    if (seen != 0 && memcmp(found->uuid, folder->store.uuid, sizeof found->uuid) != 0 &&
        cluster_ids_generation(rev) == cluster_ids_generation(seen))
        return rapahub_fail(RAPAHUB_ESTOREOLD, OLD,
                            "%s: another metastore than the one that this node has seen: put that "
                            "one back",
                            wait->url);
    return 0;
}

/* r[impl cluster.boot.store] */
int cluster_boot_store_set_up(const struct cluster_store_wait *wait,
                              const struct cluster_data_folder *folder, const char *name,
                              uint64_t rev, uint8_t out_uuid[CLUSTER_DATA_FOLDER_UUID])
{
    struct found found = {0};
    int r = look(wait, folder, &found);

    if (r == 0 && !found.meta && folder->store.revision == 0) {
        r = write_all(wait, folder, name);
        if (r == 0)
            r = look(wait, folder, &found);
    }
    if (r == 0)
        r = check(wait, folder, rev, &found);
    if (r == 0)
        memcpy(out_uuid, found.uuid, sizeof found.uuid);
    return r;
}
