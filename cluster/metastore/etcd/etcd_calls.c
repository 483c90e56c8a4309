/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/metastore/etcd/etcd_status.h"
#include "cluster/metastore/txn_copy.h"
#include "hub/base/clock.h"

#define TRY_NS (1500 * HUB_MILLISECOND) /* for an answer by one member */
#define ALL_NS (5 * HUB_SECOND)         /* for the end, over all members */

#define LIMIT_LEAD  1024 /* pairs of a page, at first */
#define LIMIT_STEP  8    /* so many times fewer, if that was too large */
#define PAGE_ANSWER ((size_t)8 << 20)
#define SMALL       ((size_t)64 << 10) /* an answer without pairs */
#define PAIR_ANSWER (CLUSTER_TXN_VALUE_MAX + CLUSTER_TXN_KEY_MAX + 256)

void cluster_etcd_calls_init(struct cluster_etcd_calls *calls,
                             const struct cluster_etcd_space *space)
{
    *calls = (struct cluster_etcd_calls){.space = space};
    hub_list_init(&calls->waiting);
    hub_list_init(&calls->sent);
    hub_list_init(&calls->ended);
}

static void free_call(struct cluster_etcd_call *call)
{
    cluster_etcd_reply_clear(&call->answer);
    free(call->message.data);
    free(call->txn);
    free(call);
}

/* ---- requests ---- */

static struct cluster_etcd_call *new_call(struct cluster_etcd_calls *calls,
                                          enum cluster_etcd_call_kind kind, size_t bytes)
{
    struct cluster_etcd_call *call = calloc(1, sizeof *call + bytes);

    if (!call) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "a request to etcd: out of memory");
        return NULL;
    }
    hub_list_init(&call->link);
    call->kind = kind;
    call->number = ++calls->last;
    return call;
}

static struct cluster_etcd_call *made(struct cluster_etcd_call *call, int failure)
{
    if (failure == 0)
        return call;
    free_call(call);
    return NULL;
}

static uint32_t strip(const struct cluster_write *from, uint32_t count, struct cluster_write *to)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = (struct cluster_write){.kind = from[i].kind, .key = from[i].key};
    return count;
}

/* The answer is read by the lists; values and compares are in the message. */
static struct cluster_txn *copy_lists(const struct cluster_txn *txn)
{
    struct cluster_write then[CLUSTER_TXN_LIST_MAX], otherwise[CLUSTER_TXN_LIST_MAX];
    struct cluster_txn lists = {.id = txn->id, .then = then, .otherwise = otherwise};

    lists.then_count = strip(txn->then, txn->then_count, then);
    lists.otherwise_count = strip(txn->otherwise, txn->otherwise_count, otherwise);
    return cluster_txn_copy(&lists);
}

struct cluster_etcd_call *cluster_etcd_calls_txn(struct cluster_etcd_calls *calls,
                                                 const struct cluster_txn *txn, int *failure)
{
    struct cluster_etcd_call *call = new_call(calls, CLUSTER_ETCD_TXN, 0);

    *failure = -ENOMEM;
    if (!call)
        return NULL;
    call->txn = copy_lists(txn);
    if (call->txn)
        *failure = cluster_etcd_request_txn(calls->space, txn, &call->message);
    return made(call, *failure);
}

static void copy_span(struct cluster_etcd_call *call, const struct cluster_span *span)
{
    memcpy(call->bytes, span->from.data, span->from.size);
    memcpy(call->bytes + span->from.size, span->to.data, span->to.size);
    call->range.span = *span;
    call->range.span.from.data = call->bytes;
    call->range.span.to.data = call->bytes + span->from.size;
    call->range.limit = span->pairs_max < LIMIT_LEAD ? span->pairs_max : LIMIT_LEAD;
    call->range.stale = call->kind == CLUSTER_ETCD_PEEK;
}

struct cluster_etcd_call *cluster_etcd_calls_read(struct cluster_etcd_calls *calls,
                                                  enum cluster_etcd_call_kind kind,
                                                  const struct cluster_span *span, int *failure)
{
    size_t bytes = span ? span->from.size + span->to.size : 0;
    struct cluster_etcd_call *call = new_call(calls, kind, bytes);

    *failure = -ENOMEM;
    if (!call)
        return NULL;
    if (span) {
        copy_span(call, span);
        *failure = cluster_etcd_request_range(calls->space, &call->range, &call->message);
    } else {
        *failure = cluster_etcd_request_meta(calls->space, &call->message);
    }
    return made(call, *failure);
}

