/* SPDX-License-Identifier: Apache-2.0 */
/* statements: the prepared statements of a metastore, each prepared when it is first used. On the
 * thread of the writer only. */
#ifndef CLUSTER_METASTORE_SQLITE_STATEMENTS_H
#define CLUSTER_METASTORE_SQLITE_STATEMENTS_H

#include <sqlite3.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/metastore/sqlite/schema.h"

enum cluster_statement {
#define CLUSTER_STATEMENT(name, text) CLUSTER_STATEMENT_##name,
    CLUSTER_SCHEMA_STATEMENTS(CLUSTER_STATEMENT)
#undef CLUSTER_STATEMENT
        CLUSTER_STATEMENTS_COUNT
};

struct cluster_statements {
    sqlite3 *db;
    sqlite3_stmt *of[CLUSTER_STATEMENTS_COUNT];
};

/* Returns a statement that is ready to be bound and run, or NULL; sqlite3_errcode says why. */
sqlite3_stmt *cluster_statements_take(struct cluster_statements *statements,
                                      enum cluster_statement which);

/* Ends a statement that gave rows: what pointed into its last row is invalid. */
void cluster_statements_end(struct cluster_statements *statements, enum cluster_statement which);

/* Runs a bound statement that gives no rows, or one that has no parameters. Returns SQLITE_OK or
 * what failed. */
int cluster_statements_run(struct cluster_statements *statements, enum cluster_statement which);
int cluster_statements_do(struct cluster_statements *statements, enum cluster_statement which);

/* The bytes are the caller's until the statement has ended. */
void cluster_statements_bind(sqlite3_stmt *statement, int index, struct rapahub_bytes bytes);
struct rapahub_bytes cluster_statements_column(sqlite3_stmt *statement, int index);

/* Closes the database too. */
void cluster_statements_fini(struct cluster_statements *statements);

#endif
