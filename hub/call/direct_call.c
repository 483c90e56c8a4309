/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/direct_call.h"

#include <errno.h>
#include <string.h>

#include "hub/base/clock.h"
#include "hub/call/call_table.h"
#include "hub/call/direct.h"
#include "hub/call/direct_slot.h"
#include "hub/link/receiver.h"
#include "hub/link/view.h"

/* The lock is held. */
static UNCHECKED bool put(struct hub_calls *calls, struct hub_descriptor *message,
                          const struct hub_parts *payload)
{
    const struct hub_message request = {HUB_REQUEST, message->id, message->method_id};

    if (!payload)
        return hub_direct_send(calls->link, message);
    return hub_direct_slot_send(calls->link, &request, payload) ||
           hub_link_try(calls->link, &request, payload) > 0;
}

/* The token is ours: no other thread can meet the answer before the entry is open. */
static UNCHECKED struct hub_call_entry *send(struct hub_calls *calls,
                                             struct hub_descriptor *message,
                                             const struct hub_parts *payload)
{
    struct hub_call_entry *entry;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_reserve(calls);
    if (entry) {
        message->id = entry->id;
        if (!put(calls, message, payload)) {
            hub_publish(&entry->taken, 1);
            entry = NULL;
        }
    }
    hub_direct_unlock(calls->link, entry != NULL);
    return entry;
}

/* Counts as every holder of the token does. */
static void end(struct hub_calls *calls, struct hub_call_entry *entry)
{
    hub_count64(&calls->answered, 1);
    hub_publish(&entry->taken, 1);
}

/* Shows the payload, or copies it if there is memory for it already. */
static bool take_slot(struct hub_link *link, const struct hub_descriptor *message, uint32_t head,
                      const struct hub_direct_order *order)
{
    struct hub_answer *answer = order->answer;
    bool taken = false;

    if (order->view && hub_view_may(link, message))
        taken = hub_direct_slot_show(link, message, head, &answer->view);
    else if (message->payload_len <= answer->capacity &&
             hub_responses_reserve(answer, message->payload_len, hub_link_phase(link, message)))
        taken = hub_direct_slot_copy(link, message, head, answer->data);
    if (taken)
        answer->size = message->payload_len;
    return taken;
}

/* Accepts the message that was found, if it is the answer. r[impl call.complete] */
static bool accept(struct hub_calls *calls, struct hub_direct_open *open,
                   const struct hub_direct_order *order)
{
    const struct hub_descriptor *message = &open->message;

    if (message->msg_type != HUB_RESPONSE || message->id != open->entry->id)
        return false;
    if (open->small)
        (void)hub_direct_take(calls->link, message, open->head);
    else if (!hub_direct_slot_look(calls->link, HUB_RESPONSE, message) ||
             !take_slot(calls->link, message, open->head, order))
        return false;
    end(calls, open->entry);
    return true;
}

/* The same for a message found now. r[impl call.complete] */
static bool is_answered(struct hub_calls *calls, struct hub_call_entry *entry,
                        struct hub_descriptor *message, const struct hub_direct_order *order)
{
    struct hub_link *link = calls->link;
    uint32_t head;

    if (hub_direct_look(link, HUB_RESPONSE, message, &head) && message->id == entry->id)
        (void)hub_direct_take(link, message, head);
    else if (!hub_direct_slot_look(link, HUB_RESPONSE, message) || message->id != entry->id ||
             !take_slot(link, message, head, order))
        return false;
    end(calls, entry);
    return true;
}

