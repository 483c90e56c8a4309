/* SPDX-License-Identifier: Apache-2.0 */
/* send_parts: the rooms that a call goes through, and what they share. All live longer than it. */
#ifndef CLUSTER_CORE_CALLS_SEND_PARTS_H
#define CLUSTER_CORE_CALLS_SEND_PARTS_H

#include "cluster/core/calls/order.h"
#include "cluster/core/calls/parking.h"
#include "cluster/core/calls/peers.h"
#include "cluster/core/calls/receive.h"
#include "cluster/core/calls/resolve.h"
#include "cluster/core/calls/retry.h"
#include "cluster/core/map/known_lives.h"

/* So long a call waits for one before it that has not come here. */
#define CLUSTER_SEND_ORDERED_NS (UINT64_C(200) * 1000000)

struct cluster_send_parts {
    struct cluster_resolve resolve;
    struct cluster_receive receive;
    struct cluster_parking *parking;
    struct cluster_retry *retry;
    struct cluster_order *order;
    struct cluster_peers *peers;
    struct cluster_known_lives *lives;
};

#endif
