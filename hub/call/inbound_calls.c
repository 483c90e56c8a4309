/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/inbound_calls.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/line.h"
#include "hub/base/own.h"
#include "hub/call/direct_serve.h"
#include "hub/call/inbound_state.h"
#include "hub/call/response_queue.h"

static void ignore(void *user)
{
    (void)user;
}

int hub_inbound_calls_create(uint32_t limit, size_t bytes_max, struct hub_inbound_calls **out)
{
    OWN(hub_inbound_calls) struct hub_inbound_calls *served = hub_line_zeroed(sizeof *served);

    if (!served)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a table of %u calls", limit);
    hub_mutex_init(&served->lock, HUB_MUTEX_INBOUND_CALLS);
    hub_list_init(&served->queue);
    hub_list_init(&served->cancelled);
    hub_list_init(&served->kept);
    served->limit = limit;
    served->on_request = ignore;
    served->budget = hub_budget_create(bytes_max);
    served->refused = calloc(limit, sizeof *served->refused);
    if (!served->budget || !served->refused || hub_id_map_create(limit, &served->by_id) < 0)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a table of %u calls", limit);
    *out = TAKE(served);
    return 0;
}

void hub_inbound_calls_bind(struct hub_inbound_calls *served, struct hub_link *link,
                            struct hub_channels *channels)
{
    served->link = link;
    served->channels = channels;
}

void hub_inbound_calls_find_streams(struct hub_inbound_calls *served,
                                    hub_inbound_calls_streams *streams, void *user)
{
    served->streams = streams;
    served->streams_user = user;
}

void hub_inbound_calls_keep_answers(struct hub_inbound_calls *served)
{
    served->keeps = true;
}

void hub_inbound_calls_on_request(struct hub_inbound_calls *served, void (*on_request)(void *user),
                                  void *user)
{
    served->on_request = on_request;
    served->user = user;
}

/* The link is gone: nothing is sent any more. */
static void free_one(void *user, uint64_t id, void *value)
{
    struct hub_request *request = value;
    struct hub_inbound_calls *served = user;

    (void)id;
    for (uint32_t i = 0; i < request->channels.count; i++)
        hub_channel_release(&request->channels.list[i]);
    hub_budget_give(served->budget, hub_inbound_request_bytes(request));
    free(request);
}

void hub_inbound_calls_release(struct hub_inbound_calls **served)
{
    if (!*served)
        return;
    if ((*served)->by_id)
        hub_id_map_each((*served)->by_id, free_one, *served);
    hub_id_map_release(&(*served)->by_id);
    hub_response_queue_drop(*served);
    hub_buffer_cache_fini(&(*served)->buffers);
    free((*served)->refused);
    hub_budget_drop(&(*served)->budget);
    hub_mutex_fini(&(*served)->lock);
    free(*served);
    *served = NULL;
}

/* ---- receipt, under the token ---- */

static bool is_full(const struct hub_inbound_calls *served)
{
    return hub_load_relaxed(&served->count) >= served->limit;
}

/* The request counts when it is registered: until then the holder of the token has no other. */
void *hub_inbound_calls_place(struct hub_inbound_calls *served, const struct hub_message *message,
                              uint32_t size, uint32_t phase)
{
    struct hub_request *request;

    served->denied = HUB_FAULT_BUSY;
    request = is_full(served) ? NULL : hub_inbound_request_make(served, message, size);
    return request ? hub_inbound_calls_place_payload(request, phase) : NULL;
}

/* It was never registered. */
void hub_inbound_calls_drop(struct hub_inbound_calls *served, void *payload)
{
    hub_inbound_request_free(served, hub_inbound_request_of(payload));
}

/* r[impl hub.call.fault] r[impl sec.call.budget] */
static void refuse(struct hub_inbound_calls *served, uint32_t id)
{
    enum hub_fault fault = served->denied;
    uint32_t count;

    if (fault == HUB_FAULT_BUDGET)
        hub_budget_note_refused(served->budget);
    hub_mutex_lock(&served->lock);
    count = hub_load_relaxed(&served->refused_count);
    served->refused[count] = (struct hub_refusal){id, fault};
    hub_store_relaxed(&served->refused_count, count + 1);
    hub_inbound_calls_note_owed(served);
    hub_mutex_unlock(&served->lock);
}

/* Moves it to where it waits to be run. */
static void hand_over(struct hub_inbound_calls *served, struct hub_request *request)
    REQUIRES(served->lock)
{
    if (hub_list_empty(&served->queue) && hub_load_relaxed64(&served->handed) == 0) {
        hub_publish64(&served->handed, (uintptr_t)request);
        return;
    }
    request->queued = true;
    hub_list_append(&served->queue, &request->queue);
    hub_publish(&served->queued, 1);
}

