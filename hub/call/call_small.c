/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/call_small.h"

#include <errno.h>

#include "hub/call/call_table.h"
#include "hub/call/direct.h"

/* Returns whether the message is published already, or -EAGAIN. The number is written here, because
 * after the lock the call may have ended, and its memory may belong to another. */
static int enter_and_put(struct hub_calls *calls, struct hub_descriptor *message,
                         const struct hub_call_small *call, uint64_t *number) REQUIRES(*calls->lock)
{
    const struct hub_call_opening opening = {.method_id = message->method_id,
                                             .deadline_ns = call->deadline_ns,
                                             .answer = call->answer,
                                             .done = call->done,
                                             .user = call->user};
    struct hub_call_entry *entry = hub_call_table_reserve(calls);
    int r;

    if (!entry)
        return -EAGAIN;
    hub_call_table_open(calls, entry, &opening);
    message->msg_type = HUB_REQUEST;
    message->id = entry->id;
    *number = hub_load_relaxed64(&entry->number);
    r = hub_direct_put(calls->link, message, call->more);
    if (r < 0)
        hub_call_table_forget(calls, entry);
    else
        hub_call_table_note_sent(calls, entry);
    return r;
}

/* r[impl call.initiate] r[impl core.call] r[impl call.pipelining.allowed] */
int hub_call_small_begin(struct hub_calls *calls, struct hub_descriptor *message,
                         const struct hub_call_small *call, uint64_t *number)
{
    int r;

    hub_mutex_lock(calls->lock);
    r = enter_and_put(calls, message, call, number);
    hub_mutex_unlock(calls->lock);
    if (r > 0)
        hub_link_wake_receiver(calls->link);
    return r < 0 ? r : 0;
}
