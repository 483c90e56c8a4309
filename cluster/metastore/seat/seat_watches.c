/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_watches.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define EVENTS_MAX (2 * CLUSTER_SEAT_ANSWER_MAX) /* bytes of events that were not told */

struct seat_watch {
    struct hub_list link;
    uint64_t number;
    uint64_t rev;                      /* heard of up to here */
    bool asked;                        /* this link was asked for it */
    bool over;                         /* the seat has ended it */
    struct cluster_seat_call *unwatch; /* made before, so that an end needs no memory */
    cluster_on_change *on_change;
    void *user;
    struct rapahub_bytes from, to; /* in `span` */
    uint8_t span[];
};

struct event {
    struct hub_list link;
    uint64_t watch, rev;
    int status;
    uint8_t *data; /* that the changes are views of */
    size_t size, count;
    struct cluster_change changes[];
};

void cluster_seat_watches_init(struct cluster_seat_watches *watches,
                               struct cluster_seat_calls *calls)
{
    *watches = (struct cluster_seat_watches){.calls = calls};
    hub_list_init(&watches->watches);
    hub_list_init(&watches->events);
}

static struct seat_watch *find(struct cluster_seat_watches *watches, uint64_t number)
{
    HUB_LIST_EACH (&watches->watches, link) {
        struct seat_watch *watch = HUB_LIST_ITEM(link, struct seat_watch, link);

        if (watch->number == number)
            return watch;
    }
    return NULL;
}

static void forget(struct cluster_seat_watches *watches, struct seat_watch *watch)
{
    hub_list_remove(&watch->link);
    watches->count--;
    cluster_seat_calls_free(watch->unwatch);
    free(watch);
}

static struct seat_watch *make(struct cluster_seat_calls *calls, uint64_t number,
                               const struct cluster_span *span, int *failure)
{
    struct seat_watch *watch = calloc(1, sizeof *watch + span->from.size + span->to.size);

    if (!watch) {
        *failure = rapahub_fail(RAPAHUB_ENOMEM, "", "a watch of the metastore: out of memory");
        return NULL;
    }
    watch->unwatch = cluster_seat_calls_make(
        calls, (struct cluster_seat_request){.kind = CLUSTER_SEAT_UNWATCH, .number = number}, NULL,
        failure);
    if (!watch->unwatch) {
        free(watch);
        return NULL;
    }
    memcpy(watch->span, span->from.data, span->from.size);
    memcpy(watch->span + span->from.size, span->to.data, span->to.size);
    watch->from = (struct rapahub_bytes){watch->span, span->from.size};
    watch->to = (struct rapahub_bytes){watch->span + span->from.size, span->to.size};
    watch->number = number;
    watch->rev = span->rev;
    return watch;
}

/* r[impl cluster.store.bounds] */
int cluster_seat_watches_open(struct cluster_seat_watches *watches, const struct cluster_span *span,
                              cluster_on_change *on_change, void *user, uint64_t *out)
{
    struct seat_watch *watch;
    int r = 0;

    if (watches->count == CLUSTER_SEAT_WATCHES_MAX)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.store.bounds",
                            "%d watches of the seat are open, no more are taken",
                            CLUSTER_SEAT_WATCHES_MAX);
    watch = make(watches->calls, watches->last + 1, span, &r);
    if (!watch)
        return r;
    watch->on_change = on_change;
    watch->user = user;
    *out = ++watches->last;
    watches->count++;
    hub_list_append(&watches->watches, &watch->link);
    return 0;
}

void cluster_seat_watches_end(struct cluster_seat_watches *watches, uint64_t number)
{
    struct seat_watch *watch = find(watches, number);

    if (!watch)
        return;
    if (watch->asked && !watch->over && !cluster_seat_calls_withdraw(watches->calls, number)) {
        cluster_seat_calls_add(watches->calls, watch->unwatch);
        watch->unwatch = NULL;
    }
    forget(watches, watch);
}

/* r[impl cluster.store.seat.watch] */
void cluster_seat_watches_ask(struct cluster_seat_watches *watches)
{
    HUB_LIST_EACH (&watches->watches, link) {
        struct seat_watch *watch = HUB_LIST_ITEM(link, struct seat_watch, link);
        const struct cluster_seat_request request = {.kind = CLUSTER_SEAT_WATCH,
                                                     .number = watch->number,
                                                     .from = watch->from,
                                                     .to = watch->to,
                                                     .rev = watch->rev};
        struct cluster_seat_call *call;
        int failure;

        if (watch->asked || watch->over)
            continue;
        call = cluster_seat_calls_make(watches->calls, request, NULL, &failure);
        if (!call)
            return;
        watch->asked = true;
        cluster_seat_calls_add(watches->calls, call);
    }
}

