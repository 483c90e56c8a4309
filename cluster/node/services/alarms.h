/* SPDX-License-Identifier: Apache-2.0 */
/* alarms: faults of nodes that need a person, each in one line that says what to type. */
#ifndef CLUSTER_NODE_SERVICES_ALARMS_H
#define CLUSTER_NODE_SERVICES_ALARMS_H

#include <stdint.h>

#include "cluster/node/services/lists.h"

#define CLUSTER_ALARMS_SIZE 320 /* bytes of a text, with its end */

struct cluster_alarms_alarm {
    const char *name; /* NULL: there is none */
    char text[CLUSTER_ALARMS_SIZE];
};

/* Finds the alarm of a node that has this session, 0: none. */
void cluster_alarms_of_node(const struct cluster_lists *lists, uint32_t node, uint64_t session,
                            struct cluster_alarms_alarm *out);

#endif
