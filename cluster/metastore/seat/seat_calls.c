/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_calls.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/seat/seat_pieces.h"
#include "hub/base/clock.h"

#define WAIT_NS (10 * HUB_SECOND) /* for an end, over all links */

void cluster_seat_calls_init(struct cluster_seat_calls *calls)
{
    *calls = (struct cluster_seat_calls){0};
    hub_list_init(&calls->waiting);
    hub_list_init(&calls->sent);
    hub_list_init(&calls->ended);
}

static uint32_t gets_of(const struct cluster_write *list, uint32_t count)
{
    uint32_t gets = 0;

    for (uint32_t i = 0; i < count; i++)
        gets += list[i].kind == CLUSTER_GET;
    return gets;
}

static struct cluster_seat_call *allocate(const struct cluster_seat_request *request,
                                          const struct cluster_txn *txn, int *failure)
{
    struct cluster_seat_call *call;
    struct hub_writer writer;

    hub_writer_count(&writer);
    *failure = cluster_seat_message_put_request(&writer, request, txn);
    if (*failure == 0 && writer.size > CLUSTER_SEAT_REQUEST_MAX)
        *failure = rapahub_fail(RAPAHUB_EMSGSIZE, "cluster.store.seat.window",
                                "a transaction of %zu bytes, the seat takes no more than %zu",
                                writer.size, CLUSTER_SEAT_REQUEST_MAX);
    if (*failure < 0)
        return NULL;
    call = calloc(1, sizeof *call + writer.size);
    if (!call) {
        *failure = rapahub_fail(RAPAHUB_ENOMEM, "", "a request to the metastore: out of memory");
        return NULL;
    }
    call->size = writer.size;
    hub_writer_init(&writer, call->message, call->size);
    (void)cluster_seat_message_put_request(&writer, request, txn);
    return call;
}

struct cluster_seat_call *cluster_seat_calls_make(struct cluster_seat_calls *calls,
                                                  struct cluster_seat_request request,
                                                  const struct cluster_txn *txn, int *failure)
{
    struct cluster_seat_call *call;

    if (request.number == 0)
        request.number = ++calls->last;
    call = allocate(&request, txn, failure);
    if (!call)
        return NULL;
    hub_list_init(&call->link);
    call->kind = request.kind;
    call->number = request.number;
    if (txn) {
        call->gets[0] = gets_of(txn->then, txn->then_count);
        call->gets[1] = gets_of(txn->otherwise, txn->otherwise_count);
    }
    return call;
}

void cluster_seat_calls_free(struct cluster_seat_call *call)
{
    if (!call)
        return;
    free(call->pairs);
    free(call->reply);
    free(call);
}

static bool has_reply(const struct cluster_seat_call *call)
{
    return call->kind != CLUSTER_SEAT_WATCH && call->kind != CLUSTER_SEAT_UNWATCH;
}

static uint64_t *open_of(struct cluster_seat_calls *calls, const struct cluster_seat_call *call)
{
    return call->kind == CLUSTER_SEAT_TXN ? &calls->txns : &calls->reads;
}

static uint64_t *sent_of(struct cluster_seat_calls *calls, const struct cluster_seat_call *call)
{
    return call->kind == CLUSTER_SEAT_TXN ? &calls->sent_txns : &calls->sent_reads;
}

void cluster_seat_calls_add(struct cluster_seat_calls *calls, struct cluster_seat_call *call)
{
    if (has_reply(call))
        ++*open_of(calls, call);
    hub_list_append(&calls->waiting, &call->link);
}

void cluster_seat_calls_deny(struct cluster_seat_calls *calls, struct cluster_seat_call *call)
{
    ++*open_of(calls, call);
    call->status = CLUSTER_TXN_DENIED;
    hub_list_append(&calls->ended, &call->link);
}