struct cluster_etcd_call *cluster_etcd_calls_compact(struct cluster_etcd_calls *calls,
                                                     uint64_t before, int *failure)
{
    struct cluster_etcd_call *call = new_call(calls, CLUSTER_ETCD_COMPACT, 0);

    *failure = -ENOMEM;
    if (!call)
        return NULL;
    *failure = cluster_etcd_request_compact(before, &call->message);
    return made(call, *failure);
}

static uint64_t *count_of(struct cluster_etcd_calls *calls, const struct cluster_etcd_call *call)
{
    return call->kind == CLUSTER_ETCD_TXN ? &calls->txns : &calls->reads;
}

void cluster_etcd_calls_add(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call)
{
    *count_of(calls, call) += call->kind != CLUSTER_ETCD_CHECK;
    hub_list_append(&calls->waiting, &call->link);
}

/* It is at most in one of the lists. */
static void end(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call, int status)
{
    if (status != CLUSTER_TXN_OK && status != CLUSTER_TXN_CONFLICT)
        cluster_etcd_reply_clear(&call->answer);
    call->answer.status = status;
    hub_list_remove(&call->link);
    hub_list_append(&calls->ended, &call->link);
}

void cluster_etcd_calls_add_ended(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call,
                                  int status)
{
    cluster_etcd_calls_add(calls, call);
    end(calls, call, status);
}

/* ---- sending ---- */

/* The largest answer that can be one. */
static size_t answer_max(const struct cluster_etcd_call *call)
{
    size_t gets = 0, others = 0;

    if (call->kind == CLUSTER_ETCD_RANGE || call->kind == CLUSTER_ETCD_PEEK)
        return PAGE_ANSWER;
    if (call->kind != CLUSTER_ETCD_TXN)
        return SMALL;
    for (uint32_t i = 0; i < call->txn->then_count; i++)
        gets += call->txn->then[i].kind == CLUSTER_GET;
    for (uint32_t i = 0; i < call->txn->otherwise_count; i++)
        others += call->txn->otherwise[i].kind == CLUSTER_GET;
    return SMALL + (gets > others ? gets : others) * PAIR_ANSWER;
}

/* A sync comes after all transactions that were submitted before it: it waits for their ends, since
 * etcd keeps no order between streams. */
static bool may_send(struct cluster_etcd_calls *calls, const struct cluster_etcd_call *call)
{
    if (call->kind != CLUSTER_ETCD_SYNC)
        return true;
    HUB_LIST_EACH (&calls->sent, link) {
        const struct cluster_etcd_call *other = HUB_LIST_ITEM(link, struct cluster_etcd_call, link);

        if (other->kind == CLUSTER_ETCD_TXN && other->number < call->number)
            return false;
    }
    return true;
}

static const char *path_of(const struct cluster_etcd_call *call)
{
    if (call->kind == CLUSTER_ETCD_TXN)
        return "/etcdserverpb.KV/Txn";
    return call->kind == CLUSTER_ETCD_COMPACT ? "/etcdserverpb.KV/Compact"
                                              : "/etcdserverpb.KV/Range";
}

static int send_one(struct cluster_etcd_call *call, struct cluster_grpc *grpc)
{
    const struct cluster_grpc_request request = {
        .path = path_of(call),
        .message = {call->message.data, call->message.size},
        .answer_max = answer_max(call),
    };

    call->tried_ns = 0;
    call->answered = false;
    return cluster_grpc_call(grpc, &request, call, &call->stream);
}

void cluster_etcd_calls_send(struct cluster_etcd_calls *calls, struct cluster_grpc *grpc)
{
    HUB_LIST_EACH (&calls->waiting, link) {
        struct cluster_etcd_call *call = HUB_LIST_ITEM(link, struct cluster_etcd_call, link);

        if (!may_send(calls, call))
            continue;
        if (send_one(call, grpc) < 0)
            return;
        hub_list_remove(&call->link);
        hub_list_append(&calls->sent, &call->link);
    }
}

