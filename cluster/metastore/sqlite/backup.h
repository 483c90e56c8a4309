/* SPDX-License-Identifier: Apache-2.0 */
/* backup: a copy of the database in a new file. On the thread of the writer. */
#ifndef CLUSTER_METASTORE_SQLITE_BACKUP_H
#define CLUSTER_METASTORE_SQLITE_BACKUP_H

#include "cluster/metastore/sqlite/database.h"

/* Writes PATH, whole and synced, or not at all; one that was there is replaced. Returns a
 * cluster_txn_status: OK, NO_SPACE, DENIED where it cannot be written, or NOT_APPLIED. */
int cluster_backup_write(struct cluster_database *database, const char *path);

#endif