/* From here on it is an ordinary call. The link may have closed meanwhile. */
static __attribute__((noinline)) uint64_t go_on(struct hub_calls *calls,
                                                struct hub_call_entry *entry, uint64_t method_id,
                                                const struct hub_direct_order *order)
{
    uint64_t timeout_ns = order->timeout_ns != 0 ? order->timeout_ns : order->usual_ns;
    const struct hub_call_opening opening = {.method_id = method_id,
                                             .deadline_ns = hub_clock_after(timeout_ns),
                                             .answer = order->answer,
                                             .view = order->view && order->answer};
    uint64_t number;

    hub_mutex_lock(calls->lock);
    hub_call_table_open(calls, entry, &opening);
    number = hub_load_relaxed64(&entry->number);
    if (calls->refusal != 0) {
        hub_add64(&calls->lost, 1); /* like the calls that were open then */
        calls->lost_method = method_id;
        hub_call_table_end(calls, entry, calls->refusal);
    }
    hub_mutex_unlock(calls->lock);
    return number;
}

enum hub_direct_outcome hub_direct_call(struct hub_calls *calls, struct hub_descriptor *message,
                                        const struct hub_direct_order *order, uint64_t *number)
{
    enum hub_direct_outcome outcome = HUB_DIRECT_REFUSED;
    uint64_t method_id = message->method_id;
    struct hub_call_entry *entry;

    if (!hub_direct_begin(calls->link, false))
        return HUB_DIRECT_REFUSED;
    message->msg_type = HUB_REQUEST;
    entry = send(calls, message, order->payload);
    if (entry && is_answered(calls, entry, message, order)) {
        outcome = HUB_DIRECT_ANSWERED;
    } else if (entry) {
        *number = go_on(calls, entry, method_id, order);
        outcome = HUB_DIRECT_SENT;
    }
    hub_direct_end(calls->link, order->looks_soon);
    return outcome;
}

/* ---- loans ---- */

/* Like send. */
static UNCHECKED struct hub_call_entry *send_lent(struct hub_calls *calls, uint64_t method_id,
                                                  const struct hub_direct_lent *lent)
{
    struct hub_link *link = calls->link;
    struct hub_call_entry *entry;

    hub_mutex_lock(hub_link_lock(link)); /* it is also the lock of the calls */
    entry = hub_call_table_reserve(calls);
    if (entry) {
        const struct hub_message request = {HUB_REQUEST, entry->id, method_id};

        if (!hub_direct_slot_lend(link, &request, lent)) {
            hub_publish(&entry->taken, 1);
            entry = NULL;
        }
    }
    hub_direct_unlock(link, entry != NULL);
    return entry;
}

/* Looks again, for an inline Response: open->small says whether there is one. Any other message is
 * in open->message. None is consumed. Always false. */
static __attribute__((noinline)) bool look_otherwise(struct hub_link *link,
                                                     struct hub_direct_open *open)
{
    open->small = hub_direct_look(link, HUB_RESPONSE, &open->message, &open->head);
    return false;
}

/* Shows a Response in a slot that may be shown: false if there is none, or another message. A fault
 * of its slot has closed the link, and is not examined again. */
static bool is_shown(struct hub_link *link, struct hub_direct_open *open, struct hub_view *view)
{
    struct hub_descriptor *message = &open->message;
    int r = hub_direct_look_for_slot(link, HUB_RESPONSE, open->entry->id, message, &open->head);

    if (r == -ENOMSG || (r == 0 && !hub_view_may(link, message)))
        return look_otherwise(link, open);
    if (r == 0 && hub_direct_slot_show(link, message, open->head, view))
        return true;
    open->small = false;
    message->msg_type = 0;
    return false;
}

enum hub_direct_outcome hub_direct_call_lent(struct hub_calls *calls,
                                             const struct hub_direct_order *order,
                                             const struct hub_direct_lent *lent,
                                             struct hub_direct_open *open, struct hub_view *view)
{
    enum hub_direct_outcome outcome = HUB_DIRECT_REFUSED;

    if (!hub_direct_begin(calls->link, false))
        return HUB_DIRECT_REFUSED;
    open->entry = send_lent(calls, order->method_id, lent);
    if (open->entry) {
        if (!is_shown(calls->link, open, view))
            return HUB_DIRECT_SENT;
        end(calls, open->entry);
        outcome = HUB_DIRECT_ANSWERED;
    }
    hub_direct_end(calls->link, order->looks_soon);
    return outcome;
}

