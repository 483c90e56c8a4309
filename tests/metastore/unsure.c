/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/unsure.h"

#include <stdlib.h>

#include "cluster/metastore/txn_copy.h"
#include "hub/base/random.h"

#define TOLD_MAX    CLUSTER_TXN_FLIGHT_MAX
#define DELAYED_MAX 8

struct unsure {
    struct cluster_metastore base;
    struct cluster_metastore *below;
    struct hub_random random;
    struct unsure_counts counts;
    struct {
        cluster_on_txn *on_txn;
        void *user;
    } told[TOLD_MAX]; /* with UNKNOWN at the next step */
    size_t told_count;
    struct {
        struct cluster_txn *txn;
        uint64_t at; /* count of transactions when it arrives */
    } delayed[DELAYED_MAX];
};

/* The caller of a transaction whose answer is lost. */
struct loss {
    cluster_on_txn *on_txn;
    void *user;
};

static struct unsure *of(struct cluster_metastore *base)
{
    return (struct unsure *)(void *)base;
}

static void on_lost(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                    size_t count)
{
    struct loss loss = *(struct loss *)user;

    (void)rev;
    (void)gets;
    (void)count;
    free(user);
    loss.on_txn(loss.user, status == CLUSTER_TXN_CLOSED ? CLUSTER_TXN_CLOSED : CLUSTER_TXN_UNKNOWN,
                0, NULL, 0);
}

static void on_late(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                    size_t count)
{
    (void)user;
    (void)status;
    (void)rev;
    (void)gets;
    (void)count;
}

static int lose(struct unsure *unsure, const struct cluster_txn *txn, cluster_on_txn *on_txn,
                void *user)
{
    struct loss *loss = malloc(sizeof *loss);
    int r;

    *loss = (struct loss){on_txn, user};
    r = cluster_metastore_submit(unsure->below, txn, on_lost, loss);
    if (r != 0)
        free(loss);
    else
        unsure->counts.lost++;
    return r;
}

static void tell_unknown(struct unsure *unsure, cluster_on_txn *on_txn, void *user)
{
    unsure->told[unsure->told_count].on_txn = on_txn;
    unsure->told[unsure->told_count++].user = user;
}

static void delay(struct unsure *unsure, const struct cluster_txn *txn)
{
    for (unsigned i = 0; i < DELAYED_MAX; i++) {
        if (unsure->delayed[i].txn)
            continue;
        unsure->delayed[i].txn = cluster_txn_copy(txn);
        unsure->delayed[i].at = unsure->counts.sent + hub_random_below(&unsure->random, 100);
        unsure->counts.delayed++;
        return;
    }
    unsure->counts.dropped++;
}

static void let_arrive(struct unsure *unsure)
{
    for (unsigned i = 0; i < DELAYED_MAX; i++)
        if (unsure->delayed[i].txn && unsure->delayed[i].at <= unsure->counts.sent &&
            cluster_metastore_submit(unsure->below, unsure->delayed[i].txn, on_late, NULL) == 0) {
            free(unsure->delayed[i].txn);
            unsure->delayed[i].txn = NULL;
        }
}

static int submit(struct cluster_metastore *base, const struct cluster_txn *txn,
                  cluster_on_txn *on_txn, void *user)
{
    struct unsure *unsure = of(base);

    let_arrive(unsure);
    if (++unsure->counts.sent % UNSURE_EVERY != 0 || unsure->told_count == TOLD_MAX)
        return cluster_metastore_submit(unsure->below, txn, on_txn, user);
    switch (hub_random_below(&unsure->random, 3)) {
    case 0:
        return lose(unsure, txn, on_txn, user);
    case 1:
        unsure->counts.dropped++;
        break;
    default:
        delay(unsure, txn);
    }
    tell_unknown(unsure, on_txn, user);
    return 0;
}

static int range(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_range *on_range, void *user)
{
    return cluster_metastore_range(of(base)->below, span, on_range, user);
}

static int peek(struct cluster_metastore *base, const struct cluster_span *span,
                cluster_on_stale *on_stale, void *user)
{
    return cluster_metastore_peek(of(base)->below, span, on_stale, user);
}

static int watch(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_change *on_change, void *user, uint64_t *out)
{
    return cluster_metastore_watch(of(base)->below, span, on_change, user, out);
}

static void unwatch(struct cluster_metastore *base, uint64_t number)
{
    cluster_metastore_unwatch(of(base)->below, number);
}

static int sync_store(struct cluster_metastore *base, cluster_on_txn *on_txn, void *user)
{
    return cluster_metastore_sync(of(base)->below, on_txn, user);
}

static int compact(struct cluster_metastore *base, uint64_t before, cluster_on_txn *on_txn,
                   void *user)
{
    return cluster_metastore_compact(of(base)->below, before, on_txn, user);
}

static int backup(struct cluster_metastore *base, const char *path, cluster_on_txn *on_txn,
                  void *user)
{
    return cluster_metastore_backup(of(base)->below, path, on_txn, user);
}

static int fd_of(const struct cluster_metastore *base)
{
    return cluster_metastore_fd(((const struct unsure *)(const void *)base)->below);
}

static int step(struct cluster_metastore *base, uint64_t now_ns, uint64_t *out_next_ns)
{
    struct unsure *unsure = of(base);
    int r = cluster_metastore_step(unsure->below, now_ns, out_next_ns);

    while (unsure->told_count > 0) {
        unsure->told_count--;
        unsure->told[unsure->told_count].on_txn(unsure->told[unsure->told_count].user,
                                                CLUSTER_TXN_UNKNOWN, 0, NULL, 0);
    }
    return r;
}

static void close_store(struct cluster_metastore *base)
{
    struct unsure *unsure = of(base);

    for (size_t i = 0; i < unsure->told_count; i++)
        unsure->told[i].on_txn(unsure->told[i].user, CLUSTER_TXN_CLOSED, 0, NULL, 0);
    for (unsigned i = 0; i < DELAYED_MAX; i++)
        free(unsure->delayed[i].txn);
    free(unsure);
}

static int stats(const struct cluster_metastore *base, struct cluster_metastore_stats *out)
{
    return cluster_metastore_stats(((const struct unsure *)(const void *)base)->below, out);
}

static const struct cluster_metastore_end unsure_end = {
    .scheme = "unsure",
    .close = close_store,
    .submit = submit,
    .range = range,
    .peek = peek,
    .watch = watch,
    .unwatch = unwatch,
    .sync = sync_store,
    .compact = compact,
    .backup = backup,
    .fd = fd_of,
    .step = step,
    .stats = stats,
};

struct cluster_metastore *unsure_open(struct cluster_metastore *below, uint64_t seed)
{
    struct unsure *unsure = calloc(1, sizeof *unsure);

    unsure->base.end = &unsure_end;
    unsure->below = below;
    hub_random_init(&unsure->random, seed);
    return &unsure->base;
}

struct unsure_counts unsure_counts_of(const struct cluster_metastore *store)
{
    return ((const struct unsure *)(const void *)store)->counts;
}
