/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/response_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/memory.h"
#include "hub/call/inbound_state.h"

/* An answer that finds no space for this long ends the link, because the peer no longer reads.
 * Stored answers count as served requests, so their number is bounded with them. */
#define ANSWER_PATIENCE (60 * HUB_SECOND)

#define RESET_SLICE (10 * HUB_MILLISECOND) /* between two checks for space for a Reset */

/* Bytes before the result: metadata, tags, the text of an error. */
#define HEAD_MAX 1280

/* A Response that found no space. */
struct kept {
    struct hub_list link;
    uint32_t id, size;
    uint64_t deadline_ns;
    uint8_t data[];
};

/* There is always budget for an error: there are no more of them than requests. */
static struct kept *new_kept(struct hub_inbound_calls *served, size_t size, int *failure)
{
    struct kept *kept;
    size_t all = sizeof *kept + size;

    *failure = -EDQUOT;
    if (size <= HEAD_MAX)
        hub_budget_charge(served->budget, all);
    else if (!hub_budget_take(served->budget, all))
        return NULL;
    *failure = -ENOMEM;
    kept = hub_memory_charged(all);
    if (!kept)
        hub_budget_give(served->budget, all);
    return kept;
}

static void free_kept(struct hub_inbound_calls *served, struct kept *kept)
{
    size_t all = sizeof *kept + kept->size;

    hub_budget_give(served->budget, all);
    hub_memory_free_charged(kept, all);
}

/* -EDQUOT: it is more than the budget has left. r[impl sec.call.budget] */
static int keep(struct hub_inbound_calls *served, uint32_t id, const struct hub_parts *parts)
{
    size_t size = parts->head.size + parts->tail.size;
    int failure;
    struct kept *kept = new_kept(served, size, &failure);
    bool first;

    if (!kept)
        return failure;
    kept->id = id;
    kept->size = (uint32_t)size;
    kept->deadline_ns = hub_clock_after(ANSWER_PATIENCE);
    memcpy(kept->data, parts->head.data, parts->head.size);
    if (parts->tail.size > 0)
        memcpy(kept->data + parts->head.size, parts->tail.data, parts->tail.size);
    hub_mutex_lock(&served->lock);
    first = hub_list_empty(&served->kept);
    hub_list_append(&served->kept, &kept->link);
    hub_inbound_calls_note_owed(served);
    hub_inbound_calls_grow(served);
    hub_mutex_unlock(&served->lock);
    if (first)
        served->on_request(served->user);
    return 0;
}

static bool owes_nothing(void *user)
{
    return !hub_channel_owes(user);
}

/* A Response ends the channels of its call, whose ids may then be reused: a Reset that found no
 * space goes first. False if that is not possible in time, or now for a side that stores its
 * answers. */
static bool reset_first(struct hub_inbound_calls *served)
{
    uint64_t deadline = 0;

    while (hub_channel_owes(served->channels) && hub_channel_settle(served->channels)) {
        const struct hub_link_until until = {.done = owes_nothing,
                                             .user = served->channels,
                                             .stage = HUB_WAIT_SLEEP,
                                             .space = true,
                                             .deadline_ns = hub_clock_after(RESET_SLICE)};

        if (deadline == 0)
            deadline = hub_clock_after(ANSWER_PATIENCE);
        if (served->keeps || hub_link_closed(served->link) || hub_clock_left(deadline) == 0)
            return false;
        (void)hub_link_wait(served->link, &until);
    }
    return true;
}

/* r[impl call.response.encoding] */
static int send_response(struct hub_inbound_calls *served, uint32_t id,
                         const struct hub_response *response, const struct hub_parts *body)
{
    const struct hub_message message = {HUB_RESPONSE, id, 0};
    const size_t most = hub_link_limits(served->link)->payload_max;
    uint8_t head[HEAD_MAX];
    struct hub_writer writer;
    struct hub_parts parts = {.tail = body->tail, .loan = body->loan, .more = body->more};
    int r;

    hub_writer_init(&writer, head, sizeof head);
    hub_response_put(&writer, response);
    for (size_t i = 0; i < body->head.size; i++) /* only a few bytes */
        hub_writer_byte(&writer, ((const uint8_t *)body->head.data)[i]);
    parts.head = (struct rapahub_bytes){head, writer.size};
    if (writer.failure < 0)
        return writer.failure;
    if (body->tail.size > most || writer.size > most - body->tail.size)
        return -EMSGSIZE;
    r = -EAGAIN;
    if (!hub_channel_owes(served->channels) || reset_first(served) || !served->keeps)
        r = hub_link_send(served->link, &message, &parts, 0);
    if (r == -EAGAIN && !served->keeps)
        r = hub_link_send(served->link, &message, &parts, hub_clock_after(ANSWER_PATIENCE));
    return r == -EAGAIN ? keep(served, id, &parts) : r;
}

/* An answer that must not be lost for lack of space is not lost: a peer that receives none loses
 * the link. If the hub has no slot for it, and no space to make one, it counts as too large. An
 * answer beyond the budget is reported as that. */
