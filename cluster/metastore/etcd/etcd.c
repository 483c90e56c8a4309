/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/metastore/etcd/etcd_opening.h"
#include "cluster/metastore/etcd/etcd_tls.h"
#include "cluster/metastore/etcd/etcd_watches.h"
#include "hub/base/own.h"

struct store {
    struct cluster_metastore base;
    struct cluster_etcd_url url;
    struct cluster_etcd_space space;
    struct cluster_etcd_members members;
    struct cluster_etcd_calls calls;
    struct cluster_etcd_watches watches;
    struct cluster_etcd_opening opening;
    struct ssl_ctx_st *tls;
    int epoll;
    bool closing;
};

static struct store *store_of(struct cluster_metastore *base)
{
    return (struct store *)(void *)base;
}

/* ---- the session ---- */

static int on_message(void *user, void *call, struct rapahub_bytes message)
{
    struct store *store = user;

    if (call == &store->opening)
        return cluster_etcd_opening_message(&store->opening, message);
    if (call == &store->watches)
        return cluster_etcd_watches_message(&store->watches, message);
    return cluster_etcd_calls_message(&store->calls, call, message);
}

static void on_ended(void *user, void *call, const struct cluster_grpc_end *end)
{
    struct store *store = user;

    if (call == &store->opening)
        cluster_etcd_opening_over(&store->opening, end);
    else if (call == &store->watches)
        cluster_etcd_watches_over(&store->watches);
    else
        cluster_etcd_calls_over(&store->calls, call, end);
}

static void on_down(void *user)
{
    struct store *store = user;

    cluster_etcd_opening_down(&store->opening);
    cluster_etcd_calls_down(&store->calls);
    cluster_etcd_watches_down(&store->watches);
}

static const struct cluster_etcd_members_hooks hooks = {
    .calls = {.message = on_message, .ended = on_ended}, .down = on_down};

static void send_more(struct store *store)
{
    struct cluster_grpc *grpc = cluster_etcd_members_grpc(&store->members);

    if (!grpc)
        return;
    cluster_etcd_watches_ask(&store->watches, grpc);
    cluster_etcd_calls_send(&store->calls, grpc);
    cluster_etcd_members_flush(&store->members);
}

/* ---- open and close ---- */

static void free_store(struct store *store)
{
    cluster_etcd_members_fini(&store->members);
    cluster_etcd_tls_context_release(&store->tls);
    hub_fd_release(&store->epoll);
    free(store);
}

static int set_up(struct store *store, const char *url, const char *tls)
{
    int r = cluster_etcd_url_parse(url, &store->url);

    if (r == 0 && tls)
        r = cluster_etcd_tls_context(tls, &store->tls);
    if (r < 0)
        return r;
    cluster_etcd_space_init(&store->space, store->url.prefix);
    cluster_etcd_calls_init(&store->calls, &store->space);
    cluster_etcd_watches_init(&store->watches, &store->calls);
    store->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (store->epoll < 0)
        return rapahub_fail(-errno, "", "metastore '%.200s': no descriptor for it", url);
    store->members = (struct cluster_etcd_members){.url = &store->url,
                                                   .space = &store->space,
                                                   .tls = store->tls,
                                                   .epoll = store->epoll,
                                                   .hooks = &hooks,
                                                   .user = store};
    cluster_etcd_members_init(&store->members);
    store->opening = (struct cluster_etcd_opening){.members = &store->members};
    return 0;
}

static int open_end(const struct cluster_metastore_end *end, const char *url, const char *tls,
                    bool create, struct cluster_metastore **out)
{
    struct store *store = calloc(1, sizeof *store);
    int r;

    if (!store)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "%.200s: out of memory", url);
    store->base.end = end;
    store->epoll = -1;
    r = set_up(store, url, tls);
    if (r == 0)
        r = cluster_etcd_opening_run(&store->opening, url, create);
    if (r < 0) {
        free_store(store);
        return r;
    }
    store->calls.revision =
        cluster_ids_revision(store->space.generation, cluster_ids_own(store->opening.revision));
    cluster_etcd_members_restart_clock(&store->members);
    *out = &store->base;
    return 0;
}

