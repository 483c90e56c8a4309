/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_request.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/metastore/etcd/etcd_arena.h"
#include "cluster/metastore/etcd/rpc.pb-c.h"
#include "hub/base/check.h"

#define PART  2048 /* bytes that a compare, a write or a transaction takes of the arena, at most */
#define PARTS 24   /* a transaction has so many besides its own */

struct build {
    struct cluster_etcd_arena arena; /* large enough, as PART says */
    const struct cluster_etcd_space *space;
};

struct ops {
    Etcd__RequestOp **of;
    size_t count;
};

static void *take(struct build *build, size_t size)
{
    void *taken = cluster_etcd_arena_take(&build->arena, size);

    CHECK(taken != NULL);
    return taken;
}

/* The arena has one chunk, so that only this can fail. */
static int begin(struct build *build, const struct cluster_etcd_space *space, size_t parts)
{
    size_t size = (parts + PARTS) * PART;

    *build = (struct build){.arena = {.left = size}, .space = space};
    return cluster_etcd_arena_reserve(&build->arena, size);
}

/* r[impl cluster.store.etcd.request] */
static int pack(const ProtobufCMessage *message, struct cluster_etcd_message *out)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    if (size > CLUSTER_ETCD_REQUEST_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "cluster.store.etcd.request",
                            "a request to etcd has %zu bytes, the limit is %zu", size,
                            CLUSTER_ETCD_REQUEST_MAX);
    out->data = malloc(size + 1);
    if (!out->data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "a request to etcd: out of memory");
    out->size = protobuf_c_message_pack(message, out->data);
    return 0;
}

/* ---- keys ---- */

/* protobuf-c has no type for bytes that it only reads. */
static ProtobufCBinaryData view(const void *data, size_t size)
{
    return (ProtobufCBinaryData){size, (uint8_t *)(uintptr_t)data};
}

static ProtobufCBinaryData text(const char *of)
{
    return view(of, strlen(of));
}

static ProtobufCBinaryData key_of(struct build *build, struct rapahub_bytes key)
{
    const struct cluster_etcd_space *space = build->space;
    char *bytes = take(build, space->lead_size + key.size);

    memcpy(bytes, space->lead, space->lead_size);
    memcpy(bytes + space->lead_size, key.data, key.size);
    return view(bytes, space->lead_size + key.size);
}

/* ---- compares ---- */

static Etcd__Compare *new_compare(struct build *build, ProtobufCBinaryData key)
{
    Etcd__Compare *compare = take(build, sizeof *compare);

    etcd__compare__init(compare);
    compare->key = key;
    return compare;
}

/* Holds where none of the keys exists. */
static Etcd__Compare *absent(struct build *build, ProtobufCBinaryData from, ProtobufCBinaryData to)
{
    Etcd__Compare *compare = new_compare(build, from);

    compare->target = ETCD__COMPARE__TARGET__CREATE;
    compare->target_union_case = ETCD__COMPARE__TARGET_UNION_CREATE_REVISION;
    compare->range_end = to;
    return compare;
}

static Etcd__Compare *has_value(struct build *build, ProtobufCBinaryData key,
                                ProtobufCBinaryData value)
{
    Etcd__Compare *compare = new_compare(build, key);

    compare->target = ETCD__COMPARE__TARGET__VALUE;
    compare->target_union_case = ETCD__COMPARE__TARGET_UNION_VALUE;
    compare->value = value;
    return compare;
}

/* A revision of another generation is none of etcd's: with it no compare holds. */
static int64_t own_of(const struct build *build, uint64_t rev)
{
    return cluster_ids_generation(rev) == build->space->generation ? (int64_t)cluster_ids_own(rev)
                                                                   : -1;
}

static Etcd__Compare *compare_of(struct build *build, const struct cluster_compare *of)
{
    ProtobufCBinaryData key = key_of(build, of->key);
    Etcd__Compare *compare;

    if (of->kind == CLUSTER_VALUE_EQ)
        return has_value(build, key, view(of->value.data, of->value.size));
    compare = absent(build, key, view(NULL, 0));
    if (of->kind == CLUSTER_PRESENT) {
        compare->result = ETCD__COMPARE__RESULT__GREATER;
    } else if (of->kind == CLUSTER_CREATE_EQ) {
        compare->create_revision = own_of(build, of->rev);
    } else if (of->kind == CLUSTER_MOD_EQ) {
        compare->target = ETCD__COMPARE__TARGET__MOD;
        compare->target_union_case = ETCD__COMPARE__TARGET_UNION_MOD_REVISION;
        compare->mod_revision = own_of(build, of->rev);
    }
    return compare;
}

