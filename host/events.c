/* SPDX-License-Identifier: Apache-2.0 */
#include "host/events.h"

#include <stdlib.h>
#include <string.h>

#include "host/host.h"

/* An event and, behind it, its strings. */
struct item {
    struct hub_list link;
    rapahub_on_death *on_death; /* NULL: it is for the host's own callback */
    void *user;
    struct rapahub_event event;
    char text[];
};

void host_events_init(struct host_events *events)
{
    *events = (struct host_events){0};
    hub_list_init(&events->queue);
}

void host_events_fini(struct host_events *events)
{
    for (struct hub_list *link; (link = hub_list_pop(&events->queue));)
        free(HUB_LIST_ITEM(link, struct item, link));
    events->count = 0;
}

static const char *put(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

static struct item *copy_of(const struct rapahub_event *event)
{
    struct item *item =
        malloc(sizeof *item + strlen(event->name) + strlen(event->cause) + strlen(event->rule) + 3);
    char *at;

    if (!item)
        return NULL;
    *item = (struct item){.event = *event};
    at = item->text;
    item->event.name = put(&at, event->name);
    item->event.cause = put(&at, event->cause);
    item->event.rule = put(&at, event->rule);
    return item;
}

static void append(struct host_events *events, struct item *item)
{
    hub_list_append(&events->queue, &item->link);
    events->count++;
}

void host_events_post(struct rapahub_host *host, const struct rapahub_event *event)
{
    struct host_events *events = &host->events;
    struct item *item;

    if (!host->options.on_event ||
        (event->kind == RAPAHUB_EVENT_OUTPUT && events->count >= HOST_EVENTS_MAX))
        return;
    item = copy_of(event);
    if (item)
        append(events, item);
}

void host_events_post_death(struct rapahub_host *host, rapahub_on_death *on_death, void *user,
                            const struct rapahub_event *event)
{
    struct item *item = on_death ? copy_of(event) : NULL;

    if (!item)
        return;
    item->on_death = on_death;
    item->user = user;
    append(&host->events, item);
}

static void hand_out(const struct rapahub_host *host, const struct item *item)
{
    if (item->on_death)
        item->on_death(item->user, item->event.guest, item->event.cause);
    else
        host->options.on_event(host->options.user, &item->event);
}

/* On the owner, never inside of another callback.
 * r[impl shm.death.callback] r[impl shm.death.callback-context] */
int host_events_deliver(struct rapahub_host *host)
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
        free(item);
    }
    events->delivering = false;
    return count;
}