static int open_plain(const char *url, const struct cluster_metastore_options *options,
                      struct cluster_metastore **out)
{
    return open_end(&cluster_etcd_end, url, NULL, options->create, out);
}

static int open_tls(const char *url, const struct cluster_metastore_options *options,
                    struct cluster_metastore **out)
{
    if (!options->tls)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "metastore '%.200s': the folder of its certificate is not given", url);
    return open_end(&cluster_etcds_end, url, options->tls, options->create, out);
}

static void close_store(struct cluster_metastore *base)
{
    struct store *store = store_of(base);

    store->closing = true;
    cluster_etcd_members_fini(&store->members);
    cluster_etcd_calls_close(&store->calls);
    cluster_etcd_watches_close(&store->watches);
    free_store(store);
}

/* ---- operations ---- */

/* Says whether one more may be opened: `open` of them are. r[impl cluster.store.bounds] */
static int may_open(const struct store *store, uint64_t open, uint64_t most, const char *what)
{
    if (store->closing)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "the metastore is being closed");
    if (open < most)
        return 0;
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.store.bounds",
                        "%llu %s of the metastore are open, no more are taken",
                        (unsigned long long)open, what);
}

static int may_read(const struct store *store)
{
    return may_open(store, store->calls.reads, CLUSTER_METASTORE_READS_MAX, "operations");
}

static int submit(struct cluster_metastore *base, const struct cluster_txn *txn,
                  cluster_on_txn *on_txn, void *user)
{
    struct store *store = store_of(base);
    int r = may_open(store, store->calls.txns, CLUSTER_TXN_FLIGHT_MAX, "transactions");
    struct cluster_etcd_call *call;

    if (r < 0)
        return r;
    call = cluster_etcd_calls_txn(&store->calls, txn, &r);
    if (!call)
        return r;
    call->on_txn = on_txn;
    call->user = user;
    cluster_etcd_calls_add(&store->calls, call);
    send_more(store);
    return 0;
}

/* A revision of an earlier generation can be read no more, one of a later is not there yet. */
static int status_at(const struct store *store, uint64_t rev)
{
    uint32_t generation = cluster_ids_generation(rev);

    if (rev == 0 || generation == store->space.generation)
        return CLUSTER_TXN_OK;
    return generation < store->space.generation ? CLUSTER_TXN_COMPACTED : CLUSTER_TXN_DENIED;
}

static int add(struct store *store, struct cluster_etcd_call *call, int status, void *user)
{
    call->user = user;
    if (status == CLUSTER_TXN_OK)
        cluster_etcd_calls_add(&store->calls, call);
    else
        cluster_etcd_calls_add_ended(&store->calls, call, status);
    send_more(store);
    return 0;
}

static int make_read(struct store *store, enum cluster_etcd_call_kind kind,
                     const struct cluster_span *span, struct cluster_etcd_call **out)
{
    int r = may_read(store);

    if (r < 0)
        return r;
    *out = cluster_etcd_calls_read(&store->calls, kind, span, &r);
    return *out ? 0 : r;
}

static int range(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_range *on_range, void *user)
{
    struct cluster_etcd_call *call;
    int r = make_read(store_of(base), CLUSTER_ETCD_RANGE, span, &call);

    if (r < 0)
        return r;
    call->on_range = on_range;
    return add(store_of(base), call, status_at(store_of(base), span->rev), user);
}

static int peek(struct cluster_metastore *base, const struct cluster_span *span,
                cluster_on_stale *on_stale, void *user)
{
    struct cluster_etcd_call *call;
    int r = make_read(store_of(base), CLUSTER_ETCD_PEEK, span, &call);

    if (r < 0)
        return r;
    call->on_stale = on_stale;
    return add(store_of(base), call, CLUSTER_TXN_OK, user);
}

