/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/direct_wait.h"

#include <string.h>

#include "hub/call/call_table.h"
#include "hub/call/direct.h"
#include "hub/call/direct_slot.h"
#include "hub/call/inbound_state.h"
#include "hub/call/responses.h"

/* r[impl call.complete] */
static bool take_answer(const struct hub_direct_wait *wait, const struct hub_descriptor *message,
                        uint32_t head)
{
    if (!hub_responses_take(wait->calls, message->id, message->inline_payload,
                            message->payload_len))
        return false;
    (void)hub_direct_take(wait->calls->link, message, head);
    return true;
}

/* There is memory for one request if none is open, and the running one is then the only one. */
static bool may_take(const struct hub_inbound_calls *served, const struct hub_descriptor *message)
{
    struct hub_message checked;

    return message->msg_type == HUB_REQUEST && message->payload_len <= HUB_INBOUND_CALLS_COPY &&
           hub_load_relaxed(&served->count) == 0 && hub_load_relaxed64(&served->direct.mark) == 0 &&
           hub_message_check(message, hub_link_limits(served->link), &checked) == 0;
}

/* Copies and consumes it: false if a fault of the slot has closed the link.
 * r[impl hub.slot.hold] */
static bool fetch(struct hub_inbound_calls *served, const struct hub_descriptor *message,
                  uint32_t head)
{
    uint8_t *to = served->direct_copy + hub_link_phase(served->link, message);

    served->direct.payload = to;
    if (message->payload_slot != HUB_INLINE)
        return hub_direct_slot_copy(served->link, message, head, to);
    memcpy(to, message->inline_payload, HUB_INLINE_SIZE);
    (void)hub_direct_take(served->link, message, head);
    return true;
}

static bool read(struct hub_inbound_calls *served, const struct hub_descriptor *message)
{
    struct hub_request *request = &served->direct;
    struct hub_reader reader;
    int r;

    served->direct_again = false;
    request->id = message->id;
    request->method_id = message->method_id;
    request->channels.count = 0;
    request->method = NULL;
    hub_reader_init(&reader, request->payload, message->payload_len);
    r = hub_metadata_read(&reader, &request->metadata);
    request->arguments = (struct rapahub_bytes){reader.at, hub_reader_left(&reader)};
    return r == 0;
}

/* A request that was received and cannot be run here continues as if it had come the ordinary
 * way. */
static void hand_on(struct hub_inbound_calls *served, const struct hub_descriptor *message)
{
    const struct hub_message request = {HUB_REQUEST, message->id, message->method_id};
    void *payload = hub_inbound_calls_place(served, &request, message->payload_len,
                                            hub_link_phase(served->link, message));

    if (payload)
        memcpy(payload, served->direct.payload, message->payload_len);
    if (hub_inbound_calls_accept(served, &request, payload) < 0)
        (void)hub_link_violated(served->link);
}

/* r[impl call.request-id.duplicate-detection] */
static bool take_request(const struct hub_direct_wait *wait, const struct hub_descriptor *message,
                         uint32_t head)
{
    struct hub_inbound_calls *served = wait->served;

    if (!may_take(served, message) || !fetch(served, message, head))
        return false;
    if (!read(served, message) || !wait->may(wait->user, &served->direct)) {
        hand_on(served, message);
        return false;
    }
    hub_publish64(&served->direct.mark, hub_request_mark(message->id));
    return true;
}

static enum hub_direct_news take(const struct hub_direct_wait *wait)
{
    struct hub_descriptor message;
    uint32_t head;

    if (hub_direct_look(wait->calls->link, HUB_RESPONSE, &message, &head))
        return take_answer(wait, &message, head) ? HUB_DIRECT_ANSWER : HUB_DIRECT_NOTHING;
    return message.msg_type != 0 && take_request(wait, &message, head) ? HUB_DIRECT_REQUEST
                                                                       : HUB_DIRECT_NOTHING;
}

enum hub_direct_news hub_direct_wait_next(const struct hub_direct_wait *wait,
                                          struct hub_request **request)
{
    enum hub_direct_news news;

    if (!hub_direct_begin(wait->calls->link, true))
        return HUB_DIRECT_NOTHING;
    news = take(wait);
    hub_direct_end(wait->calls->link, true);
    *request = &wait->served->direct;
    return news;
}