enum hub_direct_outcome hub_direct_call_on(struct hub_calls *calls, struct hub_direct_open *open,
                                           const struct hub_direct_order *order, uint64_t *number)
{
    enum hub_direct_outcome outcome = HUB_DIRECT_ANSWERED;

    if (!accept(calls, open, order)) {
        *number = go_on(calls, open->entry, order->method_id, order);
        outcome = HUB_DIRECT_SENT;
    }
    hub_direct_end(calls->link, order->looks_soon);
    return outcome;
}

/* ---- bytes ---- */

/* Like send. */
static UNCHECKED struct hub_call_entry *send_bytes(struct hub_calls *calls, uint64_t method_id,
                                                   struct rapahub_bytes bytes)
{
    struct hub_link *link = calls->link;
    struct hub_call_entry *entry;

    hub_mutex_lock(hub_link_lock(link)); /* it is also the lock of the calls */
    entry = hub_call_table_reserve(calls);
    if (entry) {
        const struct hub_message request = {HUB_REQUEST, entry->id, method_id};

        if (!hub_direct_send_bytes(link, &request, 1, bytes)) { /* after no metadata */
            hub_publish(&entry->taken, 1);
            entry = NULL;
        }
    }
    hub_direct_unlock(link, entry != NULL);
    return entry;
}

/* With `other` there is a message that may answer it in another way; without there is none, and no
 * second check. */
static struct hub_direct_end answer_otherwise(struct hub_calls *calls, struct hub_call_entry *entry,
                                              const struct hub_direct_order *order, bool other)
{
    struct hub_descriptor message;

    if (!entry)
        return (struct hub_direct_end){HUB_DIRECT_REFUSED, 0};
    if (!other || !is_answered(calls, entry, &message, order))
        return (struct hub_direct_end){HUB_DIRECT_SENT,
                                       go_on(calls, entry, order->method_id, order)};
    if (message.payload_slot != HUB_INLINE)
        return (struct hub_direct_end){HUB_DIRECT_IN_ANSWER, message.payload_len};
    memcpy(order->small, message.inline_payload, HUB_INLINE_SIZE);
    return (struct hub_direct_end){HUB_DIRECT_ANSWERED, message.payload_len};
}

/* The call was not sent, if there is no entry, or is not answered like this. */
static __attribute__((noinline)) struct hub_direct_end end_otherwise(
    struct hub_calls *calls, struct hub_call_entry *entry, const struct hub_direct_order *order,
    bool other, bool looks_soon)
{
    struct hub_direct_end result = answer_otherwise(calls, entry, order, other);

    hub_direct_end(calls->link, looks_soon);
    return result;
}

int hub_direct_call_bytes(struct hub_calls *calls, const struct rapahub_bytes *bytes,
                          const struct hub_direct_order *order, bool looks_soon,
                          struct hub_direct_end *out)
{
    struct hub_link *link = calls->link;
    uint64_t method_id = order->method_id;
    struct hub_call_entry *entry;
    int size;

    if (!hub_direct_begin(link, false)) {
        *out = (struct hub_direct_end){HUB_DIRECT_REFUSED, 0};
        return -EAGAIN;
    }
    entry = send_bytes(calls, method_id, *bytes);
    size = entry ? hub_direct_fetch(link, HUB_RESPONSE, entry->id, order->small) : -EAGAIN;
    if (size < 0) {
        *out = end_otherwise(calls, entry, order, size == -ENOMSG, looks_soon);
        return out->outcome == HUB_DIRECT_ANSWERED ? (int)out->of : -EAGAIN;
    }
    end(calls, entry);
    hub_direct_end(link, looks_soon);
    return size;
}
