/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/history.h"

#include <string.h>

#define CHANGES_MAX   256               /* told at once; more only within a revision */
#define BYTES_MAX     ((size_t)1 << 20) /* the same */
#define LOOKED_MAX    2048              /* rows looked through at once */
#define PROGRESS      64                /* revisions without a change before a mark */
#define FORGOTTEN_MAX 256               /* rows that overwrite, in one commit */

/* The first key that is not before another: a copy of it. `size` 0: there is none. */
struct key {
    size_t size;
    uint8_t data[CLUSTER_TXN_KEY_MAX + 1];
};

static struct rapahub_bytes bytes_of(const struct key *key)
{
    return (struct rapahub_bytes){key->data, key->size};
}

static void set_key(struct key *key, struct rapahub_bytes bytes)
{
    key->size = bytes.size < sizeof key->data ? bytes.size : sizeof key->data;
    if (key->size > 0)
        memcpy(key->data, bytes.data, key->size);
}

static bool is_before_end(const struct cluster_span *span, struct rapahub_bytes key)
{
    return span->to.size == 0 || cluster_txn_order(key, span->to) < 0;
}

static bool is_in(const struct cluster_span *span, struct rapahub_bytes key)
{
    return cluster_txn_order(key, span->from) >= 0 && is_before_end(span, key);
}

static int next_key(struct cluster_database *database, struct key *key)
{
    sqlite3_stmt *statement =
        cluster_statements_take(&database->statements, CLUSTER_STATEMENT_NEXT);
    struct key found = {0};
    int rc;

    if (!statement)
        return sqlite3_extended_errcode(database->statements.db);
    cluster_statements_bind(statement, 1, bytes_of(key));
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW && sqlite3_column_bytes(statement, 0) > CLUSTER_TXN_KEY_MAX)
        rc = SQLITE_CORRUPT; /* we never wrote it */
    else if (rc == SQLITE_ROW)
        set_key(&found, cluster_statements_column(statement, 0));
    cluster_statements_end(&database->statements, CLUSTER_STATEMENT_NEXT);
    *key = found;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Adds the key's pair, unless the page is full; then there is more. */
static int add_pair(struct cluster_database *database, struct cluster_job *job,
                    const struct key *key)
{
    struct cluster_results *results = &job->results;
    struct cluster_pair pair;
    int rc = cluster_database_find(database, bytes_of(key), job->rev, &pair);

    if (rc == SQLITE_OK && pair.mod_rev != 0) {
        job->more = results->pairs_count >= job->span.pairs_max ||
                    (results->pairs_count > 0 &&
                     results->bytes + pair.key.size + pair.value.size > CLUSTER_METASTORE_PAGE_MAX);
        if (!job->more && cluster_results_add(results, &pair) != 0)
            rc = SQLITE_NOMEM;
    }
    cluster_database_found(database);
    return rc;
}

static int read_pairs(struct cluster_database *database, struct cluster_job *job)
{
    struct key key;
    int rc;

    set_key(&key, job->span.from);
    rc = next_key(database, &key);
    while (rc == SQLITE_OK && key.size > 0 && is_before_end(&job->span, bytes_of(&key))) {
        rc = add_pair(database, job, &key);
        if (rc != SQLITE_OK || job->more)
            break;
        key.data[key.size < sizeof key.data ? key.size++ : key.size - 1] = 0;
        rc = next_key(database, &key);
    }
    return rc;
}

/* r[impl cluster.store.range] */
int cluster_history_read(struct cluster_database *database, struct cluster_job *job)
{
    uint64_t rev = job->kind == CLUSTER_JOB_RANGE ? job->span.rev : 0;
    int rc;

    job->rev = rev != 0 ? rev : database->revision;
    if (job->rev > database->revision)
        job->status = CLUSTER_TXN_DENIED;
    else if (job->rev < database->compacted)
        job->status = CLUSTER_TXN_COMPACTED;
    if (job->status != CLUSTER_TXN_OK)
        return SQLITE_OK;
    rc = read_pairs(database, job);
    if (rc != SQLITE_NOMEM)
        return rc;
    cluster_results_clear(&job->results);
    job->more = false;
    job->status = CLUSTER_TXN_NOT_APPLIED;
    return SQLITE_OK;
}

