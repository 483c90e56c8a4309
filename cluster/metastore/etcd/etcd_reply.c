/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_reply.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/metastore.h"
#include "hub/base/printable.h"

/* Memory that a message of a size may take: small pairs take some 200 bytes for 25. */
#define MEMORY(size) ((size)*16 + (64 << 10))

static int refuse(const char *what)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.hostile",
                        "etcd's answer can be none to what it was asked: %s", what);
}

void cluster_etcd_reply_clear(struct cluster_etcd_answer *answer)
{
    cluster_etcd_arena_fini(&answer->arena);
    *answer = (struct cluster_etcd_answer){0};
}

/* ---- messages ---- */

static void *arena_alloc(void *arena, size_t size)
{
    return cluster_etcd_arena_take(arena, size);
}

static void arena_free(void *arena, void *taken)
{
    (void)arena;
    (void)taken;
}

/* r[impl cluster.store.etcd.hostile] */
static int unpack(struct cluster_etcd_arena *arena, const ProtobufCMessageDescriptor *of,
                  struct rapahub_bytes bytes, const void **out)
{
    ProtobufCAllocator allocator = {
        .alloc = arena_alloc, .free = arena_free, .allocator_data = arena};

    *arena = (struct cluster_etcd_arena){.left = MEMORY(bytes.size)};
    *out = protobuf_c_message_unpack(of, &allocator, bytes.size, bytes.data);
    return *out ? 0 : refuse("it is damaged, or has too many parts");
}

/* An answer is of the etcd that the store is in. */
static int read_header(const struct cluster_etcd_space *space, const Etcd__ResponseHeader *header,
                       uint64_t *revision)
{
    if (!header || !cluster_etcd_space_revision(space, header->revision, revision))
        return refuse("it has no revision");
    if (space->cluster_id != 0 && header->cluster_id != space->cluster_id)
        return refuse("it is of another etcd");
    return 0;
}

/* ---- pairs ---- */

static struct rapahub_bytes bytes_of(ProtobufCBinaryData data)
{
    return (struct rapahub_bytes){data.data, data.len};
}

bool cluster_etcd_reply_pair(const struct cluster_etcd_space *space, const Etcd__KeyValue *from,
                             struct cluster_pair *to)
{
    *to = (struct cluster_pair){.value = bytes_of(from->value), .version = (uint64_t)from->version};
    return cluster_etcd_space_strip(space, bytes_of(from->key), &to->key) && from->version > 0 &&
           from->create_revision <= from->mod_revision &&
           cluster_etcd_space_revision(space, from->create_revision, &to->create_rev) &&
           cluster_etcd_space_revision(space, from->mod_revision, &to->mod_rev);
}

static struct cluster_pair *new_pairs(struct cluster_etcd_answer *out, size_t count)
{
    out->arena.left += (count + 1) * sizeof *out->pairs + 64;
    return cluster_etcd_arena_take(&out->arena, (count + 1) * sizeof *out->pairs);
}

/* ---- transactions ---- */

/* A get of one key. */
static int read_get(const struct cluster_etcd_space *space, const Etcd__ResponseOp *response,
                    struct rapahub_bytes key, struct cluster_pair *to)
{
    const Etcd__RangeResponse *range = response->response_range;

    *to = (struct cluster_pair){.key = key};
    if (response->response_case != ETCD__RESPONSE_OP__RESPONSE_RESPONSE_RANGE || !range)
        return refuse("it gets nothing");
    if (range->n_kvs == 0)
        return 0;
    if (range->n_kvs > 1 || !cluster_etcd_reply_pair(space, range->kvs[0], to) ||
        cluster_txn_order(to->key, key) != 0)
        return refuse("it gets another key");
    return 0;
}

struct list {
    const struct cluster_write *of;
    uint32_t count;
    uint32_t more;  /* that follow the caller's */
    bool gets_only; /* the others were not asked for */
};

static uint32_t asked_of(const struct list *list)
{
    uint32_t asked = 0;

    for (uint32_t i = 0; i < list->count; i++)
        asked += !list->gets_only || list->of[i].kind == CLUSTER_GET;
    return asked + list->more;
}

static int read_list(const struct cluster_etcd_space *space, const Etcd__TxnResponse *txn,
                     const struct list *list, struct cluster_etcd_answer *out)
{
    size_t at = 0;
    int r = 0;

    if (txn->n_responses != asked_of(list))
        return refuse("it has another number of operations");
    out->pairs = new_pairs(out, list->count);
    if (!out->pairs)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "an answer of etcd: out of memory");
    for (uint32_t i = 0; r == 0 && i < list->count; i++) {
        bool gets = list->of[i].kind == CLUSTER_GET;

        if (gets)
            r = read_get(space, txn->responses[at], list->of[i].key, &out->pairs[out->count++]);
        at += gets || !list->gets_only;
    }
    return r;
}

