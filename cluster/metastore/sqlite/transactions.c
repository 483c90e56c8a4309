/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/transactions.h"

#include <string.h>

#include "cluster/base/ids.h"
#include "cluster/metastore/sqlite/schema.h"

/* A transaction that runs. */
struct run {
    struct cluster_database *database;
    struct cluster_job *job;
    bool writes;     /* a list of it can change something: its outcome is remembered */
    bool remembered; /* its outcome was found */
    uint64_t rev;    /* its changes have it; 0: none yet */
};

/* The first change takes the next revision, which is above all of an earlier generation. */
static uint64_t revision_of(struct run *run)
{
    struct cluster_database *database = run->database;
    uint64_t first = cluster_ids_revision((uint32_t)database->generation, 1);

    if (run->rev == 0) {
        database->revision = database->revision < first ? first : database->revision + 1;
        run->rev = database->revision;
    }
    return run->rev;
}

static int insert(struct run *run, const struct cluster_pair *pair, bool deleted)
{
    struct cluster_statements *statements = &run->database->statements;
    sqlite3_stmt *statement = cluster_statements_take(statements, CLUSTER_STATEMENT_INSERT);

    if (!statement)
        return sqlite3_extended_errcode(statements->db);
    cluster_statements_bind(statement, 1, pair->key);
    sqlite3_bind_int64(statement, 2, (int64_t)pair->mod_rev);
    sqlite3_bind_int(statement, 3, deleted);
    sqlite3_bind_int64(statement, 4, (int64_t)pair->create_rev);
    sqlite3_bind_int64(statement, 5, (int64_t)pair->version);
    if (deleted)
        sqlite3_bind_null(statement, 6);
    else
        cluster_statements_bind(statement, 6, pair->value);
    return cluster_statements_run(statements, CLUSTER_STATEMENT_INSERT);
}

static int put(struct run *run, const struct cluster_write *write)
{
    struct cluster_pair pair;
    int rc = cluster_database_find(run->database, write->key, UINT64_MAX, &pair);

    cluster_database_found(run->database);
    if (rc != SQLITE_OK)
        return rc;
    pair.value = write->value;
    pair.version++;
    if (pair.mod_rev == 0)
        pair.create_rev = revision_of(run);
    pair.mod_rev = revision_of(run);
    return insert(run, &pair, false);
}

/* To delete what is not there changes nothing. */
static int delete (struct run *run, const struct cluster_write *write)
{
    struct cluster_pair pair;
    int rc = cluster_database_find(run->database, write->key, UINT64_MAX, &pair);

    cluster_database_found(run->database);
    if (rc != SQLITE_OK || pair.mod_rev == 0)
        return rc;
    pair.mod_rev = revision_of(run);
    pair.version = 0;
    return insert(run, &pair, true);
}

static int get(struct run *run, const struct cluster_write *write)
{
    struct cluster_pair pair;
    int rc = cluster_database_find(run->database, write->key, UINT64_MAX, &pair);

    if (rc == SQLITE_OK && cluster_results_add(&run->job->results, &pair) != 0)
        rc = SQLITE_NOMEM;
    cluster_database_found(run->database);
    return rc;
}

/* Runs a list, or only what it gets. */
static int run_list(struct run *run, const struct cluster_write *list, uint32_t count)
{
    int rc = SQLITE_OK;

    for (uint32_t i = 0; rc == SQLITE_OK && i < count; i++) {
        if (list[i].kind == CLUSTER_GET)
            rc = get(run, &list[i]);
        else if (!run->remembered)
            rc = list[i].kind == CLUSTER_PUT ? put(run, &list[i]) : delete (run, &list[i]);
    }
    return rc;
}

