/* SPDX-License-Identifier: Apache-2.0 */
/* detector_links: what detectors tell each other over the links of their nodes: all that they know,
 * probes, and keys. Without a link nothing is sent.
 */
#ifndef CLUSTER_NODE_DETECTION_DETECTOR_LINKS_H
#define CLUSTER_NODE_DETECTION_DETECTOR_LINKS_H

#include "cluster/node/detection/detector_state.h"
#include "cluster/node/peers/peer_links.h"

/* For the links; their user is the detector. */
extern const struct cluster_peer_links_hooks cluster_detector_links_hooks;

/* Tells a node all that is known, and asks for the same; where there is no link to it, the node
 * that leads. */
void cluster_detector_links_push_pull(struct cluster_detector *self, uint32_t node);

/* Asks a node whether it lives. */
void cluster_detector_links_probe(struct cluster_detector *self, uint32_t node, uint32_t sequence);

/* Hands the key to a node. */
void cluster_detector_links_give_key(const struct cluster_detector *self, uint32_t node);

#endif
