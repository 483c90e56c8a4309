/* SPDX-License-Identifier: Apache-2.0 */
/* metastore: the interface of all stores in which a cluster keeps what it must not lose: pools,
 * entries of the map, operations.
 *
 * A store maps keys to values. Each transaction that changes something takes one new revision, and
 * the changes of the last hour can be read and watched by revision. A revision is the store's
 * generation (12 bits) and 52 bits of its own, so that a store restored from a backup is above all
 * that it was before.
 *
 * All functions run on one thread, the owner of the store, and none waits, but open and close. Each
 * operation that was accepted ends once: its callback is called inside of cluster_metastore_step,
 * or with CLUSTER_TXN_CLOSED inside of cluster_metastore_close. A callback may start operations,
 * but not close the store. A negative return value means that the operation was refused at once:
 * there is a diagnosis, and its callback is never called. Bytes that a caller hands in are copied;
 * bytes that a callback gets are valid until it returns.
 */
#ifndef CLUSTER_METASTORE_METASTORE_H
#define CLUSTER_METASTORE_METASTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/base/txn.h"

/* How many may be open: more are refused. CLUSTER_TXN_FLIGHT_MAX is that of transactions. */
#define CLUSTER_METASTORE_READS_MAX   64  /* other operations */
#define CLUSTER_METASTORE_WATCHES_MAX 256 /* of some back ends fewer: their `watches_max` */

#define CLUSTER_METASTORE_PAGE_MAX  ((size_t)4 << 20) /* bytes of keys and values in a page */
#define CLUSTER_METASTORE_TXN_BYTES ((size_t)3 << 20) /* of a transaction that every one takes */

struct cluster_seat_link;

struct cluster_metastore_options { /* zero: the default given */
    bool create;                   /* a store that is not there is set up; else it is refused */
    uint64_t keep_ns;              /* how long changes remain readable at least: an hour */
    const struct cluster_seat_link
        *link; /* of a seat: the way to it; it and its user live longer */
    void *link_user;
    const char *tls;     /* for etcds: the folder with ca.pem, client.pem and client.key; for a seat
                            that     with ca.pem, node.pem and node.key */
    uint32_t node, boot; /* for a seat: the life of the node that asks it */
    const uint8_t *cluster; /* and the cluster's uuid, 16 bytes */
};

struct cluster_metastore_stats {
    uint64_t revision;     /* the last change made it */
    uint64_t compacted;    /* earlier ones can be read no more */
    uint64_t transactions; /* which have ended */
    uint64_t commits;      /* that were made durable; several transactions may share one */
    uint64_t open, reads;  /* transactions, other operations that have not ended */
    uint64_t watches;
};

/* `gets` has a pair for each CLUSTER_GET of the list that ran, in the order of the list; `mod_rev`
 * is 0 where the key is absent. `rev` is the revision of the transaction if it changed something,
 * else one at which it saw what it saw. */
typedef void cluster_on_txn(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                            size_t count);

/* Pairs in the order of their keys. `more`: there are more after the last one; the next page is
 * read at the same revision, from the last key and a byte 0 on. */
struct cluster_page {
    const struct cluster_pair *pairs;
    size_t count;
    bool more;
};
typedef void cluster_on_range(void *user, int status, uint64_t rev,
                              const struct cluster_page *page);

/* The end of a peek: a type of its own, so that stale pairs are not taken for those of now. */
typedef void cluster_on_stale(void *user, int status, const struct cluster_pair *pairs,
                              size_t count);

/* All changes of one revision that lie in the span, in the order of their keys. No changes: all up
 * to `rev` were told. A status other than OK ends the watch: COMPACTED, CORRUPT or CLOSED. */
typedef void cluster_on_change(void *user, int status, uint64_t rev,
                               const struct cluster_change *changes, size_t count);

/* A store. It is the first member of each back end's own struct. */
struct cluster_metastore {
    const struct cluster_metastore_end *end;
};

/* A back end: a constant table. cluster_metastore_<name> has the same shape as its <name>, and the
 * bounds are checked there. */
struct cluster_metastore_end {
    const char *scheme; /* how its URLs begin, without the colon */
    uint32_t watches_max;
    int (*open)(const char *url, const struct cluster_metastore_options *options,
                struct cluster_metastore **out);
    void (*close)(struct cluster_metastore *store);
    int (*submit)(struct cluster_metastore *store, const struct cluster_txn *txn,
                  cluster_on_txn *on_txn, void *user);
    int (*range)(struct cluster_metastore *store, const struct cluster_span *span,
                 cluster_on_range *on_range, void *user);
    int (*peek)(struct cluster_metastore *store, const struct cluster_span *span,
                cluster_on_stale *on_stale, void *user);
    int (*watch)(struct cluster_metastore *store, const struct cluster_span *span,
                 cluster_on_change *on_change, void *user, uint64_t *out);
    void (*unwatch)(struct cluster_metastore *store, uint64_t watch);
    int (*sync)(struct cluster_metastore *store, cluster_on_txn *on_txn, void *user);
    int (*compact)(struct cluster_metastore *store, uint64_t before, cluster_on_txn *on_txn,
                   void *user);
    int (*backup)(struct cluster_metastore *store, const char *path, cluster_on_txn *on_txn,
                  void *user);
    int (*fd)(const struct cluster_metastore *store);
    int (*step)(struct cluster_metastore *store, uint64_t now_ns, uint64_t *out_next_ns);
    int (*stats)(const struct cluster_metastore *store, struct cluster_metastore_stats *out);
    /* NULL: a back end whose backups are not made here. */
    int (*restore)(const char *url, uint32_t least, uint32_t *out);
};

