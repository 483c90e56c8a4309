/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/sqlite/restore.h"
#include "cluster/metastore/sqlite/writer.h"
#include "hub/base/clock.h"

#define SCHEME  "sqlite"
#define KEEP_NS (3600 * HUB_SECOND)
#define SAMPLES 60 /* revisions and their times, within the time that changes are kept */

/* Which revision there was at a time, so that what is older than the time to keep is known. */
struct sample {
    uint64_t at_ns, rev;
};

struct store {
    struct cluster_metastore base;
    struct cluster_writer writer;
    struct hub_list readers; /* ranges, and all watches but those that are gone */
    uint64_t last_watch, watches_count;
    uint64_t transactions, reads; /* open */
    uint64_t keep_ns;
    struct sample samples[SAMPLES]; /* a ring */
    unsigned first, count;
    uint64_t old_rev;   /* the newest revision that is old enough */
    uint64_t forget_ns; /* nothing is forgotten before this time */
    bool forgets;       /* a compaction of its own is open */
};

static struct store *store_of(struct cluster_metastore *base)
{
    return (struct store *)(void *)base;
}

static int open_store(const char *url, const struct cluster_metastore_options *options,
                      struct cluster_metastore **out)
{
    struct store *store = calloc(1, sizeof *store);
    int r;

    if (!store)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "%s: out of memory", url);
    store->base.end = &cluster_sqlite_end;
    store->keep_ns = options->keep_ns ? options->keep_ns : KEEP_NS;
    hub_list_init(&store->readers);
    r = cluster_writer_start(&store->writer, url + strlen(SCHEME ":"), options->create);
    if (r != 0) {
        free(store);
        return r;
    }
    *out = &store->base;
    return 0;
}

static void close_store(struct cluster_metastore *base)
{
    struct store *store = store_of(base);
    struct hub_list left, *link;

    hub_list_init(&left);
    cluster_writer_stop(&store->writer, &left);
    while ((link = hub_list_pop(&left))) {
        struct cluster_job *job = HUB_LIST_ITEM(link, struct cluster_job, link);

        hub_list_remove(&job->reader_link);
        cluster_results_clear(&job->results);
        job->status = CLUSTER_TXN_CLOSED;
        job->more = false;
        cluster_jobs_tell(job);
        cluster_jobs_free(job);
    }
    free(store);
}

static int refuse_full(uint64_t open, uint64_t most, const char *what)
{
    if (open < most)
        return 0;
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.store.bounds",
                        "%llu %s of the metastore are open, no more are taken",
                        (unsigned long long)open, what);
}

static int submit(struct cluster_metastore *base, const struct cluster_txn *txn,
                  cluster_on_txn *on_txn, void *user)
{
    struct store *store = store_of(base);
    struct cluster_job *job;
    int r = cluster_writer_failure(&store->writer);

    if (r == 0)
        r = refuse_full(store->transactions, CLUSTER_TXN_FLIGHT_MAX, "transactions");
    if (r != 0)
        return r;
    job = cluster_jobs_txn(txn);
    if (!job)
        return -ENOMEM;
    job->on_txn = on_txn;
    job->user = user;
    store->transactions++;
    cluster_writer_give(&store->writer, job);
    return 0;
}

/* Gives a job that is not a transaction; `job` NULL: there was no memory for it. */
static int give(struct store *store, struct cluster_job *job, void *user)
{
    if (!job)
        return -ENOMEM;
    job->user = user;
    store->reads++;
    cluster_writer_give(&store->writer, job);
    return 0;
}

static int may_give(struct store *store)
{
    int r = cluster_writer_failure(&store->writer);

    return r != 0 ? r : refuse_full(store->reads, CLUSTER_METASTORE_READS_MAX, "operations");
}

static int range(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_range *on_range, void *user)
{
    struct store *store = store_of(base);
    int r = may_give(store);
    struct cluster_job *job = r == 0 ? cluster_jobs_span(CLUSTER_JOB_RANGE, span) : NULL;

    if (job) {
        job->on_range = on_range;
        job->needs = span->rev != 0 ? span->rev : UINT64_MAX;
        hub_list_append(&store->readers, &job->reader_link);
    }
    return r != 0 ? r : give(store, job, user);
}

