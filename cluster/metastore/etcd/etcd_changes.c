/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_changes.h"

#include <errno.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"

struct cluster_etcd_batch {
    struct hub_list link;
    struct cluster_etcd_arena arena;
    const Etcd__WatchResponse *response;
    size_t size;
};

static int refuse(const char *what)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.hostile",
                        "etcd tells changes that can be none: %s", what);
}

/* ---- messages ---- */

int cluster_etcd_changes_read(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                              struct cluster_etcd_batch **out)
{
    struct cluster_etcd_batch *batch = calloc(1, sizeof *batch);
    int r;

    if (!batch)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "changes in etcd: out of memory");
    hub_list_init(&batch->link);
    batch->size = bytes.size;
    r = cluster_etcd_reply_watch(space, bytes, &batch->arena, &batch->response);
    if (r < 0)
        cluster_etcd_changes_drop(batch);
    else
        *out = batch;
    return r;
}

const Etcd__WatchResponse *cluster_etcd_changes_response(const struct cluster_etcd_batch *batch)
{
    return batch->response;
}

void cluster_etcd_changes_drop(struct cluster_etcd_batch *batch)
{
    hub_list_remove(&batch->link);
    cluster_etcd_arena_fini(&batch->arena);
    free(batch);
}

void cluster_etcd_changes_init(struct cluster_etcd_changes *changes)
{
    *changes = (struct cluster_etcd_changes){0};
    hub_list_init(&changes->batches);
}

/* All but the last one, or all. */
static void drop_batches(struct cluster_etcd_changes *changes, bool last_too)
{
    while (!hub_list_empty(&changes->batches)) {
        struct hub_list *first = changes->batches.next;
        struct cluster_etcd_batch *batch = HUB_LIST_ITEM(first, struct cluster_etcd_batch, link);

        if (!last_too && first == changes->batches.previous)
            return;
        changes->kept -= batch->size;
        cluster_etcd_changes_drop(batch);
    }
}

void cluster_etcd_changes_fini(struct cluster_etcd_changes *changes)
{
    uint64_t told = changes->told;

    drop_batches(changes, true);
    free(changes->changes);
    cluster_etcd_changes_init(changes);
    changes->told = told;
}

void cluster_etcd_changes_add(struct cluster_etcd_changes *changes,
                              struct cluster_etcd_batch *batch)
{
    hub_list_append(&changes->batches, &batch->link);
    changes->kept += batch->size;
    changes->at = 0;
}

/* ---- changes ---- */

static bool is_in(const struct cluster_span *span, struct rapahub_bytes key)
{
    return cluster_txn_order(key, span->from) >= 0 && cluster_txn_order(key, span->to) < 0;
}

/* Says at which revision the key was put before: -ESTALE where etcd has compacted that. */
static int read_before(const struct cluster_etcd_space *space, const Etcd__Event *event,
                       struct cluster_change *to)
{
    bool had = to->deleted || to->pair.version > 1;

    if (!had)
        return 0;
    if (!event->prev_kv)
        return -ESTALE;
    if (!cluster_etcd_space_revision(space, event->prev_kv->mod_revision, &to->prev_mod) ||
        to->prev_mod >= to->pair.mod_rev)
        return refuse("one was changed before it was there");
    return 0;
}

static int read_event(const struct cluster_etcd_space *space, const struct cluster_span *span,
                      const Etcd__Event *event, struct cluster_change *to)
{
    const Etcd__KeyValue *kv = event->kv;

    *to = (struct cluster_change){.deleted = event->type == ETCD__EVENT__EVENT_TYPE__DELETE};
    if (!kv)
        return refuse("one has no key");
    if (to->deleted) {
        if (!cluster_etcd_space_strip(space, (struct rapahub_bytes){kv->key.data, kv->key.len},
                                      &to->pair.key) ||
            !cluster_etcd_space_revision(space, kv->mod_revision, &to->pair.mod_rev))
            return refuse("a deletion has no key or no revision");
    } else if (event->type != ETCD__EVENT__EVENT_TYPE__PUT ||
               !cluster_etcd_reply_pair(space, kv, &to->pair)) {
        return refuse("one is no pair of this store");
    }
    if (!is_in(span, to->pair.key))
        return refuse("one is out of the span");
    return read_before(space, event, to);
}

