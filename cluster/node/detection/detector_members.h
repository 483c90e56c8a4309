/* SPDX-License-Identifier: Apache-2.0 */
/* detector_members: the other nodes of the metastore, as a node sends datagrams to them.
 */
#ifndef CLUSTER_NODE_DETECTION_DETECTOR_MEMBERS_H
#define CLUSTER_NODE_DETECTION_DETECTOR_MEMBERS_H

#include <stdint.h>

#include "cluster/link/host_port.h"
#include "cluster/wire/record.h"

#define CLUSTER_DETECTOR_MEMBERS_MAX 256

struct cluster_detector_member {
    uint32_t node;
    uint64_t session; /* the last one that the metastore has told; 0: none so far */
    struct cluster_host_port_address address; /* size 0: it has none that others can send to */
    uint64_t since_s;     /* seconds since 1970: the verdict is so since then; 0: there is none */
    uint64_t answered_ns; /* it was told all that is known, on its own asking */
};

struct cluster_detector_members {
    uint32_t count;
    struct cluster_detector_member all[CLUSTER_DETECTOR_MEMBERS_MAX];
};

/* NULL: there is none with this number. */
struct cluster_detector_member *cluster_detector_members_find(
    struct cluster_detector_members *members, uint32_t node);

/* Notes what the metastore has of a node, and returns its row. NULL: there are too many. A session
 * that is 0 leaves the one before: a node that ended goes on to be known by that. */
struct cluster_detector_member *cluster_detector_members_note(
    struct cluster_detector_members *members, uint32_t node, uint64_t session,
    const struct cluster_record_node *record);

/* Removes one that the metastore has no more. */
void cluster_detector_members_remove(struct cluster_detector_members *members, uint32_t node);

#endif
