/* SPDX-License-Identifier: Apache-2.0 */
/* inbound_state: shared by inbound_calls and response_queue, and private to them. */
#ifndef HUB_CALL_INBOUND_STATE_H
#define HUB_CALL_INBOUND_STATE_H

#include "hub/base/id_map.h"
#include "hub/base/line.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/call/buffer_cache.h"
#include "hub/call/inbound_calls.h"
#include "hub/wire/raw.h"

/* The largest payload in a slot that is copied into direct_copy. */
#define HUB_INBOUND_CALLS_COPY HUB_VIEW_LEAST

/* A request that is answered without having been run. */
struct hub_refusal {
    uint32_t id;
    enum hub_fault fault;
};

struct hub_inbound_calls {
    struct hub_link *link;
    struct hub_channels *channels;
    hub_inbound_calls_streams *streams;
    void *streams_user;
    bool keeps; /* stores answers that find no space */
    bool views; /* large payloads are read in place */
    struct hub_mutex lock;
    uint32_t limit;
    struct hub_budget *budget;
    /* Requests, and answers that are stored. It changes under the lock, and grows by requests
     * under the token only. So the holder of the token, reading without the lock, sees at most too
     * many. */
    struct hub_a32 count;
    struct hub_id_map *by_id GUARDED_BY(lock);
    struct hub_list queue GUARDED_BY(lock);     /* received, not yet run */
    struct hub_list cancelled GUARDED_BY(lock); /* cancelled before they ran */
    struct hub_list kept GUARDED_BY(lock);      /* answers that found no space: response_queue.c */
    struct hub_refusal *refused GUARDED_BY(lock); /* requests for which there was no space */
    enum hub_fault denied; /* why the request that is received now is refused; under the token */
    struct hub_a32 refused_count; /* changes under the lock */
    /* Readable without the lock, at each message: whether there is anything in the queue; whether
     * response_queue.c has anything to send. */
    struct hub_a32 queued, owes;
    struct hub_a32 settling; /* a thread sends stored answers */
    /* The oldest request, older than all in the queue, for the next serving thread: set under the
     * token and the lock while there is no other, taken by exchange without the lock; 0: none. Most
     * calls go this way, and so lock twice: when they come and when they are answered. */
    struct hub_a64 handed;
    struct hub_buffer_cache buffers; /* memory of small requests, for the holder of the token */
    void (*on_request)(void *user);
    void *user;
    /* The request that direct_serve.c hands out: in no table, so that none must be maintained. Its
     * memory stays, and belongs to a running request as long as its mark is not 0. */
    struct hub_request direct;
    /* without an inline payload, which is in the first line here: the bytes in it begin with the
     * second */
    struct hub_descriptor direct_message;
    _Alignas(HUB_LINE) uint8_t direct_lines[2 * HUB_LINE];
    /* a payload that was in a slot, at the same offset */
    uint8_t direct_copy[HUB_LINE + HUB_INBOUND_CALLS_COPY];
    bool direct_line; /* others followed it in the ring */
    /* `direct` was a message of a known method: so is the next one of that method, except for its
     * id and its size */
    bool direct_again;
    /* A known method without streams, so that it need not be looked up for a caller that calls it
     * repeatedly: it never changes. Serving thread. NULL: none yet. */
    void *plain_method;
    uint64_t plain_id;
};

/* One allocation: a request, then its payload, before whose first line is a pointer to the
 * request. */
struct hub_inbound_calls_piece {
    struct hub_request request;
    struct hub_request *self;
    /* up to the first line, and the offset of the payload in it */
    uint8_t room[2 * (HUB_LINE - 1)];
};

static inline void *hub_inbound_calls_place_payload(struct hub_request *request, uint32_t phase)
{
    uint8_t *line = hub_line_next(((struct hub_inbound_calls_piece *)request)->room);

    ((struct hub_request **)(void *)line)[-1] = request;
    request->payload = line + phase;
    return request->payload;
}

static inline struct hub_request *hub_inbound_request_of(void *payload)
{
    uint8_t *line = (uint8_t *)payload - (uintptr_t)payload % HUB_LINE;

    return ((struct hub_request **)(void *)line)[-1];
}

/* Returns the place for the payload of a direct request in a message. */
static inline uint8_t *hub_inbound_calls_direct_inline(struct hub_inbound_calls *served)
{
    return served->direct_lines + HUB_RAW_REQUEST_PHASE;
}

/* Marks the request as one whose caller has given up, if it still is that request. */
static inline void hub_inbound_calls_flag(struct hub_request *request, uint32_t id)
{
    (void)hub_claim64(&request->mark, hub_request_mark(id), hub_request_mark(id) | 1);
}

static inline bool hub_inbound_calls_runs_directly(const struct hub_inbound_calls *served,
                                                   uint32_t id)
{
    return (hub_observe64(&served->direct.mark) | 1) == (hub_request_mark(id) | 1);
}

/* Call it when a list of answers that are still to be sent has changed. */
static inline void hub_inbound_calls_note_owed(struct hub_inbound_calls *served)
    REQUIRES(served->lock)
{
    bool owes = hub_load_relaxed(&served->refused_count) > 0 ||
                !hub_list_empty(&served->cancelled) || !hub_list_empty(&served->kept);

    if (owes != (hub_load_relaxed(&served->owes) != 0))
        hub_link_hinder(served->link, owes);
    hub_publish(&served->owes, owes);
}

static inline void hub_inbound_calls_grow(struct hub_inbound_calls *served) REQUIRES(served->lock)
{
    hub_store_relaxed(&served->count, hub_load_relaxed(&served->count) + 1);
}

static inline void hub_inbound_calls_shrink(struct hub_inbound_calls *served) REQUIRES(served->lock)
{
    hub_store_relaxed(&served->count, hub_load_relaxed(&served->count) - 1);
}

/* It is neither found by its id nor queued any more; its memory belongs to the caller. */
static inline void hub_inbound_calls_forget(struct hub_inbound_calls *served,
                                            struct hub_request *request) REQUIRES(served->lock)
{
    (void)hub_id_map_remove(served->by_id, request->id);
    hub_list_remove(&request->queue);
    hub_inbound_calls_shrink(served);
}

/* Makes a request without its payload, not registered yet. NULL if there is no memory, or no
 * budget, which `denied` then says. Under the token. */
struct hub_request *hub_inbound_request_make(struct hub_inbound_calls *served,
                                             const struct hub_message *message, uint32_t size);

/* Returns the bytes that it reserves in the budget. */
size_t hub_inbound_request_bytes(const struct hub_request *request);

/* Frees the memory of a forgotten request, and the rest of its streams. */
void hub_inbound_request_free(struct hub_inbound_calls *served, struct hub_request *request);

#endif
