/* SPDX-License-Identifier: Apache-2.0 */
/* backup_orders: backups of the metastore, each a new file in the folder `backups` of the node that
 * has it. Owner; the metastore works meanwhile.
 */
#ifndef CLUSTER_NODE_SERVICES_BACKUP_ORDERS_H
#define CLUSTER_NODE_SERVICES_BACKUP_ORDERS_H

#include "cluster/node/services/asking.h"
#include "hub/base/bytes.h"

/* Makes one. The argument is its name; "": the time. The answer is a document with its path and
 * revision. -EINVAL: it is no name of a file. */
int cluster_backup_orders_make(struct cluster_asking *asking, struct cluster_asker *asker,
                               struct hub_reader *arguments);

#endif
