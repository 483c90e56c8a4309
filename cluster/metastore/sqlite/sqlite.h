/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite: the metastore of one node, "sqlite:PATH": a file that no other process can open
 * meanwhile. A transaction is synced before it is told. A full disk ends transactions with
 * CLUSTER_TXN_NO_SPACE, and reads go on; any other error of the file ends the store. */
#ifndef CLUSTER_METASTORE_SQLITE_SQLITE_H
#define CLUSTER_METASTORE_SQLITE_SQLITE_H

#include "cluster/metastore/metastore.h"

extern const struct cluster_metastore_end cluster_sqlite_end;

#endif
