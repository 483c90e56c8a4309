/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/seat_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/metastore/seat/seat_client.h"
#include "cluster/metastore/sqlite/sqlite.h"
#include "cluster/wire/seat_message.h"
#include "hub/base/clock.h"

#define STEP_NS (10 * HUB_MICROSECOND)

struct seat_pair_counts seat_pair_counts;

static bool may_run_any(const struct cluster_seat_node *node, const struct cluster_txn *txn)
{
    (void)node;
    (void)txn;
    return true;
}

static bool may_read_any(const struct cluster_seat_node *node, const struct cluster_span *span)
{
    (void)node;
    (void)span;
    return true;
}

static const struct cluster_seat_rights any = {.may_run = may_run_any, .may_read = may_read_any};

struct seat_pair *seat_pair_of(struct cluster_metastore *store)
{
    return (struct seat_pair *)(void *)store;
}

/* Until nothing moves. */
static void flow(struct seat_pair *pair)
{
    uint64_t next;

    do
        cluster_seat_server_step(pair->server, pair->now_ns, &next);
    while (seat_wire_deliver(&pair->wire));
}

static int open_below(struct seat_pair *pair, const char *url,
                      const struct cluster_metastore_options *options)
{
    const struct cluster_metastore_end *const ends[] = {&cluster_sqlite_end, NULL};
    char below[512];

    snprintf(below, sizeof below, "sqlite%s", strchr(url, ':'));
    return cluster_metastore_open(ends, below, options, &pair->below);
}

static int open_pair(const char *url, const struct cluster_metastore_options *options,
                     struct cluster_metastore **out)
{
    const struct cluster_seat_node node = {1, 1};
    struct seat_pair *pair = calloc(1, sizeof *pair);
    struct cluster_metastore_options way = {.link = &seat_wire_link,
                                            .link_user = &pair->wire.ends[SEAT_WIRE_CLIENT]};
    int r = open_below(pair, url, options);

    if (r != 0) {
        free(pair);
        return r;
    }
    pair->base.end = &seat_pair_end;
    pair->now_ns = 1;
    if (cluster_seat_server_open(pair->below, &any, &pair->server) != 0)
        abort();
    seat_wire_init(&pair->wire, pair->server, &node);
    if (cluster_seat_client_end.open("seat:127.0.0.1:9413", &way, &pair->client) != 0)
        abort();
    pair->wire.client = pair->client;
    flow(pair);
    *out = &pair->base;
    return 0;
}

static void close_pair(struct cluster_metastore *base)
{
    struct seat_pair *pair = seat_pair_of(base);

    seat_pair_counts.cuts += pair->wire.cuts;
    seat_pair_counts.pieces += pair->wire.pieces;
    seat_pair_counts.refused += pair->wire.refused;
    cluster_metastore_close(pair->client);
    cluster_seat_server_close(pair->server);
    cluster_metastore_close(pair->below);
    seat_wire_fini(&pair->wire);
    free(pair);
}

static int submit(struct cluster_metastore *base, const struct cluster_txn *txn,
                  cluster_on_txn *on_txn, void *user)
{
    struct seat_pair *pair = seat_pair_of(base);
    int r = cluster_metastore_submit(pair->client, txn, on_txn, user);

    flow(pair);
    return r;
}

static int range(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_range *on_range, void *user)
{
    struct seat_pair *pair = seat_pair_of(base);
    int r = cluster_metastore_range(pair->client, span, on_range, user);

    flow(pair);
    return r;
}

static int peek(struct cluster_metastore *base, const struct cluster_span *span,
                cluster_on_stale *on_stale, void *user)
{
    struct seat_pair *pair = seat_pair_of(base);
    int r = cluster_metastore_peek(pair->client, span, on_stale, user);

    flow(pair);
    return r;
}

static int watch(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_change *on_change, void *user, uint64_t *out)
{
    struct seat_pair *pair = seat_pair_of(base);
    int r = cluster_metastore_watch(pair->client, span, on_change, user, out);

    flow(pair);
    return r;
}

static void unwatch(struct cluster_metastore *base, uint64_t number)
{
    cluster_metastore_unwatch(seat_pair_of(base)->client, number);
}

static int sync_pair(struct cluster_metastore *base, cluster_on_txn *on_txn, void *user)
{
    struct seat_pair *pair = seat_pair_of(base);
    int r = cluster_metastore_sync(pair->client, on_txn, user);

    flow(pair);
    return r;
}

static int compact(struct cluster_metastore *base, uint64_t before, cluster_on_txn *on_txn,
                   void *user)
{
    return cluster_metastore_compact(seat_pair_of(base)->below, before, on_txn, user);
}

static int backup(struct cluster_metastore *base, const char *path, cluster_on_txn *on_txn,
                  void *user)
{
    return cluster_metastore_backup(seat_pair_of(base)->below, path, on_txn, user);
}

static int fd_of(const struct cluster_metastore *base)
{
    return cluster_metastore_fd(((const struct seat_pair *)(const void *)base)->below);
}

static int step(struct cluster_metastore *base, uint64_t now_ns, uint64_t *out_next_ns)
{
    struct seat_pair *pair = seat_pair_of(base);
    int r;

    pair->now_ns += STEP_NS;
    seat_wire_step(&pair->wire);
    flow(pair);
    r = cluster_metastore_step(pair->below, now_ns, out_next_ns);
    flow(pair);
    cluster_metastore_step(pair->client, pair->now_ns, out_next_ns);
    flow(pair);
    return r;
}

static int stats(const struct cluster_metastore *base, struct cluster_metastore_stats *out)
{
    return cluster_metastore_stats(((const struct seat_pair *)(const void *)base)->client, out);
}

const struct cluster_metastore_end seat_pair_end = {
    .scheme = "seat",
    .watches_max = CLUSTER_SEAT_WATCHES_MAX,
    .open = open_pair,
    .close = close_pair,
    .submit = submit,
    .range = range,
    .peek = peek,
    .watch = watch,
    .unwatch = unwatch,
    .sync = sync_pair,
    .compact = compact,
    .backup = backup,
    .fd = fd_of,
    .step = step,
    .stats = stats,
};