/* Opens "SCHEME:..." by the back end of that scheme; `ends` is ended by NULL. Fails with what is
 * wrong with the store, its name, and what may be done. */
int cluster_metastore_open(const struct cluster_metastore_end *const *ends, const char *url,
                           const struct cluster_metastore_options *options,
                           struct cluster_metastore **out);

/* Ends all that is open with CLUSTER_TXN_CLOSED and releases the store. NULL is ignored. A
 * transaction that was open may have happened. */
void cluster_metastore_close(struct cluster_metastore *store);

/* Runs a transaction. Its compares are looked at: if all hold, `then` runs and the status is
 * CLUSTER_TXN_OK; else `otherwise` runs, and it is CLUSTER_TXN_CONFLICT. Either is durable before
 * the callback is called. Operations of a list run in their order, and a CLUSTER_GET sees what the
 * list wrote before it. A transaction of the same id never runs twice: it gets the first outcome,
 * and its CLUSTER_GETs are of now. CLUSTER_TXN_DENIED: CLUSTER_TXN_FLIGHT_MAX later ones have run,
 * or a later life of the node has written.
 *
 * -EMSGSIZE, -EINVAL: it is beyond the limits; -EBUSY: too many are open. A back end may refuse,
 * with -EMSGSIZE, one of more than CLUSTER_METASTORE_TXN_BYTES in all. */
int cluster_metastore_submit(struct cluster_metastore *store, const struct cluster_txn *txn,
                             cluster_on_txn *on_txn, void *user);

/* Reads the keys from `from` on and before `to` at revision `rev`, 0: now.
 * CLUSTER_TXN_COMPACTED: it can be read no more; CLUSTER_TXN_DENIED: it is not there yet. At most
 * `pairs_max` pairs, and CLUSTER_METASTORE_PAGE_MAX bytes, but at least one pair. A back end may
 * give less at once. */
int cluster_metastore_range(struct cluster_metastore *store, const struct cluster_span *span,
                            cluster_on_range *on_range, void *user);

/* The same at any revision that was once the last one; `rev` of the span is not looked at. */
int cluster_metastore_peek(struct cluster_metastore *store, const struct cluster_span *span,
                           cluster_on_stale *on_stale, void *user);

/* Tells each change of the span after revision `rev`, once and in order, until
 * cluster_metastore_unwatch; 0: all there ever were. `pairs_max` is not looked at. */
int cluster_metastore_watch(struct cluster_metastore *store, const struct cluster_span *span,
                            cluster_on_change *on_change, void *user, uint64_t *out);
void cluster_metastore_unwatch(struct cluster_metastore *store, uint64_t watch);

/* Gives the revision of now, after all that was submitted before. */
int cluster_metastore_sync(struct cluster_metastore *store, cluster_on_txn *on_txn, void *user);

/* Forgets what was overwritten before this revision: it is the first that remains readable. */
int cluster_metastore_compact(struct cluster_metastore *store, uint64_t before,
                              cluster_on_txn *on_txn, void *user);

/* Writes the store to a new file, whole and synced, or not at all. CLUSTER_TXN_CONFLICT: there is a
 * file with this name. */
int cluster_metastore_backup(struct cluster_metastore *store, const char *path,
                             cluster_on_txn *on_txn, void *user);

/* Makes the store at a URL, a backup which no process has open, one that was restored: its
 * generation, which *out tells, becomes `least`, or the one after its own if that is higher, and
 * all that was told of it before counts as compacted. So no revision is told twice, and who knows
 * of one that the backup does not have reads all anew. RAPAHUB_ECONFIG: the back end has its own
 * way. RAPAHUB_EOVERFLOW: no generation is left. Others are those of cluster_metastore_open. Waits
 * for the disk. */
int cluster_metastore_restore(const struct cluster_metastore_end *const *ends, const char *url,
                              uint32_t least, uint32_t *out);

/* Readable when cluster_metastore_step has something to do. */
int cluster_metastore_fd(const struct cluster_metastore *store);

/* Calls the callbacks of what has ended. `now_ns` is a time that never goes back, the only one the
 * store goes by; *out_next_ns is when it wants to be called even if nothing comes. Fails once the
 * store can be used no more; all that was open has ended with CLUSTER_TXN_CORRUPT then. */
int cluster_metastore_step(struct cluster_metastore *store, uint64_t now_ns, uint64_t *out_next_ns);

int cluster_metastore_stats(const struct cluster_metastore *store,
                            struct cluster_metastore_stats *out);

#endif
