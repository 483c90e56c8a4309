/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_watches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/metastore/etcd/etcd_changes.h"
#include "hub/base/states.h"

#define WINDOW ((size_t)16 << 20) /* bytes of a message */

enum state { CHECK, CHECKED, ASK, ASKED, OVER };

static const struct hub_states states = {
    .name = "etcd watch",
    .of = {
        [CHECK] = {"Check", HUB_TO(CHECKED)},
        [CHECKED] = {"Checked", HUB_TO(CHECK) | HUB_TO(ASK) | HUB_TO(OVER)},
        [ASK] = {"Ask", HUB_TO(ASKED)},
        [ASKED] = {"Asked", HUB_TO(ASK)},
        [OVER] = {"Over", 0},
    }};

struct etcd_watch {
    struct hub_list link;
    uint64_t number;
    uint32_t state;
    int status; /* OVER: it ends with this */
    cluster_on_change *on_change;
    void *user;
    struct cluster_span span;
    struct cluster_etcd_changes changes;
    uint8_t bytes[]; /* the span has them */
};

/* A message that came. */
struct message {
    struct hub_list link;
    struct cluster_etcd_batch *batch;
};

void cluster_etcd_watches_init(struct cluster_etcd_watches *watches,
                               struct cluster_etcd_calls *calls)
{
    *watches = (struct cluster_etcd_watches){.calls = calls};
    hub_list_init(&watches->all);
    hub_list_init(&watches->messages);
}

static struct etcd_watch *find(struct cluster_etcd_watches *watches, uint64_t number)
{
    HUB_LIST_EACH (&watches->all, link) {
        struct etcd_watch *watch = HUB_LIST_ITEM(link, struct etcd_watch, link);

        if (watch->number == number)
            return watch;
    }
    return NULL;
}

static void drop(struct cluster_etcd_watches *watches, struct etcd_watch *watch)
{
    hub_list_remove(&watch->link);
    watches->count--;
    cluster_etcd_changes_fini(&watch->changes);
    free(watch);
}

static void move(struct etcd_watch *watch, uint32_t to, const char *why)
{
    hub_states_move(&states, &watch->state, to, "watch", why);
}

/* ---- the beginning of a watch ---- */

/* A revision that was heard is not to come; for another one etcd is asked. A revision
 * of an earlier generation can be read no more. */
static void begin_at(struct cluster_etcd_watches *watches, struct etcd_watch *watch)
{
    const struct cluster_etcd_space *space = watches->calls->space;
    uint64_t rev = watch->span.rev;

    watch->changes.told = rev == 0 ? space->base : cluster_ids_own(rev);
    watch->status = CLUSTER_TXN_DENIED;
    watch->state = ASK;
    if (rev != 0 && cluster_ids_generation(rev) != space->generation) {
        watch->state = OVER;
        if (cluster_ids_generation(rev) < space->generation)
            watch->status = CLUSTER_TXN_COMPACTED;
    } else if (rev > watches->calls->revision) {
        watch->state = CHECK;
    }
}

int cluster_etcd_watches_open(struct cluster_etcd_watches *watches, const struct cluster_span *span,
                              cluster_on_change *on_change, void *user, uint64_t *out)
{
    struct etcd_watch *watch;

    if (watches->count == CLUSTER_METASTORE_WATCHES_MAX)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.store.bounds",
                            "%d watches of the metastore are open, no more are taken",
                            CLUSTER_METASTORE_WATCHES_MAX);
    watch = calloc(1, sizeof *watch + span->from.size + span->to.size);
    if (!watch)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "a watch of the metastore: out of memory");
    memcpy(watch->bytes, span->from.data, span->from.size);
    memcpy(watch->bytes + span->from.size, span->to.data, span->to.size);
    watch->span = *span;
    watch->span.from.data = watch->bytes;
    watch->span.to.data = watch->bytes + span->from.size;
    watch->on_change = on_change;
    watch->user = user;
    watch->number = *out = ++watches->last;
    cluster_etcd_changes_init(&watch->changes);
    begin_at(watches, watch);
    hub_list_append(&watches->all, &watch->link);
    watches->count++;
    return 0;
}

