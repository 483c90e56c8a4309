/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/served.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/id_map.h"
#include "hub/base/mutex.h"
#include "hub/base/own.h"

/* An answer that finds no space for so long ends the link: the peer does not read any more. Kept
 * ones count among what is served, so they are bounded with it. */
#define ANSWER_PATIENCE (60 * HUB_SECOND)

/* Bytes of what stands before the result: metadata, tags, the text of an error. */
#define HEAD_MAX 1280

/* A Response that found no space. */
struct kept {
    struct hub_list link;
    uint32_t id, size;
    uint64_t deadline_ns;
    uint8_t data[];
};

struct hub_served {
    struct hub_link *link;
    bool keeps; /* answers that find no space */
    struct hub_mutex lock;
    uint32_t limit;
    size_t bytes_max;
    size_t bytes GUARDED_BY(lock); /* private copies */
    uint32_t count GUARDED_BY(lock);
    struct hub_id_map *by_id GUARDED_BY(lock);
    struct hub_list queue GUARDED_BY(lock);     /* received, not yet run */
    struct hub_list cancelled GUARDED_BY(lock); /* cancelled before they ran */
    struct hub_list kept GUARDED_BY(lock);
    uint32_t *refused GUARDED_BY(lock); /* ids there was no room for */
    uint32_t refused_count GUARDED_BY(lock);
    struct hub_a32 settling; /* a thread sends what is owed */
    void (*on_request)(void *user);
    void *user;
};

static void ignore(void *user)
{
    (void)user;
}

int hub_served_create(uint32_t limit, size_t bytes_max, struct hub_served **out)
{
    OWN(hub_served) struct hub_served *served = calloc(1, sizeof *served);

    if (!served)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a table of %u calls", limit);
    hub_mutex_init(&served->lock);
    hub_list_init(&served->queue);
    hub_list_init(&served->cancelled);
    hub_list_init(&served->kept);
    served->limit = limit;
    served->bytes_max = bytes_max;
    served->on_request = ignore;
    served->refused = calloc(limit, sizeof *served->refused);
    if (!served->refused || hub_id_map_create(limit, &served->by_id) < 0)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a table of %u calls", limit);
    *out = TAKE(served);
    return 0;
}

void hub_served_bind(struct hub_served *served, struct hub_link *link)
{
    served->link = link;
}

void hub_served_keep_answers(struct hub_served *served)
{
    served->keeps = true;
}

void hub_served_on_request(struct hub_served *served, void (*on_request)(void *user), void *user)
{
    served->on_request = on_request;
    served->user = user;
}

static void free_kept(struct hub_list *list)
{
    for (struct hub_list *link; (link = hub_list_pop(list));)
        free(HUB_LIST_ITEM(link, struct kept, link));
}

static void free_one(void *user, uint64_t id, void *value)
{
    (void)user;
    (void)id;
    free(value);
}

void hub_served_release(struct hub_served **served)
{
    if (!*served)
        return;
    if ((*served)->by_id)
        hub_id_map_each((*served)->by_id, free_one, NULL);
    hub_id_map_release(&(*served)->by_id);
    free_kept(&(*served)->kept);
    free((*served)->refused);
    hub_mutex_fini(&(*served)->lock);
    free(*served);
    *served = NULL;
}

/* ---- receipt, under the token ---- */

/* One allocation: the request, then its payload. */
void *hub_served_place(struct hub_served *served, const struct hub_message *message, uint32_t size)
{
    struct hub_request *request = NULL;
    bool room;

    hub_mutex_lock(&served->lock);
    room = served->count < served->limit && served->bytes <= served->bytes_max &&
           size <= served->bytes_max - served->bytes;
    if (room)
        request = malloc(sizeof *request + size + 1);
    if (request) {
        served->count++;
        served->bytes += size;
    }
    hub_mutex_unlock(&served->lock);
    if (!request)
        return NULL;
    *request = (struct hub_request){.id = message->id, .method_id = message->method_id};
    request->payload = request + 1;
    request->payload_size = size;
    hub_list_init(&request->queue);
    return request->payload;
}

