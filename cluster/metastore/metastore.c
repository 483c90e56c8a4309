/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/metastore.h"

#include <string.h>

#include <rapahub/error.h>

static const struct cluster_metastore_end *find(const struct cluster_metastore_end *const *ends,
                                                const char *url)
{
    const char *colon = strchr(url, ':');
    size_t size = colon ? (size_t)(colon - url) : 0;

    for (; *ends; ends++)
        if (strlen((*ends)->scheme) == size && memcmp((*ends)->scheme, url, size) == 0)
            return *ends;
    rapahub_fail(RAPAHUB_ECONFIG, "",
                 "metastore '%s': no metastore of this kind is built in; sqlite:PATH is one", url);
    return NULL;
}

int cluster_metastore_open(const struct cluster_metastore_end *const *ends, const char *url,
                           const struct cluster_metastore_options *options,
                           struct cluster_metastore **out)
{
    const struct cluster_metastore_end *end = find(ends, url);

    *out = NULL;
    return end ? end->open(url, options, out) : RAPAHUB_ECONFIG;
}

int cluster_metastore_restore(const struct cluster_metastore_end *const *ends, const char *url,
                              uint32_t least, uint32_t *out)
{
    const struct cluster_metastore_end *end = find(ends, url);

    if (!end)
        return RAPAHUB_ECONFIG;
    return end->restore ? end->restore(url, least, out)
                        : rapahub_fail(RAPAHUB_ECONFIG, "",
                                       "metastore '%s': its backups are not made here", url);
}

void cluster_metastore_close(struct cluster_metastore *store)
{
    if (store)
        store->end->close(store);
}

/* r[impl cluster.store.bounds] */
int cluster_metastore_submit(struct cluster_metastore *store, const struct cluster_txn *txn,
                             cluster_on_txn *on_txn, void *user)
{
    int r = cluster_txn_check(txn);

    return r != 0 ? r : store->end->submit(store, txn, on_txn, user);
}

int cluster_metastore_range(struct cluster_metastore *store, const struct cluster_span *span,
                            cluster_on_range *on_range, void *user)
{
    int r = cluster_txn_check_span(span);

    return r != 0 ? r : store->end->range(store, span, on_range, user);
}

int cluster_metastore_peek(struct cluster_metastore *store, const struct cluster_span *span,
                           cluster_on_stale *on_stale, void *user)
{
    int r = cluster_txn_check_span(span);

    return r != 0 ? r : store->end->peek(store, span, on_stale, user);
}

int cluster_metastore_watch(struct cluster_metastore *store, const struct cluster_span *span,
                            cluster_on_change *on_change, void *user, uint64_t *out)
{
    struct cluster_span all = *span;
    int r;

    all.pairs_max = UINT32_MAX;
    r = cluster_txn_check_span(&all);
    return r != 0 ? r : store->end->watch(store, span, on_change, user, out);
}

void cluster_metastore_unwatch(struct cluster_metastore *store, uint64_t watch)
{
    store->end->unwatch(store, watch);
}

int cluster_metastore_sync(struct cluster_metastore *store, cluster_on_txn *on_txn, void *user)
{
    return store->end->sync(store, on_txn, user);
}

int cluster_metastore_compact(struct cluster_metastore *store, uint64_t before,
                              cluster_on_txn *on_txn, void *user)
{
    return store->end->compact(store, before, on_txn, user);
}

int cluster_metastore_backup(struct cluster_metastore *store, const char *path,
                             cluster_on_txn *on_txn, void *user)
{
    return store->end->backup(store, path, on_txn, user);
}

int cluster_metastore_fd(const struct cluster_metastore *store)
{
    return store->end->fd(store);
}

int cluster_metastore_step(struct cluster_metastore *store, uint64_t now_ns, uint64_t *out_next_ns)
{
    return store->end->step(store, now_ns, out_next_ns);
}

int cluster_metastore_stats(const struct cluster_metastore *store,
                            struct cluster_metastore_stats *out)
{
    return store->end->stats(store, out);
}
