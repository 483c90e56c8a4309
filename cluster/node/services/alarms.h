/* SPDX-License-Identifier: Apache-2.0 */
/* alarms: what is wrong with a node and needs a person, in one line that says what to type. */
#ifndef CLUSTER_NODE_SERVICES_ALARMS_H
#define CLUSTER_NODE_SERVICES_ALARMS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/node/services/lists.h"

#define CLUSTER_ALARMS_SIZE 320 /* bytes of a text, with its end */

/* Writes the alarm of a node that has this session, 0: none. False: there is none. */
bool cluster_alarms_of_node(const struct cluster_lists *lists, uint32_t node, uint64_t session,
                            char to[CLUSTER_ALARMS_SIZE]);

#endif
