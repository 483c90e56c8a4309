/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_rights.h"

#include <string.h>

#include "cluster/base/keys.h"

#define FROM "/c/" /* all keys of the cluster but markers lie between these */
#define PAST "/c0"

static bool is_of_cluster(struct rapahub_bytes key)
{
    return key.size >= sizeof FROM - 1 && memcmp(key.data, FROM, sizeof FROM - 1) == 0;
}

static bool is_own(const struct cluster_seat_node *node, struct rapahub_bytes text)
{
    struct cluster_key key;

    if (cluster_keys_parse(text, &key) < 0)
        return false;
    switch (key.kind) {
    case CLUSTER_KEY_SESSION:
    case CLUSTER_KEY_NODE:
        return key.node == node->node;
    case CLUSTER_KEY_MARKER:
        return key.number == cluster_txn_client(node->node, node->boot);
    default:
        return false;
    }
}

static bool may_run_list(const struct cluster_seat_node *node, const struct cluster_write *list,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_own(node, list[i].key) &&
            (list[i].kind != CLUSTER_GET || !is_of_cluster(list[i].key)))
            return false;
    return true;
}

/* A transaction with the number of another life could make the store refuse what that life writes.
 * r[impl cluster.store.seat.rights] */
static bool may_run(const struct cluster_seat_node *node, const struct cluster_txn *txn)
{
    if (txn->id.client != cluster_txn_client(node->node, node->boot) &&
        (txn->id.client != 0 || cluster_txn_mutates(txn)))
        return false;
    for (uint32_t i = 0; i < txn->compares_count; i++)
        if (!is_of_cluster(txn->compares[i].key) && !is_own(node, txn->compares[i].key))
            return false;
    return may_run_list(node, txn->then, txn->then_count) &&
           may_run_list(node, txn->otherwise, txn->otherwise_count);
}

/* The span ends after it begins, so it lies in the cluster's if its first key does, and if its end
 * is not beyond theirs. */
static bool may_read(const struct cluster_seat_node *node, const struct cluster_span *span)
{
    (void)node;
    return is_of_cluster(span->from) &&
           (is_of_cluster(span->to) ||
            (span->to.size == sizeof PAST - 1 && memcmp(span->to.data, PAST, span->to.size) == 0));
}

const struct cluster_seat_rights cluster_seat_rights_of_nodes = {.may_run = may_run,
                                                                 .may_read = may_read};
