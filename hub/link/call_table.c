/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/call_table.h"

#include <errno.h>
#include <stdlib.h>

#include "hub/base/futex.h"

/* The place of its entry, which no other call has, and a number of turns: an answer that comes late
 * finds another id there. Never 0. r[impl call.request-id.uniqueness] r[impl core.call.request-id]
 * r[impl shm.id.request-scope] r[impl call.request-id.in-flight] */
static uint32_t fresh_id(struct hub_calls *calls, uint32_t index) REQUIRES(*calls->lock)
{
    uint32_t id;

    do
        id = (uint32_t)(++calls->sequence << HUB_CALL_ID_SHIFT) | index;
    while (id == index);
    return id;
}

struct hub_call_entry *hub_call_table_of_id(struct hub_calls *calls, uint32_t id)
{
    uint32_t index = id & ((UINT32_C(1) << HUB_CALL_ID_SHIFT) - 1);
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

/* A thread that calls again and again gets the entry that it has just left. */
static struct hub_call_entry *find_free(struct hub_calls *calls) REQUIRES(*calls->lock)
{
    struct hub_call_entry *last = calls->last;

    if (last && last->state != HUB_CALL_FREE && hub_observe(&last->taken))
        return last;
    if (calls->spare_count == 0 && calls->begun == calls->limit)
        (void)hub_call_table_sweep(calls);
    if (calls->spare_count > 0)
        return &calls->entries[calls->spare[--calls->spare_count]];
    return calls->begun < calls->limit ? &calls->entries[calls->begun++] : NULL;
}

static void put_back(struct hub_calls *calls, struct hub_call_entry *entry) REQUIRES(*calls->lock)
{
    entry->state = HUB_CALL_FREE;
    hub_note64(&entry->number, 0);
    calls->spare[calls->spare_count++] = (uint32_t)(entry - calls->entries);
}

struct hub_call_entry *hub_call_table_reserve(struct hub_calls *calls)
{
    struct hub_call_entry *entry = find_free(calls);
    uint32_t index;

    if (!entry)
        return NULL;
    index = (uint32_t)(entry - calls->entries);
    entry->id = fresh_id(calls, index);
    entry->state = HUB_CALL_DIRECT;
    hub_note64(&entry->number, calls->sequence << HUB_CALL_NUMBER_SHIFT | index);
    hub_note(&entry->taken, 0);
    hub_list_init(&entry->link);
    calls->last = entry;
    return entry;
}

void hub_call_table_open(struct hub_calls *calls, struct hub_call_entry *entry,
                         const struct hub_call *call)
{
    (void)calls;
    entry->state = HUB_CALL_OPEN;
    entry->sent = call->done == NULL;
    entry->in_loop = entry->cancelled = false;
    entry->view = call->view && call->answer && !call->channels;
    entry->code = 0;
    entry->answer = call->answer ? call->answer : &entry->own;
    entry->done = call->done;
    entry->user = call->user;
    hub_note64(&entry->deadline_ns, call->deadline_ns);
    hub_note(&entry->ended, 0);
    hub_note(&entry->word, HUB_CALL_AWAKE);
}

struct hub_call_entry *hub_call_table_enter(struct hub_calls *calls, const struct hub_call *call)
{
    struct hub_call_entry *entry = hub_call_table_reserve(calls);

    if (!entry)
        return NULL;
    hub_call_table_open(calls, entry, call);
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
        hub_peek64(&calls->entries[index].number) != number ||
        hub_observe(&calls->entries[index].taken) != 0)
        return NULL;
    return &calls->entries[index];
}

void hub_call_table_wake(struct hub_call_entry *entry)
{
    if (hub_exchange(&entry->word, HUB_CALL_TOLD) == HUB_CALL_ASLEEP)
        hub_futex_wake_private(&entry->word);
}

/* Tells whoever is to take the end of the call. */
void hub_call_table_deliver(struct hub_calls *calls, struct hub_call_entry *entry)
{
    if (entry->done)
        hub_list_append(&calls->finished, &entry->link);
    hub_publish(&entry->ended, 1);
    if (entry->done || entry->in_loop)
        calls->on_ready(calls->user);
    else
        hub_call_table_wake(entry);
}

/* r[impl hub.call.once] */
void hub_call_table_end(struct hub_calls *calls, struct hub_call_entry *entry, int code)
{
    entry->state = HUB_CALL_ENDED;
    entry->code = code;
    if (entry->sent)
        hub_call_table_deliver(calls, entry);
}
