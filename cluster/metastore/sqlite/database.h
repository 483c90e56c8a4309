/* SPDX-License-Identifier: Apache-2.0 */
/* database: the file of a metastore: opened, set up, looked through, or refused with what is wrong
 * with it and what may be done.
 *
 * A commit is synced before it is told. The file is locked for as long as it is open, so no other
 * process reads or writes it. It has one thread at a time. */
#ifndef CLUSTER_METASTORE_SQLITE_DATABASE_H
#define CLUSTER_METASTORE_SQLITE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/txn.h"
#include "cluster/metastore/sqlite/statements.h"

struct cluster_database {
    struct cluster_statements statements;
    char *path;
    uint64_t revision, compacted, generation; /* committed, or to be */
    int frames;                               /* pages in the write-ahead log */
};

/* `create`: a file that is missing or empty is set up. *out stays where it is until it is closed.
 */
int cluster_database_open(const char *path, bool create, struct cluster_database *out);
void cluster_database_close(struct cluster_database *database);

/* After an error of input or output: closing it writes nothing more. A second sync would succeed
 * although the pages of the first are lost. */
void cluster_database_abandon(struct cluster_database *database);

/* Writes the diagnosis of what SQLite returned about this file. Returns its code. */
int cluster_database_fail(const struct cluster_database *database, int rc);

/* Finds the row of a key at a revision. `mod_rev` is 0 where the key is absent. The value is valid
 * until cluster_database_found, which must follow. Returns a code of SQLite. */
int cluster_database_find(struct cluster_database *database, struct rapahub_bytes key, uint64_t rev,
                          struct cluster_pair *out);
void cluster_database_found(struct cluster_database *database);

/* Writes a number of `meta`. Returns a code of SQLite. */
int cluster_database_set(struct cluster_database *database, const char *name, uint64_t number);

/* Moves the write-ahead log into the file if it is long. Returns a code of SQLite; a full disk is
 * none: the log grows on meanwhile. */
int cluster_database_checkpoint(struct cluster_database *database);

#endif