/* The change of a row; the revision before it is that of the key until then. */
static int add_change(struct cluster_database *database, struct cluster_job *job, sqlite3_stmt *row)
{
    uint64_t rev = (uint64_t)sqlite3_column_int64(row, 1);
    struct cluster_change change = {.deleted = sqlite3_column_int(row, 2) != 0};
    struct cluster_pair before;
    int rc;

    change.pair.key = cluster_statements_column(row, 0);
    rc = cluster_database_find(database, change.pair.key, rev - 1, &before);
    change.prev_mod = before.mod_rev;
    cluster_database_found(database);
    if (rc != SQLITE_OK)
        return rc;
    change.pair.mod_rev = rev;
    change.pair.create_rev = (uint64_t)sqlite3_column_int64(row, 3);
    change.pair.version = (uint64_t)sqlite3_column_int64(row, 4);
    change.pair.value = cluster_statements_column(row, 5);
    return cluster_results_add_change(&job->results, rev, &change) == 0 ? SQLITE_OK : SQLITE_NOMEM;
}

static bool is_full(const struct cluster_results *results, unsigned looked)
{
    return results->changes_count >= CHANGES_MAX || results->bytes >= BYTES_MAX ||
           looked >= LOOKED_MAX;
}

/* Goes through the rows after the watch's revision. `span.rev` becomes the last one that was looked
 * through wholly. */
static int look_through(struct cluster_database *database, struct cluster_job *job)
{
    sqlite3_stmt *row = cluster_statements_take(&database->statements, CLUSTER_STATEMENT_CHANGES);
    uint64_t last = job->span.rev;
    unsigned looked = 0;
    int rc;

    if (!row)
        return sqlite3_extended_errcode(database->statements.db);
    sqlite3_bind_int64(row, 1, (int64_t)job->span.rev);
    sqlite3_bind_int64(row, 2, (int64_t)database->revision);
    while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
        uint64_t rev = (uint64_t)sqlite3_column_int64(row, 1);

        if (rev != last && is_full(&job->results, looked))
            break;
        last = rev;
        looked++;
        if (is_in(&job->span, cluster_statements_column(row, 0)) &&
            (rc = add_change(database, job, row)) != SQLITE_OK)
            break;
    }
    cluster_statements_end(&database->statements, CLUSTER_STATEMENT_CHANGES);
    if (rc == SQLITE_DONE)
        last = database->revision;
    if (rc == SQLITE_DONE || rc == SQLITE_ROW)
        job->span.rev = last;
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

bool cluster_history_may_watch(const struct cluster_database *database, struct cluster_job *job)
{
    if (job->span.rev <= database->revision)
        return true;
    job->status = CLUSTER_TXN_DENIED;
    job->rev = database->revision;
    return false;
}

/* `job->rev` is the last revision that the watch was told of. r[impl cluster.store.watch] */
int cluster_history_watch(struct cluster_database *database, struct cluster_job *job, bool *out_any)
{
    int rc;

    *out_any = true;
    job->more = false;
    job->status = CLUSTER_TXN_OK;
    if (job->span.rev < database->compacted) {
        job->status = CLUSTER_TXN_COMPACTED;
        job->rev = database->compacted;
        return SQLITE_OK;
    }
    rc = look_through(database, job);
    if (rc == SQLITE_NOMEM) {
        cluster_results_clear(&job->results);
        rc = SQLITE_OK; /* the same rows come again */
    }
    job->more = rc == SQLITE_OK && job->results.changes_count == 0 && job->span.rev > job->rev &&
                job->span.rev - job->rev >= PROGRESS;
    *out_any = job->results.changes_count > 0 || job->more;
    if (*out_any)
        job->rev = job->span.rev;
    return rc;
}

