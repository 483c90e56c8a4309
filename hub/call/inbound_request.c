/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "hub/call/inbound_state.h"

#define SMALL 512 /* bytes: requests with smaller payloads reuse memory */

/* Under the token, so no other thread takes a spare one. */
static struct hub_request *new_small(struct hub_inbound_calls *served)
{
    void *spare = hub_buffer_cache_get(&served->buffers);

    return spare ? spare : malloc(sizeof(struct hub_inbound_calls_piece) + SMALL);
}

/* Returns the bytes that a request reserves in the budget. Small requests are bounded by their
 * number. */
size_t hub_inbound_request_bytes(const struct hub_request *request)
{
    return request->small ? 0 : sizeof(struct hub_inbound_calls_piece) + request->payload_size;
}

static struct hub_request *new_large(struct hub_inbound_calls *served, uint32_t size)
{
    struct hub_request *request = NULL;
    size_t all = sizeof(struct hub_inbound_calls_piece) + size;

    if (!hub_budget_take(served->budget, all)) {
        served->denied = HUB_FAULT_BUDGET;
        return NULL;
    }
    request = malloc(all);
    if (!request)
        hub_budget_give(served->budget, all);
    return request;
}

/* Small requests are all of one size, and some are kept. */
struct hub_request *hub_inbound_request_make(struct hub_inbound_calls *served,
                                             const struct hub_message *message, uint32_t size)
{
    bool small = size < SMALL;
    struct hub_request *request = small ? new_small(served) : new_large(served, size);

    if (!request)
        return NULL;
    request->id = message->id;
    request->method_id = message->method_id;
    hub_store_relaxed64(&request->mark, hub_request_mark(message->id));
    request->channels.count = 0;
    request->method = NULL;
    request->payload = NULL;
    request->payload_size = size;
    request->view.link = NULL;
    request->small = small;
    request->queued = false;
    hub_list_init(&request->queue);
    return request;
}

void hub_inbound_request_free(struct hub_inbound_calls *served, struct hub_request *request)
{
    if (!request)
        return;
    if (request->channels.count > 0)
        hub_channels_drop(&request->channels);
    if (request->view.link)
        hub_view_release(&request->view);
    if (!request->small)
        hub_budget_give(served->budget, hub_inbound_request_bytes(request));
    if (!request->small || !hub_buffer_cache_give(&served->buffers, request))
        free(request);
}