static const Etcd__TxnResponse *nested(const Etcd__TxnResponse *txn, size_t at)
{
    const Etcd__ResponseOp *op = at < txn->n_responses ? txn->responses[at] : NULL;

    return op && op->response_case == ETCD__RESPONSE_OP__RESPONSE_RESPONSE_TXN ? op->response_txn
                                                                               : NULL;
}

/* The transaction ran: now, at the revision of the answer. */
static int read_run(const struct cluster_etcd_space *space, const struct cluster_txn *txn,
                    const Etcd__TxnResponse *run, struct cluster_etcd_answer *out)
{
    struct list list = {.of = txn->then, .count = txn->then_count};

    if (!run->succeeded)
        list = (struct list){.of = txn->otherwise,
                             .count = txn->otherwise_count,
                             .more = cluster_txn_mutates(txn) ? 1 : 0};
    out->status = run->succeeded ? CLUSTER_TXN_OK : CLUSTER_TXN_CONFLICT;
    out->rev = out->revision;
    return read_list(space, run, &list, out);
}

/* Returns the marker, or NULL: there is none. */
static const Etcd__KeyValue *marker_of(const Etcd__TxnResponse *txn)
{
    const Etcd__ResponseOp *op = txn->n_responses == CLUSTER_ETCD_RECALL ? txn->responses[0] : NULL;

    if (!op || op->response_case != ETCD__RESPONSE_OP__RESPONSE_RESPONSE_RANGE ||
        !op->response_range || op->response_range->n_kvs != 1)
        return NULL;
    return op->response_range->kvs[0];
}

/* It ran before, or came too late. The revision of its marker is that of its changes. */
static int read_recall(const struct cluster_etcd_space *space, const struct cluster_txn *txn,
                       const Etcd__TxnResponse *all, struct cluster_etcd_answer *out)
{
    const Etcd__TxnResponse *then = nested(all, 1), *otherwise = nested(all, 2);
    const Etcd__KeyValue *marker = marker_of(all);
    struct list list = {.of = txn->then, .count = txn->then_count, .gets_only = true};

    if (!then || !otherwise || then->succeeded == otherwise->succeeded)
        return refuse("it has no markers");
    out->status = CLUSTER_TXN_DENIED;
    out->rev = out->revision;
    if (!marker)
        return 0;
    if (!cluster_etcd_space_revision(space, marker->mod_revision, &out->rev))
        return refuse("its marker has no revision");
    out->status = then->succeeded ? CLUSTER_TXN_OK : CLUSTER_TXN_CONFLICT;
    if (then->succeeded)
        return read_list(space, then, &list, out);
    list.of = txn->otherwise;
    list.count = txn->otherwise_count;
    return read_list(space, otherwise, &list, out);
}

static int read_txn(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                    struct cluster_etcd_answer *out, const Etcd__TxnResponse **txn)
{
    const void *read;
    int r = unpack(&out->arena, &etcd__txn_response__descriptor, bytes, &read);

    *txn = read;
    return r < 0 ? r : read_header(space, (*txn)->header, &out->revision);
}

int cluster_etcd_reply_txn(const struct cluster_etcd_space *space, const struct cluster_txn *txn,
                           struct rapahub_bytes bytes, struct cluster_etcd_answer *out)
{
    const Etcd__TxnResponse *all;
    int r = read_txn(space, bytes, out, &all);

    if (r < 0 || !cluster_txn_mutates(txn))
        return r < 0 ? r : read_run(space, txn, all, out);
    if (!all->succeeded)
        return read_recall(space, txn, all, out);
    if (all->n_responses != CLUSTER_ETCD_RAN || !nested(all, CLUSTER_ETCD_RAN - 1))
        return refuse("nothing ran");
    return read_run(space, txn, nested(all, CLUSTER_ETCD_RAN - 1), out);
}

int cluster_etcd_reply_recall(const struct cluster_etcd_space *space, const struct cluster_txn *txn,
                              struct rapahub_bytes bytes, struct cluster_etcd_answer *out)
{
    const Etcd__TxnResponse *all;
    int r = read_txn(space, bytes, out, &all);

    if (r < 0)
        return r;
    if (!all->succeeded)
        return read_recall(space, txn, all, out);
    out->status = CLUSTER_TXN_NO_SPACE;
    out->rev = out->revision;
    return all->n_responses == 0 ? 0 : refuse("it did what it was not asked for");
}

/* ---- all others ---- */