static struct hub_request *request_of(void *payload)
{
    return (struct hub_request *)payload - 1;
}

static void forget(struct hub_served *served, struct hub_request *request) REQUIRES(served->lock)
{
    if (hub_id_map_get(served->by_id, request->id) == request)
        hub_id_map_remove(served->by_id, request->id);
    hub_list_remove(&request->queue);
    served->count--;
    served->bytes -= request->payload_size;
}

void hub_served_drop(struct hub_served *served, void *payload)
{
    hub_mutex_lock(&served->lock);
    forget(served, request_of(payload));
    hub_mutex_unlock(&served->lock);
    free(request_of(payload));
}

/* r[impl hub.call.fault] */
static void refuse(struct hub_served *served, uint32_t id)
{
    hub_mutex_lock(&served->lock);
    served->refused[served->refused_count++] = id;
    hub_mutex_unlock(&served->lock);
}

/* r[impl call.request-id.duplicate-detection] */
static int register_request(struct hub_served *served, struct hub_request *request)
{
    int r;

    hub_mutex_lock(&served->lock);
    r = hub_id_map_put(served->by_id, request->id, request);
    if (r == 0)
        hub_list_append(&served->queue, &request->queue);
    hub_mutex_unlock(&served->lock);
    return r == 0 ? 0
                  : rapahub_fail(RAPAHUB_EPROTOCOL, "call.request-id.duplicate-detection",
                                 "request %u is being served already", request->id);
}

int hub_served_accept(struct hub_served *served, const struct hub_message *message, void *payload)
{
    struct hub_request *request;
    struct hub_reader reader;
    int r;

    if (!payload) {
        refuse(served, message->id);
        return 0;
    }
    request = request_of(payload);
    hub_reader_init(&reader, payload, request->payload_size);
    r = hub_metadata_read(&reader, &request->metadata);
    request->arguments = (struct rapahub_bytes){reader.at, hub_reader_left(&reader)};
    if (r == 0)
        r = register_request(served, request);
    if (r < 0) {
        hub_served_drop(served, payload);
        return r;
    }
    served->on_request(served->user);
    return 0;
}

/* A running call gets its flag, a queued one is answered and not run.
 * r[impl call.cancel.best-effort] */
void hub_served_cancel(struct hub_served *served, uint32_t id)
{
    struct hub_request *request;

    hub_mutex_lock(&served->lock);
    request = hub_id_map_get(served->by_id, id);
    if (request) {
        hub_publish(&request->cancelled, 1);
        if (!request->running) {
            hub_list_remove(&request->queue);
            hub_list_append(&served->cancelled, &request->queue);
            request->running = true; /* a second Cancel finds it under way */
        }
    }
    hub_mutex_unlock(&served->lock);
}

bool hub_served_full(struct hub_served *served)
{
    bool full;

    hub_mutex_lock(&served->lock);
    full = served->refused_count == served->limit;
    hub_mutex_unlock(&served->lock);
    return full;
}

/* ---- running and answering ---- */

struct hub_request *hub_served_next(struct hub_served *served,
                                    bool (*may)(void *user, const struct hub_request *request),
                                    void *user)
{
    struct hub_request *found = NULL;

    hub_mutex_lock(&served->lock);
    HUB_LIST_EACH (&served->queue, link) {
        struct hub_request *request = HUB_LIST_ITEM(link, struct hub_request, queue);

        if (may && !may(user, request))
            continue;
        hub_list_remove(&request->queue);
        request->running = true;
        found = request;
        break;
    }
    hub_mutex_unlock(&served->lock);
    return found;
}

