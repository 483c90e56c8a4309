/* SPDX-License-Identifier: Apache-2.0 */
/* history: the map at a revision, the changes after one, and what is forgotten of both. On the
 * thread of the writer. Functions that return an int return
 * a code of SQLite. */
#ifndef CLUSTER_METASTORE_SQLITE_HISTORY_H
#define CLUSTER_METASTORE_SQLITE_HISTORY_H

#include <stdbool.h>

#include "cluster/metastore/sqlite/database.h"
#include "cluster/metastore/sqlite/jobs.h"

/* Fills in the end of a range or a peek. */
int cluster_history_read(struct cluster_database *database, struct cluster_job *job);

/* A watch from a revision that is yet to come is refused: false, and its end is filled in. */
bool cluster_history_may_watch(const struct cluster_database *database, struct cluster_job *job);

/* Looks for what a watch is to be told, and fills that in, whole revisions only; *out_any says
 * whether there is something. The watch's `rev` goes on by what was looked through. */
int cluster_history_watch(struct cluster_database *database, struct cluster_job *job,
                          bool *out_any);

/* Forgets a part of what was overwritten before job->before, in one commit; *out_done says whether
 * that was the last part. Each part leaves a store that is compacted up to there. A full disk is
 * no failure: the job ends with CLUSTER_TXN_NO_SPACE. */
int cluster_history_compact(struct cluster_database *database, struct cluster_job *job,
                            bool *out_done);

#endif
