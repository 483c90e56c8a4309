/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/responses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/line.h"
#include "hub/base/memory.h"
#include "hub/call/call_table.h"
#include "hub/wire/raw.h"
#include "hub/wire/response.h"

#define LEAST 256 /* bytes of memory for an answer; never less than HUB_INLINE_SIZE */

/* ---- the memory of an answer: `capacity` bytes, from each offset in its first line ---- */

static uint8_t *take_memory(const struct hub_answer *answer, uint32_t capacity)
{
    size_t size = (size_t)capacity + HUB_LINE;

    return answer->budget ? hub_memory_charged(size) : hub_line_alloc(size);
}

static void free_memory(const struct hub_answer *answer)
{
    if (answer->budget && answer->memory)
        hub_memory_free_charged(answer->memory, (size_t)answer->capacity + HUB_LINE);
    else
        free(answer->memory);
}

void hub_responses_fini(struct hub_answer *answer)
{
    hub_view_release(&answer->view);
    hub_align_fini(&answer->aligned);
    free_memory(answer);
    if (answer->budget) {
        hub_budget_give(answer->budget, answer->capacity);
        hub_budget_drop(&answer->budget);
    }
    *answer = (struct hub_answer){0};
}

void hub_responses_limit(struct hub_answer *answer, struct hub_budget *budget)
{
    answer->budget = hub_budget_hold(budget);
}

static uint32_t capacity_for(const struct hub_answer *answer, uint32_t size)
{
    uint32_t capacity = answer->capacity ? answer->capacity : LEAST;

    if (answer->budget && size > capacity) /* it is reserved once */
        return size;
    while (capacity < size)
        capacity *= 2;
    return capacity;
}

/* r[impl sec.call.budget] */
bool hub_responses_grow(struct hub_answer *answer, uint32_t size)
{
    uint32_t capacity = capacity_for(answer, size), more = capacity - answer->capacity;
    uint8_t *memory;

    if (answer->budget && !hub_budget_take(answer->budget, more))
        return false;
    memory = take_memory(answer, capacity);
    if (!memory) {
        if (answer->budget)
            hub_budget_give(answer->budget, more);
        return false;
    }
    free_memory(answer);
    answer->memory = answer->data = memory;
    answer->capacity = capacity;
    return true;
}

/* Limit in bytes of the Response of a refused call, which each entry may need to store.
 * r[impl sec.call.budget] */
#define UNWANTED_MAX 2048

/* The caller has gone, or there is no memory for its answer: whether the call was refused must be
 * known all the same, because of its channels. */
static void *place_unwanted(struct hub_calls *calls, struct hub_call_entry *entry, uint32_t size)
    REQUIRES(*calls->lock)
{
    if (!entry->channels)
        return NULL;
    if (entry->state == HUB_CALL_ZOMBIE && size <= UNWANTED_MAX &&
        hub_responses_reserve(&entry->own, size, 0))
        return entry->own.data;
    return size <= sizeof calls->refused ? calls->refused : NULL;
}

/* r[impl call.lifecycle.unknown-request-id] r[impl call.lifecycle.ordering] */
void *hub_responses_place(struct hub_calls *calls, uint32_t id, uint32_t size, uint32_t phase)
{
    struct hub_call_entry *entry;
    void *to = NULL;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_of_id(calls, id);
    if (entry && entry->state == HUB_CALL_OPEN &&
        hub_responses_reserve(entry->answer, size, phase)) {
        entry->state = HUB_CALL_FILLING;
        to = entry->answer->data;
    } else if (entry && (entry->state == HUB_CALL_OPEN || entry->state == HUB_CALL_ZOMBIE)) {
        to = place_unwanted(calls, entry, size);
    }
    hub_mutex_unlock(calls->lock);
    return to;
}

/* Counts an answer before the thread that takes the end sees it; under the lock, so a plain sum is
 * enough. */
static void count_answer(struct hub_calls *calls) REQUIRES(*calls->lock)
{
    hub_store_relaxed64(&calls->answered, hub_load_relaxed64(&calls->answered) + 1);
}

/* r[impl call.complete] */
static inline bool take(struct hub_calls *calls, uint32_t id, const void *payload, uint32_t size)
    REQUIRES(*calls->lock)
{
    struct hub_call_entry *entry = hub_call_table_of_id(calls, id);

    if (!entry || entry->state != HUB_CALL_OPEN || entry->channels ||
        !hub_responses_reserve(entry->answer, HUB_INLINE_SIZE, HUB_RAW_RESPONSE_PHASE))
        return false;
    memcpy(entry->answer->data, payload, HUB_INLINE_SIZE); /* all of it: that is cheaper */
    entry->answer->size = size;
    count_answer(calls);
    hub_call_table_end(calls, entry, 0);
    return true;
}

