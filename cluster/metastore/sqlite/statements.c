/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/statements.h"

#include <stddef.h>

static const char *const texts[] = {
#define TEXT(name, text) text,
    CLUSTER_SCHEMA_STATEMENTS(TEXT)
#undef TEXT
};

sqlite3_stmt *cluster_statements_take(struct cluster_statements *statements,
                                      enum cluster_statement which)
{
    sqlite3_stmt **at = &statements->of[which];

    if (*at)
        sqlite3_reset(*at);
    else
        sqlite3_prepare_v3(statements->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT, at, NULL);
    return *at;
}

void cluster_statements_end(struct cluster_statements *statements, enum cluster_statement which)
{
    sqlite3_reset(statements->of[which]);
}

int cluster_statements_run(struct cluster_statements *statements, enum cluster_statement which)
{
    int rc = sqlite3_step(statements->of[which]);

    sqlite3_reset(statements->of[which]);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int cluster_statements_do(struct cluster_statements *statements, enum cluster_statement which)
{
    return cluster_statements_take(statements, which) ? cluster_statements_run(statements, which)
                                                      : sqlite3_extended_errcode(statements->db);
}

/* An empty value is a blob of no bytes, not NULL. */
void cluster_statements_bind(sqlite3_stmt *statement, int index, struct rapahub_bytes bytes)
{
    if (bytes.size == 0)
        sqlite3_bind_zeroblob(statement, index, 0);
    else
        sqlite3_bind_blob64(statement, index, bytes.data, bytes.size, SQLITE_STATIC);
}

struct rapahub_bytes cluster_statements_column(sqlite3_stmt *statement, int index)
{
    const void *data = sqlite3_column_blob(statement, index);

    return (struct rapahub_bytes){data, (size_t)sqlite3_column_bytes(statement, index)};
}

void cluster_statements_fini(struct cluster_statements *statements)
{
    for (unsigned i = 0; i < CLUSTER_STATEMENTS_COUNT; i++)
        sqlite3_finalize(statements->of[i]);
    sqlite3_close(statements->db);
    *statements = (struct cluster_statements){0};
}