void cluster_seat_watches_link_down(struct cluster_seat_watches *watches)
{
    HUB_LIST_EACH (&watches->watches, link)
        HUB_LIST_ITEM(link, struct seat_watch, link)->asked = false;
}

/* ---- events ---- */

/* Says whether the event can be the next one of the watch. r[impl cluster.store.seat.answer] */
static bool is_next(const struct seat_watch *watch, const struct event *event)
{
    if (event->status == CLUSTER_TXN_CLOSED || event->status == CLUSTER_TXN_CORRUPT || watch->over)
        return false;
    if (event->status == CLUSTER_TXN_OK && event->rev < watch->rev + (event->count > 0))
        return false;
    for (size_t i = 0; i < event->count; i++) {
        const struct cluster_pair *pair = &event->changes[i].pair;

        if (pair->mod_rev != event->rev ||
            cluster_txn_order(pair->key, i > 0 ? event->changes[i - 1].pair.key : watch->from) <
                (i > 0) ||
            cluster_txn_order(pair->key, watch->to) >= 0)
            return false;
    }
    return true;
}

/* NULL, with a diagnosis: it is no event, or there is no memory; *failure has the code. */
static struct event *make_event(uint8_t *data, size_t size, int *failure)
{
    struct cluster_seat_event event;
    struct event *made;

    *failure = cluster_seat_message_read_event((struct rapahub_bytes){data, size}, &event);
    if (*failure < 0)
        return NULL;
    made = calloc(1, sizeof *made + event.changes.count * sizeof *made->changes);
    if (!made) {
        *failure = rapahub_fail(RAPAHUB_ENOMEM, "", "an event of the metastore: out of memory");
        return NULL;
    }
    made->watch = event.watch;
    made->rev = event.rev;
    made->status = event.status;
    made->data = data;
    made->size = size;
    while (cluster_seat_message_next_change(&event.changes, &made->changes[made->count]))
        made->count++;
    return made;
}

static void free_event(struct event *event)
{
    free(event->data);
    free(event);
}

/* An event of a watch that has ended was on its way then. */
static int take(struct cluster_seat_watches *watches, struct event *event)
{
    struct seat_watch *watch = find(watches, event->watch);

    if (event->watch > watches->last || (watch && !is_next(watch, event)))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.answer",
                            "an event of the seat can be none of its watch");
    if (watches->events_bytes + event->size > EVENTS_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.store.seat.answer",
                            "too many events of the seat wait to be told");
    if (!watch) {
        free_event(event);
        return 0;
    }
    if (event->rev > watches->revision)
        watches->revision = event->rev;
    if (event->status == CLUSTER_TXN_OK)
        watch->rev = event->rev;
    else
        watch->over = true;
    watches->events_bytes += event->size;
    hub_list_append(&watches->events, &event->link);
    return 0;
}

int cluster_seat_watches_event(struct cluster_seat_watches *watches, uint8_t *data, size_t size)
{
    int r;
    struct event *event = make_event(data, size, &r);

    if (!event) {
        free(data);
        return r;
    }
    r = take(watches, event);
    if (r < 0)
        free_event(event);
    return r;
}

/* The watch may be gone after its callback. */
static void tell(struct cluster_seat_watches *watches, const struct event *event)
{
    struct seat_watch *watch = find(watches, event->watch);
    cluster_on_change *on_change;
    void *user;

    if (!watch)
        return;
    on_change = watch->on_change;
    user = watch->user;
    if (event->status != CLUSTER_TXN_OK)
        forget(watches, watch);
    on_change(user, event->status, event->rev, event->changes, event->count);
}

void cluster_seat_watches_tell(struct cluster_seat_watches *watches)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&watches->events))) {
        struct event *event = HUB_LIST_ITEM(link, struct event, link);

        watches->events_bytes -= event->size;
        tell(watches, event);
        free_event(event);
    }
}

void cluster_seat_watches_close(struct cluster_seat_watches *watches)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&watches->events)))
        free_event(HUB_LIST_ITEM(link, struct event, link));
    while (!hub_list_empty(&watches->watches)) {
        struct seat_watch *watch = HUB_LIST_ITEM(watches->watches.next, struct seat_watch, link);
        cluster_on_change *on_change = watch->on_change;
        void *user = watch->user;

        forget(watches, watch);
        on_change(user, CLUSTER_TXN_CLOSED, 0, NULL, 0);
    }
}
