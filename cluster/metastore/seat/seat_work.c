/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_work.h"

#include <errno.h>
#include <stdlib.h>

#include <rapahub/error.h>

#define ANSWER_LEAST 64 /* bytes of a reply without pairs, at most */

struct request {
    struct hub_list link;
    struct cluster_seat_server *server;
    struct cluster_seat_peer *peer; /* NULL: it is gone */
    uint8_t kind;
    bool denied;
    uint64_t number;
    size_t expected; /* bytes of the answer, at most */
    uint8_t *data;   /* until it is started */
    size_t size;
};

static bool is_txn(const struct request *request)
{
    return request->kind == CLUSTER_SEAT_TXN;
}

static struct cluster_span span_of(const struct cluster_seat_request *request)
{
    return (struct cluster_span){request->from, request->to, request->rev, request->pairs_max};
}

/* ---- taking ---- */

static uint32_t gets_of(const struct cluster_write *list, uint32_t count)
{
    uint32_t gets = 0;

    for (uint32_t i = 0; i < count; i++)
        gets += list[i].kind == CLUSTER_GET;
    return gets;
}

static int look_at_txn(struct cluster_seat_peer *peer, const struct cluster_seat_request *from,
                       struct request *request)
{
    struct cluster_seat_server *server = peer->server;
    const struct cluster_txn *txn = &server->parsed.txn;
    uint32_t then, otherwise;
    int r;

    cluster_seat_message_take_txn(from, &server->parsed);
    r = cluster_txn_check(txn);
    if (r < 0)
        return r;
    then = gets_of(txn->then, txn->then_count);
    otherwise = gets_of(txn->otherwise, txn->otherwise_count);
    request->expected += (then > otherwise ? then : otherwise) * CLUSTER_SEAT_PAIR_MAX;
    request->denied = !server->rights->may_run(&peer->node, txn);
    server->broken[CLUSTER_SEAT_SERVER_DENIED_WRITE] += request->denied;
    return 0;
}

static int look_at_span(struct cluster_seat_peer *peer, const struct cluster_seat_request *from,
                        struct request *request)
{
    struct cluster_seat_server *server = peer->server;
    const struct cluster_span span = span_of(from);
    int r = cluster_txn_check_span(&span);

    if (r < 0)
        return r;
    request->expected += CLUSTER_SEAT_PAGE_MAX + CLUSTER_SEAT_PAIR_MAX;
    request->denied = !server->rights->may_read(&peer->node, &span);
    server->broken[CLUSTER_SEAT_SERVER_DENIED_READ] += request->denied;
    return 0;
}

static int look_at(struct cluster_seat_peer *peer, const struct cluster_seat_request *from,
                   struct request *request)
{
    switch (from->kind) {
    case CLUSTER_SEAT_TXN:
        return look_at_txn(peer, from, request);
    case CLUSTER_SEAT_RANGE:
    case CLUSTER_SEAT_PEEK:
        return look_at_span(peer, from, request);
    default:
        return 0;
    }
}

/* r[impl cluster.store.seat.window] */
static int check_window(const struct cluster_seat_peer *peer, uint8_t kind, size_t size)
{
    if ((kind == CLUSTER_SEAT_TXN ? peer->txns < CLUSTER_TXN_FLIGHT_MAX
                                  : peer->reads < CLUSTER_METASTORE_READS_MAX) &&
        peer->bytes + size <= CLUSTER_SEAT_REQUEST_MAX)
        return 0;
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.window",
                        "node %u asks the metastore for more at once than it may", peer->node.node);
}

static void count_in(struct request *request)
{
    ++*(is_txn(request) ? &request->peer->txns : &request->peer->reads);
    request->peer->bytes += request->size;
}

static void count_out(struct request *request)
{
    --*(is_txn(request) ? &request->peer->txns : &request->peer->reads);
    request->peer->bytes -= request->size;
}

static int refuse(struct cluster_seat_peer *peer, struct request *request, uint8_t *data,
                  enum cluster_seat_server_rule rule, int failure)
{
    free(request);
    free(data);
    return cluster_seat_peer_broke(peer, rule, failure);
}

int cluster_seat_work_take(struct cluster_seat_peer *peer,
                           const struct cluster_seat_request *request, uint8_t *data, size_t size)
{
    struct request *made;
    int r = check_window(peer, request->kind, size);

    if (r < 0)
        return refuse(peer, NULL, data, CLUSTER_SEAT_SERVER_LIMIT, r);
    made = malloc(sizeof *made);
    if (!made) {
        free(data);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "a request to the metastore: out of memory");
    }
    *made = (struct request){.server = peer->server,
                             .peer = peer,
                             .kind = request->kind,
                             .number = request->number,
                             .expected = ANSWER_LEAST,
                             .data = data,
                             .size = size};
    r = look_at(peer, request, made);
    if (r < 0)
        return refuse(peer, made, data, CLUSTER_SEAT_SERVER_FORM, r);
    count_in(made);
    hub_list_append(&peer->waiting, &made->link);
    cluster_seat_peer_wake(peer);
    return 0;
}

/* ---- answering ---- */

/* The request is not in a list. Returns the node that is told, NULL for none. */
static struct cluster_seat_peer *leave(struct request *request)
{
    struct cluster_seat_peer *peer = request->peer;

    if (peer) {
        count_out(request);
        cluster_seat_peer_wake(peer);
    }
    return peer && !peer->broken ? peer : NULL;
}

/* The store has ended it. With CLOSED and CORRUPT that is the end of the store, not of the request:
 * a node that is hung up knows that it does not know. */