/* Takes pairs as far as they are in order, and together not too large. */
static int read_page(const struct cluster_etcd_space *space,
                     const struct cluster_etcd_request_range *asked,
                     const Etcd__RangeResponse *range, struct cluster_etcd_answer *out)
{
    size_t bytes = 0;

    for (size_t i = 0; i < range->n_kvs; i++) {
        struct cluster_pair *pair = &out->pairs[i];

        if (!cluster_etcd_reply_pair(space, range->kvs[i], pair) ||
            cluster_txn_order(pair->key, i > 0 ? pair[-1].key : asked->span.from) < (i > 0) ||
            cluster_txn_order(pair->key, asked->span.to) >= 0)
            return refuse("it has keys that are out of order, or of the span");
        bytes += pair->key.size + pair->value.size;
        if (i > 0 && bytes > CLUSTER_METASTORE_PAGE_MAX) {
            out->more = true;
            return 0;
        }
        out->count++;
    }
    return 0;
}

int cluster_etcd_reply_range(const struct cluster_etcd_space *space,
                             const struct cluster_etcd_request_range *asked,
                             struct rapahub_bytes bytes, struct cluster_etcd_answer *out)
{
    const Etcd__RangeResponse *range;
    const void *read;
    int r = unpack(&out->arena, &etcd__range_response__descriptor, bytes, &read);

    if (r < 0)
        return r;
    range = read;
    r = read_header(space, range->header, &out->revision);
    if (r < 0)
        return r;
    if (range->n_kvs > asked->limit || (range->more && range->n_kvs == 0))
        return refuse("it has another number of pairs");
    out->pairs = new_pairs(out, range->n_kvs);
    if (!out->pairs)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "an answer of etcd: out of memory");
    out->status = CLUSTER_TXN_OK;
    out->rev = asked->span.rev != 0 && !asked->stale ? asked->span.rev : out->revision;
    out->more = range->more;
    return read_page(space, asked, range, out);
}

int cluster_etcd_reply_compact(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                               struct cluster_etcd_answer *out)
{
    const Etcd__CompactionResponse *compaction;
    const void *read;
    int r = unpack(&out->arena, &etcd__compaction_response__descriptor, bytes, &read);

    if (r < 0)
        return r;
    compaction = read;
    r = read_header(space, compaction->header, &out->revision);
    out->status = CLUSTER_TXN_OK;
    out->rev = out->revision;
    return r;
}

int cluster_etcd_reply_meta(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                            struct cluster_etcd_answer *out, struct rapahub_bytes *value,
                            uint64_t *created)
{
    const Etcd__RangeResponse *range;
    const void *read;
    int r = unpack(&out->arena, &etcd__range_response__descriptor, bytes, &read);

    if (r < 0)
        return r;
    range = read;
    r = read_header(space, range->header, &out->revision);
    if (r < 0)
        return r;
    out->rev = out->revision;
    out->status = range->n_kvs == 0 ? CLUSTER_TXN_NOT_APPLIED : CLUSTER_TXN_OK;
    if (range->n_kvs == 0)
        return 0;
    *value = bytes_of(range->kvs[0]->value);
    *created = (uint64_t)range->kvs[0]->create_revision;
    return range->n_kvs == 1 && range->kvs[0]->create_revision > 0 ? 0 : refuse("its meta is none");
}

int cluster_etcd_reply_create(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                              struct cluster_etcd_answer *out)
{
    const Etcd__TxnResponse *txn;
    int r = read_txn(space, bytes, out, &txn);

    if (r < 0)
        return r;
    out->status = txn->succeeded ? CLUSTER_TXN_OK : CLUSTER_TXN_CONFLICT;
    out->rev = out->revision;
    return 0;
}

int cluster_etcd_reply_status(struct rapahub_bytes bytes, struct cluster_etcd_member_status *out)
{
    struct cluster_etcd_arena arena;
    const Etcd__StatusResponse *status;
    const void *read;
    int r = unpack(&arena, &etcd__status_response__descriptor, bytes, &read);

    *out = (struct cluster_etcd_member_status){0};
    status = read;
    if (r == 0 && (!status->header || status->header->cluster_id == 0 || status->version.len == 0))
        r = refuse("it has no version");
    if (r == 0) {
        out->cluster_id = status->header->cluster_id;
        out->has_leader = status->leader != 0;
        snprintf(out->version, sizeof out->version, "%.*s", (int)(status->version.len % 64),
                 (const char *)status->version.data);
        hub_printable_mend(out->version);
    }
    cluster_etcd_arena_fini(&arena);
    return r;
}

int cluster_etcd_reply_watch(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                             struct cluster_etcd_arena *arena, const Etcd__WatchResponse **out)
{
    uint64_t revision;
    const void *read;
    int r = unpack(arena, &etcd__watch_response__descriptor, bytes, &read);

    if (r < 0)
        return r;
    *out = read;
    /* The end of a watch that was refused has no revision. */
    return (*out)->canceled ? 0 : read_header(space, (*out)->header, &revision);
}
