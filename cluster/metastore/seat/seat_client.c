/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_client.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/seat/seat_calls.h"
#include "cluster/metastore/seat/seat_pieces.h"
#include "cluster/metastore/seat/seat_watches.h"
#include "hub/base/clock.h"

#define SCHEME "seat"

struct client {
    struct cluster_metastore base;
    const struct cluster_seat_link *link;
    void *user;
    bool up, closing;
    struct cluster_seat_pieces in;
    struct cluster_seat_calls calls;
    struct cluster_seat_watches watches;
};

static struct client *client_of(struct cluster_metastore *base)
{
    return (struct client *)(void *)base;
}

/* ---- the link ---- */

/* A link that fails is gone soon, so its failure is not looked at. */
static void send_more(struct client *client)
{
    if (!client->up)
        return;
    cluster_seat_watches_ask(&client->watches);
    (void)cluster_seat_calls_send(&client->calls, client->link, client->user);
}

void cluster_seat_client_link_up(struct cluster_metastore *store)
{
    struct client *client = client_of(store);

    cluster_seat_client_link_down(store);
    client->up = true;
    send_more(client);
}

void cluster_seat_client_link_down(struct cluster_metastore *store)
{
    struct client *client = client_of(store);

    client->up = false;
    cluster_seat_pieces_drop(&client->in);
    cluster_seat_calls_link_down(&client->calls);
    cluster_seat_watches_link_down(&client->watches);
}

int cluster_seat_client_frame(struct cluster_metastore *store, uint8_t type,
                              const struct cluster_body *body)
{
    struct client *client = client_of(store);
    uint8_t *data;
    size_t size;
    int r;

    if (!client->up || (type != CLUSTER_FRAME_STORE_REPLY && type != CLUSTER_FRAME_STORE_EVENT))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.answer",
                            "a %s is nothing that the seat says", cluster_frame_name(type));
    r = cluster_seat_pieces_take(&client->in, type, &body->piece, &data, &size);
    if (r != 0)
        return r < 0 ? r : 0;
    return type == CLUSTER_FRAME_STORE_REPLY
               ? cluster_seat_calls_reply(&client->calls, data, size)
               : cluster_seat_watches_event(&client->watches, data, size);
}

/* ---- the end ---- */

static bool is_port(const char *text)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);

    return *text >= '1' && *text <= '9' && *end == '\0' && port <= UINT16_MAX;
}

static int begin_link(struct client *client, const char *seat,
                      const struct cluster_metastore_options *options,
                      struct cluster_metastore **out)
{
    const struct cluster_seat_link *link = client->link;
    int r = link->begin ? link->begin(client->user, &client->base, seat, options) : 0;

    if (r < 0)
        free(client);
    else
        *out = &client->base;
    return r;
}

static int open_client(const char *url, const struct cluster_metastore_options *options,
                       struct cluster_metastore **out)
{
    const char *host = url + strlen(SCHEME ":"), *colon = strrchr(host, ':');
    struct client *client;

    if (!colon || colon == host || !is_port(colon + 1))
        return rapahub_fail(RAPAHUB_ECONFIG, "", "metastore '%s': write seat:HOST:PORT", url);
    if (!options->link)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "metastore '%s': there is no link to it", url);
    client = calloc(1, sizeof *client);
    if (!client)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "%s: out of memory", url);
    client->base.end = &cluster_seat_client_end;
    client->link = options->link;
    client->user = options->link_user;
    client->in.most = CLUSTER_SEAT_ANSWER_MAX;
    cluster_seat_calls_init(&client->calls);
    cluster_seat_watches_init(&client->watches, &client->calls);
    return begin_link(client, host, options, out);
}

static void close_client(struct cluster_metastore *base)
{
    struct client *client = client_of(base);

    client->closing = true;
    if (client->link->end)
        client->link->end(client->user);
    cluster_seat_calls_close(&client->calls);
    cluster_seat_watches_close(&client->watches);
    cluster_seat_pieces_drop(&client->in);
    free(client);
}

/* Says whether one more may be opened: `open` of them are. r[impl cluster.store.bounds] */
static int may_open(const struct client *client, uint64_t open, uint64_t most, const char *what)
{
    if (client->closing)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "the metastore is being closed");
    if (open < most)
        return 0;
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.store.bounds",
                        "%llu %s of the metastore are open, no more are taken",
                        (unsigned long long)open, what);
}

static int submit(struct cluster_metastore *base, const struct cluster_txn *txn,
                  cluster_on_txn *on_txn, void *user)
{
    struct client *client = client_of(base);
    int r = may_open(client, client->calls.txns, CLUSTER_TXN_FLIGHT_MAX, "transactions");
    struct cluster_seat_call *call;

    if (r != 0)
        return r;
    call = cluster_seat_calls_make(
        &client->calls, (struct cluster_seat_request){.kind = CLUSTER_SEAT_TXN}, txn, &r);
    if (!call)
        return r;
    call->on_txn = on_txn;
    call->user = user;
    cluster_seat_calls_add(&client->calls, call);
    send_more(client);
    return 0;
}

