/* SPDX-License-Identifier: Apache-2.0 */
/* event: what happened outside of the core, as it is told. All that an event names is the teller's
 * until the step has returned.
 */
#ifndef CLUSTER_CORE_EVENT_H
#define CLUSTER_CORE_EVENT_H

#include <stdint.h>

#include "cluster/base/entry.h"
#include "cluster/core/calls/send.h"
#include "cluster/core/ops/orders.h"
#include "cluster/wire/record.h"

enum cluster_event_kind {
    CLUSTER_EVENT_TICK,      /* time has passed */
    CLUSTER_EVENT_POOL,      /* the record of a pool was put, or is gone */
    CLUSTER_EVENT_OPERATION, /* the metastore has this operation; at the start, and in a reading */
    CLUSTER_EVENT_NEXT_POOL, /* it has the number of the next pool; likewise, if it is there */
    CLUSTER_EVENT_STARTED,   /* all that the metastore has was told, in the reading that the first
                                RANGE asks for: the node may act */
    CLUSTER_EVENT_DELTA,     /* the metastore has a new delta, which is durable in the node's log */
    CLUSTER_EVENT_READING,   /* the reading that RANGE asked for begins: entries, records of pools,
                                operations and the next pool's number, all of one revision */
    CLUSTER_EVENT_ENTRY,     /* it has this entry */
    CLUSTER_EVENT_READ,      /* it has ended; status < 0: it failed */
    CLUSTER_EVENT_CONTAINER, /* a container of this node changes */
    CLUSTER_EVENT_CALL,
    CLUSTER_EVENT_CANCEL,
    CLUSTER_EVENT_ORIGIN_ENDED, /* of calls: nothing comes of it any more */
    CLUSTER_EVENT_RUN,          /* a run has ended */
    CLUSTER_EVENT_STORE,        /* a transaction has ended */
    CLUSTER_EVENT_BEGUN,        /* a container has begun, or not */
    CLUSTER_EVENT_REMOVED,      /* a container is gone, with all that it had on this node, or not */
    CLUSTER_EVENT_ORDER,        /* a person asks for something: effect ORDERED */
    CLUSTER_EVENT_ORDER_CANCEL, /* order `number` shall end */
    CLUSTER_EVENT_SAVED,        /* the state for a copy was taken: it has no call that runs now */
    CLUSTER_EVENT_COPIED,       /* a copy is durable, or not; with SAVED before it, or without */
    CLUSTER_EVENT_RESTORED,     /* a copy with which a container begins covers these calls; as often
                                   as there are copies, in their order, before BEGUN */
    CLUSTER_EVENT_STOPS,        /* the node ends in order: last copies are made */
    CLUSTER_EVENT_PEER,         /* the link to another node, or that node, changes */
    CLUSTER_EVENT_ARRIVED,      /* a frame of another node has come. A negative return: its link
                                   ends, and is told as lost */
    CLUSTER_EVENT_NODE,         /* the metastore has this node, in this session; or not any more */
    CLUSTER_EVENT_REPORTED,     /* a STEP_DONE of another node has come. A negative return: nothing
                                   came of it */
    CLUSTER_EVENT_RECOVERY,     /* the metastore has this record of a recovery; as OPERATION */
    CLUSTER_EVENT_DEATH,        /* the warden of a node has proven that its daemon is dead. A
                                   negative return: nothing came of it */
    CLUSTER_EVENT_HELD_DEAD,    /* the detection holds a node for dead, or no more */
    CLUSTER_EVENT_HOLDERS,      /* the metastore has these holders of copies of the container */
    CLUSTER_EVENT_HELD,         /* a COPY_HELD of another node has come; as REPORTED */
    CLUSTER_EVENT_VERDICT,      /* detection holds this node dead, or gone; or not, status 0 */
    CLUSTER_EVENT_LEAD,         /* this node leads now, in this term; 0: none does */
    CLUSTER_EVENT_KINDS
};