bool cluster_seat_calls_withdraw(struct cluster_seat_calls *calls, uint64_t watch)
{
    HUB_LIST_EACH (&calls->waiting, link) {
        struct cluster_seat_call *call = HUB_LIST_ITEM(link, struct cluster_seat_call, link);

        if (call->kind != CLUSTER_SEAT_WATCH || call->number != watch)
            continue;
        hub_list_remove(&call->link);
        cluster_seat_calls_free(call);
        return true;
    }
    return false;
}

/* ---- sending ---- */

/* r[impl cluster.store.seat.window] */
static bool may_send(struct cluster_seat_calls *calls, const struct cluster_seat_call *call)
{
    bool txn = call->kind == CLUSTER_SEAT_TXN;

    if (call->sent > 0 || !has_reply(call))
        return true;
    return (txn ? calls->sent_txns < CLUSTER_TXN_FLIGHT_MAX
                : calls->sent_reads < CLUSTER_METASTORE_READS_MAX) &&
           calls->sent_bytes + call->size <= CLUSTER_SEAT_REQUEST_MAX;
}

static void was_sent(struct cluster_seat_calls *calls, struct cluster_seat_call *call)
{
    hub_list_remove(&call->link);
    if (!has_reply(call)) {
        cluster_seat_calls_free(call);
        return;
    }
    ++*sent_of(calls, call);
    calls->sent_bytes += call->size;
    hub_list_append(&calls->sent, &call->link);
}

int cluster_seat_calls_send(struct cluster_seat_calls *calls, const struct cluster_seat_link *link,
                            void *user)
{
    while (!hub_list_empty(&calls->waiting)) {
        struct cluster_seat_call *call =
            HUB_LIST_ITEM(calls->waiting.next, struct cluster_seat_call, link);
        const struct rapahub_bytes message = {call->message, call->size};
        int r;

        if (!may_send(calls, call))
            return 0;
        r = cluster_seat_pieces_send(link, user, CLUSTER_FRAME_STORE_REQUEST, message, &call->sent);
        if (r != 0)
            return r < 0 ? r : 0;
        was_sent(calls, call);
    }
    return 0;
}

/* ---- replies ---- */

/* The seat counts it no more. */
static void take_from_sent(struct cluster_seat_calls *calls, struct cluster_seat_call *call)
{
    hub_list_remove(&call->link);
    --*sent_of(calls, call);
    calls->sent_bytes -= call->size;
}

static void end(struct cluster_seat_calls *calls, struct cluster_seat_call *call, int status)
{
    call->status = status;
    hub_list_append(&calls->ended, &call->link);
}

static struct cluster_seat_call *find(struct cluster_seat_calls *calls, uint64_t number)
{
    HUB_LIST_EACH (&calls->sent, link) {
        struct cluster_seat_call *call = HUB_LIST_ITEM(link, struct cluster_seat_call, link);

        if (call->number == number)
            return call;
    }
    return NULL;
}

/* Says whether the pairs are a page of the span that was asked for. */
static bool is_page(const struct cluster_seat_call *call)
{
    struct cluster_seat_request asked;

    if (cluster_seat_message_read_request((struct rapahub_bytes){call->message, call->size},
                                          &asked) < 0 ||
        call->pairs_count > asked.pairs_max || (call->more && call->pairs_count == 0))
        return false;
    for (size_t i = 0; i < call->pairs_count; i++)
        if (cluster_txn_order(call->pairs[i].key, i > 0 ? call->pairs[i - 1].key : asked.from) <
                (i > 0) ||
            cluster_txn_order(call->pairs[i].key, asked.to) >= 0 || call->pairs[i].mod_rev == 0)
            return false;
    return asked.rev == 0 || call->rev == asked.rev;
}