/* ---- operations ---- */

static Etcd__RequestOp *new_op(struct build *build, Etcd__RequestOp__RequestCase of)
{
    Etcd__RequestOp *op = take(build, sizeof *op);

    etcd__request_op__init(op);
    op->request_case = of;
    return op;
}

static Etcd__RequestOp *get(struct build *build, ProtobufCBinaryData key)
{
    Etcd__RequestOp *op = new_op(build, ETCD__REQUEST_OP__REQUEST_REQUEST_RANGE);

    op->request_range = take(build, sizeof *op->request_range);
    etcd__range_request__init(op->request_range);
    op->request_range->key = key;
    return op;
}

static Etcd__RequestOp *put(struct build *build, ProtobufCBinaryData key, ProtobufCBinaryData value)
{
    Etcd__RequestOp *op = new_op(build, ETCD__REQUEST_OP__REQUEST_REQUEST_PUT);

    op->request_put = take(build, sizeof *op->request_put);
    etcd__put_request__init(op->request_put);
    op->request_put->key = key;
    op->request_put->value = value;
    return op;
}

static Etcd__RequestOp *drop(struct build *build, ProtobufCBinaryData from, ProtobufCBinaryData to)
{
    Etcd__RequestOp *op = new_op(build, ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE);

    op->request_delete_range = take(build, sizeof *op->request_delete_range);
    etcd__delete_range_request__init(op->request_delete_range);
    op->request_delete_range->key = from;
    op->request_delete_range->range_end = to;
    return op;
}

static Etcd__RequestOp *nested(struct build *build, Etcd__TxnRequest *txn)
{
    Etcd__RequestOp *op = new_op(build, ETCD__REQUEST_OP__REQUEST_REQUEST_TXN);

    op->request_txn = txn;
    return op;
}

static Etcd__RequestOp *op_of(struct build *build, const struct cluster_write *write)
{
    ProtobufCBinaryData key = key_of(build, write->key);

    if (write->kind == CLUSTER_GET)
        return get(build, key);
    if (write->kind == CLUSTER_PUT)
        return put(build, key, view(write->value.data, write->value.size));
    return drop(build, key, view(NULL, 0));
}

/* ---- transactions ---- */

static Etcd__TxnRequest *new_txn(struct build *build)
{
    Etcd__TxnRequest *txn = take(build, sizeof *txn);

    etcd__txn_request__init(txn);
    return txn;
}

static struct ops new_ops(struct build *build, size_t most)
{
    return (struct ops){.of = take(build, (most + 1) * sizeof(Etcd__RequestOp *))};
}

/* Adds those of a list, or only what it gets. */
static void add_list(struct build *build, struct ops *ops, const struct cluster_write *list,
                     uint32_t count, bool gets_only)
{
    for (uint32_t i = 0; i < count; i++)
        if (!gets_only || list[i].kind == CLUSTER_GET)
            ops->of[ops->count++] = op_of(build, &list[i]);
}

static void set_compares(struct build *build, Etcd__TxnRequest *to, const struct cluster_txn *txn)
{
    to->compare = take(build, (txn->compares_count + 1) * sizeof *to->compare);
    for (; to->n_compare < txn->compares_count; to->n_compare++)
        to->compare[to->n_compare] = compare_of(build, &txn->compares[to->n_compare]);
}

/* The transaction as it is; its marker, if it has one, says whether its compares held. */
static Etcd__TxnRequest *run_of(struct build *build, const struct cluster_txn *txn,
                                const struct cluster_etcd_space_marker *marker)
{
    Etcd__TxnRequest *run = new_txn(build);
    struct ops then = new_ops(build, txn->then_count);
    struct ops otherwise = new_ops(build, txn->otherwise_count + 1);

    set_compares(build, run, txn);
    add_list(build, &then, txn->then, txn->then_count, false);
    add_list(build, &otherwise, txn->otherwise, txn->otherwise_count, false);
    if (marker)
        otherwise.of[otherwise.count++] = put(build, text(marker->conflict), view(NULL, 0));
    run->success = then.of;
    run->n_success = then.count;
    run->failure = otherwise.of;
    run->n_failure = otherwise.count;
    return run;
}

