/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/map/map_reading.h"

#include <string.h>

#include <rapahub/error.h>

#define PAGE 256 /* pairs */

/* The log comes first: READING says the revision of its last delta. */
static const struct part {
    enum cluster_keys_kind key;
    enum cluster_event_kind event;
    bool of_leader;
} parts[] = {{CLUSTER_KEY_LOG, CLUSTER_EVENT_READING, false},
             {CLUSTER_KEY_POOL, CLUSTER_EVENT_POOL, false},
             {CLUSTER_KEY_OPERATION, CLUSTER_EVENT_OPERATION, true},
             {CLUSTER_KEY_RECOVERY, CLUSTER_EVENT_RECOVERY, true},
             {CLUSTER_KEY_NEXT_POOL, CLUSTER_EVENT_NEXT_POOL, true},
             {CLUSTER_KEY_NODE, CLUSTER_EVENT_NODE, false},
             {CLUSTER_KEY_SESSION, CLUSTER_EVENT_NODE, false},
             {CLUSTER_KEY_HOLD, CLUSTER_EVENT_HOLDERS, false},
             {CLUSTER_KEY_ENTRY, CLUSTER_EVENT_ENTRY, false}};
#define PARTS (sizeof parts / sizeof *parts)

void cluster_map_reading_init(struct cluster_map_reading *reading, struct cluster_metastore *store,
                              struct cluster_event_queue *events, struct cluster_map_nodes *nodes,
                              bool leads)
{
    *reading = (struct cluster_map_reading){
        .store = store, .events = events, .nodes = nodes, .leads = leads};
}

static int tell(struct cluster_map_reading *reading, const struct cluster_event *event)
{
    return cluster_event_queue_add(reading->events, event);
}

static void end(struct cluster_map_reading *reading, int status)
{
    const struct cluster_event read = {.kind = CLUSTER_EVENT_READ, .status = status};

    reading->open = false;
    if (tell(reading, &read) < 0)
        rapahub_clear_error(); /* without memory for an event nothing goes on */
}

static void read_page(struct cluster_map_reading *reading);

/* Operations are the leader's: another node that knew them would carry them out too.
 * r[impl cluster.join.follows] */
static unsigned next_part(const struct cluster_map_reading *reading, unsigned part)
{
    while (part < PARTS && parts[part].of_leader && !reading->leads)
        part++;
    return part;
}

static void begin_part(struct cluster_map_reading *reading)
{
    reading->from_size =
        (size_t)cluster_keys_prefix(parts[reading->part].key, 0, reading->from, reading->past);
    reading->past_size = reading->from_size;
    read_page(reading);
}

/* A key with its value, as an event whose body that is. A key of another kind is left out. */
static int tell_pair(struct cluster_map_reading *reading, const struct cluster_pair *pair)
{
    const struct part *part = &parts[reading->part];
    struct cluster_event event = {.kind = (uint8_t)part->event, .revision = pair->mod_rev};
    struct cluster_key key;

    if (cluster_keys_parse(pair->key, &key) < 0)
        return RAPAHUB_EFORMAT;
    if (key.kind != part->key || part->key == CLUSTER_KEY_LOG)
        return 0;
    if (part->event == CLUSTER_EVENT_NODE)
        return cluster_map_nodes_take(reading->nodes, &key, pair, false);
    event.pool = key.pool;
    event.container = key.container;
    event.number = key.number;
    event.node = key.node;
    event.session = key.revision;
    event.body = (struct cluster_payload_body){.bytes = pair->value, .size = pair->value.size};
    return tell(reading, &event);
}

static int tell_page(struct cluster_map_reading *reading, const struct cluster_page *page)
{
    int status = 0;

    if (reading->part == 0)
        status =
            tell(reading,
                 &(struct cluster_event){.kind = CLUSTER_EVENT_READING,
                                         .revision = page->count > 0 ? page->pairs[0].mod_rev : 0});
    for (size_t i = 0; status == 0 && i < page->count; i++)
        status = tell_pair(reading, &page->pairs[i]);
    return status;
}

/* The next page begins after the last key of this one: with it and a byte 0. */
static void go_on(struct cluster_map_reading *reading, const struct cluster_page *page)
{
    if (page->more) {
        const struct rapahub_bytes last = page->pairs[page->count - 1].key;

        memcpy(reading->from, last.data, last.size);
        reading->from[last.size] = '\0';
        reading->from_size = last.size + 1;
        read_page(reading);
        return;
    }
    reading->part = next_part(reading, reading->part + 1);
    if (reading->part < PARTS)
        begin_part(reading);
    else
        end(reading, 0);
}

static void on_page(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct cluster_map_reading *reading = user;

    if (status != CLUSTER_TXN_OK) {
        end(reading, RAPAHUB_EIO);
        return;
    }
    reading->revision = rev;
    status = tell_page(reading, page);
    if (status < 0)
        end(reading, status);
    else
        go_on(reading, page);
}

static void read_page(struct cluster_map_reading *reading)
{
    const struct cluster_span span = {.from = {reading->from, reading->from_size},
                                      .to = {reading->past, reading->past_size},
                                      .rev = reading->revision,
                                      .pairs_max = PAGE};

    if (cluster_metastore_range(reading->store, &span, on_page, reading) < 0)
        end(reading, rapahub_last_error()->code);
}

void cluster_map_reading_begin(struct cluster_map_reading *reading)
{
    if (reading->open)
        return;
    reading->open = true;
    reading->part = 0;
    reading->revision = 0;
    begin_part(reading);
}
