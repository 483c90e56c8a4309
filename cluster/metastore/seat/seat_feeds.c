/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_feeds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define REST_ABOVE  ((size_t)1 << 20)   /* bytes that wait for the node */
#define GO_ON_BELOW ((size_t)256 << 10) /* the same */

struct feed {
    struct hub_list link;
    struct cluster_seat_peer *peer;
    uint64_t number; /* the node's */
    uint64_t rev;    /* told up to here */
    bool runs;       /* the store has it, as `watch` */
    bool denied;
    uint64_t watch;
    struct rapahub_bytes from, to; /* in `span` */
    uint8_t span[];
};

static struct feed *find(struct cluster_seat_peer *peer, uint64_t number)
{
    HUB_LIST_EACH (&peer->feeds, link) {
        struct feed *feed = HUB_LIST_ITEM(link, struct feed, link);

        if (feed->number == number)
            return feed;
    }
    return NULL;
}

static int refuse(struct cluster_seat_peer *peer, const char *why)
{
    return cluster_seat_peer_broke(peer, CLUSTER_SEAT_SERVER_WATCHES,
                                   rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.window",
                                                "node %u watches %s", peer->node.node, why));
}

static struct feed *make(struct cluster_seat_peer *peer, const struct cluster_span *span)
{
    struct feed *feed = calloc(1, sizeof *feed + span->from.size + span->to.size);

    if (!feed) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "a watch of the metastore: out of memory");
        return NULL;
    }
    memcpy(feed->span, span->from.data, span->from.size);
    memcpy(feed->span + span->from.size, span->to.data, span->to.size);
    feed->peer = peer;
    feed->from = (struct rapahub_bytes){feed->span, span->from.size};
    feed->to = (struct rapahub_bytes){feed->span + span->from.size, span->to.size};
    feed->rev = span->rev;
    return feed;
}

/* r[impl cluster.store.seat.window] */
int cluster_seat_feeds_open(struct cluster_seat_peer *peer,
                            const struct cluster_seat_request *request)
{
    const struct cluster_span span = {request->from, request->to, request->rev, 1};
    struct feed *feed;
    int r = cluster_txn_check_span(&span);

    if (r < 0)
        return cluster_seat_peer_broke(peer, CLUSTER_SEAT_SERVER_FORM, r);
    if (peer->feeds_count == CLUSTER_SEAT_WATCHES_MAX)
        return refuse(peer, "more spans than it may");
    if (find(peer, request->number))
        return refuse(peer, "a span twice");
    feed = make(peer, &span);
    if (!feed)
        return -ENOMEM;
    feed->number = request->number;
    feed->denied = !peer->server->rights->may_read(&peer->node, &span);
    peer->server->broken[CLUSTER_SEAT_SERVER_DENIED_READ] += feed->denied;
    peer->feeds_count++;
    hub_list_append(&peer->feeds, &feed->link);
    cluster_seat_peer_wake(peer);
    return 0;
}

static void rest(struct feed *feed)
{
    if (!feed->runs)
        return;
    cluster_metastore_unwatch(feed->peer->server->store, feed->watch);
    feed->peer->server->watches--;
    feed->runs = false;
}

static void forget(struct feed *feed)
{
    rest(feed);
    hub_list_remove(&feed->link);
    feed->peer->feeds_count--;
    free(feed);
}

void cluster_seat_feeds_end(struct cluster_seat_peer *peer, uint64_t number)
{
    struct feed *feed = find(peer, number);

    if (feed)
        forget(feed);
}

static void rest_all(struct cluster_seat_peer *peer)
{
    HUB_LIST_EACH (&peer->feeds, link)
        rest(HUB_LIST_ITEM(link, struct feed, link));
    cluster_seat_peer_wake(peer);
}

/* The store has ended the watch, or denies it. */
static void end(struct feed *feed, int status, uint64_t rev)
{
    struct cluster_seat_peer *peer = feed->peer;

    if (status == CLUSTER_TXN_CLOSED || status == CLUSTER_TXN_CORRUPT)
        cluster_seat_peer_hang_up(peer);
    else
        cluster_seat_peer_event(peer, &(struct cluster_seat_event){.watch = feed->number,
                                                                   .status = (uint8_t)status,
                                                                   .rev = rev});
    forget(feed);
}

/* All watches rest, this one too, once too much waits. r[impl cluster.store.seat.room] */
static void on_change(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                      size_t count)
{
    struct feed *feed = user;
    struct cluster_seat_peer *peer = feed->peer;

    if (status != CLUSTER_TXN_OK) {
        feed->runs = false;
        peer->server->watches--;
        end(feed, status, rev);
        return;
    }
    cluster_seat_peer_event(
        peer, &(struct cluster_seat_event){.watch = feed->number,
                                           .status = CLUSTER_TXN_OK,
                                           .rev = rev,
                                           .changes = {.of = changes, .count = (uint32_t)count}});
    feed->rev = rev;
    if (peer->out_bytes > REST_ABOVE || peer->broken)
        rest_all(peer);
}

/* Says whether it runs, or has ended. */
static bool go_on(struct feed *feed)
{
    struct cluster_seat_server *server = feed->peer->server;
    const struct cluster_span span = {feed->from, feed->to, feed->rev, 1};
    int r;

    if (feed->denied) {
        end(feed, CLUSTER_TXN_DENIED, 0);
        return true;
    }
    if (server->watches >= CLUSTER_SEAT_SERVER_WATCHES_MAX)
        return false;
    r = cluster_metastore_watch(server->store, &span, on_change, feed, &feed->watch);
    if (r == 0) {
        feed->runs = true;
        server->watches++;
    } else if (r != -EBUSY && r != -ENOMEM) {
        cluster_seat_peer_hang_up(feed->peer);
    }
    return r == 0;
}

bool cluster_seat_feeds_go_on(struct cluster_seat_peer *peer)
{
    bool all = true;

    HUB_LIST_EACH (&peer->feeds, link) {
        struct feed *feed = HUB_LIST_ITEM(link, struct feed, link);

        if (!feed->runs)
            all &= peer->out_bytes <= GO_ON_BELOW && !peer->broken && go_on(feed);
    }
    return all;
}

void cluster_seat_feeds_drop(struct cluster_seat_peer *peer)
{
    while (!hub_list_empty(&peer->feeds))
        forget(HUB_LIST_ITEM(peer->feeds.next, struct feed, link));
}
