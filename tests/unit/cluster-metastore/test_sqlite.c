/* SPDX-License-Identifier: Apache-2.0 */
/* The metastore in SQLite, beyond what all back ends keep. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/metastore/sqlite/sqlite.h"
#include "hub/base/clock.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

static int begin(void **state)
{
    struct store_stage *stage = calloc(1, sizeof *stage);

    store_stage_begin(stage, &cluster_sqlite_end, NULL);
    *state = stage;
    return 0;
}

static int finish(void **state)
{
    store_stage_end(*state);
    free(*state);
    return 0;
}

static int64_t number_in(struct store_stage *stage, const char *statement)
{
    sqlite3_stmt *prepared;
    sqlite3 *db;
    int64_t number;

    store_stage_close(stage);
    assert_int_equal(sqlite3_open(stage->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, statement, -1, &prepared, NULL), SQLITE_OK);
    number = sqlite3_step(prepared) == SQLITE_ROW ? sqlite3_column_int64(prepared, 0) : 0;
    sqlite3_finalize(prepared);
    sqlite3_close(db);
    assert_int_equal(store_stage_try(stage, false), 0);
    return number;
}

static struct store_answer back_up(struct store_stage *stage, const char *path)
{
    struct store_answer answer = {0};

    assert_int_equal(cluster_metastore_backup(stage->store, path, store_stage_on_txn, &answer), 0);
    store_stage_wait(stage, &answer);
    return answer;
}

static void a_backup_is_a_store_of_its_own(void **state)
{
    struct store_stage *stage = *state, copy;
    char path[STORE_STAGE_PATH_MAX - 8];
    uint64_t rev;

    snprintf(path, sizeof path, "%s/copy.db", stage->folder);
    store_stage_put(stage, "/a", "1");
    rev = store_stage_put(stage, "/a", "2").rev;
    assert_int_equal(back_up(stage, path).status, CLUSTER_TXN_OK);
    store_stage_put(stage, "/a", "3");
    assert_int_equal(back_up(stage, "/nowhere/copy.db").status, CLUSTER_TXN_DENIED);
    copy = *stage;
    snprintf(copy.url, sizeof copy.url, "sqlite:%s", path);
    copy.path = copy.url + strlen("sqlite:");
    assert_int_equal(store_stage_try(&copy, false), 0);
    assert_int_equal(store_stage_sync(&copy).rev, rev);
    assert_string_equal(store_stage_range(&copy, "/", "0", 0, 9).pairs[0].value, "2");
    assert_string_equal(store_stage_range(&copy, "/", "0", rev - 1, 9).pairs[0].value, "1");
    store_stage_close(&copy);
    assert_int_equal(back_up(stage, path).status, CLUSTER_TXN_OK);
    assert_int_equal(store_stage_try(&copy, false), 0);
    assert_string_equal(store_stage_range(&copy, "/", "0", 0, 9).pairs[0].value, "3");
    store_stage_close(&copy);
}

/* The time is what the store is told. r[verify cluster.store.step] */
static void changes_are_forgotten_after_an_hour(void **state)
{
    struct store_stage *stage = *state;
    uint64_t first = store_stage_put(stage, "/a", "1").rev, next;

    for (unsigned minute = 0; minute < 60; minute++) {
        stage->now_ns = (minute + 1) * 60 * HUB_SECOND;
        store_stage_put(stage, "/a", "2");
    }
    assert_int_equal(store_stage_range(stage, "/", "0", first, 9).status, CLUSTER_TXN_OK);
    stage->now_ns += 2 * 60 * HUB_SECOND;
    store_stage_sync(stage);
    store_stage_sync(stage);
    assert_int_equal(store_stage_range(stage, "/", "0", first, 9).status, CLUSTER_TXN_COMPACTED);
    assert_int_equal(store_stage_range(stage, "/", "0", first + 30, 9).status, CLUSTER_TXN_OK);
    assert_int_equal(cluster_metastore_step(stage->store, stage->now_ns, &next), 0);
    assert_true(next > stage->now_ns && next < stage->now_ns + 3600 * HUB_SECOND);
    stage->now_ns += 7200 * HUB_SECOND;
    store_stage_sync(stage);
    store_stage_sync(stage);
    assert_int_equal(store_stage_range(stage, "/", "0", first + 58, 9).status,
                     CLUSTER_TXN_COMPACTED);
    assert_int_equal(number_in(stage, "SELECT count(*) FROM kv"), 1);
}

static void nothing_is_left_of_a_deleted_key(void **state)
{
    struct store_stage *stage = *state;

    store_stage_put(stage, "/a", "1");
    store_stage_put(stage, "/a", "2");
    store_stage_compact(stage, store_stage_delete(stage, "/a").rev);
    assert_int_equal(number_in(stage, "SELECT count(*) FROM kv"), 0);
    assert_int_equal(store_stage_put(stage, "/a", "3").rev, 4);
}

