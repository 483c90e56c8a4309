/* SPDX-License-Identifier: Apache-2.0 */
/* store_bench: transactions of the metastore in SQLite to bare commits of the same rows, in turn on
 * the same disk: three keys, their history, the revision and the marker.
 *
 * usage: store-bench [FOLDER [store|bare]]; it is made and removed in there. Exit 1 below the gate.
 * With one of the two words its rate alone is measured, and printed as JSON. */
#include <inttypes.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/metastore/sqlite/schema.h"
#include "cluster/metastore/sqlite/sqlite.h"
#include "tests/bench/trial.h"

#define ROUNDS 15
#define FEW    3
#define COUNT  20 /* transactions in a round */
#define KEYS   3
#define SIZE   100 /* bytes of a value */
#define GATE   0.5
#define GOAL   0.7

static const char names[KEYS][16] = {"/c/addr/1/1", "/c/addr/1/2", "/c/log"};

struct bench {
    char folder[256], store_path[300], bare_path[300];
    struct cluster_metastore *store;
    sqlite3 *bare;
    sqlite3_stmt *insert, *meta, *marker, *begin, *commit;
    uint64_t seq, rev, ended, failed;
};

static void on_txn(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                   size_t count)
{
    struct bench *bench = user;

    (void)gets;
    (void)count;
    bench->ended++;
    bench->failed += status != CLUSTER_TXN_OK;
    bench->rev = rev;
}

static int submit(struct bench *bench)
{
    static const char value[SIZE];
    struct cluster_write puts[KEYS];

    for (unsigned i = 0; i < KEYS; i++)
        puts[i] = (struct cluster_write){
            CLUSTER_PUT, {names[i], strlen(names[i])}, {value, sizeof value}};
    return cluster_metastore_submit(
        bench->store,
        &(struct cluster_txn){
            .id = {cluster_txn_client(1, 1), ++bench->seq}, .then = puts, .then_count = KEYS},
        on_txn, bench);
}

/* `most` are under way at any time. Returns transactions a second. */
static double run_store(struct bench *bench, unsigned most)
{
    struct pollfd fd = {.fd = cluster_metastore_fd(bench->store), .events = POLLIN};
    uint64_t start = trial_now(), sent = 0, next;

    for (bench->ended = 0; bench->ended < COUNT;) {
        while (sent < COUNT && sent - bench->ended < most && submit(bench) == 0)
            sent++;
        if (poll(&fd, 1, 10000) != 1 || cluster_metastore_step(bench->store, 1, &next) != 0)
            return 0;
    }
    return COUNT * 1e9 / (double)(trial_now() - start);
}

static void run_statement(struct bench *bench, sqlite3_stmt *statement)
{
    bench->failed += sqlite3_step(statement) != SQLITE_DONE;
    sqlite3_reset(statement);
}

static void commit_bare(struct bench *bench, uint64_t number)
{
    static const char value[SIZE];

    run_statement(bench, bench->begin);
    for (unsigned i = 0; i < KEYS; i++) {
        sqlite3_bind_blob(bench->insert, 1, names[i], (int)strlen(names[i]), SQLITE_STATIC);
        sqlite3_bind_int64(bench->insert, 2, (int64_t)number);
        sqlite3_bind_int(bench->insert, 3, 0);
        sqlite3_bind_int64(bench->insert, 4, 1);
        sqlite3_bind_int64(bench->insert, 5, (int64_t)number);
        sqlite3_bind_blob(bench->insert, 6, value, sizeof value, SQLITE_STATIC);
        run_statement(bench, bench->insert);
    }
    sqlite3_bind_text(bench->meta, 1, "rev", -1, SQLITE_STATIC);
    sqlite3_bind_int64(bench->meta, 2, (int64_t)number);
    run_statement(bench, bench->meta);
    sqlite3_bind_int64(bench->marker, 1, 1);
    sqlite3_bind_int64(bench->marker, 2, (int64_t)(number % CLUSTER_TXN_FLIGHT_MAX));
    sqlite3_bind_int64(bench->marker, 3, (int64_t)number);
    sqlite3_bind_int(bench->marker, 4, 0);
    sqlite3_bind_int64(bench->marker, 5, (int64_t)number);
    run_statement(bench, bench->marker);
    run_statement(bench, bench->commit);
}

static double run_bare(struct bench *bench, uint64_t first)
{
    uint64_t start = trial_now();

    for (uint64_t i = 0; i < COUNT; i++)
        commit_bare(bench, first + i);
    return COUNT * 1e9 / (double)(trial_now() - start);
}