static void end(struct request *request, struct cluster_seat_reply *reply)
{
    struct cluster_seat_server *server = request->server;
    struct cluster_seat_peer *peer;

    --*(is_txn(request) ? &server->txns : &server->reads);
    hub_list_remove(&request->link);
    if (request->peer)
        request->peer->expected -= request->expected;
    peer = leave(request);
    reply->number = request->number;
    if (peer && (reply->status == CLUSTER_TXN_CLOSED || reply->status == CLUSTER_TXN_CORRUPT))
        cluster_seat_peer_hang_up(peer);
    else if (peer)
        cluster_seat_peer_reply(peer, reply);
    free(request);
    if (server->closing && server->txns == 0 && server->reads == 0)
        free(server);
}

static void on_txn(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                   size_t count)
{
    struct cluster_seat_reply reply = {
        .status = (uint8_t)status, .rev = rev, .pairs = {.of = gets, .count = (uint32_t)count}};

    end(user, &reply);
}

/* Returns how many of the pairs one reply takes: at least one. */
static size_t fitting(const struct cluster_pair *pairs, size_t count)
{
    size_t bytes = 0, fit = 0;

    while (fit < count && fit < CLUSTER_SEAT_PAIRS_MAX) {
        bytes += pairs[fit].key.size + pairs[fit].value.size;
        if (fit > 0 && bytes > CLUSTER_SEAT_PAGE_MAX)
            break;
        fit++;
    }
    return fit;
}

static void on_range(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    size_t fit = fitting(page->pairs, page->count);
    struct cluster_seat_reply reply = {.status = (uint8_t)status,
                                       .rev = rev,
                                       .more = page->more || fit < page->count,
                                       .pairs = {.of = page->pairs, .count = (uint32_t)fit}};

    end(user, &reply);
}

static void on_stale(void *user, int status, const struct cluster_pair *pairs, size_t count)
{
    on_range(user, status, 0, &(struct cluster_page){.pairs = pairs, .count = count});
}

/* ---- starting ---- */

/* A request whose answer may be larger than the room is started when there is no other. r[impl
 * cluster.store.seat.room] */
static bool has_room(const struct cluster_seat_peer *peer, const struct request *request)
{
    size_t taken = peer->out_bytes + peer->expected;

    return taken == 0 || taken + request->expected <= CLUSTER_SEAT_SERVER_ROOM;
}

static bool store_has_room(const struct request *request)
{
    const struct cluster_seat_server *server = request->server;

    return is_txn(request) ? server->txns < CLUSTER_SEAT_SERVER_TXNS_MAX
                           : server->reads < CLUSTER_SEAT_SERVER_READS_MAX;
}

static int give(struct request *request)
{
    struct cluster_seat_server *server = request->server;
    struct cluster_seat_request from;
    struct cluster_span span;
    int r = cluster_seat_message_read_request((struct rapahub_bytes){request->data, request->size},
                                              &from);

    if (r < 0)
        return r;
    span = span_of(&from);
    if (span.pairs_max > CLUSTER_SEAT_PAIRS_MAX)
        span.pairs_max = CLUSTER_SEAT_PAIRS_MAX;
    switch (request->kind) {
    case CLUSTER_SEAT_TXN:
        cluster_seat_message_take_txn(&from, &server->parsed);
        return cluster_metastore_submit(server->store, &server->parsed.txn, on_txn, request);
    case CLUSTER_SEAT_RANGE:
        return cluster_metastore_range(server->store, &span, on_range, request);
    case CLUSTER_SEAT_PEEK:
        return cluster_metastore_peek(server->store, &span, on_stale, request);
    default:
        return cluster_metastore_sync(server->store, on_txn, request);
    }
}

static void answer_now(struct request *request, int status)
{
    struct cluster_seat_peer *peer;

    hub_list_remove(&request->link);
    peer = leave(request);
    if (peer)
        cluster_seat_peer_reply(peer, &(struct cluster_seat_reply){.number = request->number,
                                                                   .status = (uint8_t)status});
    free(request->data);
    free(request);
}

static void was_given(struct request *request)
{
    struct cluster_seat_peer *peer = request->peer;

    ++*(is_txn(request) ? &request->server->txns : &request->server->reads);
    peer->expected += request->expected;
    free(request->data);
    request->data = NULL;
    hub_list_remove(&request->link);
    hub_list_append(&peer->started, &request->link);
}

bool cluster_seat_work_start(struct cluster_seat_peer *peer)
{
    struct request *request;
    int r;

    if (hub_list_empty(&peer->waiting))
        return false;
    request = HUB_LIST_ITEM(peer->waiting.next, struct request, link);
    if (!has_room(peer, request) || (!request->denied && !store_has_room(request)))
        return false;
    r = request->denied ? 0 : give(request);
    if (r == -EBUSY)
        return false; /* the seat's own node has all of it; the store tells when it has not */
    if (request->denied)
        answer_now(request, CLUSTER_TXN_DENIED);
    else if (r == 0)
        was_given(request);
    else if (r == -ENOMEM)
        answer_now(request, CLUSTER_TXN_NOT_APPLIED);
    else
        cluster_seat_peer_hang_up(peer);
    return r == 0 || r == -ENOMEM;
}

void cluster_seat_work_drop(struct cluster_seat_peer *peer)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&peer->waiting))) {
        struct request *request = HUB_LIST_ITEM(link, struct request, link);

        count_out(request);
        free(request->data);
        free(request);
    }
    while ((link = hub_list_pop(&peer->started))) {
        struct request *request = HUB_LIST_ITEM(link, struct request, link);

        count_out(request);
        peer->expected -= request->expected;
        request->peer = NULL;
    }
}
