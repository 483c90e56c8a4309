/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/call_ends.h"

#include <errno.h>

#include "hub/base/clock.h"
#include "hub/call/call_table.h"
#include "hub/call/responses.h"

#define BATCH 16 /* ends collected under one lock */

/* Ends the calls whose deadline has passed, and finds the next deadline. */
static void expire(struct hub_calls *calls) REQUIRES(*calls->lock)
{
    uint64_t now;

    if (hub_clock_is_far(calls->next_deadline))
        return;
    now = hub_clock_now();
    if (now < calls->next_deadline)
        return;
    calls->next_deadline = HUB_NEVER;
    for (uint32_t i = 0; i < calls->begun; i++) {
        struct hub_call_entry *entry = &calls->entries[i];
        uint64_t deadline_ns = hub_load_relaxed64(&entry->deadline_ns);

        if (entry->state != HUB_CALL_OPEN || !entry->done || !entry->sent)
            continue;
        if (deadline_ns <= now) {
            entry->code = entry->cancelled ? -ECANCELED : -ETIMEDOUT;
            entry->state = HUB_CALL_ZOMBIE;
            hub_list_append(&calls->finished, &entry->link);
        } else if (deadline_ns < calls->next_deadline) {
            calls->next_deadline = deadline_ns;
        }
    }
}

/* The data for on_done, copied from the entry before it is reused. */
struct finished {
    hub_calls_done *done;
    void *user;
    int code;
    uint32_t cancel;          /* id to cancel, 0: none */
    bool own;                 /* the call brought no memory for its answer */
    struct hub_answer answer; /* the answer of such a call */
};

static void take_one(struct hub_calls *calls, struct hub_call_entry *entry, struct finished *out)
    REQUIRES(*calls->lock)
{
    out->done = entry->done;
    out->user = entry->user;
    out->code = entry->code;
    out->cancel = 0;
    out->own = entry->answer == &entry->own;
    if (out->own) {
        out->answer = entry->own;
        entry->own = (struct hub_answer){0};
    }
    entry->done = NULL;
    if (entry->state != HUB_CALL_ZOMBIE)
        hub_call_table_forget(calls, entry);
    else if (!entry->cancelled)
        out->cancel = entry->id;
    entry->answer = NULL;
}

/* Collects several under one lock, and returns their number. */
static uint32_t take_finished(struct hub_calls *calls, struct finished out[BATCH], uint32_t max)
{
    struct hub_list *link;
    uint32_t count = 0;

    hub_mutex_lock(calls->lock);
    while (count < max && (link = hub_list_pop(&calls->finished)))
        take_one(calls, HUB_LIST_ITEM(link, struct hub_call_entry, link), &out[count++]);
    hub_mutex_unlock(calls->lock);
    return count;
}

static void expire_all(struct hub_calls *calls)
{
    hub_mutex_lock(calls->lock);
    expire(calls);
    hub_mutex_unlock(calls->lock);
}

static void tell(struct hub_calls *calls, struct finished *finished)
{
    struct hub_answer none = {0};

    if (finished->cancel != 0)
        hub_calls_send_cancel(calls, finished->cancel);
    finished->done(finished->user, finished->code, finished->own ? &finished->answer : &none);
    if (finished->own)
        hub_responses_fini(&finished->answer);
}

/* If more calls than a table holds have ended meanwhile, the rest is left for another time. */
static void tell_of_others(struct hub_calls *calls)
{
    hub_mutex_lock(calls->lock);
    if (!hub_list_empty(&calls->finished))
        calls->on_ready(calls->user);
    hub_mutex_unlock(calls->lock);
}

uint32_t hub_call_ends_deliver(struct hub_calls *calls)
{
    struct finished finished[BATCH];
    uint32_t total = 0, count = 1;

    expire_all(calls);
    while (total < calls->limit && count > 0) {
        uint32_t left = calls->limit - total;

        count = take_finished(calls, finished, left < BATCH ? left : BATCH);
        for (uint32_t i = 0; i < count; i++)
            tell(calls, &finished[i]);
        total += count;
    }
    if (count > 0)
        tell_of_others(calls);
    return total;
}

/* The table keeps the deadline of a call that has ended; that one wakes no thread. */
uint64_t hub_call_ends_next(struct hub_calls *calls)
{
    uint64_t next = 0;

    hub_mutex_lock(calls->lock);
    if (hub_list_empty(&calls->finished))
        next = calls->next_deadline;
    if (next != 0 && next != HUB_NEVER && !hub_call_table_any(calls))
        next = HUB_NEVER;
    hub_mutex_unlock(calls->lock);
    return next;
}