static const char *text_of(const char *name)
{
#define TEXT(statement, text)          \
    if (strcmp(#statement, name) == 0) \
        return text;
    CLUSTER_SCHEMA_STATEMENTS(TEXT)
#undef TEXT
    return "";
}

static sqlite3_stmt *prepare(struct bench *bench, const char *name)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(bench->bare, text_of(name), -1, &statement, NULL) != SQLITE_OK)
        bench->failed++;
    return statement;
}

static int open_both(struct bench *bench)
{
    const struct cluster_metastore_end *const ends[] = {&cluster_sqlite_end, NULL};
    const struct cluster_metastore_options options = {.create = true};
    char url[320];

    snprintf(bench->store_path, sizeof bench->store_path, "%s/meta.db", bench->folder);
    snprintf(bench->bare_path, sizeof bench->bare_path, "%s/bare.db", bench->folder);
    snprintf(url, sizeof url, "sqlite:%s", bench->store_path);
    if (cluster_metastore_open(ends, url, &options, &bench->store) != 0 ||
        sqlite3_open(bench->bare_path, &bench->bare) != SQLITE_OK ||
        sqlite3_exec(bench->bare,
                     "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                     "PRAGMA synchronous = FULL;" CLUSTER_SCHEMA_SETUP,
                     NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    bench->insert = prepare(bench, "INSERT");
    bench->meta = prepare(bench, "SET_META");
    bench->marker = prepare(bench, "SET_MARKER");
    bench->begin = prepare(bench, "BEGIN");
    bench->commit = prepare(bench, "COMMIT");
    return bench->failed == 0 ? 0 : -1;
}

static void close_both(struct bench *bench)
{
    cluster_metastore_close(bench->store);
    sqlite3_finalize(bench->insert);
    sqlite3_finalize(bench->meta);
    sqlite3_finalize(bench->marker);
    sqlite3_finalize(bench->begin);
    sqlite3_finalize(bench->commit);
    sqlite3_close(bench->bare);
    unlink(bench->store_path);
    unlink(bench->bare_path);
    rmdir(bench->folder);
}

static int measure(struct bench *bench)
{
    double one[ROUNDS], many[ROUNDS], bare[ROUNDS], ratio[ROUNDS], of_many[ROUNDS], median;

    for (unsigned i = 0; i < ROUNDS; i++) {
        bare[i] = run_bare(bench, 1 + (uint64_t)i * COUNT);
        one[i] = run_store(bench, 1);
        many[i] = run_store(bench, CLUSTER_TXN_FLIGHT_MAX);
        ratio[i] = one[i] / bare[i];
        of_many[i] = many[i] / bare[i];
    }
    median = trial_quantile(ratio, ROUNDS, 0.5);
    printf("bare commits           %8.0f /s\n", trial_quantile(bare, ROUNDS, 0.5));
    printf("transactions, one      %8.0f /s, to bare %.2f (gate %.1f, goal %.1f)\n",
           trial_quantile(one, ROUNDS, 0.5), median, GATE, GOAL);
    printf("transactions, 64 open  %8.0f /s, to bare %.2f\n", trial_quantile(many, ROUNDS, 0.5),
           trial_quantile(of_many, ROUNDS, 0.5));
    if (bench->failed > 0)
        printf("%" PRIu64 " failed\n", bench->failed);
    return bench->failed == 0 && median >= GATE ? 0 : 1;
}

/* For ./run bench: the rate of one of the two. */
static int measure_one(struct bench *bench, const char *which)
{
    bool bare = strcmp(which, "bare") == 0;
    double rates[FEW];

    for (unsigned i = 0; i < FEW; i++)
        rates[i] = bare ? run_bare(bench, 1 + (uint64_t)i * COUNT) : run_store(bench, 1);
    printf("{\"rate\":%.6g,\"n\":%d}\n", trial_quantile(rates, FEW, 0.5), FEW * COUNT);
    return bench->failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct bench *bench = calloc(1, sizeof *bench);
    int status = 2;

    snprintf(bench->folder, sizeof bench->folder, "%s/store-bench.XXXXXX",
             argc > 1 ? argv[1] : ".");
    if (!mkdtemp(bench->folder) || open_both(bench) != 0)
        fprintf(stderr, "store-bench: %s: cannot make a store there: %s\n", bench->folder,
                rapahub_last_error()->text);
    else
        status = argc > 2 ? measure_one(bench, argv[2]) : measure(bench);
    close_both(bench);
    free(bench);
    return status;
}
