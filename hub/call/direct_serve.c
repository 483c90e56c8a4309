/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/direct_serve.h"

#include <string.h>

#include "hub/base/small_copy.h"
#include "hub/call/direct.h"
#include "hub/call/direct_slot_serve.h"
#include "hub/call/inbound_state.h"
#include "hub/call/response_queue.h"
#include "hub/link/receiver.h"

#define HEAD 2 /* bytes before a result: no metadata, and kind OK */

/* Overwrites the last request, which other threads examine only by its mark, and that is 0. */
static void fill(struct hub_inbound_calls *served, const struct hub_direct_request *from)
{
    struct hub_request *request = &served->direct;
    uint8_t *payload = hub_inbound_calls_direct_inline(served);

    request->id = from->id;
    request->method_id = from->method_id;
    request->metadata = (struct hub_metadata){0};
    request->arguments = (struct rapahub_bytes){payload + 1, from->size - 1};
    request->channels.count = 0;
    request->method = NULL;
    request->payload = payload;
    served->direct_again = false;
}

static bool needs_streams(struct hub_inbound_calls *served)
{
    struct hub_channel_name names[HUB_CHANNELS_OF_CALL];

    if (!served->streams)
        return false;
    served->direct.plain = false;
    if (served->streams(served->streams_user, &served->direct, names) != 0)
        return true;
    if (served->direct.plain) {
        served->plain_id = served->direct.method_id;
        served->plain_method = served->direct.method;
    }
    return false;
}

/* For another method than the last one, or after a request that was not in a message. */
static __attribute__((noinline)) bool prepare(struct hub_inbound_calls *served,
                                              struct hub_direct_request from)
{
    fill(served, &from);
    if (served->plain_id == from.method_id && served->plain_method)
        served->direct.method = served->plain_method;
    else if (needs_streams(served))
        return false;
    served->direct_again = served->plain_method && served->direct.method == served->plain_method;
    return true;
}

static bool prepare_again(struct hub_inbound_calls *served, const struct hub_direct_request *from)
{
    struct hub_request *request = &served->direct;

    if (!served->direct_again || request->method_id != from->method_id)
        return false;
    request->id = from->id;
    request->arguments.size = from->size - 1;
    return true;
}

/* It is taken only if it needs nothing that the ordinary way would do for it. */
static bool take(struct hub_inbound_calls *served)
{
    struct hub_descriptor *message = &served->direct_message;
    uint8_t *payload = hub_inbound_calls_direct_inline(served);
    struct hub_direct_request from;

    if (!hub_direct_look_at_request(served->link, message, payload, &from))
        return hub_direct_slot_serve_take(served, from.head);
    if (from.size == 0 || payload[0] != 0)
        return false;
    if (!prepare_again(served, &from) && !prepare(served, from))
        return false;
    hub_publish64(&served->direct.mark, hub_request_mark(from.id));
    served->direct_line = hub_direct_take_inline(served->link, from.size, from.head);
    return true;
}

struct hub_request *hub_direct_serve_next(struct hub_inbound_calls *served)
{
    struct hub_link *link = served->link;
    bool taken;

    served->direct_line = false;
    if (hub_load_relaxed64(&served->direct.mark) != 0 || !hub_direct_begin(link, true))
        return NULL;
    taken = hub_load_relaxed(&served->count) == 0 && take(served);
    hub_direct_end(link, false);
    return taken ? &served->direct : NULL;
}

bool hub_direct_serve_waits(const struct hub_inbound_calls *served)
{
    return served->direct_line;
}

/* The request's mark is cleared first: the peer may reuse the id as soon as it has the Response.
 * r[impl call.response.encoding] */
static UNCHECKED bool send(struct hub_inbound_calls *served, struct hub_descriptor *message,
                           bool more)
{
    struct hub_mutex *lock = hub_link_lock(served->link);
    int r;

    if (hub_channel_owes(served->channels))
        return false;
    message->msg_type = HUB_RESPONSE;
    message->id = served->direct.id;
    hub_publish64(&served->direct.mark, 0);
    hub_mutex_lock(lock);
    r = hub_direct_put(served->link, message, more);
    hub_direct_unlock(served->link, r > 0);
    return r >= 0;
}

/* Sends after others that are held back, or to be held back itself. */
static __attribute__((noinline)) bool send_behind(struct hub_inbound_calls *served,
                                                  const struct rapahub_bytes *bytes, bool more)
{
    struct hub_descriptor message = {.payload_len = HEAD + 1 + (uint32_t)bytes->size};

    message.inline_payload[HEAD] = (uint8_t)bytes->size;
    hub_small_copy_copy(message.inline_payload + HEAD + 1, bytes->data, bytes->size);
    return send(served, &message, more);
}

/* Like send. */
static UNCHECKED bool send_bytes(struct hub_inbound_calls *served, struct rapahub_bytes bytes)
{
    const struct hub_message message = {HUB_RESPONSE, served->direct.id, 0};
    struct hub_link *link = served->link;
    struct hub_mutex *lock = hub_link_lock(link);
    bool sent;

    if (hub_channel_owes(served->channels))
        return false;
    hub_publish64(&served->direct.mark, 0);
    hub_mutex_lock(lock);
    sent = hub_direct_send_bytes(link, &message, HEAD, bytes);
    hub_direct_unlock(link, sent);
    return sent;
}

bool hub_direct_serve_bytes(struct hub_inbound_calls *served, struct rapahub_bytes bytes, bool more)
{
    if (bytes.size > HUB_INLINE_SIZE - HEAD - 1)
        return false;
    if ((more || !send_bytes(served, bytes)) && !send_behind(served, &bytes, more))
        return false;
    hub_direct_slot_serve_end(served);
    return true;
}

static bool is_small(const struct hub_response *response, const struct hub_parts *body)
{
    return response->kind == HUB_RESPONSE_OK && !body->loan && body->head.size <= HUB_INLINE_SIZE &&
           body->tail.size <= HUB_INLINE_SIZE &&
           HEAD + body->head.size + body->tail.size <= HUB_INLINE_SIZE;
}

static bool answer_small(struct hub_inbound_calls *served, const struct hub_parts *body)
{
    struct hub_descriptor message = {0};
    uint8_t *to = message.inline_payload + HEAD;

    for (size_t i = 0; i < body->head.size; i++) /* only a few bytes */
        to[i] = ((const uint8_t *)body->head.data)[i];
    if (body->tail.size > 0)
        memcpy(to + body->head.size, body->tail.data, body->tail.size);
    message.payload_len = (uint32_t)(HEAD + body->head.size + body->tail.size);
    return send(served, &message, body->more);
}

static __attribute__((noinline)) int answer_later(struct hub_inbound_calls *served,
                                                  const struct hub_response *response,
                                                  const struct hub_parts *body)
{
    return hub_response_queue_send(served, served->direct.id, response, body);
}

int hub_direct_serve_answer(struct hub_inbound_calls *served, const struct hub_response *response,
                            const struct hub_parts *body)
{
    int r = 1;

    if (!is_small(response, body) || !answer_small(served, body)) {
        hub_publish64(&served->direct.mark, 0);
        if (!hub_direct_slot_serve_answer(served, response, body))
            r = answer_later(served, response, body);
    }
    hub_direct_slot_serve_end(served);
    return r;
}