static int sync_store(struct cluster_metastore *base, cluster_on_txn *on_txn, void *user)
{
    struct cluster_etcd_call *call;
    int r = make_read(store_of(base), CLUSTER_ETCD_SYNC, NULL, &call);

    if (r < 0)
        return r;
    call->on_txn = on_txn;
    return add(store_of(base), call, CLUSTER_TXN_OK, user);
}

/* Before a revision of an earlier generation nothing is left to forget. */
static int compact(struct cluster_metastore *base, uint64_t before, cluster_on_txn *on_txn,
                   void *user)
{
    struct store *store = store_of(base);
    int r = may_read(store), status = status_at(store, before);
    struct cluster_etcd_call *call;

    if (r < 0)
        return r;
    call = cluster_etcd_calls_compact(&store->calls, before, &r);
    if (!call)
        return r;
    call->on_txn = on_txn;
    if (before == 0 || status == CLUSTER_TXN_COMPACTED) {
        call->user = user;
        cluster_etcd_calls_add_ended(&store->calls, call, CLUSTER_TXN_OK);
        return 0;
    }
    return add(store, call, status, user);
}

static int backup(struct cluster_metastore *base, const char *path, cluster_on_txn *on_txn,
                  void *user)
{
    struct cluster_etcd_call *call;
    int r = make_read(store_of(base), CLUSTER_ETCD_SYNC, NULL, &call);

    (void)path;
    if (r < 0)
        return r;
    call->on_txn = on_txn;
    return add(store_of(base), call, CLUSTER_TXN_DENIED, user);
}

static int watch(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_change *on_change, void *user, uint64_t *out)
{
    struct store *store = store_of(base);
    int r = may_open(store, 0, 1, "");

    if (r == 0)
        r = cluster_etcd_watches_open(&store->watches, span, on_change, user, out);
    if (r == 0)
        send_more(store);
    return r;
}

static void unwatch(struct cluster_metastore *base, uint64_t number)
{
    struct store *store = store_of(base);

    cluster_etcd_watches_end(&store->watches, cluster_etcd_members_grpc(&store->members), number);
}

/* ---- steps ---- */

static int fd_of(const struct cluster_metastore *base)
{
    return ((const struct store *)(const void *)base)->epoll;
}

/* r[impl cluster.store.step] r[impl cluster.store.etcd.deadline] */
static int step(struct cluster_metastore *base, uint64_t now_ns, uint64_t *out_next_ns)
{
    struct store *store = store_of(base);
    uint64_t due_ns = cluster_etcd_members_step(&store->members, now_ns), calls_ns;

    if (cluster_etcd_calls_expire(&store->calls, now_ns))
        cluster_etcd_members_pass(&store->members, now_ns, "it has not answered in time");
    cluster_etcd_calls_tell(&store->calls);
    cluster_etcd_watches_tell(&store->watches);
    if (store->watches.lost)
        cluster_etcd_members_pass(&store->members, now_ns, "its watches have ended");
    send_more(store);
    calls_ns = cluster_etcd_calls_due(&store->calls, now_ns);
    *out_next_ns = calls_ns < due_ns ? calls_ns : due_ns;
    return 0;
}

static int stats(const struct cluster_metastore *base, struct cluster_metastore_stats *out)
{
    const struct store *store = (const struct store *)(const void *)base;

    *out = (struct cluster_metastore_stats){
        .revision = store->calls.revision,
        .transactions = store->calls.told_txns,
        .open = store->calls.txns,
        .reads = store->calls.reads,
        .watches = store->watches.count,
    };
    return 0;
}

const struct cluster_metastore_end cluster_etcd_end = {
    .scheme = "etcd",
    .watches_max = CLUSTER_METASTORE_WATCHES_MAX,
    .open = open_plain,
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

const struct cluster_metastore_end cluster_etcds_end = {
    .scheme = "etcds",
    .watches_max = CLUSTER_METASTORE_WATCHES_MAX,
    .open = open_tls,
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