/* ---- answers ---- */

int cluster_etcd_calls_message(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call,
                               struct rapahub_bytes message)
{
    struct rapahub_bytes value;
    uint64_t created;
    int r;

    if (call->answered)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.hostile",
                            "etcd answers one request twice");
    call->answered = true;
    if (call->recalls)
        r = cluster_etcd_reply_recall(calls->space, call->txn, message, &call->answer);
    else if (call->kind == CLUSTER_ETCD_TXN)
        r = cluster_etcd_reply_txn(calls->space, call->txn, message, &call->answer);
    else if (call->kind == CLUSTER_ETCD_COMPACT)
        r = cluster_etcd_reply_compact(calls->space, message, &call->answer);
    else if (call->kind == CLUSTER_ETCD_SYNC || call->kind == CLUSTER_ETCD_CHECK)
        r = cluster_etcd_reply_meta(calls->space, message, &call->answer, &value, &created);
    else
        r = cluster_etcd_reply_range(calls->space, &call->range, message, &call->answer);
    if (r == 0 && call->answer.revision > calls->revision)
        calls->revision = call->answer.revision;
    return r;
}

static bool mutates(const struct cluster_etcd_call *call)
{
    return call->kind == CLUSTER_ETCD_COMPACT ||
           (call->kind == CLUSTER_ETCD_TXN && !call->recalls && cluster_txn_mutates(call->txn));
}

/* How it ends where nothing more is known of it. */
static int status_without_answer(const struct cluster_etcd_call *call)
{
    return mutates(call) || call->recalls ? CLUSTER_TXN_UNKNOWN : CLUSTER_TXN_NOT_APPLIED;
}

/* It is sent before all that wait. */
static void wait_first(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call)
{
    hub_list_remove(&call->link);
    hub_list_append(calls->waiting.next, &call->link);
}

/* etcd looks for space when it is asked, and again when it does it; what fails the second look is
 * done nevertheless, and answered as if it were not. Only the marker tells.
 * r[impl cluster.store.etcd.space] */
static bool ask_whether_it_ran(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call)
{
    struct cluster_etcd_message message;

    if (cluster_etcd_request_recall(calls->space, call->txn, &message) < 0) {
        rapahub_clear_error();
        return false;
    }
    cluster_etcd_reply_clear(&call->answer);
    free(call->message.data);
    call->message = message;
    call->recalls = true;
    wait_first(calls, call);
    return true;
}

/* A page that is too large is asked for again, with fewer pairs. */
static bool ask_for_less(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call)
{
    struct cluster_etcd_message message;

    if (call->kind != CLUSTER_ETCD_RANGE && call->kind != CLUSTER_ETCD_PEEK)
        return false;
    if (call->range.limit == 1)
        return false;
    call->range.limit = call->range.limit > LIMIT_STEP ? call->range.limit / LIMIT_STEP : 1;
    if (cluster_etcd_request_range(calls->space, &call->range, &message) < 0)
        return false;
    free(call->message.data);
    call->message = message;
    hub_list_remove(&call->link);
    hub_list_append(&calls->waiting, &call->link);
    return true;
}

/* A compaction to what was compacted before is one that was asked for again. */
static int status_of(const struct cluster_etcd_call *call, const struct cluster_grpc_end *over)
{
    int status = (int)cluster_etcd_status_of(over, mutates(call));

    if (call->recalls || over->status == CLUSTER_GRPC_OK)
        return status_without_answer(call);
    if (call->kind == CLUSTER_ETCD_COMPACT && status == CLUSTER_TXN_COMPACTED)
        return CLUSTER_TXN_OK;
    return status;
}

void cluster_etcd_calls_over(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call,
                             const struct cluster_grpc_end *over)
{
    bool answered = over->status == CLUSTER_GRPC_OK && call->answered;
    int status = status_of(call, over);

    if (answered && (call->kind == CLUSTER_ETCD_SYNC || call->kind == CLUSTER_ETCD_CHECK))
        end(calls, call, CLUSTER_TXN_OK);
    else if (answered)
        end(calls, call, call->answer.status);
    else if (over->too_large && ask_for_less(calls, call))
        return;
    else if (status != CLUSTER_TXN_NO_SPACE || call->kind != CLUSTER_ETCD_TXN || !mutates(call))
        end(calls, call, status);
    else if (!ask_whether_it_ran(calls, call))
        end(calls, call, CLUSTER_TXN_UNKNOWN);
}