/* r[impl cluster.store.seat.answer] */
static bool fits(const struct cluster_seat_call *call)
{
    bool ok = call->status == CLUSTER_TXN_OK;

    if (call->status == CLUSTER_TXN_CLOSED || call->status == CLUSTER_TXN_CORRUPT)
        return false; /* that is the end of the seat's own store: it hangs up instead */
    if (call->kind == CLUSTER_SEAT_TXN && (ok || call->status == CLUSTER_TXN_CONFLICT))
        return call->pairs_count == call->gets[ok ? 0 : 1] && !call->more;
    if ((call->kind == CLUSTER_SEAT_RANGE || call->kind == CLUSTER_SEAT_PEEK) && ok)
        return is_page(call);
    return call->pairs_count == 0 && !call->more;
}

static int take_pairs(struct cluster_seat_call *call, struct cluster_list list)
{
    call->pairs = calloc(list.count > 0 ? list.count : 1, sizeof *call->pairs);
    if (!call->pairs)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "a reply of the metastore: out of memory");
    while (cluster_seat_message_next_pair(&list, &call->pairs[call->pairs_count]))
        call->pairs_count++;
    return 0;
}

static int take_reply(struct cluster_seat_call *call, const struct cluster_seat_reply *reply)
{
    int r = take_pairs(call, reply->pairs);

    if (r < 0)
        return r;
    call->status = reply->status;
    call->rev = reply->rev;
    call->more = reply->more;
    return fits(call) ? 0
                      : rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.answer",
                                     "the seat's reply can be none to what it was asked");
}

/* The reply is none: the call is as it was, and the link will be down. */
static void undo_reply(struct cluster_seat_call *call)
{
    free(call->pairs);
    call->pairs = NULL;
    call->pairs_count = 0;
    call->more = false;
    call->rev = 0;
}

int cluster_seat_calls_reply(struct cluster_seat_calls *calls, uint8_t *data, size_t size)
{
    struct cluster_seat_reply reply;
    struct cluster_seat_call *call;
    int r = cluster_seat_message_read_reply((struct rapahub_bytes){data, size}, &reply);

    call = r == 0 ? find(calls, reply.number) : NULL;
    if (r == 0 && !call)
        r = rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.answer",
                         "the seat replies to what it was not asked");
    if (r == 0 && (r = take_reply(call, &reply)) < 0)
        undo_reply(call);
    if (r < 0) {
        free(data);
        return r;
    }
    call->reply = data;
    if (call->rev > calls->revision)
        calls->revision = call->rev;
    take_from_sent(calls, call);
    if (call->told)
        cluster_seat_calls_free(call);
    else
        end(calls, call, call->status);
    return 0;
}

/* ---- the link and time ---- */

/* Requests for watches are made anew. */
static void rewind_waiting(struct cluster_seat_calls *calls)
{
    HUB_LIST_EACH (&calls->waiting, link) {
        struct cluster_seat_call *call = HUB_LIST_ITEM(link, struct cluster_seat_call, link);

        call->sent = 0;
        if (has_reply(call))
            continue;
        hub_list_remove(&call->link);
        cluster_seat_calls_free(call);
    }
}

/* A read that is asked again is as good as the first one. It goes before all that waits, as it
 * did. r[impl cluster.store.seat.link] */
void cluster_seat_calls_link_down(struct cluster_seat_calls *calls)
{
    struct hub_list *last;

    rewind_waiting(calls);
    while ((last = calls->sent.previous) != &calls->sent) {
        struct cluster_seat_call *call = HUB_LIST_ITEM(last, struct cluster_seat_call, link);

        take_from_sent(calls, call);
        call->sent = 0;
        if (call->told)
            cluster_seat_calls_free(call);
        else if (call->kind == CLUSTER_SEAT_TXN)
            end(calls, call, CLUSTER_TXN_UNKNOWN);
        else
            hub_list_append(calls->waiting.next, &call->link); /* before the first */
    }
}

static bool is_over(const struct cluster_seat_call *call, uint64_t now_ns)
{
    return has_reply(call) && !call->told && call->deadline_ns != 0 && now_ns >= call->deadline_ns;
}

