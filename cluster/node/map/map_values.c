/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/map/map_values.h"

#include <rapahub/error.h>
#include <rapahub/log.h>

/* Each node writes its own record: if that is not sound it is no node for this one, which goes on.
 */
static void read_node(struct cluster_event *event, struct rapahub_bytes value,
                      struct cluster_record *record)
{
    if (value.size == 0)
        return;
    if (cluster_record_read(CLUSTER_KEY_NODE, value, record) == 0) {
        event->node_record = &record->node;
        return;
    }
    rapahub_log(RAPAHUB_LOG_WARN, "node", "node %u gets no containers and no link: %s", event->node,
                rapahub_last_error()->text);
    rapahub_clear_error();
    event->status = RAPAHUB_EFORMAT;
}

static int read_pool(struct cluster_pool_records *pools, struct cluster_event *event,
                     struct rapahub_bytes value)
{
    int status = value.size > 0 ? cluster_pool_records_put(pools, event->pool, value) : 0;

    if (status == 0 && value.size > 0)
        event->record = &cluster_pool_records_find(pools, event->pool)->record;
    return status;
}

int cluster_map_values_read(struct cluster_pool_records *pools, struct cluster_event *event,
                            struct cluster_record *record)
{
    const struct rapahub_bytes value = event->body.bytes;
    int status = 0;

    switch (event->kind) {
    case CLUSTER_EVENT_DELTA:
        event->delta = value;
        break;
    case CLUSTER_EVENT_POOL:
        status = read_pool(pools, event, value);
        break;
    case CLUSTER_EVENT_ENTRY:
        status = cluster_record_read(CLUSTER_KEY_ENTRY, value, record);
        event->entry = &record->entry;
        break;
    case CLUSTER_EVENT_OPERATION:
        status = cluster_record_read(CLUSTER_KEY_OPERATION, value, record);
        event->operation = &record->operation;
        break;
    case CLUSTER_EVENT_RECOVERY:
        status = cluster_record_read(CLUSTER_KEY_RECOVERY, value, record);
        event->operation = &record->operation;
        break;
    case CLUSTER_EVENT_NEXT_POOL:
        status = cluster_record_read(CLUSTER_KEY_NEXT_POOL, value, record);
        event->number = record->counter.next;
        break;
    case CLUSTER_EVENT_HOLDERS:
        status = value.size > 0 ? cluster_record_read(CLUSTER_KEY_HOLD, value, record) : 0;
        event->holders = value.size > 0 ? &record->holders : NULL;
        break;
    case CLUSTER_EVENT_NODE:
        read_node(event, value, record);
        break;
    default:
        return 0;
    }
    event->body = (struct cluster_payload_body){.number = 0};
    return status;
}
