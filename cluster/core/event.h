/* SPDX-License-Identifier: Apache-2.0 */
/* event: what happened outside of the core, as it is told. All that an event names is the teller's
 * until the step has returned.
 */
#ifndef CLUSTER_CORE_EVENT_H
#define CLUSTER_CORE_EVENT_H

#include <stdint.h>

#include "cluster/base/entry.h"
#include "cluster/core/calls/send.h"
#include "cluster/wire/record.h"

enum cluster_event_kind {
    CLUSTER_EVENT_TICK,      /* time has passed */
    CLUSTER_EVENT_POOL,      /* the record of a pool was put, or is gone */
    CLUSTER_EVENT_DELTA,     /* the metastore has a new delta */
    CLUSTER_EVENT_READING,   /* the reading that RANGE asked for begins */
    CLUSTER_EVENT_ENTRY,     /* it has this entry */
    CLUSTER_EVENT_READ,      /* it has ended; status < 0: it failed */
    CLUSTER_EVENT_CONTAINER, /* a container of this node changes */
    CLUSTER_EVENT_CALL,
    CLUSTER_EVENT_CANCEL,
    CLUSTER_EVENT_RUN, /* a run has ended */
    CLUSTER_EVENT_KINDS
};

enum cluster_event_change {
    CLUSTER_CONTAINER_BEGINS,
    CLUSTER_CONTAINER_SERVES, /* it has begun, or is held no longer */
    CLUSTER_CONTAINER_HELD,
    CLUSTER_CONTAINER_DOWN, /* its guest is dead */
    CLUSTER_CONTAINER_GONE,
    CLUSTER_CONTAINER_CHANGES
};

struct cluster_event {
    uint64_t now_ns;
    uint8_t kind;
    uint8_t change;  /* CONTAINER: enum cluster_event_change */
    uint64_t id;     /* RUN: of the effect */
    uint64_t number; /* CANCEL: of the call */
    uint64_t pool;
    uint32_t container;
    uint64_t revision;                /* POOL, DELTA, ENTRY: of it; READING: of the last delta */
    uint64_t token, lineage, covered; /* BEGINS, see cluster_dedup_begin */
    int32_t status, application;      /* RUN, READ */
    struct rapahub_bytes delta;
    const struct cluster_record_pool *record; /* POOL; NULL: it is gone */
    const struct cluster_entry *entry;
    const struct cluster_send_call *call;
    struct cluster_payload_body body; /* RUN: the answer */
};

#endif
