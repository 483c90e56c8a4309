/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/direct_slot_serve.h"

#include "hub/base/small_copy.h"
#include "hub/call/direct_slot.h"
#include "hub/call/inbound_state.h"

#define HEAD     2  /* bytes before a result: no metadata, and kind OK */
#define BODY_MAX 16 /* bytes of a body's head */

/* Whether the method takes streams is checked before there are arguments: a method without streams
 * does not look at them. */
static bool needs_streams(struct hub_inbound_calls *served, const struct hub_descriptor *message)
{
    struct hub_channel_name names[HUB_CHANNELS_OF_CALL];
    struct hub_request *request = &served->direct;

    request->id = message->id;
    request->method_id = message->method_id;
    request->arguments = (struct rapahub_bytes){served->direct_copy, 0};
    request->channels.count = 0;
    request->method = NULL;
    if (served->plain_id == request->method_id && served->plain_method) {
        request->method = served->plain_method;
        return false;
    }
    request->plain = false;
    if (served->streams && served->streams(served->streams_user, request, names) != 0)
        return true;
    if (request->plain) {
        served->plain_id = request->method_id;
        served->plain_method = request->method;
    }
    return false;
}

/* A fault of the slot has closed the link. r[impl hub.slot.hold] */
static bool fetch(struct hub_inbound_calls *served, uint32_t head, bool shown)
{
    const struct hub_descriptor *message = &served->direct_message;
    struct hub_request *request = &served->direct;

    request->payload_size = message->payload_len;
    if (!shown) {
        request->payload = served->direct_copy + hub_link_phase(served->link, message);
        return hub_direct_slot_copy(served->link, message, head, request->payload);
    }
    if (!hub_direct_slot_show(served->link, message, head, &request->view))
        return false;
    request->payload = (void *)(uintptr_t)request->view.data;
    return true;
}

/* Decodes it like any request at its receipt. */
static __attribute__((noinline)) bool read_metadata(struct hub_inbound_calls *served)
{
    struct hub_request *request = &served->direct;
    struct hub_reader reader;

    hub_reader_init(&reader, request->payload, request->payload_size);
    if (hub_metadata_read(&reader, &request->metadata) < 0) {
        hub_direct_slot_serve_end(served);
        (void)hub_link_violated(served->link);
        return false;
    }
    request->arguments = (struct rapahub_bytes){reader.at, hub_reader_left(&reader)};
    return true;
}

/* Most requests have no metadata: their first byte is 0. That byte is read once, since the peer
 * may still change a payload that is shown. */
static bool read(struct hub_inbound_calls *served)
{
    struct hub_request *request = &served->direct;
    const uint8_t *payload = request->payload;

    if (request->payload_size >= sizeof(uint64_t) && (uint8_t)hub_atomic_peek_bytes(payload) == 0) {
        request->metadata = (struct hub_metadata){0};
        request->arguments = (struct rapahub_bytes){payload + 1, request->payload_size - 1};
    } else if (!read_metadata(served)) {
        return false;
    }
    hub_publish64(&request->mark, hub_request_mark(request->id));
    return true;
}

/* Whether it may be shown depends partly on the peer, so that is decided once.
 * r[impl call.request-id.duplicate-detection] */
__attribute__((noinline, flatten)) bool hub_direct_slot_serve_take(struct hub_inbound_calls *served,
                                                                   uint32_t head)
{
    struct hub_descriptor *message = &served->direct_message;
    bool shown;

    served->direct_again = false;
    if (!hub_direct_slot_look(served->link, HUB_REQUEST, message))
        return false;
    shown = served->views && hub_view_may(served->link, message);
    return (shown || message->payload_len <= HUB_INBOUND_CALLS_COPY) &&
           !needs_streams(served, message) && fetch(served, head, shown) && read(served);
}

/* Sends a payload that is not in a loan, or that something hinders. The lock is held. */
static __attribute__((noinline)) UNCHECKED bool try_to_send(struct hub_link *link,
                                                            const struct hub_message *message,
                                                            const struct hub_parts *payload)
{
    return hub_link_try(link, message, payload) > 0;
}

/* A single look for sleepers serves the Response and the slot that returns with it. */
static UNCHECKED bool send(struct hub_inbound_calls *served, const struct hub_parts *payload)
{
    const struct hub_message message = {HUB_RESPONSE, served->direct.id, 0};
    struct hub_mutex *lock = hub_link_lock(served->link);
    bool sent;

    hub_mutex_lock(lock);
    sent = hub_direct_slot_send(served->link, &message, payload) ||
           try_to_send(served->link, &message, payload);
    hub_mutex_unlock(lock);
    if (sent && served->direct.view.link)
        hub_view_give_back_behind_message(&served->direct.view);
    else if (sent)
        hub_link_wake_receiver(served->link);
    return sent;
}

/* r[impl call.response.encoding] */
bool hub_direct_slot_serve_answer(struct hub_inbound_calls *served,
                                  const struct hub_response *response, const struct hub_parts *body)
{
    uint8_t head[HEAD + BODY_MAX];
    const struct hub_parts payload = {
        .head = {head, HEAD + body->head.size}, .tail = body->tail, .loan = body->loan};

    if (response->kind != HUB_RESPONSE_OK || body->more || body->head.size > BODY_MAX ||
        hub_channel_owes(served->channels))
        return false;
    head[0] = head[1] = 0;
    hub_small_copy_copy(head + HEAD, body->head.data, body->head.size);
    return send(served, &payload);
}

/* Most requests have no view. */
static __attribute__((noinline)) void give_back(struct hub_inbound_calls *served)
{
    hub_view_give_back(&served->direct.view);
}

void hub_direct_slot_serve_end(struct hub_inbound_calls *served)
{
    if (served->direct.view.link)
        give_back(served);
}
