/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/base/event_queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/list.h"
#include "hub/base/own.h"

struct waiting {
    struct hub_list link;
    struct cluster_event event;
    struct cluster_send_call call;
    struct cluster_orders_order order;
    struct cluster_peer_frame frame;
    struct cluster_body_step_done done;
    struct cluster_body_copy_held held;
    uint8_t bytes[]; /* all that the event names */
};

struct cluster_event_queue {
    struct hub_list waiting;
    struct waiting *taken;
    uint32_t frames; /* that wait */
    const struct cluster_event_queue_hooks *hooks;
    void *user;
    int fd;
    bool held;
    bool told; /* the descriptor is readable */
    bool lost; /* an event */
};

int cluster_event_queue_create(struct cluster_event_queue **out)
{
    struct cluster_event_queue *queue = calloc(1, sizeof *queue);

    *out = queue;
    if (!queue)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the events of a node");
    hub_list_init(&queue->waiting);
    queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->fd >= 0)
        return 0;
    cluster_event_queue_release(out);
    return rapahub_fail(RAPAHUB_EMFILE, "", "no descriptor for the events of a node");
}

void cluster_event_queue_release(struct cluster_event_queue **queue)
{
    struct hub_list *link;

    if (*queue) {
        while ((link = hub_list_pop(&(*queue)->waiting)))
            free(HUB_LIST_ITEM(link, struct waiting, link));
        free((*queue)->taken);
        hub_fd_release(&(*queue)->fd);
    }
    free(*queue);
    *queue = NULL;
}

int cluster_event_queue_fd(const struct cluster_event_queue *queue)
{
    return queue->fd;
}

/* Counts the bytes that the event names, or copies them: `to` is where the next ones go, or NULL.
 */
static size_t copy(uint8_t *to, size_t at, struct rapahub_bytes *bytes)
{
    if (to && bytes->size > 0)
        memcpy(to + at, bytes->data, bytes->size);
    if (to)
        bytes->data = to + at;
    return at + bytes->size;
}

static size_t copy_text(uint8_t *to, size_t at, struct rapahub_string *text)
{
    struct rapahub_bytes bytes = {text->data, text->size};
    size_t end = copy(to, at, &bytes);

    text->data = bytes.data;
    return end;
}

static size_t copy_named(struct waiting *waiting, uint8_t *to)
{
    size_t size = copy_text(to, 0, &waiting->event.text);

    if (waiting->event.call)
        size = copy(to, size, &waiting->call.body.bytes);
    else
        size = copy(to, size, &waiting->event.body.bytes);
    if (waiting->event.done)
        size = copy_text(to, size, &waiting->done.text);
    if (!waiting->event.order)
        return size;
    size = copy_text(to, size, &waiting->order.pool);
    size = copy(to, size, &waiting->order.spec);
    size = copy(to, size, &waiting->order.digest);
    return copy(to, size, &waiting->order.manifest);
}

static void fill(struct waiting *waiting, const struct cluster_event *event)
{
    waiting->event = *event;
    if (event->call) {
        waiting->call = *event->call;
        waiting->event.call = &waiting->call;
    }
    if (event->order) {
        waiting->order = *event->order;
        waiting->event.order = &waiting->order;
    }
    if (event->frame) {
        waiting->frame = *event->frame;
        waiting->event.frame = &waiting->frame;
    }
    if (event->done) {
        waiting->done = *event->done;
        waiting->event.done = &waiting->done;
    }
    if (event->held) {
        waiting->held = *event->held;
        waiting->event.held = &waiting->held;
    }
}

/* Makes the descriptor readable, if it is to be. */
static void tell(struct cluster_event_queue *queue)
{
    const uint64_t one = 1;

    if (queue->told || queue->held || (hub_list_empty(&queue->waiting) && !queue->lost))
        return;
    queue->told = true;
    if (write(queue->fd, &one, sizeof one) < 0) {
        /* it counts to one, so there is always room */
    }
}

static bool is_of_frame(const struct cluster_event *event)
{
    return event->frame || event->done || event->held;
}

/* Another node decides how many frames come. r[impl cluster.node.frames] */
static int check_room(const struct cluster_event_queue *queue, const struct cluster_event *event)
{
    if (!is_of_frame(event) || queue->frames < CLUSTER_EVENT_QUEUE_FRAMES_MAX)
        return 0;
    return rapahub_fail(RAPAHUB_EFULL, "cluster.node.frames", "%d frames of other nodes wait",
                        CLUSTER_EVENT_QUEUE_FRAMES_MAX);
}

static int add(struct cluster_event_queue *queue, const struct cluster_event *event)
{
    struct waiting counted, *waiting;
    int status = check_room(queue, event);

    if (status < 0)
        return status;
    fill(&counted, event);
    waiting = malloc(sizeof *waiting + copy_named(&counted, NULL));
    if (!waiting)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an event");
    fill(waiting, event);
    (void)copy_named(waiting, waiting->bytes);
    hub_list_append(&queue->waiting, &waiting->link);
    queue->frames += is_of_frame(event);
    return 0;
}

/* r[impl cluster.node.turns] */
int cluster_event_queue_add(struct cluster_event_queue *queue, const struct cluster_event *event)
{
    int status = add(queue, event);

    tell(queue);
    return status;
}

/* r[impl cluster.node.lost] */
void cluster_event_queue_lose(struct cluster_event_queue *queue)
{
    rapahub_clear_error();
    queue->lost = true;
    tell(queue);
}

bool cluster_event_queue_has_lost(const struct cluster_event_queue *queue)
{
    return queue->lost;
}

void cluster_event_queue_hold(struct cluster_event_queue *queue, bool held)
{
    queue->held = held;
    tell(queue);
}

void cluster_event_queue_set(struct cluster_event_queue *queue,
                             const struct cluster_event_queue_hooks *hooks, void *user)
{
    queue->hooks = hooks;
    queue->user = user;
}

int cluster_event_queue_add_urgent(struct cluster_event_queue *queue,
                                   const struct cluster_event *event)
{
    int status = add(queue, event);

    if (status == 0 && queue->hooks)
        queue->hooks->urgent(queue->user);
    tell(queue);
    return status;
}

const struct cluster_event *cluster_event_queue_take(struct cluster_event_queue *queue)
{
    struct hub_list *link = hub_list_pop(&queue->waiting);
    uint64_t count;

    if (!link)
        return NULL;
    if (queue->told && !queue->lost && hub_list_empty(&queue->waiting)) {
        queue->told = false;
        if (read(queue->fd, &count, sizeof count) < 0) {
            /* an event that waited has made it readable */
        }
    }
    queue->taken = HUB_LIST_ITEM(link, struct waiting, link);
    queue->frames -= is_of_frame(&queue->taken->event);
    return &queue->taken->event;
}

void cluster_event_queue_done(struct cluster_event_queue *queue)
{
    free(queue->taken);
    queue->taken = NULL;
}
