/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/boot_revoked.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/boot/store_keys.h"

#define OLD_MAX 64 /* that one start forgets */

struct reading {
    struct cluster_node_identity *identity;
    uint64_t now_s;
    char old[OLD_MAX][CLUSTER_KEYS_SIZE_MAX];
    struct cluster_write forget[OLD_MAX];
    uint32_t count;
};

static void note_old(struct reading *reading, struct rapahub_bytes key)
{
    if (reading->count == OLD_MAX)
        return;
    memcpy(reading->old[reading->count], key.data, key.size);
    reading->forget[reading->count] = (struct cluster_write){
        .kind = CLUSTER_DELETE, .key = {reading->old[reading->count], key.size}};
    reading->count++;
}

static int take(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                const struct cluster_record *record)
{
    struct reading *reading = user;
    struct cluster_revocation_serial serial;
    int r;

    if (record->revoked.until_s <= reading->now_s) {
        note_old(reading, pair->key);
        return 0;
    }
    r = cluster_revocation_parse(key->text, &serial);
    return r == 0 ? cluster_node_identity_revoke(reading->identity, &serial) : r;
}

/* r[impl cluster.identity.revoked] */
int cluster_boot_revoked_read(const struct cluster_boot *boot,
                              struct cluster_node_identity *identity)
{
    const struct cluster_store_wait wait = {.store = boot->store,
                                            .marker = boot->marker,
                                            .wait_ns = boot->wait_ns,
                                            .url = boot->folder.place.url,
                                            .opened = boot->opened};
    struct reading reading = {.identity = identity, .now_s = cluster_node_identity_now(identity)};
    int r = cluster_store_keys_all(&wait, CLUSTER_KEY_REVOKED, boot->revision, take, &reading),
        status;
    uint64_t rev;

    if (r < 0 || reading.count == 0 ||
        boot->folder.place.joined) /* the seat's own node forgets them */
        return r;
    return cluster_store_wait_txn(
        &wait, &(struct cluster_txn){.then = reading.forget, .then_count = reading.count}, &status,
        &rev);
}