/* ---- sessions and time ---- */

/* r[impl cluster.store.etcd.outcome] */
void cluster_etcd_calls_down(struct cluster_etcd_calls *calls)
{
    struct hub_list *last;

    while ((last = calls->sent.previous) != &calls->sent) {
        struct cluster_etcd_call *call = HUB_LIST_ITEM(last, struct cluster_etcd_call, link);

        cluster_etcd_reply_clear(&call->answer);
        call->tried_ns = 0;
        if (mutates(call))
            end(calls, call, CLUSTER_TXN_UNKNOWN);
        else
            wait_first(calls, call);
    }
}

bool cluster_etcd_calls_expire(struct cluster_etcd_calls *calls, uint64_t now_ns)
{
    bool silent = false;

    HUB_LIST_EACH (&calls->waiting, link) {
        struct cluster_etcd_call *call = HUB_LIST_ITEM(link, struct cluster_etcd_call, link);

        if (call->deadline_ns != 0 && now_ns >= call->deadline_ns)
            end(calls, call, call->recalls ? CLUSTER_TXN_UNKNOWN : CLUSTER_TXN_NOT_APPLIED);
    }
    HUB_LIST_EACH (&calls->sent, link) {
        const struct cluster_etcd_call *call = HUB_LIST_ITEM(link, struct cluster_etcd_call, link);

        silent |= (call->tried_ns != 0 && now_ns >= call->tried_ns) ||
                  (call->deadline_ns != 0 && now_ns >= call->deadline_ns);
    }
    return silent;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t cluster_etcd_calls_due(struct cluster_etcd_calls *calls, uint64_t now_ns)
{
    uint64_t due_ns = hub_list_empty(&calls->ended) ? HUB_NEVER : now_ns;

    for (int sent = 0; sent < 2; sent++) {
        HUB_LIST_EACH (sent ? &calls->sent : &calls->waiting, link) {
            struct cluster_etcd_call *call = HUB_LIST_ITEM(link, struct cluster_etcd_call, link);

            if (call->deadline_ns == 0)
                call->deadline_ns = now_ns + ALL_NS;
            if (sent && call->tried_ns == 0)
                call->tried_ns = now_ns + TRY_NS;
            due_ns = earlier(due_ns, call->deadline_ns);
            if (sent)
                due_ns = earlier(due_ns, call->tried_ns);
        }
    }
    return due_ns;
}

/* ---- ends ---- */

static void tell(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call)
{
    const struct cluster_etcd_answer *answer = &call->answer;

    *count_of(calls, call) -= call->kind != CLUSTER_ETCD_CHECK;
    calls->told_txns += call->kind == CLUSTER_ETCD_TXN;
    if (call->kind == CLUSTER_ETCD_RANGE)
        call->on_range(call->user, answer->status, answer->rev,
                       &(struct cluster_page){answer->pairs, answer->count, answer->more});
    else if (call->kind == CLUSTER_ETCD_PEEK)
        call->on_stale(call->user, answer->status, answer->pairs, answer->count);
    else
        call->on_txn(call->user, answer->status, answer->rev, answer->pairs, answer->count);
    free_call(call);
}

void cluster_etcd_calls_tell(struct cluster_etcd_calls *calls)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&calls->ended)))
        tell(calls, HUB_LIST_ITEM(link, struct cluster_etcd_call, link));
}

static void close_list(struct cluster_etcd_calls *calls, struct hub_list *list)
{
    struct hub_list *link;

    while ((link = hub_list_pop(list))) {
        struct cluster_etcd_call *call = HUB_LIST_ITEM(link, struct cluster_etcd_call, link);

        cluster_etcd_reply_clear(&call->answer);
        call->answer.status = CLUSTER_TXN_CLOSED;
        tell(calls, call);
    }
}

void cluster_etcd_calls_close(struct cluster_etcd_calls *calls)
{
    close_list(calls, &calls->ended);
    close_list(calls, &calls->sent);
    close_list(calls, &calls->waiting);
}