/* r[impl call.request-id.duplicate-detection] */
static int register_request(struct hub_inbound_calls *served, struct hub_request *request)
{
    int r;

    hub_mutex_lock(&served->lock);
    r = hub_inbound_calls_runs_directly(served, request->id)
            ? -EEXIST
            : hub_id_map_put(served->by_id, request->id, request);
    if (r == 0) {
        hub_inbound_calls_grow(served);
        hand_over(served, request);
    }
    hub_mutex_unlock(&served->lock);
    return r == 0 ? 0
                  : rapahub_fail(RAPAHUB_EPROTOCOL, "call.request-id.duplicate-detection",
                                 "request %u is being served already", request->id);
}

/* A request that cannot be decoded is answered so when it runs; until then, and afterwards,
 * messages for its channels have no receiver. r[impl hub.channel.orphan] */
static int register_streams(struct hub_inbound_calls *served, struct hub_request *request)
{
    struct hub_channel_name names[HUB_CHANNELS_OF_CALL];
    int count = served->streams ? served->streams(served->streams_user, request, names) : 0;

    if (count < 0)
        hub_channels_refused(served->channels);
    return count <= 0 ? 0
                      : hub_channels_register(served->channels, names, (uint32_t)count,
                                              &request->channels);
}

static int admit(struct hub_inbound_calls *served, struct hub_request *request)
{
    struct hub_reader reader;
    int r;

    hub_reader_init(&reader, request->payload, request->payload_size);
    r = hub_metadata_read(&reader, &request->metadata);
    request->arguments = (struct rapahub_bytes){reader.at, hub_reader_left(&reader)};
    if (r == 0)
        r = register_streams(served, request);
    if (r == 0)
        r = register_request(served, request);
    if (r < 0) {
        hub_inbound_request_free(served, request);
        return r;
    }
    served->on_request(served->user);
    return 0;
}

static int turn_away(struct hub_inbound_calls *served, uint32_t id)
{
    hub_channels_refused(served->channels);
    refuse(served, id);
    return 0;
}

int hub_inbound_calls_accept(struct hub_inbound_calls *served, const struct hub_message *message,
                             void *payload)
{
    return payload ? admit(served, hub_inbound_request_of(payload))
                   : turn_away(served, message->id);
}

/* ---- shown in place ---- */

void hub_inbound_calls_let_view(struct hub_inbound_calls *served)
{
    served->views = true;
}

bool hub_inbound_calls_wants_view(struct hub_inbound_calls *served)
{
    return served->views;
}

int hub_inbound_calls_view(struct hub_inbound_calls *served, const struct hub_message *message,
                           struct hub_view *view)
{
    /* Counted like any other, but it needs no private memory. */
    struct hub_request *request =
        is_full(served) ? NULL : hub_inbound_request_make(served, message, 0);

    if (!request) {
        served->denied = HUB_FAULT_BUSY;
        hub_view_release(view);
        return turn_away(served, message->id);
    }
    request->view = *view;
    request->payload = (void *)(uintptr_t)view->data;
    request->payload_size = view->size;
    return admit(served, request);
}

/* Removes it from where it waits to be run: false if it runs, or was removed before. */
static bool withdraw(struct hub_inbound_calls *served, struct hub_request *request)
    REQUIRES(served->lock)
{
    if (!request->queued)
        return hub_load_relaxed64(&served->handed) == (uintptr_t)request &&
               hub_claim64(&served->handed, (uintptr_t)request, 0);
    request->queued = false;
    hub_list_remove(&request->queue);
    return true;
}

/* A running call gets its flag, a queued one is answered and not run.
 * r[impl call.cancel.best-effort] */
void hub_inbound_calls_cancel(struct hub_inbound_calls *served, uint32_t id)
{
    struct hub_request *request;

    hub_mutex_lock(&served->lock);
    request = hub_id_map_get(served->by_id, id);
    if (!request)
        hub_inbound_calls_flag(&served->direct, id);
    if (request) {
        hub_inbound_calls_flag(request, id);
        if (withdraw(served, request)) {
            hub_list_append(&served->cancelled, &request->queue);
            hub_inbound_calls_note_owed(served);
        }
    }
    hub_mutex_unlock(&served->lock);
}

bool hub_inbound_calls_is_cancelled(struct hub_inbound_calls *served, uint32_t id)
{
    struct hub_request *request;
    bool cancelled;

    hub_mutex_lock(&served->lock);
    request = hub_id_map_get(served->by_id, id);
    if (!request && hub_inbound_calls_runs_directly(served, id))
        request = &served->direct;
    cancelled = request && hub_request_is_cancelled(request);
    hub_mutex_unlock(&served->lock);
    return cancelled;
}

bool hub_inbound_calls_full(struct hub_inbound_calls *served)
{
    return hub_load_relaxed(&served->refused_count) == served->limit;
}

/* ---- running and answering ---- */

static struct hub_request *take_handed(struct hub_inbound_calls *served)
{
    if (hub_load_relaxed64(&served->handed) == 0)
        return NULL;
    return (struct hub_request *)(uintptr_t)hub_exchange64(&served->handed, 0);
}