static int keep(struct hub_served *served, uint32_t id, const struct hub_parts *parts)
{
    size_t size = parts->head.size + parts->tail.size;
    struct kept *kept = malloc(sizeof *kept + size);
    bool first;

    if (!kept)
        return -ENOMEM;
    kept->id = id;
    kept->size = (uint32_t)size;
    kept->deadline_ns = hub_clock_after(ANSWER_PATIENCE);
    memcpy(kept->data, parts->head.data, parts->head.size);
    if (parts->tail.size > 0)
        memcpy(kept->data + parts->head.size, parts->tail.data, parts->tail.size);
    hub_mutex_lock(&served->lock);
    first = hub_list_empty(&served->kept);
    hub_list_append(&served->kept, &kept->link);
    served->count++;
    served->bytes += size;
    hub_mutex_unlock(&served->lock);
    if (first)
        served->on_request(served->user);
    return 0;
}

/* r[impl call.response.encoding] */
static int send_response(struct hub_served *served, uint32_t id,
                         const struct hub_response *response, struct rapahub_bytes body)
{
    const struct hub_message message = {HUB_RESPONSE, id, 0};
    uint8_t head[HEAD_MAX];
    struct hub_writer writer;
    struct hub_parts parts = {.tail = body};
    int r;

    hub_writer_init(&writer, head, sizeof head);
    hub_response_put(&writer, response);
    parts.head = (struct rapahub_bytes){head, writer.size};
    if (writer.failure < 0)
        return writer.failure;
    if (writer.size + body.size > hub_link_limits(served->link)->payload_max)
        return -EMSGSIZE;
    r = hub_link_send(served->link, &message, &parts,
                      served->keeps ? 0 : hub_clock_after(ANSWER_PATIENCE));
    return r == -EAGAIN ? keep(served, id, &parts) : r;
}

/* What must not be lost for lack of space is not: a peer that takes no answer loses the link. */
static int send_or_close(struct hub_served *served, uint32_t id,
                         const struct hub_response *response, struct rapahub_bytes body)
{
    const struct hub_response too_large = {.kind = HUB_RESPONSE_CANCELLED, .fault = HUB_FAULT_SIZE};
    const struct rapahub_bytes nothing = {NULL, 0};
    int r = send_response(served, id, response, body);

    if (r == -EMSGSIZE)
        r = send_response(served, id, &too_large, nothing);
    if (r == -ETIMEDOUT || r == -ENOMEM)
        hub_link_close(served->link, RAPAHUB_ECLOSED, "");
    return r;
}

int hub_served_answer(struct hub_served *served, struct hub_request *request,
                      const struct hub_response *response, struct rapahub_bytes body)
{
    uint32_t id = request->id;
    int r;

    /* Forgotten first: the peer may use the id again as soon as it has the Response. The memory
     * stays until it is sent, for the body may show it. */
    hub_mutex_lock(&served->lock);
    forget(served, request);
    hub_mutex_unlock(&served->lock);
    r = send_or_close(served, id, response, body);
    free(request);
    return r;
}

static bool next_owed(struct hub_served *served, uint32_t *id, struct hub_request **request,
                      enum hub_fault *fault)
{
    struct hub_list *link;
    bool found = true;

    hub_mutex_lock(&served->lock);
    link = hub_list_pop(&served->cancelled);
    *request = link ? HUB_LIST_ITEM(link, struct hub_request, queue) : NULL;
    *fault = link ? HUB_FAULT_NONE : HUB_FAULT_BUSY;
    if (*request) {
        *id = (*request)->id;
        forget(served, *request);
    } else if (served->refused_count > 0) {
        *id = served->refused[--served->refused_count];
    } else {
        found = false;
    }
    hub_mutex_unlock(&served->lock);
    return found;
}

static struct kept *pop_kept(struct hub_served *served)
{
    struct hub_list *link;

    hub_mutex_lock(&served->lock);
    link = hub_list_pop(&served->kept);
    hub_mutex_unlock(&served->lock);
    return link ? HUB_LIST_ITEM(link, struct kept, link) : NULL;
}

