/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/call_debt.h"

#include "hub/base/clock.h"
#include "hub/call/call_table.h"

static void count(const struct hub_call_entry *entry, struct hub_call_debt *debt)
{
    uint64_t deadline_ns = hub_load_relaxed64(&entry->deadline_ns);

    switch (entry->state) {
    case HUB_CALL_ZOMBIE:
        if (deadline_ns < debt->overdue_ns)
            debt->overdue_ns = deadline_ns;
        debt->open++;
        break;
    case HUB_CALL_OPEN:
        debt->open++;
        break;
    case HUB_CALL_DIRECT: /* if the call has ended, its entry is kept for the next call */
        debt->open += hub_observe(&entry->taken) == 0;
        break;
    default:
        break;
    }
}

void hub_call_debt_look(struct hub_calls *calls, struct hub_call_debt *out)
{
    *out = (struct hub_call_debt){0, HUB_NEVER};
    hub_mutex_lock(calls->lock);
    for (uint32_t i = 0; i < calls->begun; i++)
        count(&calls->entries[i], out);
    hub_mutex_unlock(calls->lock);
}
