/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/call_table.h"

#include <errno.h>
#include <stdlib.h>

#include "hub/base/futex.h"

#define TURN (UINT32_C(1) << HUB_CALL_ID_SHIFT) /* the difference of two ids of an entry */

/* Makes an id from the index of the entry, which no other call has, and a number of turns: a late
 * answer finds another id there. Never 0. r[impl call.request-id.uniqueness]
 * r[impl core.call.request-id] r[impl shm.id.request-scope] r[impl call.request-id.in-flight] */
static uint32_t fresh_id(struct hub_calls *calls, uint32_t index) REQUIRES(*calls->lock)
{
    uint32_t turn = calls->turn + TURN;

    if (__builtin_expect(turn == 0, 0))
        turn = TURN;
    calls->turn = turn;
    return turn | index;
}

static uint32_t index_of(uint32_t id)
{
    return id & ((UINT32_C(1) << HUB_CALL_ID_SHIFT) - 1);
}

struct hub_call_entry *hub_call_table_of_id(struct hub_calls *calls, uint32_t id)
{
    uint32_t index = index_of(id);
    struct hub_call_entry *entry = &calls->entries[index];

    return index < calls->begun && entry->id == id && entry->state != HUB_CALL_FREE ? entry : NULL;
}

static void release_channels(struct hub_call_entry *entry)
{
    for (uint32_t i = 0; entry->channels && i < entry->channels->count; i++)
        hub_channel_release(&entry->channels->list[i]);
    free(entry->channels);
    entry->channels = NULL;
}

static int hold_channels(struct hub_call_entry *entry, const struct hub_channel_list *list)
{
    if (!list || list->count == 0)
        return 0;
    entry->channels = malloc(sizeof *entry->channels);
    if (!entry->channels)
        return -ENOMEM;
    *entry->channels = *list;
    for (uint32_t i = 0; i < list->count; i++)
        (void)hub_channel_hold(list->list[i]);
    return 0;
}

uint32_t hub_call_table_sweep(struct hub_calls *calls)
{
    uint32_t busy = calls->begun - calls->spare_count;

    for (uint32_t i = 0; busy > 0; i++) {
        if (calls->entries[i].state == HUB_CALL_FREE)
            continue;
        busy--;
        if (hub_observe(&calls->entries[i].taken))
            hub_call_table_forget(calls, &calls->entries[i]);
    }
    return calls->begun - calls->spare_count;
}

bool hub_call_table_any(const struct hub_calls *calls)
{
    uint32_t busy = calls->begun - calls->spare_count;

    for (uint32_t i = 0; busy > 0; i++) {
        const struct hub_call_entry *entry = &calls->entries[i];

        if (entry->state == HUB_CALL_FREE)
            continue;
        if (hub_observe(&entry->taken) == 0)
            return true;
        busy--;
    }
    return false;
}

static __attribute__((noinline)) struct hub_call_entry *find_free(struct hub_calls *calls)
    REQUIRES(*calls->lock)
{
    if (calls->spare_count == 0 && calls->begun == calls->limit)
        (void)hub_call_table_sweep(calls);
    if (calls->spare_count > 0)
        return &calls->entries[calls->spare[--calls->spare_count]];
    if (calls->begun == calls->limit)
        return NULL;
    hub_list_init(&calls->entries[calls->begun].link); /* in no list, as after each later use */
    return &calls->entries[calls->begun++];
}

static void put_back(struct hub_calls *calls, struct hub_call_entry *entry) REQUIRES(*calls->lock)
{
    entry->state = HUB_CALL_FREE;
    hub_store_relaxed64(&entry->number, 0);
    calls->spare[calls->spare_count++] = (uint32_t)(entry - calls->entries);
}

static __attribute__((noinline)) struct hub_call_entry *reserve_any(struct hub_calls *calls)
    REQUIRES(*calls->lock)
{
    struct hub_call_entry *entry = calls->last;

    if (calls->refusal != 0)
        return NULL;
    if (!entry || entry->state == HUB_CALL_FREE || hub_observe(&entry->taken) == 0)
        entry = find_free(calls);
    if (!entry)
        return NULL;
    entry->id = fresh_id(calls, (uint32_t)(entry - calls->entries));
    entry->state = HUB_CALL_DIRECT;
    hub_store_relaxed64(&entry->number,
                        0); /* before the entry is found again: the previous call is over */
    hub_store_relaxed(&entry->taken, 0);
    calls->last = entry;
    return entry;
}