static bool holds(const struct cluster_compare *compare, const struct cluster_pair *pair)
{
    switch (compare->kind) {
    case CLUSTER_MOD_EQ:
        return pair->mod_rev == compare->rev;
    case CLUSTER_CREATE_EQ:
        return pair->create_rev == compare->rev;
    case CLUSTER_ABSENT:
        return pair->mod_rev == 0;
    case CLUSTER_PRESENT:
        return pair->mod_rev != 0;
    default:
        return pair->mod_rev != 0 && pair->value.size == compare->value.size &&
               (pair->value.size == 0 ||
                memcmp(pair->value.data, compare->value.data, pair->value.size) == 0);
    }
}

static int look_at_compares(struct run *run, int *outcome)
{
    const struct cluster_txn *txn = run->job->txn;
    struct cluster_pair pair;

    *outcome = CLUSTER_TXN_OK;
    for (uint32_t i = 0; *outcome == CLUSTER_TXN_OK && i < txn->compares_count; i++) {
        int rc = cluster_database_find(run->database, txn->compares[i].key, UINT64_MAX, &pair);

        if (rc == SQLITE_OK && !holds(&txn->compares[i], &pair))
            *outcome = CLUSTER_TXN_CONFLICT;
        cluster_database_found(run->database);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

/* Says what is known of the transaction's id: an outcome, CLUSTER_TXN_DENIED, or -1: it is new.
 * r[impl cluster.store.outcome] */
static int recall(struct run *run, int *outcome)
{
    struct cluster_statements *statements = &run->database->statements;
    const struct cluster_txn_id *id = &run->job->txn->id;
    sqlite3_stmt *statement = cluster_statements_take(statements, CLUSTER_STATEMENT_MARKER);
    int64_t seq = 0;
    int rc;

    *outcome = -1;
    if (!statement)
        return sqlite3_extended_errcode(statements->db);
    sqlite3_bind_int64(statement, 1, (int64_t)id->client);
    sqlite3_bind_int(statement, 2, (int)(id->seq % CLUSTER_TXN_FLIGHT_MAX));
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        seq = sqlite3_column_int64(statement, 0);
        if ((uint64_t)seq == id->seq) {
            *outcome = sqlite3_column_int(statement, 1);
            run->rev = (uint64_t)sqlite3_column_int64(statement, 2);
            run->remembered = true;
        } else if ((uint64_t)seq > id->seq) {
            *outcome = CLUSTER_TXN_DENIED;
        }
    }
    cluster_statements_end(statements, CLUSTER_STATEMENT_MARKER);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* A client is a node and its boot. A transaction of an earlier boot that comes late is not done:
 * its markers are gone. */
static int look_at_boots(struct run *run, int *outcome)
{
    struct cluster_statements *statements = &run->database->statements;
    uint64_t client = run->job->txn->id.client;
    sqlite3_stmt *statement = cluster_statements_take(statements, CLUSTER_STATEMENT_LATER_BOOT);
    int rc;

    if (!statement)
        return sqlite3_extended_errcode(statements->db);
    sqlite3_bind_int64(statement, 1, (int64_t)client);
    sqlite3_bind_int64(statement, 2, (int64_t)(client | UINT32_MAX));
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        *outcome = CLUSTER_TXN_DENIED;
    cluster_statements_end(statements, CLUSTER_STATEMENT_LATER_BOOT);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int forget_boots(struct run *run)
{
    struct cluster_statements *statements = &run->database->statements;
    uint64_t client = run->job->txn->id.client;
    sqlite3_stmt *statement = cluster_statements_take(statements, CLUSTER_STATEMENT_FORGET_BOOTS);

    if (!statement)
        return sqlite3_extended_errcode(statements->db);
    sqlite3_bind_int64(statement, 1, (int64_t)(client & ~(uint64_t)UINT32_MAX));
    sqlite3_bind_int64(statement, 2, (int64_t)client);
    return cluster_statements_run(statements, CLUSTER_STATEMENT_FORGET_BOOTS);
}

static int remember(struct run *run, int outcome)
{
    struct cluster_statements *statements = &run->database->statements;
    const struct cluster_txn_id *id = &run->job->txn->id;
    sqlite3_stmt *statement = cluster_statements_take(statements, CLUSTER_STATEMENT_SET_MARKER);

    if (!statement)
        return sqlite3_extended_errcode(statements->db);
    sqlite3_bind_int64(statement, 1, (int64_t)id->client);
    sqlite3_bind_int(statement, 2, (int)(id->seq % CLUSTER_TXN_FLIGHT_MAX));
    sqlite3_bind_int64(statement, 3, (int64_t)id->seq);
    sqlite3_bind_int(statement, 4, outcome);
    sqlite3_bind_int64(statement, 5, (int64_t)run->job->rev);
    return cluster_statements_run(statements, CLUSTER_STATEMENT_SET_MARKER);
}

/* An outcome that is remembered decides, else the compares do. */
static int decide(struct run *run, int *outcome)
{
    int rc = SQLITE_OK;

    *outcome = -1;
    run->writes = cluster_txn_mutates(run->job->txn);
    if (run->writes)
        rc = recall(run, outcome);
    if (rc == SQLITE_OK && run->writes && *outcome < 0)
        rc = look_at_boots(run, outcome);
    if (rc == SQLITE_OK && *outcome < 0)
        rc = look_at_compares(run, outcome);
    return rc;
}

static int run_one(struct run *run)
{
    struct cluster_job *job = run->job;
    const struct cluster_txn *txn = job->txn;
    int outcome, rc = decide(run, &outcome);

    if (rc == SQLITE_OK && outcome == CLUSTER_TXN_OK)
        rc = run_list(run, txn->then, txn->then_count);
    if (rc == SQLITE_OK && outcome == CLUSTER_TXN_CONFLICT)
        rc = run_list(run, txn->otherwise, txn->otherwise_count);
    if (rc != SQLITE_OK)
        return rc;
    job->status = outcome;
    job->rev = run->rev != 0 ? run->rev : run->database->revision;
    if (!run->writes || run->remembered || outcome == CLUSTER_TXN_DENIED)
        return SQLITE_OK;
    rc = forget_boots(run);
    return rc == SQLITE_OK ? remember(run, outcome) : rc;
}

static int run_all(struct cluster_database *database, struct cluster_job **jobs, size_t count)
{
    uint64_t before = database->revision;
    int rc = cluster_statements_do(&database->statements, CLUSTER_STATEMENT_BEGIN);

    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = run_one(&(struct run){.database = database, .job = jobs[i]});
    if (rc == SQLITE_OK && database->revision != before)
        rc = cluster_database_set(database, "rev", database->revision);
    return rc == SQLITE_OK ? cluster_statements_do(&database->statements, CLUSTER_STATEMENT_COMMIT)
                           : rc;
}

/* Without space or memory nothing has happened. After any other failure the file is closed. */
static int undo(struct cluster_database *database, int rc, struct cluster_job **jobs, size_t count)
{
    int base = rc & 0xff, status = CLUSTER_TXN_CORRUPT;

    if (sqlite3_get_autocommit(database->statements.db) == 0) {
        int undone = cluster_statements_do(&database->statements, CLUSTER_STATEMENT_ROLLBACK);

        if (undone != SQLITE_OK)
            base = undone & 0xff;
    }
    if (base == SQLITE_FULL)
        status = CLUSTER_TXN_NO_SPACE;
    else if (base == SQLITE_NOMEM)
        status = CLUSTER_TXN_NOT_APPLIED;
    for (size_t i = 0; i < count; i++) {
        cluster_results_clear(&jobs[i]->results);
        jobs[i]->status = status;
        jobs[i]->rev = database->revision;
    }
    return status == CLUSTER_TXN_CORRUPT ? rc : SQLITE_OK;
}

/* r[impl cluster.store.atomic] */
int cluster_transactions_commit(struct cluster_database *database, struct cluster_job **jobs,
                                size_t count)
{
    uint64_t before = database->revision;
    int rc = run_all(database, jobs, count);

    if (rc == SQLITE_OK)
        return SQLITE_OK;
    database->revision = before;
    return undo(database, rc, jobs, count);
}
