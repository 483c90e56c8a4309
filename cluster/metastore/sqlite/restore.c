/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/restore.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/metastore/sqlite/database.h"

/* A store that was restored and not yet written has the revision 0 of its generation. */
static uint64_t before_first(uint32_t generation)
{
    return cluster_ids_revision(generation, 1) - 1;
}

static int set_numbers(struct cluster_database *database, uint32_t generation)
{
    uint64_t rev = before_first(generation);
    int rc = cluster_statements_do(&database->statements, CLUSTER_STATEMENT_BEGIN);

    if (rc == SQLITE_OK)
        rc = cluster_database_set(database, "generation", generation);
    if (rc == SQLITE_OK)
        rc = cluster_database_set(database, "rev", rev);
    if (rc == SQLITE_OK)
        rc = cluster_database_set(database, "compacted", rev);
    if (rc == SQLITE_OK)
        rc = cluster_statements_do(&database->statements, CLUSTER_STATEMENT_COMMIT);
    return rc;
}

/* r[impl cluster.store.restore] */
int cluster_restore_file(const char *path, uint32_t least, uint32_t *out)
{
    struct cluster_database database;
    uint64_t generation;
    int r = cluster_database_open(path, false, &database), rc;

    if (r < 0)
        return r;
    generation = database.generation + 1 > least ? database.generation + 1 : least;
    if (generation > CLUSTER_GENERATION_MAX) {
        cluster_database_close(&database);
        return rapahub_fail(RAPAHUB_EOVERFLOW, "cluster.store.restore",
                            "%s: no generation is left above %d", path, CLUSTER_GENERATION_MAX);
    }
    rc = set_numbers(&database, (uint32_t)generation);
    r = rc == SQLITE_OK ? 0 : cluster_database_fail(&database, rc);
    cluster_database_close(&database);
    *out = (uint32_t)generation;
    return r;
}