static int peek(struct cluster_metastore *base, const struct cluster_span *span,
                cluster_on_stale *on_stale, void *user)
{
    struct store *store = store_of(base);
    int r = may_give(store);
    struct cluster_job *job = r == 0 ? cluster_jobs_span(CLUSTER_JOB_PEEK, span) : NULL;

    if (job)
        job->on_stale = on_stale;
    return r != 0 ? r : give(store, job, user);
}

static int watch(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_change *on_change, void *user, uint64_t *out)
{
    struct store *store = store_of(base);
    struct cluster_job *job;
    int r = cluster_writer_failure(&store->writer);

    if (r == 0)
        r = refuse_full(store->watches_count, CLUSTER_METASTORE_WATCHES_MAX, "watches");
    if (r != 0)
        return r;
    job = cluster_jobs_span(CLUSTER_JOB_WATCH, span);
    if (!job)
        return -ENOMEM;
    job->on_change = on_change;
    job->user = user;
    job->rev = job->needs = span->rev;
    job->watch = *out = ++store->last_watch;
    hub_list_append(&store->readers, &job->reader_link);
    store->watches_count++;
    cluster_writer_give(&store->writer, job);
    return 0;
}

static void forget_watch(struct store *store, struct cluster_job *job)
{
    if (hub_load_relaxed(&job->gone))
        return;
    hub_list_remove(&job->reader_link);
    store->watches_count--;
    hub_publish(&job->gone, 1);
}

/* The job is the writer's, or on its way here, or is being told. It is freed when it is here. */
static void unwatch(struct cluster_metastore *base, uint64_t number)
{
    struct store *store = store_of(base);

    HUB_LIST_EACH (&store->readers, link) {
        struct cluster_job *job = HUB_LIST_ITEM(link, struct cluster_job, reader_link);

        if (job->kind != CLUSTER_JOB_WATCH || job->watch != number)
            continue;
        forget_watch(store, job);
        cluster_writer_nudge(&store->writer);
        return;
    }
}

static int give_plain(struct store *store, enum cluster_job_kind kind, const char *path,
                      cluster_on_txn *on_txn, void *user)
{
    struct cluster_job *job = cluster_jobs_new(kind, path);

    if (job)
        job->on_txn = on_txn;
    return give(store, job, user);
}

static int sync_store(struct cluster_metastore *base, cluster_on_txn *on_txn, void *user)
{
    struct store *store = store_of(base);
    int r = may_give(store);

    return r != 0 ? r : give_plain(store, CLUSTER_JOB_SYNC, NULL, on_txn, user);
}

static int give_compaction(struct store *store, uint64_t before, cluster_on_txn *on_txn, void *user)
{
    struct cluster_job *job = cluster_jobs_new(CLUSTER_JOB_COMPACT, NULL);

    if (job) {
        job->before = before;
        job->on_txn = on_txn;
    }
    return give(store, job, user);
}

static int compact(struct cluster_metastore *base, uint64_t before, cluster_on_txn *on_txn,
                   void *user)
{
    struct store *store = store_of(base);
    int r = may_give(store);

    return r != 0 ? r : give_compaction(store, before, on_txn, user);
}

static int backup(struct cluster_metastore *base, const char *path, cluster_on_txn *on_txn,
                  void *user)
{
    struct store *store = store_of(base);
    int r = may_give(store);

    return r != 0 ? r : give_plain(store, CLUSTER_JOB_BACKUP, path, on_txn, user);
}

static int restore(const char *url, uint32_t least, uint32_t *out)
{
    return cluster_restore_file(url + strlen(SCHEME ":"), least, out);
}

static int fd_of(const struct cluster_metastore *base)
{
    return ((const struct store *)(const void *)base)->writer.fd;
}

/* A watch goes back to the writer after it was told, unless it has ended. A gone watch is told
 * nothing. */
static void end_watch(struct store *store, struct cluster_job *job)
{
    cluster_jobs_tell(job);
    cluster_results_clear(&job->results);
    if (hub_load_relaxed(&job->gone) == 0 && job->status == CLUSTER_TXN_OK) {
        job->needs = job->rev;
        cluster_writer_give(&store->writer, job);
        return;
    }
    forget_watch(store, job);
    cluster_jobs_free(job);
}

