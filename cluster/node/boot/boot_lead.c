/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/boot_lead.h"

#include "cluster/node/boot/store_keys.h"

static int take(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                const struct cluster_record *record)
{
    struct cluster_lead_record *out = user;

    (void)key;
    *out = (struct cluster_lead_record){record->lead.node, record->lead.session, pair->mod_rev};
    return 0;
}

int cluster_boot_lead_read(const struct cluster_store_wait *wait, uint64_t revision,
                           struct cluster_lead_record *out)
{
    *out = (struct cluster_lead_record){.term = 0};
    return cluster_store_keys_get(wait, &(struct cluster_key){.kind = CLUSTER_KEY_LEAD}, revision,
                                  take, out);
}

/* r[impl cluster.lead.claim] */
int cluster_boot_lead_claim(const struct cluster_store_wait *wait, uint32_t node, uint64_t session)
{
    const struct cluster_record record = {.lead = {node, session}};
    struct cluster_store_keys_put lead, own;
    struct cluster_lead_record before;
    struct cluster_compare compares[2];
    struct cluster_write write = {.kind = CLUSTER_PUT};
    int r = cluster_boot_lead_read(wait, 0, &before), status;
    uint64_t rev;

    if (r < 0 || (before.term != 0 && before.node != node))
        return r;
    r = cluster_store_keys_build(&(struct cluster_key){.kind = CLUSTER_KEY_LEAD}, &record, &lead);
    if (r == 0)
        r = cluster_store_keys_build(
            &(struct cluster_key){.kind = CLUSTER_KEY_SESSION, .node = node}, NULL, &own);
    if (r < 0)
        return r;
    compares[0] =
        (struct cluster_compare){.kind = before.term == 0 ? CLUSTER_ABSENT : CLUSTER_MOD_EQ,
                                 .key = lead.key_bytes,
                                 .rev = before.term};
    compares[1] =
        (struct cluster_compare){.kind = CLUSTER_CREATE_EQ, .key = own.key_bytes, .rev = session};
    write.key = lead.key_bytes;
    write.value = lead.value_bytes;
    return cluster_store_wait_txn(
        wait,
        &(struct cluster_txn){
            .compares = compares, .compares_count = 2, .then = &write, .then_count = 1},
        &status, &rev);
}
