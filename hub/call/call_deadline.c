/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/call_deadline.h"

#include "hub/call/call_table.h"

void hub_call_deadline_extend(struct hub_calls *calls, uint64_t number, uint64_t deadline_ns)
{
    struct hub_call_entry *entry;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_find(calls, number);
    if (entry && entry->state == HUB_CALL_OPEN && !entry->cancelled &&
        hub_load_relaxed64(&entry->deadline_ns) < deadline_ns)
        hub_store_relaxed64(&entry->deadline_ns, deadline_ns);
    hub_mutex_unlock(calls->lock);
}

uint64_t hub_call_deadline_of(struct hub_calls *calls, uint64_t number)
{
    struct hub_call_entry *entry;
    uint64_t deadline;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_find(calls, number);
    deadline = entry ? hub_load_relaxed64(&entry->deadline_ns) : 0;
    hub_mutex_unlock(calls->lock);
    return deadline;
}
