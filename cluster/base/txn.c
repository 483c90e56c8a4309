/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/txn.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#define BOUNDS "cluster.txn.bounds"

static const char *const status_names[CLUSTER_TXN_STATUSES] = {
    [CLUSTER_TXN_OK] = "OK",
    [CLUSTER_TXN_CONFLICT] = "CONFLICT",
    [CLUSTER_TXN_NOT_APPLIED] = "NOT_APPLIED",
    [CLUSTER_TXN_UNKNOWN] = "UNKNOWN",
    [CLUSTER_TXN_COMPACTED] = "COMPACTED",
    [CLUSTER_TXN_TOO_BIG] = "TOO_BIG",
    [CLUSTER_TXN_NO_SPACE] = "NO_SPACE",
    [CLUSTER_TXN_DENIED] = "DENIED",
    [CLUSTER_TXN_CORRUPT] = "CORRUPT",
    [CLUSTER_TXN_CLOSED] = "CLOSED",
};

const char *cluster_txn_status_name(uint32_t status)
{
    return status < CLUSTER_TXN_STATUSES ? status_names[status] : "?";
}

uint64_t cluster_txn_client(uint32_t node, uint32_t boot)
{
    return (uint64_t)node << 32 | boot;
}

static bool writes(const struct cluster_write *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].kind != CLUSTER_GET)
            return true;
    return false;
}

bool cluster_txn_mutates(const struct cluster_txn *txn)
{
    return writes(txn->then, txn->then_count) || writes(txn->otherwise, txn->otherwise_count);
}

int cluster_txn_order(struct rapahub_bytes key, struct rapahub_bytes other)
{
    size_t least = key.size < other.size ? key.size : other.size;
    int r = least > 0 ? memcmp(key.data, other.data, least) : 0;

    return r != 0 ? r : (key.size > other.size) - (key.size < other.size);
}

static int check_key(struct rapahub_bytes key)
{
    if (key.size == 0)
        return rapahub_fail(RAPAHUB_EINVAL, BOUNDS, "a transaction names an empty key");
    if (key.size > CLUSTER_TXN_KEY_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, BOUNDS, "a key has %zu bytes, the limit is %d",
                            key.size, CLUSTER_TXN_KEY_MAX);
    return 0;
}

static int check_value(struct rapahub_bytes value)
{
    if (value.size > CLUSTER_TXN_VALUE_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, BOUNDS, "a value has %zu bytes, the limit is %d",
                            value.size, CLUSTER_TXN_VALUE_MAX);
    return 0;
}

static int check_count(const char *what, uint32_t count)
{
    if (count > CLUSTER_TXN_LIST_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, BOUNDS,
                            "a transaction has %" PRIu32 " %s, the limit is %d", count, what,
                            CLUSTER_TXN_LIST_MAX);
    return 0;
}

static int check_compare(const struct cluster_compare *compare)
{
    bool by_rev = compare->kind == CLUSTER_MOD_EQ || compare->kind == CLUSTER_CREATE_EQ;
    int r = check_key(compare->key);

    if (r == 0 && compare->kind == CLUSTER_VALUE_EQ)
        r = check_value(compare->value);
    if (r < 0)
        return r;
    if ((uint32_t)compare->kind >= CLUSTER_COMPARE_KINDS)
        return rapahub_fail(RAPAHUB_EINVAL, BOUNDS, "%d is no kind of compare", compare->kind);
    if (by_rev && compare->rev == 0)
        return rapahub_fail(RAPAHUB_EINVAL, BOUNDS, "a compare with revision 0: say ABSENT");
    return 0;
}

static bool is_same(struct rapahub_bytes a, struct rapahub_bytes b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* At most 96 keys, so comparing each with each is cheap. */
static bool is_written_before(const struct cluster_write *list, uint32_t at)
{
    for (uint32_t i = 0; i < at && list[at].kind != CLUSTER_GET; i++)
        if (list[i].kind != CLUSTER_GET && is_same(list[i].key, list[at].key))
            return true;
    return false;
}

static int check_write(const struct cluster_write *list, uint32_t at)
{
    int r = check_key(list[at].key);

    if (r == 0 && list[at].kind == CLUSTER_PUT)
        r = check_value(list[at].value);
    if (r < 0)
        return r;
    if ((uint32_t)list[at].kind >= CLUSTER_WRITE_KINDS)
        return rapahub_fail(RAPAHUB_EINVAL, BOUNDS, "%d is no kind of write", list[at].kind);
    if (is_written_before(list, at))
        return rapahub_fail(RAPAHUB_EINVAL, BOUNDS, "a transaction writes '%.*s' twice",
                            (int)list[at].key.size, (const char *)list[at].key.data);
    return 0;
}

static int check_writes(const char *what, const struct cluster_write *list, uint32_t count)
{
    int r = check_count(what, count);

    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = check_write(list, i);
    return r;
}

/* r[impl cluster.txn.bounds] */
int cluster_txn_check(const struct cluster_txn *txn)
{
    int r = check_count("compares", txn->compares_count);

    for (uint32_t i = 0; r == 0 && i < txn->compares_count; i++)
        r = check_compare(&txn->compares[i]);
    if (r == 0)
        r = check_writes("writes if they hold", txn->then, txn->then_count);
    if (r == 0)
        r = check_writes("writes if they do not", txn->otherwise, txn->otherwise_count);
    if (r == 0 && cluster_txn_mutates(txn) && (txn->id.client == 0 || txn->id.seq == 0))
        r = rapahub_fail(RAPAHUB_EINVAL, BOUNDS, "a transaction that writes has no id");
    return r;
}

/* A span may have one byte more than a key: the page after the longest key begins at that key and a
 * byte 0. */
static int check_bound(struct rapahub_bytes bound)
{
    if (bound.size == CLUSTER_TXN_KEY_MAX + 1)
        bound.size = CLUSTER_TXN_KEY_MAX;
    return check_key(bound);
}

int cluster_txn_check_span(const struct cluster_span *span)
{
    size_t both = span->from.size < span->to.size ? span->from.size : span->to.size;
    int r = check_bound(span->from), order;

    if (r == 0)
        r = check_bound(span->to);
    if (r < 0)
        return r;
    order = memcmp(span->from.data, span->to.data, both);
    if (order > 0 || (order == 0 && span->from.size >= span->to.size))
        return rapahub_fail(RAPAHUB_EINVAL, BOUNDS, "a span ends before it begins");
    if (span->pairs_max == 0)
        return rapahub_fail(RAPAHUB_EINVAL, BOUNDS, "a span of no pairs");
    return 0;
}
