/* SPDX-License-Identifier: Apache-2.0 */
/* name_lookup: the addresses of a host that is written as a name. The system's look-up may take as
 * long as its servers want, so a thread of its own waits for it; one that is given up ends by
 * itself.
 */
#ifndef CLUSTER_LINK_NAME_LOOKUP_H
#define CLUSTER_LINK_NAME_LOOKUP_H

#include "cluster/link/host_port.h"

#define CLUSTER_NAME_LOOKUP_MAX 8 /* addresses; more are not used */

struct cluster_name_lookup;

struct cluster_name_lookup_found {
    unsigned count;
    struct cluster_host_port_address addresses[CLUSTER_NAME_LOOKUP_MAX];
};

/* Starts to look up a name. -ENOMEM, -EAGAIN: there is no thread. */
int cluster_name_lookup_start(const struct cluster_host_port *of, struct cluster_name_lookup **out);

/* Returns 1 and the addresses, at least one; 0: it goes on. -ENOENT: there is no such host;
 * -EAGAIN: who knows it could not be asked. */
int cluster_name_lookup_take(const struct cluster_name_lookup *lookup,
                             struct cluster_name_lookup_found *out);

/* Forgets it, also while it goes on. */
void cluster_name_lookup_release(struct cluster_name_lookup **lookup);

#endif