static int keep(struct cluster_etcd_changes *changes, const struct cluster_change *change)
{
    size_t room = changes->room == 0 ? 16 : 2 * changes->room;
    struct cluster_change *more;

    if (changes->count == CLUSTER_ETCD_CHANGES_MOST || changes->kept > CLUSTER_ETCD_CHANGES_KEPT)
        return refuse("a revision has too many");
    if (changes->count == changes->room) {
        more = realloc(changes->changes, room * sizeof *more);
        if (!more)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "changes in etcd: out of memory");
        changes->changes = more;
        changes->room = room;
    }
    changes->changes[changes->count++] = *change;
    return 0;
}

static int by_key(const void *one, const void *other)
{
    const struct cluster_change *a = one, *b = other;

    return cluster_txn_order(a->pair.key, b->pair.key);
}

/* The revision is whole. */
static int give(struct cluster_etcd_changes *changes, const struct cluster_etcd_space *space,
                struct cluster_etcd_told *out)
{
    qsort(changes->changes, changes->count, sizeof *changes->changes, by_key);
    *out = (struct cluster_etcd_told){cluster_ids_revision(space->generation, changes->last),
                                      changes->changes, changes->count};
    changes->told = changes->last;
    changes->count = 0;
    return 1;
}

/* A mark: all before its revision was told. */
static int give_mark(struct cluster_etcd_changes *changes, const struct cluster_etcd_space *space,
                     const Etcd__WatchResponse *response, struct cluster_etcd_told *out)
{
    uint64_t rev;

    if (response->n_events > 0 || response->created || response->canceled || response->fragment ||
        !cluster_etcd_space_revision(space, response->header->revision, &rev) ||
        cluster_ids_own(rev) <= changes->told)
        return 0;
    *out = (struct cluster_etcd_told){.rev = rev};
    changes->told = cluster_ids_own(rev);
    return 1;
}

/* Takes the next event. Returns 1: it begins another revision, and was not taken. */
static int take_event(struct cluster_etcd_changes *changes, const struct cluster_etcd_space *space,
                      const struct cluster_span *span, const Etcd__Event *event)
{
    struct cluster_change change;
    uint64_t own;
    int r = read_event(space, span, event, &change);

    own = cluster_ids_own(change.pair.mod_rev);
    if (own != 0 && own <= changes->told)
        r = 0; /* it was told by another session, or lies before the watch */
    else if (r == 0 && changes->count > 0 && own != changes->last)
        return own > changes->last ? 1 : refuse("they are out of order");
    else if (r == 0)
        r = keep(changes, &change);
    if (r == 0 && own > changes->told)
        changes->last = own;
    changes->at += r == 0;
    return r;
}

/* r[impl cluster.store.etcd.watch] */
int cluster_etcd_changes_next(struct cluster_etcd_changes *changes,
                              const struct cluster_etcd_space *space,
                              const struct cluster_span *span, struct cluster_etcd_told *out)
{
    const struct cluster_etcd_batch *batch;
    const Etcd__WatchResponse *response;
    int r;

    if (hub_list_empty(&changes->batches))
        return 0;
    batch = HUB_LIST_ITEM(changes->batches.previous, struct cluster_etcd_batch, link);
    response = batch->response;
    if (changes->count == 0)
        drop_batches(changes, false);
    while (changes->at < response->n_events) {
        r = take_event(changes, space, span, response->events[changes->at]);
        if (r != 0)
            return r < 0 ? r : give(changes, space, out);
    }
    if (!response->fragment && changes->count > 0)
        return give(changes, space, out);
    if (give_mark(changes, space, response, out) > 0)
        return 1;
    if (changes->count == 0)
        drop_batches(changes, true);
    return 0;
}