/* ---- whether a revision is to come ---- */

static void on_checked(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                       size_t count)
{
    struct cluster_etcd_watches *watches = user;

    (void)gets;
    (void)count;
    watches->checking = false;
    HUB_LIST_EACH (&watches->all, link) {
        struct etcd_watch *watch = HUB_LIST_ITEM(link, struct etcd_watch, link);

        if (watch->state != CHECKED)
            continue;
        if (status != CLUSTER_TXN_OK)
            move(watch, CHECK, "etcd did not say");
        else
            move(watch, watch->span.rev > rev ? OVER : ASK, "etcd has said its revision");
    }
}

static bool has_to_check(struct cluster_etcd_watches *watches)
{
    bool has = false;

    HUB_LIST_EACH (&watches->all, link)
        has |= HUB_LIST_ITEM(link, struct etcd_watch, link)->state == CHECK;
    return has && !watches->checking;
}

/* A single question, for all that wait for it. */
static void check(struct cluster_etcd_watches *watches)
{
    struct cluster_etcd_call *call;
    int r;

    if (!has_to_check(watches))
        return;
    call = cluster_etcd_calls_read(watches->calls, CLUSTER_ETCD_CHECK, NULL, &r);
    if (!call)
        return; /* without memory: the next step tries again */
    call->on_txn = on_checked;
    call->user = watches;
    cluster_etcd_calls_add(watches->calls, call);
    watches->checking = true;
    HUB_LIST_EACH (&watches->all, link) {
        struct etcd_watch *watch = HUB_LIST_ITEM(link, struct etcd_watch, link);

        if (watch->state == CHECK)
            move(watch, CHECKED, "etcd is asked");
    }
}

/* ---- the stream ---- */

static int put(struct cluster_etcd_watches *watches, struct cluster_grpc *grpc,
               const struct cluster_etcd_message *message)
{
    const struct cluster_grpc_request request = {
        .path = "/etcdserverpb.Watch/Watch",
        .message = {message->data, message->size},
        .answer_max = WINDOW,
        .stays_open = true,
    };

    if (watches->stream != 0)
        return cluster_grpc_send(grpc, watches->stream, request.message);
    return cluster_grpc_call(grpc, &request, watches, &watches->stream);
}

static int ask_one(struct cluster_etcd_watches *watches, struct cluster_grpc *grpc,
                   struct etcd_watch *watch)
{
    struct cluster_etcd_message message;
    int r = cluster_etcd_request_watch(watches->calls->space, &watch->span, watch->number,
                                       watch->changes.told, &message);

    if (r < 0)
        return r;
    r = put(watches, grpc, &message);
    free(message.data);
    if (r == 0)
        move(watch, ASKED, "etcd is asked");
    return r;
}

/* The next step tries again where this fails. */
void cluster_etcd_watches_ask(struct cluster_etcd_watches *watches, struct cluster_grpc *grpc)
{
    check(watches);
    HUB_LIST_EACH (&watches->all, link) {
        struct etcd_watch *watch = HUB_LIST_ITEM(link, struct etcd_watch, link);

        if (watch->state == ASK && ask_one(watches, grpc, watch) < 0)
            return;
    }
}

void cluster_etcd_watches_end(struct cluster_etcd_watches *watches, struct cluster_grpc *grpc,
                              uint64_t number)
{
    struct etcd_watch *watch = find(watches, number);
    struct cluster_etcd_message message;

    if (!watch)
        return;
    if (watch->state == ASKED && grpc && cluster_etcd_request_unwatch(number, &message) == 0) {
        if (put(watches, grpc, &message) < 0)
            watches->lost = true; /* else etcd would have more watches than are counted */
        free(message.data);
    }
    drop(watches, watch);
}

int cluster_etcd_watches_message(struct cluster_etcd_watches *watches, struct rapahub_bytes bytes)
{
    struct message *message = calloc(1, sizeof *message);
    int r;

    if (!message)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "changes in etcd: out of memory");
    r = cluster_etcd_changes_read(watches->calls->space, bytes, &message->batch);
    if (r < 0) {
        free(message);
        return r;
    }
    hub_list_append(&watches->messages, &message->link);
    return 0;
}