/* Makes a call that is no transaction; the caller fills in its callback and adds it. */
static int make_read(struct client *client, enum cluster_seat_kind kind,
                     const struct cluster_span *span, struct cluster_seat_call **out)
{
    int r = may_open(client, client->calls.reads, CLUSTER_METASTORE_READS_MAX, "operations");
    struct cluster_seat_request request = {.kind = (uint8_t)kind};

    if (r != 0)
        return r;
    if (span) {
        request.from = span->from;
        request.to = span->to;
        request.rev = kind == CLUSTER_SEAT_RANGE ? span->rev : 0;
        request.pairs_max = span->pairs_max;
    }
    *out = cluster_seat_calls_make(&client->calls, request, NULL, &r);
    return r;
}

static int add(struct client *client, struct cluster_seat_call *call, void *user)
{
    call->user = user;
    cluster_seat_calls_add(&client->calls, call);
    send_more(client);
    return 0;
}

static int range(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_range *on_range, void *user)
{
    struct cluster_seat_call *call;
    int r = make_read(client_of(base), CLUSTER_SEAT_RANGE, span, &call);

    if (r != 0)
        return r;
    call->on_range = on_range;
    return add(client_of(base), call, user);
}

static int peek(struct cluster_metastore *base, const struct cluster_span *span,
                cluster_on_stale *on_stale, void *user)
{
    struct cluster_seat_call *call;
    int r = make_read(client_of(base), CLUSTER_SEAT_PEEK, span, &call);

    if (r != 0)
        return r;
    call->on_stale = on_stale;
    return add(client_of(base), call, user);
}

static int sync_store(struct cluster_metastore *base, cluster_on_txn *on_txn, void *user)
{
    struct cluster_seat_call *call;
    int r = make_read(client_of(base), CLUSTER_SEAT_SYNC, NULL, &call);

    if (r != 0)
        return r;
    call->on_txn = on_txn;
    return add(client_of(base), call, user);
}

/* The call is never sent. */
static int deny(struct client *client, cluster_on_txn *on_txn, void *user)
{
    struct cluster_seat_call *call;
    int r = make_read(client, CLUSTER_SEAT_SYNC, NULL, &call);

    if (r != 0)
        return r;
    call->on_txn = on_txn;
    call->user = user;
    cluster_seat_calls_deny(&client->calls, call);
    return 0;
}

static int compact(struct cluster_metastore *base, uint64_t before, cluster_on_txn *on_txn,
                   void *user)
{
    (void)before;
    return deny(client_of(base), on_txn, user);
}

static int backup(struct cluster_metastore *base, const char *path, cluster_on_txn *on_txn,
                  void *user)
{
    (void)path;
    return deny(client_of(base), on_txn, user);
}

static int watch(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_change *on_change, void *user, uint64_t *out)
{
    struct client *client = client_of(base);
    int r = may_open(client, 0, 1, "");

    if (r == 0)
        r = cluster_seat_watches_open(&client->watches, span, on_change, user, out);
    if (r == 0)
        send_more(client);
    return r;
}

static void unwatch(struct cluster_metastore *base, uint64_t number)
{
    struct client *client = client_of(base);

    cluster_seat_watches_end(&client->watches, number);
    send_more(client);
}

static int fd_of(const struct cluster_metastore *base)
{
    const struct client *client = (const struct client *)(const void *)base;

    return client->link->fd(client->user);
}

/* A request that was sent in part when its time was up can be neither ended nor taken back. */
static void hang_up(struct client *client)
{
    client->link->hang_up(client->user);
    cluster_seat_client_link_down(&client->base);
}

/* r[impl cluster.store.step] */
static int step(struct cluster_metastore *base, uint64_t now_ns, uint64_t *out_next_ns)
{
    struct client *client = client_of(base);
    uint64_t link_ns = client->link->step ? client->link->step(client->user, now_ns) : HUB_NEVER;

    if (cluster_seat_calls_expire(&client->calls, now_ns))
        hang_up(client);
    cluster_seat_calls_tell(&client->calls);
    cluster_seat_watches_tell(&client->watches);
    send_more(client);
    *out_next_ns = cluster_seat_calls_due(&client->calls, now_ns);
    if (link_ns < *out_next_ns)
        *out_next_ns = link_ns;
    return client->link->refused ? client->link->refused(client->user) : 0;
}

static int stats(const struct cluster_metastore *base, struct cluster_metastore_stats *out)
{
    const struct client *client = (const struct client *)(const void *)base;

    *out = (struct cluster_metastore_stats){
        .revision = client->calls.revision > client->watches.revision ? client->calls.revision
                                                                      : client->watches.revision,
        .transactions = client->calls.told_txns,
        .open = client->calls.txns,
        .reads = client->calls.reads,
        .watches = client->watches.count,
    };
    return 0;
}

const struct cluster_metastore_end cluster_seat_client_end = {
    .scheme = SCHEME,
    .watches_max = CLUSTER_SEAT_WATCHES_MAX,
    .open = open_client,
    .close = close_client,
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
