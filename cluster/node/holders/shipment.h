/* SPDX-License-Identifier: Apache-2.0 */
/* shipment: one copy on its way to the other holders of a container: which of them has how much of
 * it. For the files of this folder alone.
 */
#ifndef CLUSTER_NODE_HOLDERS_SHIPMENT_H
#define CLUSTER_NODE_HOLDERS_SHIPMENT_H

#include "cluster/core/copies/holders.h"
#include "cluster/node/holders/copy_shipments.h"
#include "cluster/store/digest.h"
#include "hub/base/list.h"
#include "hub/base/states.h"

#define CLUSTER_SHIPMENT_TARGETS_MAX (CLUSTER_RECORD_HOLDERS_MAX + 1)
#define CLUSTER_SHIPMENT_LATER_NS    (UINT64_C(50) * 1000000)
#define CLUSTER_SHIPMENT_TEXT_MAX    256

enum cluster_shipment_state {
    CLUSTER_SHIPMENT_WAITING, /* for a link, for its turn, or for a while */
    CLUSTER_SHIPMENT_SENDING, /* pieces are under way */
    CLUSTER_SHIPMENT_SENT,    /* all are; it has not said that it keeps them */
    CLUSTER_SHIPMENT_KEPT,
    CLUSTER_SHIPMENT_STATES
};

extern const struct hub_states cluster_shipment_states;

/* A holder. */
struct cluster_shipment_target {
    uint32_t node, state; /* enum cluster_shipment_state */
    uint64_t sent, taken; /* bytes, from the beginning on */
    uint64_t after_ns;    /* WAITING: not before this */
};

struct cluster_shipment {
    struct hub_list link; /* the first member */
    struct cluster_peer_links *links;
    uint64_t pool, size, deadline_ns, alarm_ns;
    uint32_t container, count;
    struct cluster_shipment_target targets[CLUSTER_SHIPMENT_TARGETS_MAX];
    struct cluster_copy copy; /* without its bytes */
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    cluster_copy_shipment_on_done *on_done;
    void *user;
    bool has_digest, alarmed;
    bool ended; /* which is told in the next step */
    bool whole;
    int status;
    char text[CLUSTER_SHIPMENT_TEXT_MAX];
    uint8_t bytes[];
};

/* Makes one with a copy of the bytes, for the holders of the record but this node. NULL: no memory.
 */
struct cluster_shipment *cluster_shipment_new(struct cluster_peer_links *links,
                                              const struct cluster_copy_shipment_order *order,
                                              const struct cluster_holders_row *row, uint32_t own);

/* Returns the holder, or NULL. */
struct cluster_shipment_target *cluster_shipment_target(struct cluster_shipment *shipment,
                                                        uint32_t node);

void cluster_shipment_move(struct cluster_shipment_target *target, enum cluster_shipment_state to,
                           const char *why);

/* It has ended, if it has not before. */
void cluster_shipment_end(struct cluster_shipment *shipment, int status, const char *text);

/* Sends it from the beginning to a holder that waits, as far as may be. */
void cluster_shipment_send(struct cluster_shipment *shipment,
                           struct cluster_shipment_target *target);

/* Waits no more for holders that are not in the record. NULL: none is. */
void cluster_shipment_look(struct cluster_shipment *shipment,
                           const struct cluster_holders_row *row);

/* A holder to which it was sent says what became of it. RAPAHUB_EPROTOCOL: that cannot be. */
int cluster_shipment_taken(struct cluster_shipment *shipment,
                           struct cluster_shipment_target *target,
                           const struct cluster_body_copy_taken *taken);

#endif