static __attribute__((noinline)) int make_up(struct hub_inbound_calls *served, uint32_t id, int r)
{
    const struct hub_response instead = {
        .kind = HUB_RESPONSE_CANCELLED, .fault = r == -EDQUOT ? HUB_FAULT_DROPPED : HUB_FAULT_SIZE};
    const struct hub_parts nothing = {.loan = NULL};

    if (r == -EDQUOT)
        hub_budget_note_refused(served->budget);
    if (r == -EMSGSIZE || r == -ENOSPC || r == -EDQUOT)
        r = send_response(served, id, &instead, &nothing);
    if (r == -ETIMEDOUT || r == -ENOMEM)
        hub_link_close(served->link, RAPAHUB_ECLOSED, "");
    return r;
}

int hub_response_queue_send(struct hub_inbound_calls *served, uint32_t id,
                            const struct hub_response *response, const struct hub_parts *body)
{
    int r = send_response(served, id, response, body);

    return r < 0 ? make_up(served, id, r) : r;
}

static bool next_owed(struct hub_inbound_calls *served, uint32_t *id, struct hub_request **request,
                      enum hub_fault *fault)
{
    struct hub_list *link;
    bool found = true;
    uint32_t refused;

    hub_mutex_lock(&served->lock);
    refused = hub_load_relaxed(&served->refused_count);
    link = hub_list_pop(&served->cancelled);
    *request = link ? HUB_LIST_ITEM(link, struct hub_request, queue) : NULL;
    *fault = link ? HUB_FAULT_NONE : HUB_FAULT_BUSY;
    if (*request) {
        *id = (*request)->id;
        hub_inbound_calls_forget(served, *request);
    } else if (refused > 0) {
        *id = served->refused[refused - 1].id;
        *fault = served->refused[refused - 1].fault;
        hub_store_relaxed(&served->refused_count, refused - 1);
    } else {
        found = false;
    }
    hub_inbound_calls_note_owed(served);
    hub_mutex_unlock(&served->lock);
    return found;
}

static bool kept_any(struct hub_inbound_calls *served)
{
    bool any;

    hub_mutex_lock(&served->lock);
    any = !hub_list_empty(&served->kept);
    hub_mutex_unlock(&served->lock);
    return any;
}

static struct kept *pop_kept(struct hub_inbound_calls *served)
{
    struct hub_list *link;

    hub_mutex_lock(&served->lock);
    link = hub_list_pop(&served->kept);
    hub_inbound_calls_note_owed(served);
    hub_mutex_unlock(&served->lock);
    return link ? HUB_LIST_ITEM(link, struct kept, link) : NULL;
}

/* The answer was sent, or is of no use any more; or it goes back to its place. */
static void put_kept(struct hub_inbound_calls *served, struct kept *kept, bool done)
{
    hub_mutex_lock(&served->lock);
    if (done) {
        hub_inbound_calls_shrink(served);
    } else {
        hub_list_append(served->kept.next, &kept->link);
        hub_inbound_calls_note_owed(served);
    }
    hub_mutex_unlock(&served->lock);
    if (done)
        free_kept(served, kept);
}

/* Sends the oldest first; true if none is left. */
static bool send_kept(struct hub_inbound_calls *served)
{
    struct kept *kept;

    while (reset_first(served) && (kept = pop_kept(served))) {
        const struct hub_message message = {HUB_RESPONSE, kept->id, 0};
        const struct hub_parts parts = {.head = {kept->data, kept->size}};
        int r = hub_link_send(served->link, &message, &parts, 0);
        bool late = hub_clock_left(kept->deadline_ns) == 0;

        put_kept(served, kept, r != -EAGAIN);
        if (r == -EAGAIN && late)
            hub_link_close(served->link, RAPAHUB_ECLOSED, "");
        if (r == -EAGAIN)
            return false;
        if (r == -ENOSPC)
            (void)make_up(served, message.id, r);
    }
    return !kept_any(served);
}

/* False if the peer must read first. */
static bool send_owed(struct hub_inbound_calls *served)
{
    const struct hub_parts nothing = {.loan = NULL};
    struct hub_request *request;
    enum hub_fault fault;
    uint32_t id;

    while (send_kept(served)) {
        struct hub_response response = {.kind = HUB_RESPONSE_CANCELLED};

        if (!next_owed(served, &id, &request, &fault))
            return true;
        response.fault = fault;
        if (request)
            hub_channels_answer(&request->channels, false);
        (void)hub_response_queue_send(served, id, &response, &nothing);
        hub_inbound_request_free(served, request);
    }
    return false;
}

bool hub_response_queue_any(struct hub_inbound_calls *served)
{
    return hub_observe(&served->owes) != 0;
}

/* Sending may mean receiving, and then coming here again: only the outermost call sends. */
static __attribute__((noinline)) void settle(struct hub_inbound_calls *served)
{
    bool goes_on = true;

    while (goes_on && hub_response_queue_any(served)) {
        if (!hub_claim(&served->settling, 0, 1))
            return;
        goes_on = send_owed(served);
        hub_publish(&served->settling, 0);
    }
}

void hub_response_queue_settle(struct hub_inbound_calls *served)
{
    if (hub_response_queue_any(served))
        settle(served);
}

void hub_response_queue_drop(struct hub_inbound_calls *served)
{
    struct kept *kept;

    while ((kept = pop_kept(served)))
        put_kept(served, kept, true);
}