/* The gets of a list, if the marker says that it ran. */
static Etcd__RequestOp *recall(struct build *build, const struct cluster_etcd_space_marker *marker,
                               bool conflict, const struct cluster_write *list, uint32_t count)
{
    Etcd__TxnRequest *txn = new_txn(build);
    struct ops gets = new_ops(build, count);
    Etcd__Compare *compare = absent(build, text(marker->conflict), view(NULL, 0));

    txn->compare = take(build, sizeof *txn->compare);
    txn->compare[txn->n_compare++] = compare;
    if (conflict)
        compare->result = ETCD__COMPARE__RESULT__GREATER;
    add_list(build, &gets, list, count, true);
    txn->success = gets.of;
    txn->n_success = gets.count;
    return nested(build, txn);
}

/* The markers of earlier lives of the node go, and the last one of the slot. */
static void run_once(struct build *build, Etcd__TxnRequest *all, const struct cluster_txn *txn,
                     const struct cluster_etcd_space_marker *marker)
{
    struct ops then = new_ops(build, CLUSTER_ETCD_RAN);

    then.of[then.count++] = drop(build, text(marker->boots_from), text(marker->boots_to));
    then.of[then.count++] = drop(build, text(marker->slot_from), text(marker->own));
    then.of[then.count++] = put(build, text(marker->own), view(NULL, 0));
    then.of[then.count++] = nested(build, run_of(build, txn, marker));
    all->success = then.of;
    all->n_success = then.count;
}

/* It runs where there is no marker of it, or of what comes later; else the markers are read. What
 * it does then is the caller's. r[impl cluster.store.etcd.marker] */
static Etcd__TxnRequest *unless_run(struct build *build, const struct cluster_txn *txn,
                                    const struct cluster_etcd_space_marker *marker)
{
    Etcd__TxnRequest *all = new_txn(build);
    struct ops otherwise = new_ops(build, CLUSTER_ETCD_RECALL);

    all->compare = take(build, 2 * sizeof *all->compare);
    all->compare[all->n_compare++] = absent(build, text(marker->own), text(marker->slot_to));
    if (marker->later_from[0])
        all->compare[all->n_compare++] =
            absent(build, text(marker->later_from), text(marker->later_to));
    otherwise.of[otherwise.count++] = get(build, text(marker->own));
    otherwise.of[otherwise.count++] = recall(build, marker, false, txn->then, txn->then_count);
    otherwise.of[otherwise.count++] =
        recall(build, marker, true, txn->otherwise, txn->otherwise_count);
    all->failure = otherwise.of;
    all->n_failure = otherwise.count;
    return all;
}

static size_t parts_of(const struct cluster_txn *txn)
{
    return txn->compares_count + 2 * ((size_t)txn->then_count + txn->otherwise_count);
}

int cluster_etcd_request_txn(const struct cluster_etcd_space *space, const struct cluster_txn *txn,
                             struct cluster_etcd_message *out)
{
    struct cluster_etcd_space_marker marker;
    Etcd__TxnRequest *all;
    struct build build;
    int r = begin(&build, space, parts_of(txn));

    if (r < 0)
        return r;
    if (cluster_txn_mutates(txn)) {
        cluster_etcd_space_mark(space, txn->id, &marker);
        all = unless_run(&build, txn, &marker);
        run_once(&build, all, txn, &marker);
        r = pack(&all->base, out);
    } else {
        r = pack(&run_of(&build, txn, NULL)->base, out);
    }
    cluster_etcd_arena_fini(&build.arena);
    return r;
}

int cluster_etcd_request_recall(const struct cluster_etcd_space *space,
                                const struct cluster_txn *txn, struct cluster_etcd_message *out)
{
    struct cluster_etcd_space_marker marker;
    struct build build;
    int r = begin(&build, space, parts_of(txn));

    if (r < 0)
        return r;
    cluster_etcd_space_mark(space, txn->id, &marker);
    r = pack(&unless_run(&build, txn, &marker)->base, out);
    cluster_etcd_arena_fini(&build.arena);
    return r;
}

