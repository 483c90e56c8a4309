/* SPDX-License-Identifier: Apache-2.0 */
/* copy_own: the own copy of a container whose file was cut. It is the newest only if no other
 * holder has a newer one: the part that was cut off may have been durable, and damaged since. For
 * copy_fetches alone.
 */
#ifndef CLUSTER_NODE_HOLDERS_COPY_OWN_H
#define CLUSTER_NODE_HOLDERS_COPY_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/copies/sealed.h"
#include "cluster/node/disk/disk_job.h"
#include "hub/base/clock.h"

#define CLUSTER_COPY_OWN_NS (2 * HUB_SECOND) /* so long the other holders have */

struct cluster_copy_own {
    struct cluster_sealed copy; /* token 0: there is none, or another one is newer */
    uint64_t due_ns;
};

/* Takes what the seal of the own disk has said. */
void cluster_copy_own_take(struct cluster_copy_own *own, const struct cluster_disk_result *result);

bool cluster_copy_own_is_there(const struct cluster_copy_own *own);

/* Says whether another holder has a newer one: then the own one is not there any more, whatever
 * becomes of the other. */
bool cluster_copy_own_is_older(struct cluster_copy_own *own, const struct cluster_sealed *other);

/* Returns when the others have had their time; HUB_NEVER: it is not there. */
uint64_t cluster_copy_own_due(const struct cluster_copy_own *own);

#endif