static int forget(struct cluster_database *database, struct rapahub_bytes key, uint64_t before)
{
    struct cluster_statements *statements = &database->statements;
    sqlite3_stmt *statement = cluster_statements_take(statements, CLUSTER_STATEMENT_FORGET);

    if (!statement)
        return sqlite3_extended_errcode(statements->db);
    cluster_statements_bind(statement, 1, key);
    sqlite3_bind_int64(statement, 2, (int64_t)before);
    return cluster_statements_run(statements, CLUSTER_STATEMENT_FORGET);
}

/* Each row up to a revision makes the earlier ones of its key superfluous, and itself if it is a
 * deletion: they go before revision `version` of the pair that stands for it. The first rows after
 * what was compacted are collected, then acted on. */
static int collect(struct cluster_database *database, const struct cluster_job *job,
                   struct cluster_results *rows, uint64_t *out_last)
{
    sqlite3_stmt *row = cluster_statements_take(&database->statements, CLUSTER_STATEMENT_CHANGES);
    int rc;

    *out_last = job->before;
    if (!row)
        return sqlite3_extended_errcode(database->statements.db);
    sqlite3_bind_int64(row, 1, (int64_t)database->compacted);
    sqlite3_bind_int64(row, 2, (int64_t)job->before);
    while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
        struct cluster_pair pair = {.key = cluster_statements_column(row, 0),
                                    .mod_rev = (uint64_t)sqlite3_column_int64(row, 1)};

        if (rows->pairs_count >= FORGOTTEN_MAX &&
            rows->pairs[rows->pairs_count - 1].mod_rev != pair.mod_rev) {
            *out_last = rows->pairs[rows->pairs_count - 1].mod_rev;
            break;
        }
        pair.version = sqlite3_column_int(row, 2) != 0 ? pair.mod_rev + 1 : pair.mod_rev;
        if (cluster_results_add(rows, &pair) != 0) {
            rc = SQLITE_NOMEM;
            break;
        }
    }
    cluster_statements_end(&database->statements, CLUSTER_STATEMENT_CHANGES);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int forget_part(struct cluster_database *database, const struct cluster_job *job,
                       uint64_t *out_last)
{
    struct cluster_results rows = {0};
    int rc = collect(database, job, &rows, out_last);

    if (rc == SQLITE_OK)
        rc = cluster_statements_do(&database->statements, CLUSTER_STATEMENT_BEGIN);
    for (size_t i = 0; rc == SQLITE_OK && i < rows.pairs_count; i++)
        rc = forget(database, rows.pairs[i].key, rows.pairs[i].version);
    cluster_results_clear(&rows);
    if (rc == SQLITE_OK)
        rc = cluster_database_set(database, "compacted", *out_last);
    return rc == SQLITE_OK ? cluster_statements_do(&database->statements, CLUSTER_STATEMENT_COMMIT)
                           : rc;
}

int cluster_history_compact(struct cluster_database *database, struct cluster_job *job,
                            bool *out_done)
{
    uint64_t last;
    int rc;

    *out_done = true;
    job->rev = database->revision;
    if (job->before > database->revision)
        job->status = CLUSTER_TXN_DENIED;
    if (job->before > database->revision || job->before <= database->compacted)
        return SQLITE_OK;
    rc = forget_part(database, job, &last);
    if (rc == SQLITE_OK) {
        database->compacted = last;
        *out_done = last >= job->before;
        return SQLITE_OK;
    }
    if (sqlite3_get_autocommit(database->statements.db) == 0)
        cluster_statements_do(&database->statements, CLUSTER_STATEMENT_ROLLBACK);
    if ((rc & 0xff) != SQLITE_FULL && (rc & 0xff) != SQLITE_NOMEM)
        return rc;
    job->status = (rc & 0xff) == SQLITE_FULL ? CLUSTER_TXN_NO_SPACE : CLUSTER_TXN_NOT_APPLIED;
    return SQLITE_OK;
}
