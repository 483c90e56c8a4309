/* SPDX-License-Identifier: Apache-2.0 */
/* node_peering: calls between this node and others go by its links, and reports to the node that
 * leads. A report may be lost: its node makes it again. Owner.
 */
#ifndef CLUSTER_NODE_NODE_PEERING_H
#define CLUSTER_NODE_NODE_PEERING_H

#include <rapahub/node.h>

#include "cluster/node/runner.h"

/* Makes the peering of a node whose links, events and buffers are there. From the first step of
 * the links on, the core is told of those that are up. -ENOMEM. */
int cluster_node_peering_begin(struct cluster_runner *runner);

/* Takes what the metastore has of a node, by event NODE: links to it are kept, or end. */
void cluster_node_peering_know(struct cluster_runner *runner, const struct cluster_event *event);

/* Tells the core which nodes the detection holds for dead, where that has changed and this node
 * leads. */
void cluster_node_peering_hold(struct cluster_runner *runner);

/* Makes what copies to and from other nodes need, of a node whose core, disk and links are there.
 * -ENOMEM. */
int cluster_node_peering_copies(struct cluster_runner *runner);

/* Makes the detector of a node that has its session, with the options of the node. Failures as
 * cluster_detector_create. */
int cluster_node_peering_detect(struct cluster_runner *runner,
                                const struct rapahub_node_options *options);

/* Carries out effect REPORT; without a link it is dropped. */
void cluster_node_peering_report(struct cluster_runner *runner,
                                 const struct cluster_effect *effect);

/* The core is told nothing more: before the links are closed. */
void cluster_node_peering_end(struct cluster_runner *runner);

/* Finds who leads, and who has the authority, when the boot has read the metastore. `seat`: the
 * node of the seat; 0: none was linked. */
void cluster_node_peering_find_leader(struct cluster_runner *runner, uint32_t seat);

/* Follows who leads from here on: the core has all that the metastore had. */
void cluster_node_peering_lead(struct cluster_runner *runner);

/* Tells the parts of the node, once a turn, if another node leads now. */
int cluster_node_peering_follow(struct cluster_runner *runner);

#endif
