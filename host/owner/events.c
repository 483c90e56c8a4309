/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/events.h"

#include <stdlib.h>
#include <string.h>

#include "host/owner/owner.h"

/* An event, followed by its strings. */
struct item {
    struct hub_list link;
    rapahub_on_death *on_death; /* NULL: the event goes to on_event */
    void *user;
    struct rapahub_event event;
    char text[];
};

void host_events_init(struct host_events *events)
{
    *events = (struct host_events){0};
    hub_list_init(&events->queue);
}

/* ---- memory ---- */

static struct item *take_spare(struct host_events *events)
{
    for (uint32_t i = 0; i < HOST_EVENTS_SPARE; i++) {
        if (events->spare_taken & 1u << i)
            continue;
        events->spare_taken |= 1u << i;
        return (struct item *)(void *)events->spare[i];
    }
    return NULL;
}

static void release(struct host_events *events, struct item *item)
{
    for (uint32_t i = 0; i < HOST_EVENTS_SPARE; i++)
        if ((uint8_t *)item == events->spare[i]) {
            events->spare_taken &= ~(1u << i);
            return;
        }
    free(item);
}

/* Returns memory for an event and *size bytes of text. When memory is short, *size becomes smaller;
 * a line of output gets NULL then. */
static struct item *take(struct host_events *events, enum rapahub_event_kind kind, size_t *size)
{
    struct item *item = malloc(sizeof *item + *size);

    if (item || kind == RAPAHUB_EVENT_OUTPUT)
        return item;
    if (*size > HOST_EVENTS_SPARE_SIZE - sizeof *item)
        *size = HOST_EVENTS_SPARE_SIZE - sizeof *item;
    return take_spare(events);
}

void host_events_fini(struct host_events *events)
{
    for (struct hub_list *link; (link = hub_list_pop(&events->queue));)
        release(events, HUB_LIST_ITEM(link, struct item, link));
    events->count = 0;
}

/* ---- queue and delivery ---- */

/* Copies a text, cut if it does not fit. *left is at least 1, for the terminating 0. */
static const char *put(char **at, size_t *left, const char *text)
{
    size_t size = strlen(text);
    char *copy = *at;

    if (size >= *left)
        size = *left - 1;
    memcpy(copy, text, size);
    copy[size] = '\0';
    size += *left - size > 1; /* the last byte stays free for further, empty texts */
    *at += size;
    *left -= size;
    return copy;
}

/* NULL if there is no memory, not even a spare place. */
static struct item *copy_of(struct host_events *events, const struct rapahub_event *event)
{
    size_t size = strlen(event->name) + strlen(event->cause) + strlen(event->rule) + 4;
    struct item *item = take(events, event->kind, &size);
    char *at;

    if (!item) {
        rapahub_log(RAPAHUB_LOG_ERROR, "events", "no memory to tell an event of %s", event->name);
        return NULL;
    }
    *item = (struct item){.event = *event};
    at = item->text;
    item->event.name = put(&at, &size, event->name);
    item->event.cause = put(&at, &size, event->cause);
    item->event.rule = put(&at, &size, event->rule);
    return item;
}

static void append(struct host_events *events, struct item *item)
{
    hub_list_append(&events->queue, &item->link);
    events->count++;
}

void host_events_post(struct host_owner *host, const struct rapahub_event *event)
{
    struct host_events *events = &host->events;
    struct item *item;

    if (!host->events.on_event ||
        (event->kind == RAPAHUB_EVENT_OUTPUT && events->count >= HOST_EVENTS_MAX))
        return;
    item = copy_of(events, event);
    if (item)
        append(events, item);
}

void host_events_post_death(struct host_owner *host, rapahub_on_death *on_death, void *user,
                            const struct rapahub_event *event)
{
    struct item *item = on_death ? copy_of(&host->events, event) : NULL;

    if (!item)
        return;
    item->on_death = on_death;
    item->user = user;
    append(&host->events, item);
}

static void hand_out(const struct host_owner *host, const struct item *item)
{
    if (item->on_death)
        item->on_death(item->user, item->event.guest, item->event.cause);
    else
        host->events.on_event(host->events.user, &item->event);
}

/* Runs on the owner, and never inside another callback. r[impl shm.death.callback]
 * r[impl shm.death.callback-context] */
int host_events_deliver(struct host_owner *host)
{
    struct host_events *events = &host->events;
    int count = 0;

    if (events->delivering)
        return 0;
    events->delivering = true;
    for (struct hub_list *link; (link = hub_list_pop(&events->queue)); count++) {
        struct item *item = HUB_LIST_ITEM(link, struct item, link);

        events->count--;
        host->callbacks++;
        hand_out(host, item);
        host->callbacks--;
        release(events, item);
    }
    events->delivering = false;
    return count;
}
