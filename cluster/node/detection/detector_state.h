/* SPDX-License-Identifier: Apache-2.0 */
/* detector_state: a detector as the files of this room see it. */
#ifndef CLUSTER_NODE_DETECTION_DETECTOR_STATE_H
#define CLUSTER_NODE_DETECTION_DETECTOR_STATE_H

#include "cluster/node/detection/datagrams.h"
#include "cluster/node/detection/detector.h"
#include "cluster/node/detection/detector_keys.h"
#include "cluster/node/detection/detector_members.h"

struct cluster_detector {
    uint32_t node;
    uint64_t session;
    uint32_t lead; /* 0: this node leads */
    bool begun, left, moves;
    uint32_t
        offered_by; /* a node that is not known to lead yet, and has handed out a key; 0: none */
    uint8_t offered_number, offered[CLUSTER_KEYRING_KEY];
    const struct cluster_detector_profile *profile;
    struct cluster_peer_links *links;
    struct cluster_datagrams datagrams; /* fd -1: this node listens nowhere */
    struct cluster_detector_keys keys;
    struct cluster_detector_members members;
    struct cluster_swim *swim; /* NULL: there is no key, or no other member, yet */
    uint64_t since_s;          /* this node lives, or has left */
    uint64_t next_ns;          /* a step is due then */
    bool due;                  /* or at once */
    uint64_t strangers;
    uint64_t changes; /* how often a verdict has changed */
};

#endif