static void end_job(struct store *store, struct cluster_job *job)
{
    if (job->kind == CLUSTER_JOB_WATCH) {
        end_watch(store, job);
        return;
    }
    if (job->kind == CLUSTER_JOB_TXN)
        store->transactions--;
    else
        store->reads--;
    cluster_jobs_tell(job);
    hub_list_remove(&job->reader_link);
    cluster_jobs_free(job);
}

/* ---- old revisions ---- */

/* Without space or memory it is tried again later. */
static void on_forgotten(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                         size_t count)
{
    struct store *store = user;

    (void)status;
    (void)rev;
    (void)gets;
    (void)count;
    store->forgets = false;
}

static struct sample *sample_at(struct store *store, unsigned index)
{
    return &store->samples[(store->first + index) % SAMPLES];
}

static void note_revision(struct store *store, uint64_t now_ns)
{
    uint64_t rev = hub_observe64(&store->writer.revision);
    const struct sample *last = store->count > 0 ? sample_at(store, store->count - 1) : NULL;

    if (store->count == SAMPLES ||
        (last && (last->rev == rev || now_ns - last->at_ns < store->keep_ns / SAMPLES)))
        return;
    *sample_at(store, store->count++) = (struct sample){now_ns, rev};
}

static void note_old(struct store *store, uint64_t now_ns)
{
    while (store->count > 0 && now_ns - sample_at(store, 0)->at_ns >= store->keep_ns) {
        store->old_rev = sample_at(store, 0)->rev;
        store->first = (store->first + 1) % SAMPLES;
        store->count--;
    }
}

/* The first revision that must remain readable: a watch goes on after the last one that it was
 * told, and the pages of a range are of one. */
static uint64_t needed_revision(const struct store *store)
{
    uint64_t needed = store->old_rev;

    HUB_LIST_EACH (&store->readers, link) {
        const struct cluster_job *job = HUB_LIST_ITEM(link, struct cluster_job, reader_link);

        if (job->needs < needed)
            needed = job->needs;
    }
    return needed;
}

/* Forgets what was overwritten before a revision that is old enough, unless that is still read:
 * then the rest follows in a later step. Returns when to look again. r[impl cluster.store.keep] */
static uint64_t forget_old(struct store *store, uint64_t now_ns)
{
    uint64_t compacted = hub_observe64(&store->writer.compacted), needed, next_ns = HUB_NEVER;

    note_old(store, now_ns);
    note_revision(store, now_ns);
    if (store->count > 0)
        next_ns = sample_at(store, 0)->at_ns + store->keep_ns;
    if (store->forgets || store->old_rev <= compacted)
        return next_ns;
    needed = needed_revision(store);
    if (needed > compacted && now_ns >= store->forget_ns) {
        store->forget_ns = now_ns + store->keep_ns / SAMPLES;
        store->forgets = give_compaction(store, needed, on_forgotten, store) == 0;
    }
    return needed <= compacted || store->forgets || next_ns < store->forget_ns ? next_ns
                                                                               : store->forget_ns;
}

/* r[impl cluster.store.step] */
static int step(struct cluster_metastore *base, uint64_t now_ns, uint64_t *out_next_ns)
{
    struct store *store = store_of(base);
    struct hub_list ended, *link;

    hub_list_init(&ended);
    cluster_writer_take(&store->writer, &ended);
    while ((link = hub_list_pop(&ended)))
        end_job(store, HUB_LIST_ITEM(link, struct cluster_job, link));
    *out_next_ns = forget_old(store, now_ns);
    if (store->transactions > 0 || store->reads > 0 || store->watches_count > 0)
        return 0;
    return cluster_writer_failure(&store->writer);
}

static int stats(const struct cluster_metastore *base, struct cluster_metastore_stats *out)
{
    const struct store *store = (const struct store *)(const void *)base;

    *out = (struct cluster_metastore_stats){
        .revision = hub_observe64(&store->writer.revision),
        .compacted = hub_observe64(&store->writer.compacted),
        .transactions = hub_load_relaxed64(&store->writer.transactions),
        .commits = hub_load_relaxed64(&store->writer.commits),
        .open = store->transactions,
        .reads = store->reads,
        .watches = store->watches_count,
    };
    return 0;
}

const struct cluster_metastore_end cluster_sqlite_end = {
    .scheme = SCHEME,
    .watches_max = CLUSTER_METASTORE_WATCHES_MAX,
    .open = open_store,
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
    .restore = restore,
};
