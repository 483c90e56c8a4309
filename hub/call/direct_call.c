/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/direct_call.h"

#include <errno.h>
#include <string.h>

#include "hub/base/clock.h"
#include "hub/base/small_copy.h"
#include "hub/call/call_table.h"
#include "hub/call/direct.h"
#include "hub/call/direct_slot.h"
#include "hub/link/receiver.h"
#include "hub/link/view.h"

/* Sends a payload that is not in a loan and fits into the message. The lock is held. */
static UNCHECKED bool put_inline(struct hub_link *link, const struct hub_message *request,
                                 const struct hub_parts *payload)
{
    size_t before = payload->head.size;
    struct hub_descriptor message = {.msg_type = HUB_REQUEST,
                                     .id = request->id,
                                     .method_id = request->method_id,
                                     .payload_len = (uint32_t)(before + payload->tail.size)};

    hub_small_copy_copy(message.inline_payload, payload->head.data, before);
    if (payload->tail.size > 0)
        hub_small_copy_copy(message.inline_payload + before, payload->tail.data,
                            payload->tail.size);
    return hub_direct_send(link, &message);
}

/* A Request is one of the two: bytes alone, or any payload. */
struct outgoing {
    const struct rapahub_bytes *bytes;
    const struct hub_parts *payload;
};

/* The lock is held. */
static UNCHECKED bool put(struct hub_link *link, const struct hub_message *request,
                          const struct outgoing *outgoing)
{
    const struct hub_parts *payload = outgoing->payload;

    if (!payload)
        return hub_direct_send_bytes(link, request, 1, *outgoing->bytes); /* after no metadata */
    if (!payload->loan && payload->head.size <= HUB_INLINE_SIZE &&
        payload->tail.size <= HUB_INLINE_SIZE - payload->head.size)
        return put_inline(link, request, payload);
    return hub_direct_slot_send(link, request, payload) || hub_link_try(link, request, payload) > 0;
}

/* The token is ours: no other thread can meet the answer before the entry is open. */
static inline __attribute__((always_inline)) UNCHECKED struct hub_call_entry *send(
    struct hub_calls *calls, uint64_t method_id, const struct outgoing *outgoing)
{
    struct hub_link *link = calls->link;
    struct hub_call_entry *entry;

    hub_mutex_lock(hub_link_lock(link)); /* it is also the lock of the calls */
    entry = hub_call_table_reserve(calls);
    if (entry) {
        const struct hub_message request = {HUB_REQUEST, entry->id, method_id};

        if (!put(link, &request, outgoing)) {
            hub_publish(&entry->taken, 1);
            entry = NULL;
        }
    }
    hub_direct_unlock(link, entry != NULL);
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

/* Receives the answer if it is the next message. r[impl call.complete] */
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
                                                struct hub_call_entry *entry,
                                                const struct hub_direct_order *order)
{
    uint64_t timeout_ns = order->timeout_ns != 0 ? order->timeout_ns : order->usual_ns;
    const struct hub_call_opening opening = {.method_id = order->method_id,
                                             .deadline_ns = hub_clock_after(timeout_ns),
                                             .answer = order->answer,
                                             .view = order->view && order->answer};
    uint64_t number;

    hub_mutex_lock(calls->lock);
    hub_call_table_open(calls, entry, &opening);
    number = hub_load_relaxed64(&entry->number);
    if (calls->refusal != 0) {
        hub_add64(&calls->lost, 1); /* like the calls that were open then */
        calls->lost_method = order->method_id;
        hub_call_table_end(calls, entry, calls->refusal);
    }
    hub_mutex_unlock(calls->lock);
    return number;
}

/* Without an entry nothing was sent. With `other` there is a message that may be the answer;
 * without there is none, and no second look. */
static struct hub_direct_end find_end(struct hub_calls *calls, struct hub_call_entry *entry,
                                      const struct hub_direct_order *order, bool other)
{
    struct hub_descriptor message;

    if (!entry)
        return (struct hub_direct_end){HUB_DIRECT_REFUSED, 0};
    if (!other || !is_answered(calls, entry, &message, order))
        return (struct hub_direct_end){HUB_DIRECT_SENT, go_on(calls, entry, order)};
    if (message.payload_slot != HUB_INLINE)
        return (struct hub_direct_end){HUB_DIRECT_IN_ANSWER, message.payload_len};
    memcpy(order->small, message.inline_payload, HUB_INLINE_SIZE); /* all of it: that is cheaper */
    return (struct hub_direct_end){HUB_DIRECT_ANSWERED, message.payload_len};
}

struct hub_direct_end hub_direct_call(struct hub_calls *calls, const struct hub_parts *payload,
                                      const struct hub_direct_order *order, bool looks_soon)
{
    const struct outgoing outgoing = {.payload = payload};
    struct hub_direct_end result = {HUB_DIRECT_REFUSED, 0};

    if (!hub_direct_begin(calls->link, false))
        return result;
    result = find_end(calls, send(calls, order->method_id, &outgoing), order, true);
    hub_direct_end(calls->link, looks_soon);
    return result;
}

/* ---- bytes ---- */

static __attribute__((noinline)) struct hub_direct_end end_otherwise(
    struct hub_calls *calls, struct hub_call_entry *entry, const struct hub_direct_order *order,
    bool other, bool looks_soon)
{
    struct hub_direct_end result = find_end(calls, entry, order, other);

    hub_direct_end(calls->link, looks_soon);
    return result;
}

int hub_direct_call_bytes(struct hub_calls *calls, const struct rapahub_bytes *bytes,
                          const struct hub_direct_order *order, bool looks_soon,
                          struct hub_direct_end *out)
{
    const struct outgoing outgoing = {.bytes = bytes};
    struct hub_link *link = calls->link;
    struct hub_call_entry *entry;
    uint64_t method_id = order->method_id;
    int size;

    if (!hub_direct_begin(link, false)) {
        *out = (struct hub_direct_end){HUB_DIRECT_REFUSED, 0};
        return -EAGAIN;
    }
    entry = send(calls, method_id, &outgoing);
    size = entry ? hub_direct_fetch(link, HUB_RESPONSE, entry->id, order->small) : -EAGAIN;
    if (size < 0) {
        *out = end_otherwise(calls, entry, order, size == -ENOMSG, looks_soon);
        return out->outcome == HUB_DIRECT_ANSWERED ? (int)out->of : -EAGAIN;
    }
    end(calls, entry);
    hub_direct_end(link, looks_soon);
    return size;
}