/* The handed request goes to the head of the queue, where it can be examined before it is taken. */
static void queue_handed(struct hub_inbound_calls *served) REQUIRES(served->lock)
{
    struct hub_request *request = take_handed(served);

    if (!request)
        return;
    request->queued = true;
    hub_list_append(served->queue.next, &request->queue);
}

static __attribute__((noinline)) struct hub_request *take_queued(
    struct hub_inbound_calls *served, bool (*may)(void *user, const struct hub_request *request),
    void *user)
{
    struct hub_request *found = NULL;

    hub_mutex_lock(&served->lock);
    queue_handed(served);
    HUB_LIST_EACH (&served->queue, link) {
        struct hub_request *request = HUB_LIST_ITEM(link, struct hub_request, queue);

        if (may && !may(user, request))
            continue;
        hub_list_remove(&request->queue);
        request->queued = false;
        found = request;
        break;
    }
    hub_store_relaxed(&served->queued, !hub_list_empty(&served->queue));
    hub_mutex_unlock(&served->lock);
    return found;
}

bool hub_inbound_calls_waits(const struct hub_inbound_calls *served)
{
    return hub_load_relaxed64(&served->handed) != 0 || hub_observe(&served->queued) != 0;
}

struct hub_request *hub_inbound_calls_next(struct hub_inbound_calls *served,
                                           bool (*may)(void *user,
                                                       const struct hub_request *request),
                                           void *user)
{
    struct hub_request *handed;

    if (!hub_inbound_calls_waits(served))
        return NULL;
    handed = may ? NULL : take_handed(served);
    return handed ? handed : take_queued(served, may, user);
}

int hub_inbound_calls_answer(struct hub_inbound_calls *served, struct hub_request *request,
                             const struct hub_response *response, struct rapahub_bytes body)
{
    const struct hub_parts parts = {.tail = body};

    return hub_inbound_calls_answer_parts(served, request, response, &parts);
}

int hub_inbound_calls_answer_parts(struct hub_inbound_calls *served, struct hub_request *request,
                                   const struct hub_response *response,
                                   const struct hub_parts *body)
{
    uint32_t id = request->id;
    int r;

    if (request == &served->direct) {
        r = hub_direct_serve_answer(served, response, body);
        return r < 0 ? r : 0;
    }
    /* First, because with the Response the id may be reused. The body may refer to the memory. */
    hub_mutex_lock(&served->lock);
    hub_inbound_calls_forget(served, request);
    hub_mutex_unlock(&served->lock);
    /* Its caller treats the channels of a refused call as unknown here. */
    if (request->channels.count > 0)
        hub_channels_answer(&request->channels, hub_response_is_refusal(response));
    r = hub_response_queue_send(served, id, response, body);
    hub_inbound_request_free(served, request);
    return r;
}

static void flag_one(void *user, uint64_t id, void *value)
{
    struct hub_request *request = value;

    (void)user;
    hub_inbound_calls_flag(request, (uint32_t)id);
}

static void drop_list(struct hub_inbound_calls *served, struct hub_list *from, struct hub_list *to)
    REQUIRES(served->lock)
{
    HUB_LIST_EACH (from, link) {
        struct hub_request *request = HUB_LIST_ITEM(link, struct hub_request, queue);

        hub_inbound_calls_forget(served, request);
        hub_list_append(to, &request->queue);
    }
}

/* Whichever request it is: by its mark alone, because the rest belongs to the serving thread. */
static void flag_direct(struct hub_inbound_calls *served)
{
    uint64_t mark = hub_observe64(&served->direct.mark);

    if (mark != 0)
        (void)hub_claim64(&served->direct.mark, mark, mark | 1);
}

/* Queued requests are not run for a peer that is gone. */
void hub_inbound_calls_end_all(struct hub_inbound_calls *served)
{
    struct hub_list dropped;

    hub_response_queue_drop(served);
    hub_list_init(&dropped);
    hub_mutex_lock(&served->lock);
    hub_store_relaxed(&served->refused_count, 0);
    queue_handed(served);
    drop_list(served, &served->queue, &dropped);
    drop_list(served, &served->cancelled, &dropped);
    hub_inbound_calls_note_owed(served);
    hub_id_map_each(served->by_id, flag_one, NULL);
    flag_direct(served);
    hub_mutex_unlock(&served->lock);
    for (struct hub_list *link = hub_list_pop(&dropped); link; link = hub_list_pop(&dropped))
        hub_inbound_request_free(served, HUB_LIST_ITEM(link, struct hub_request, queue));
}

struct hub_budget *hub_inbound_calls_budget(struct hub_inbound_calls *served)
{
    return served->budget;
}

bool hub_inbound_calls_over_budget(const struct hub_inbound_calls *served,
                                   const struct hub_request *request)
{
    return !hub_budget_has_half(served->budget, hub_inbound_request_bytes(request));
}

uint32_t hub_inbound_calls_open(struct hub_inbound_calls *served)
{
    return hub_load_relaxed(&served->count) + (hub_load_relaxed64(&served->direct.mark) != 0);
}