/* The reply of a call that was sent may still come: the call stays where it is, and a copy of it
 * is told. r[impl cluster.store.seat.deadline] */
static void give_up(struct cluster_seat_calls *calls, struct cluster_seat_call *call)
{
    int status = call->kind == CLUSTER_SEAT_TXN ? CLUSTER_TXN_UNKNOWN : CLUSTER_TXN_NOT_APPLIED;
    struct cluster_seat_call *copy = malloc(sizeof *copy);

    if (!copy)
        return; /* the next step tries again */
    *copy = *call;
    copy->size = 0;
    hub_list_init(&copy->link);
    call->told = true;
    end(calls, copy, status);
}

bool cluster_seat_calls_expire(struct cluster_seat_calls *calls, uint64_t now_ns)
{
    bool stuck = false;

    HUB_LIST_EACH (&calls->waiting, link) {
        struct cluster_seat_call *call = HUB_LIST_ITEM(link, struct cluster_seat_call, link);

        if (!is_over(call, now_ns))
            continue;
        stuck |= call->sent > 0;
        hub_list_remove(&call->link);
        end(calls, call, CLUSTER_TXN_NOT_APPLIED);
    }
    HUB_LIST_EACH (&calls->sent, link) {
        struct cluster_seat_call *call = HUB_LIST_ITEM(link, struct cluster_seat_call, link);

        if (is_over(call, now_ns))
            give_up(calls, call);
    }
    return stuck;
}

static uint64_t due_in(struct hub_list *list, uint64_t now_ns, uint64_t due_ns)
{
    HUB_LIST_EACH (list, link) {
        struct cluster_seat_call *call = HUB_LIST_ITEM(link, struct cluster_seat_call, link);

        if (!has_reply(call) || call->told)
            continue;
        if (call->deadline_ns == 0)
            call->deadline_ns = now_ns + WAIT_NS;
        if (call->deadline_ns < due_ns)
            due_ns = call->deadline_ns;
    }
    return due_ns;
}

uint64_t cluster_seat_calls_due(struct cluster_seat_calls *calls, uint64_t now_ns)
{
    if (!hub_list_empty(&calls->ended))
        return now_ns;
    return due_in(&calls->sent, now_ns, due_in(&calls->waiting, now_ns, HUB_NEVER));
}

/* ---- ends ---- */

static void tell(struct cluster_seat_calls *calls, struct cluster_seat_call *call)
{
    --*open_of(calls, call);
    calls->told_txns += call->kind == CLUSTER_SEAT_TXN;
    if (call->kind == CLUSTER_SEAT_RANGE)
        call->on_range(call->user, call->status, call->rev,
                       &(struct cluster_page){call->pairs, call->pairs_count, call->more});
    else if (call->kind == CLUSTER_SEAT_PEEK)
        call->on_stale(call->user, call->status, call->pairs, call->pairs_count);
    else
        call->on_txn(call->user, call->status, call->rev, call->pairs, call->pairs_count);
    cluster_seat_calls_free(call);
}

void cluster_seat_calls_tell(struct cluster_seat_calls *calls)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&calls->ended)))
        tell(calls, HUB_LIST_ITEM(link, struct cluster_seat_call, link));
}

static void close_list(struct cluster_seat_calls *calls, struct hub_list *list)
{
    struct hub_list *link;

    while ((link = hub_list_pop(list))) {
        struct cluster_seat_call *call = HUB_LIST_ITEM(link, struct cluster_seat_call, link);

        if (call->told || !has_reply(call)) {
            cluster_seat_calls_free(call);
            continue;
        }
        undo_reply(call);
        call->status = CLUSTER_TXN_CLOSED;
        tell(calls, call);
    }
}

void cluster_seat_calls_close(struct cluster_seat_calls *calls)
{
    close_list(calls, &calls->ended);
    close_list(calls, &calls->sent);
    close_list(calls, &calls->waiting);
}