/* r[verify cluster.store.atomic] */
static void a_restored_store_is_above_all_that_it_was(void **state)
{
    struct store_stage *stage = *state;
    uint64_t before = store_stage_put(stage, "/a", "1").rev, after;

    assert_int_equal(before, cluster_ids_revision(0, 1));
    number_in(stage, "UPDATE meta SET n = 3 WHERE name = 'generation'");
    after = store_stage_put(stage, "/a", "2").rev;
    assert_int_equal(after, cluster_ids_revision(3, 1));
    assert_int_equal(store_stage_put(stage, "/a", "3").rev, after + 1);
    store_stage_reopen(stage);
    assert_string_equal(store_stage_range(stage, "/", "0", before, 9).pairs[0].value, "1");
    assert_string_equal(store_stage_range(stage, "/", "0", before + 7, 9).pairs[0].value, "1");
    assert_int_equal(store_stage_put(stage, "/a", "4").rev, after + 2);
}

static void transactions_share_commits(void **state)
{
    struct store_stage *stage = *state;
    struct store_answer *answers = calloc(CLUSTER_TXN_FLIGHT_MAX, sizeof *answers);
    const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes("/a"), store_stage_bytes("1")};
    struct cluster_metastore_stats stats;

    for (unsigned i = 0; i < CLUSTER_TXN_FLIGHT_MAX; i++)
        assert_int_equal(
            cluster_metastore_submit(
                stage->store,
                &(struct cluster_txn){.id = store_stage_id(), .then = &put, .then_count = 1},
                store_stage_on_txn, &answers[i]),
            0);
    for (unsigned i = 0; i < CLUSTER_TXN_FLIGHT_MAX; i++) {
        store_stage_wait(stage, &answers[i]);
        assert_int_equal(answers[i].rev, i + 1);
    }
    cluster_metastore_stats(stage->store, &stats);
    assert_int_equal(stats.transactions, CLUSTER_TXN_FLIGHT_MAX);
    assert_true(stats.commits < CLUSTER_TXN_FLIGHT_MAX);
    assert_true(stats.commits >= CLUSTER_TXN_FLIGHT_MAX / 16);
    assert_int_equal(stats.open, 0);
    assert_int_equal(stats.revision, CLUSTER_TXN_FLIGHT_MAX);
    free(answers);
}

/* Each life of a node leaves no more than 64 markers, and only the last one any. */
static void markers_of_earlier_lives_are_forgotten(void **state)
{
    struct store_stage *stage = *state;
    const struct cluster_write put = {CLUSTER_PUT, store_stage_bytes("/a"), store_stage_bytes("1")};

    for (uint32_t node = 1; node <= 2; node++)
        for (uint32_t boot = 1; boot <= 3; boot++)
            for (unsigned seq = 1; seq <= 100; seq++)
                store_stage_run(stage,
                                &(struct cluster_txn){.id = {cluster_txn_client(node, boot), seq},
                                                      .then = &put,
                                                      .then_count = 1});
    assert_int_equal(number_in(stage, "SELECT count(*) FROM marker"), 128);
    assert_int_equal(number_in(stage, "SELECT count(DISTINCT client) FROM marker"), 2);
}

static void the_log_does_not_grow_for_ever(void **state)
{
    struct store_stage *stage = *state;
    char *large = calloc(1, CLUSTER_TXN_VALUE_MAX), path[STORE_STAGE_PATH_MAX + 8];
    const struct cluster_write put = {
        CLUSTER_PUT, store_stage_bytes("/a"), {large, CLUSTER_TXN_VALUE_MAX}};
    struct stat stat_of;

    for (unsigned i = 0; i < 100; i++)
        store_stage_run(
            stage, &(struct cluster_txn){.id = store_stage_id(), .then = &put, .then_count = 1});
    snprintf(path, sizeof path, "%s-wal", stage->path);
    assert_int_equal(stat(path, &stat_of), 0);
    assert_true(stat_of.st_size < 8 << 20);
    free(large);
}

/* The file and its log are the user's alone. */
static void no_other_user_can_read_it(void **state)
{
    struct store_stage *stage = *state;
    char path[STORE_STAGE_PATH_MAX + 8];
    struct stat stat_of;

    store_stage_put(stage, "/a", "1");
    assert_int_equal(stat(stage->path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0600);
    snprintf(path, sizeof path, "%s-wal", stage->path);
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0600);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(a_backup_is_a_store_of_its_own),   EACH(changes_are_forgotten_after_an_hour),
        EACH(nothing_is_left_of_a_deleted_key), EACH(a_restored_store_is_above_all_that_it_was),
        EACH(transactions_share_commits),       EACH(markers_of_earlier_lives_are_forgotten),
        EACH(the_log_does_not_grow_for_ever),   EACH(no_other_user_can_read_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