void cluster_etcd_watches_over(struct cluster_etcd_watches *watches)
{
    watches->stream = 0;
    watches->lost = true;
}

/* A change of which only a part came is told whole by the next session. */
void cluster_etcd_watches_down(struct cluster_etcd_watches *watches)
{
    struct hub_list *link;

    watches->stream = 0;
    watches->lost = false;
    while ((link = hub_list_pop(&watches->messages))) {
        struct message *message = HUB_LIST_ITEM(link, struct message, link);

        cluster_etcd_changes_drop(message->batch);
        free(message);
    }
    HUB_LIST_EACH (&watches->all, at) {
        struct etcd_watch *watch = HUB_LIST_ITEM(at, struct etcd_watch, link);

        cluster_etcd_changes_fini(&watch->changes);
        if (watch->state == ASKED)
            move(watch, ASK, "the session has ended");
    }
}

/* ---- ends and changes ---- */

static void end_with(struct cluster_etcd_watches *watches, struct etcd_watch *watch, int status)
{
    cluster_on_change *on_change = watch->on_change;
    void *user = watch->user;

    drop(watches, watch);
    on_change(user, status, 0, NULL, 0);
}

/* Tells all changes of a message that are whole, unless the watch ends in between. */
static void tell_batch(struct cluster_etcd_watches *watches, uint64_t number,
                       struct cluster_etcd_batch *batch)
{
    struct etcd_watch *watch = find(watches, number);
    struct cluster_etcd_told told;
    int r = 1;

    if (watch)
        cluster_etcd_changes_add(&watch->changes, batch);
    else
        cluster_etcd_changes_drop(batch);
    while ((watch = find(watches, number)) && r > 0) {
        r = cluster_etcd_changes_next(&watch->changes, watches->calls->space, &watch->span, &told);
        if (r > 0 && told.rev > watches->calls->revision)
            watches->calls->revision = told.rev;
        if (r > 0)
            watch->on_change(watch->user, CLUSTER_TXN_OK, told.rev, told.changes, told.count);
        else if (r == -ESTALE)
            end_with(watches, watch, CLUSTER_TXN_COMPACTED);
        else if (r < 0)
            watches->lost = true;
    }
}

static void tell_message(struct cluster_etcd_watches *watches, struct cluster_etcd_batch *batch)
{
    const Etcd__WatchResponse *response = cluster_etcd_changes_response(batch);
    uint64_t number = (uint64_t)response->watch_id;
    struct etcd_watch *watch = find(watches, number);

    if (!watch || !response->canceled) {
        tell_batch(watches, number, batch);
        return;
    }
    if (response->compact_revision != 0)
        end_with(watches, watch, CLUSTER_TXN_COMPACTED);
    else
        watches->lost = true; /* etcd gave it up by itself */
    cluster_etcd_changes_drop(batch);
}

void cluster_etcd_watches_tell(struct cluster_etcd_watches *watches)
{
    struct hub_list *link;

    HUB_LIST_EACH (&watches->all, at) {
        struct etcd_watch *watch = HUB_LIST_ITEM(at, struct etcd_watch, link);

        if (watch->state != OVER)
            continue;
        end_with(watches, watch, watch->status);
        break; /* the callback may have ended others: the next step goes on */
    }
    while (!watches->lost && (link = hub_list_pop(&watches->messages))) {
        struct message *message = HUB_LIST_ITEM(link, struct message, link);
        struct cluster_etcd_batch *batch = message->batch;

        free(message);
        tell_message(watches, batch);
    }
}

void cluster_etcd_watches_close(struct cluster_etcd_watches *watches)
{
    struct hub_list *link;

    cluster_etcd_watches_down(watches);
    while ((link = hub_list_pop(&watches->all)))
        end_with(watches, HUB_LIST_ITEM(link, struct etcd_watch, link), CLUSTER_TXN_CLOSED);
}
