/* SPDX-License-Identifier: Apache-2.0 */
/* transactions: what a transaction does to the tables. On the thread of the writer. */
#ifndef CLUSTER_METASTORE_SQLITE_TRANSACTIONS_H
#define CLUSTER_METASTORE_SQLITE_TRANSACTIONS_H

#include <stddef.h>

#include "cluster/metastore/sqlite/database.h"
#include "cluster/metastore/sqlite/jobs.h"

#define CLUSTER_TRANSACTIONS_MAX 16 /* in one commit */

/* Runs transactions one after another and commits them together: all of them are durable when it
 * returns, or none of them has happened. Fills in their ends. Returns SQLITE_OK, also where there
 * was no space or no memory for them, or what went wrong with the file; what they did is unknown
 * then. */
int cluster_transactions_commit(struct cluster_database *database, struct cluster_job **jobs,
                                size_t count);

#endif