/* ---- all others ---- */

int cluster_etcd_request_range(const struct cluster_etcd_space *space,
                               const struct cluster_etcd_request_range *range,
                               struct cluster_etcd_message *out)
{
    Etcd__RangeRequest request = ETCD__RANGE_REQUEST__INIT;
    struct build build;
    int r = begin(&build, space, 1);

    if (r < 0)
        return r;
    request.key = key_of(&build, range->span.from);
    request.range_end = key_of(&build, range->span.to);
    request.limit = (int64_t)range->limit;
    request.revision = range->stale ? 0 : (int64_t)cluster_ids_own(range->span.rev);
    request.serializable = range->stale;
    r = pack(&request.base, out);
    cluster_etcd_arena_fini(&build.arena);
    return r;
}

int cluster_etcd_request_compact(uint64_t before, struct cluster_etcd_message *out)
{
    Etcd__CompactionRequest request = ETCD__COMPACTION_REQUEST__INIT;

    request.revision = (int64_t)cluster_ids_own(before);
    return pack(&request.base, out);
}

int cluster_etcd_request_meta(const struct cluster_etcd_space *space,
                              struct cluster_etcd_message *out)
{
    Etcd__RangeRequest request = ETCD__RANGE_REQUEST__INIT;
    char meta[CLUSTER_ETCD_SPACE_NAME];

    request.key = view(meta, cluster_etcd_space_meta(space, meta));
    return pack(&request.base, out);
}

/* A transaction whose other list reads it, so that two that make it at once get the same. */
int cluster_etcd_request_create(const struct cluster_etcd_space *space, const char *value,
                                struct cluster_etcd_message *out)
{
    char meta[CLUSTER_ETCD_SPACE_NAME];
    Etcd__TxnRequest *txn;
    struct build build;
    struct ops then;
    int r = begin(&build, space, 1);

    if (r < 0)
        return r;
    cluster_etcd_space_meta(space, meta);
    txn = new_txn(&build);
    then = new_ops(&build, 1);
    txn->compare = take(&build, sizeof *txn->compare);
    txn->compare[txn->n_compare++] = absent(&build, text(meta), view(NULL, 0));
    then.of[then.count++] = put(&build, text(meta), text(value));
    txn->success = then.of;
    txn->n_success = then.count;
    r = pack(&txn->base, out);
    cluster_etcd_arena_fini(&build.arena);
    return r;
}

/* It begins at the last revision that is known, of which nothing is told: so etcd says COMPACTED
 * exactly where this revision can be read no more, and no deletion is lost that it compacted to. */
int cluster_etcd_request_watch(const struct cluster_etcd_space *space,
                               const struct cluster_span *span, uint64_t watch, uint64_t after,
                               struct cluster_etcd_message *out)
{
    Etcd__WatchCreateRequest create = ETCD__WATCH_CREATE_REQUEST__INIT;
    Etcd__WatchRequest request = ETCD__WATCH_REQUEST__INIT;
    struct build build;
    int r = begin(&build, space, 1);

    if (r < 0)
        return r;
    create.key = key_of(&build, span->from);
    create.range_end = key_of(&build, span->to);
    create.start_revision = (int64_t)after;
    create.progress_notify = true;
    create.prev_kv = true;
    create.watch_id = (int64_t)watch;
    create.fragment = true;
    request.request_union_case = ETCD__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
    request.create_request = &create;
    r = pack(&request.base, out);
    cluster_etcd_arena_fini(&build.arena);
    return r;
}

int cluster_etcd_request_unwatch(uint64_t watch, struct cluster_etcd_message *out)
{
    Etcd__WatchCancelRequest cancel = ETCD__WATCH_CANCEL_REQUEST__INIT;
    Etcd__WatchRequest request = ETCD__WATCH_REQUEST__INIT;

    cancel.watch_id = (int64_t)watch;
    request.request_union_case = ETCD__WATCH_REQUEST__REQUEST_UNION_CANCEL_REQUEST;
    request.cancel_request = &cancel;
    return pack(&request.base, out);
}