/* Sent, or of no use any more; or back to its place. */
static void put_kept(struct hub_served *served, struct kept *kept, bool done)
{
    hub_mutex_lock(&served->lock);
    if (done) {
        served->count--;
        served->bytes -= kept->size;
    } else {
        hub_list_append(served->kept.next, &kept->link);
    }
    hub_mutex_unlock(&served->lock);
    if (done)
        free(kept);
}

/* The oldest first; true if none is left. */
static bool send_kept(struct hub_served *served)
{
    struct kept *kept;

    while ((kept = pop_kept(served))) {
        const struct hub_message message = {HUB_RESPONSE, kept->id, 0};
        const struct hub_parts parts = {.head = {kept->data, kept->size}};
        int r = hub_link_send(served->link, &message, &parts, 0);
        bool late = hub_clock_left(kept->deadline_ns) == 0;

        put_kept(served, kept, r != -EAGAIN);
        if (r == -EAGAIN && late)
            hub_link_close(served->link, RAPAHUB_ECLOSED, "");
        if (r == -EAGAIN)
            return false;
    }
    return true;
}

/* False where the peer must read first. */
static bool send_owed(struct hub_served *served)
{
    const struct rapahub_bytes nothing = {NULL, 0};
    struct hub_request *request;
    enum hub_fault fault;
    uint32_t id;

    while (send_kept(served)) {
        struct hub_response response = {.kind = HUB_RESPONSE_CANCELLED};

        if (!next_owed(served, &id, &request, &fault))
            return true;
        response.fault = fault;
        (void)send_or_close(served, id, &response, nothing);
        free(request);
    }
    return false;
}

bool hub_served_owes(struct hub_served *served)
{
    bool any;

    hub_mutex_lock(&served->lock);
    any = served->refused_count > 0 || !hub_list_empty(&served->cancelled) ||
          !hub_list_empty(&served->kept);
    hub_mutex_unlock(&served->lock);
    return any;
}

/* To send may mean to receive, and then to come here again: only the outermost sends. */
void hub_served_settle(struct hub_served *served)
{
    bool goes_on = true;

    while (goes_on && hub_served_owes(served)) {
        if (!hub_claim(&served->settling, 0, 1))
            return;
        goes_on = send_owed(served);
        hub_publish(&served->settling, 0);
    }
}

static void flag_one(void *user, uint64_t id, void *value)
{
    struct hub_request *request = value;

    (void)user;
    (void)id;
    hub_publish(&request->cancelled, 1);
}

static void drop_list(struct hub_served *served, struct hub_list *from, struct hub_list *to)
    REQUIRES(served->lock)
{
    HUB_LIST_EACH (from, link) {
        struct hub_request *request = HUB_LIST_ITEM(link, struct hub_request, queue);

        forget(served, request);
        hub_list_append(to, &request->queue);
    }
}

/* Nothing that was queued is run for a peer that is gone. */
void hub_served_end_all(struct hub_served *served)
{
    struct hub_list dropped;
    struct kept *kept;

    while ((kept = pop_kept(served)))
        put_kept(served, kept, true);
    hub_list_init(&dropped);
    hub_mutex_lock(&served->lock);
    served->refused_count = 0;
    drop_list(served, &served->queue, &dropped);
    drop_list(served, &served->cancelled, &dropped);
    hub_id_map_each(served->by_id, flag_one, NULL);
    hub_mutex_unlock(&served->lock);
    for (struct hub_list *link = hub_list_pop(&dropped); link; link = hub_list_pop(&dropped))
        free(HUB_LIST_ITEM(link, struct hub_request, queue));
}

uint32_t hub_served_open(struct hub_served *served)
{
    uint32_t count;

    hub_mutex_lock(&served->lock);
    count = served->count;
    hub_mutex_unlock(&served->lock);
    return count;
}