enum cluster_event_change {
    CLUSTER_CONTAINER_DOWN, /* its guest is dead */
    CLUSTER_CONTAINER_CHANGES
};

enum cluster_event_death { CLUSTER_DEATH_RESTARTING, CLUSTER_DEATH_FINAL };
enum cluster_event_held { CLUSTER_HELD_ALIVE, CLUSTER_HELD_DEAD };

enum cluster_event_peer {
    CLUSTER_PEER_UP,   /* its link is up, with the session and the boot that it has now */
    CLUSTER_PEER_LOST, /* its link is lost, with all that was under way */
    CLUSTER_PEER_LEFT, /* it is no node of the cluster any more */
    CLUSTER_PEER_CHANGES
};

struct cluster_event {
    uint64_t now_ns;
    uint8_t kind;
    uint8_t change;  /* CONTAINER: enum cluster_event_change; PEER: enum cluster_event_peer; DEATH:
                        enum cluster_event_death; HELD: enum cluster_event_held */
    uint64_t id;     /* the effect that asked for it had this id */
    uint64_t number; /* CANCEL: of the call; ORIGIN_ENDED: the origin; ORDER_CANCEL: of the order;
                        OPERATION: its own; NEXT_POOL: the next pool's major; RESTORED, COPIED: the
                        copy's */
    uint64_t pool;
    uint32_t container;
    uint64_t revision; /* POOL, OPERATION, RECOVERY, NEXT_POOL, DELTA, ENTRY, HOLDERS: of its last
                          put; NODE: of that of its record; READING: of the last delta; STORE: of
                          the transaction */
    uint64_t token;    /* RESTORED: of the copy */
    uint64_t covered;  /* BEGUN: so many ends of calls are in the copy; 0: there was none */
    uint64_t session;  /* STARTED: the revision that created the record of the own session; PEER,
                          REPORTED, HELD: of that of the node, by its link; NODE: of that, 0: it has
                          none; DEATH, RECOVERY: of that which is over */
    uint64_t
        term; /* STARTED, LEAD: the last put of the record that says who leads; 0: there is none
               */
    uint32_t
        node; /* PEER, NODE, REPORTED, RECOVERY, DEATH, HELD_DEAD, HELD, VERDICT, LEAD; STARTED:
                 that leads; 0: this one; COPIED: that joins the holders, and has it too; 0: none */
    uint32_t boot, generation;   /* STARTED */
    int32_t status, application; /* STORE: enum cluster_txn_status, never UNKNOWN */
    bool whole;                  /* RESTORED: it is of a whole state, not of changes; COPIED: the
                                    module saves no others */
    uint64_t state_size;         /* COPIED: bytes of the whole state */
    uint64_t changes_size;       /* COPIED: bytes of all changes since */
    struct rapahub_string text;  /* BEGUN, REMOVED, COPIED: why not */
    struct rapahub_bytes calls;  /* RESTORED: the calls that it covers */
    const uint64_t *numbers;     /* RESTORED: of answers that are kept outside, see covered.h */
    uint32_t numbers_count;
    struct rapahub_bytes delta;
    const struct cluster_record_pool *record; /* POOL; NULL: it is gone */
    const struct cluster_entry *entry;
    const struct cluster_record_node *node_record;    /* NODE; NULL: it is gone */
    const struct cluster_body_step_done *done;        /* REPORTED; its body was read */
    const struct cluster_record_holders *holders;     /* HOLDERS; NULL: they are gone */
    const struct cluster_body_copy_held *held;        /* HELD; its body was read */
    const struct cluster_record_operation *operation; /* OPERATION, RECOVERY */
    const struct cluster_send_call *call;
    const struct cluster_orders_order *order;
    const struct cluster_peer_frame *frame; /* ARRIVED */
    struct cluster_payload_body body;       /* RUN: the answer; ARRIVED: that of the frame */
};

#endif