bool hub_responses_take(struct hub_calls *calls, uint32_t id, const void *payload, uint32_t size)
{
    bool taken;

    hub_mutex_lock(calls->lock);
    taken = take(calls, id, payload, size);
    hub_mutex_unlock(calls->lock);
    return taken;
}

uint32_t hub_responses_take_line(struct hub_calls *calls, const struct hub_descriptor *list,
                                 uint32_t count)
{
    uint32_t i = 0;

    hub_mutex_lock(calls->lock);
    while (i < count && take(calls, list[i].id, list[i].inline_payload, list[i].payload_len))
        i++;
    hub_mutex_unlock(calls->lock);
    return i;
}

/* Frees the id of a call without a caller: at once, or when its end has been told. */
static void end_zombie(struct hub_calls *calls, struct hub_call_entry *entry) REQUIRES(*calls->lock)
{
    if (entry->done)
        entry->state = HUB_CALL_ENDED;
    else
        hub_call_table_forget(calls, entry);
}

/* Says whether the call was refused before its channels were known. The other side then never
 * closes them. */
static bool is_refusal(const void *payload, uint32_t size)
{
    struct hub_response response;
    struct hub_reader reader;

    hub_reader_init(&reader, payload, size);
    return hub_response_decode(&reader, &response) == 0 && hub_response_is_refusal(&response);
}

/* r[impl call.complete] r[impl call.pipelining.independence] */
void hub_responses_accept(struct hub_calls *calls, uint32_t id, const void *payload, uint32_t size)
{
    struct hub_call_entry *entry;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_of_id(calls, id);
    if (entry && entry->channels && entry->state != HUB_CALL_ENDED)
        hub_channels_answered(entry->channels, payload && is_refusal(payload, size));
    if (entry && entry->state == HUB_CALL_FILLING) {
        entry->answer->size = size;
        count_answer(calls);
        hub_call_table_end(calls, entry, 0);
    } else if (entry && entry->state == HUB_CALL_OPEN) {
        /* There was no memory for the answer. With a budget, that is mostly the reason. */
        hub_call_table_end(calls, entry, entry->answer->budget ? RAPAHUB_EBUDGET : -ENOMEM);
    } else {
        hub_add64(&calls->late, 1);
        if (entry && entry->state == HUB_CALL_ZOMBIE)
            end_zombie(calls, entry);
    }
    hub_mutex_unlock(calls->lock);
}

bool hub_responses_want_view(struct hub_calls *calls, uint32_t id)
{
    const struct hub_call_entry *entry;
    bool wants;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_of_id(calls, id);
    wants = entry && entry->state == HUB_CALL_OPEN && entry->view;
    hub_mutex_unlock(calls->lock);
    return wants;
}

/* The caller may have given up since it was asked. */
void hub_responses_view(struct hub_calls *calls, uint32_t id, struct hub_view *view)
{
    struct hub_call_entry *entry;
    bool taken;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_of_id(calls, id);
    taken = entry && entry->state == HUB_CALL_OPEN && entry->view;
    if (taken) {
        entry->answer->view = *view;
        entry->answer->size = view->size;
        count_answer(calls);
        hub_call_table_end(calls, entry, 0);
    }
    hub_mutex_unlock(calls->lock);
    if (taken)
        return;
    hub_view_release(view);
    hub_responses_accept(calls, id, NULL, 0);
}

void hub_responses_drop(struct hub_calls *calls, uint32_t id)
{
    struct hub_call_entry *entry;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_of_id(calls, id);
    if (entry && entry->state == HUB_CALL_FILLING) {
        entry->state = HUB_CALL_OPEN;
        if (calls->refusal != 0)
            hub_call_table_end(calls, entry, calls->refusal);
    }
    hub_mutex_unlock(calls->lock);
}

void hub_responses_hand_over(struct hub_calls *calls)
{
    struct hub_list *link;

    if (hub_load_relaxed(&calls->following) == 0)
        return;
    hub_mutex_lock(calls->lock);
    link = hub_list_pop(&calls->followers);
    if (link)
        hub_call_table_wake(HUB_LIST_ITEM(link, struct hub_call_entry, link));
    hub_mutex_unlock(calls->lock);
}