/* A thread that calls repeatedly gets the entry that it has just left. An entry that was not opened
 * has no number; and `last` is set only as long as there is no refusal. */
struct hub_call_entry *hub_call_table_reserve(struct hub_calls *calls)
{
    struct hub_call_entry *entry = calls->last;

    if (!entry || entry->state != HUB_CALL_DIRECT || hub_observe(&entry->taken) == 0)
        return reserve_any(calls);
    entry->id = fresh_id(calls, index_of(entry->id));
    hub_store_relaxed(&entry->taken, 0);
    return entry;
}

void hub_call_table_open(struct hub_calls *calls, struct hub_call_entry *entry,
                         const struct hub_call_opening *opening)
{
    hub_store_relaxed64(&entry->number,
                        ++calls->opened << HUB_CALL_NUMBER_SHIFT | index_of(entry->id));
    entry->state = HUB_CALL_OPEN;
    entry->sent = opening->done == NULL;
    entry->in_loop = entry->cancelled = false;
    entry->view = opening->view;
    entry->code = 0;
    entry->method_id = opening->method_id;
    entry->answer = opening->answer ? opening->answer : &entry->own;
    entry->done = opening->done;
    entry->user = opening->user;
    hub_store_relaxed64(&entry->deadline_ns, opening->deadline_ns);
    hub_store_relaxed(&entry->ended, 0);
    hub_store_relaxed(&entry->word, HUB_CALL_AWAKE);
}

struct hub_call_entry *hub_call_table_enter(struct hub_calls *calls, const struct hub_call *call)
{
    const struct hub_call_opening opening = {.method_id = call->method_id,
                                             .deadline_ns = call->deadline_ns,
                                             .answer = call->answer,
                                             .done = call->done,
                                             .user = call->user,
                                             .view = call->view && call->answer && !call->channels};
    struct hub_call_entry *entry = hub_call_table_reserve(calls);

    if (!entry)
        return NULL;
    hub_call_table_open(calls, entry, &opening);
    if (call->channels && hold_channels(entry, call->channels) < 0) {
        put_back(calls, entry);
        return NULL;
    }
    return entry;
}

void hub_call_table_forget(struct hub_calls *calls, struct hub_call_entry *entry)
{
    hub_list_remove(&entry->link);
    release_channels(entry);
    put_back(calls, entry);
}

struct hub_call_entry *hub_call_table_find(struct hub_calls *calls, uint64_t number)
{
    uint64_t index = number & ((UINT64_C(1) << HUB_CALL_NUMBER_SHIFT) - 1);

    if (number == 0 || index >= calls->limit ||
        hub_load_relaxed64(&calls->entries[index].number) != number ||
        hub_observe(&calls->entries[index].taken) != 0)
        return NULL;
    return &calls->entries[index];
}

void hub_call_table_wake(struct hub_call_entry *entry)
{
    if (hub_exchange(&entry->word, HUB_CALL_TOLD) == HUB_CALL_ASLEEP)
        hub_futex_wake_private(&entry->word);
}

/* Tells the thread that is to take the end of the call. A delivering thread takes all ends, or is
 * told again, so only the first is reported. */
void hub_call_table_deliver(struct hub_calls *calls, struct hub_call_entry *entry)
{
    bool told = entry->done && !hub_list_empty(&calls->finished);

    if (entry->done)
        hub_list_append(&calls->finished, &entry->link);
    hub_publish(&entry->ended, 1);
    if (!entry->done && !entry->in_loop)
        hub_call_table_wake(entry);
    else if (!told)
        calls->on_ready(calls->user);
}

void hub_call_table_note_sent(struct hub_calls *calls, struct hub_call_entry *entry)
{
    entry->sent = true;
    if (hub_load_relaxed64(&entry->deadline_ns) < calls->next_deadline)
        calls->next_deadline = hub_load_relaxed64(&entry->deadline_ns);
    if (entry->state == HUB_CALL_ENDED)
        hub_call_table_deliver(calls, entry);
}

/* r[impl hub.call.once] */
void hub_call_table_end(struct hub_calls *calls, struct hub_call_entry *entry, int code)
{
    entry->state = HUB_CALL_ENDED;
    entry->code = code;
    if (entry->sent)
        hub_call_table_deliver(calls, entry);
}
