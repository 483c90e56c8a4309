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

/* r[verify cluster.store.backup] */
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
    assert_int_equal(back_up(stage, path).status, CLUSTER_TXN_CONFLICT); /* it stays as it is */
    assert_int_equal(store_stage_try(&copy, false), 0);
    assert_string_equal(store_stage_range(&copy, "/", "0", 0, 9).pairs[0].value, "2");
    store_stage_close(&copy);
}

static void note_watch(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                       size_t count)
{
    struct store_answer *answer = user;

    (void)changes;
    (void)count;
    answer->status = status;
    answer->rev = rev;
    answer->ends++;
}

static int restore(const struct store_stage *stage, uint32_t least, uint32_t *out)
{
    const struct cluster_metastore_end *const ends[] = {stage->end, NULL};

    return cluster_metastore_restore(ends, stage->url, least, out);
}

/* r[verify cluster.store.restore] */
static void a_store_that_was_restored_is_above_all_before(void **state)
{
    struct store_stage *stage = *state;
    uint64_t rev, watch;
    uint32_t generation = 0;
    struct store_answer answer = {0};
    const struct cluster_span all = {.from = {(const uint8_t *)"/", 1},
                                     .to = {(const uint8_t *)"0", 1}};
    struct cluster_span from;

    store_stage_put(stage, "/a", "1");
    rev = store_stage_put(stage, "/a", "2").rev;
    assert_int_equal(restore(stage, 0, &generation), RAPAHUB_EAGAIN); /* it is open */
    store_stage_close(stage);
    assert_int_equal(restore(stage, 0, &generation), 0);
    assert_int_equal(generation, 1);
    assert_int_equal(restore(stage, 0, &generation), 0);
    assert_int_equal(generation, 2);
    assert_int_equal(restore(stage, 7, &generation), 0);
    assert_int_equal(generation, 7);
    assert_int_equal(restore(stage, 5, &generation), 0);
    assert_int_equal(generation, 8);
    assert_int_equal(restore(stage, CLUSTER_GENERATION_MAX + 1, &generation), RAPAHUB_EOVERFLOW);
    assert_int_equal(store_stage_try(stage, false), 0);
    assert_true(store_stage_sync(stage).rev == cluster_ids_revision(8, 1) - 1);
    assert_string_equal(store_stage_range(stage, "/", "0", 0, 9).pairs[0].value, "2");
    assert_int_equal(store_stage_range(stage, "/", "0", rev, 9).status, CLUSTER_TXN_COMPACTED);
    from = all;
    from.rev = rev + 5; /* who has seen changes that the backup lacks */
    assert_int_equal(cluster_metastore_watch(stage->store, &from, note_watch, &answer, &watch), 0);
    store_stage_wait(stage, &answer);
    assert_int_equal(answer.status, CLUSTER_TXN_COMPACTED);
    assert_true(store_stage_put(stage, "/a", "3").rev == cluster_ids_revision(8, 1));
}

static void a_file_that_is_no_store_is_not_restored(void **state)
{
    struct store_stage *stage = *state;
    uint32_t generation = 0;
    FILE *file;

    store_stage_close(stage);
    file = fopen(stage->path, "w");
    assert_non_null(file);
    fputs("no store, but long enough to be one: it has more than a page of a header\n", file);
    fclose(file);
    assert_int_equal(restore(stage, 0, &generation), RAPAHUB_EIO);
    assert_int_equal(unlink(stage->path), 0);
    assert_int_equal(restore(stage, 0, &generation), RAPAHUB_ENOENT);
    stage->store = NULL;
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

#define HOUR (3600 * HUB_SECOND)

/* Waits until it is at `least`. */
static uint64_t await_compacted(struct store_stage *stage, uint64_t least)
{
    uint64_t deadline_ns = hub_clock_after(20 * HUB_SECOND);
    struct cluster_metastore_stats stats;

    do {
        store_stage_sync(stage);
        cluster_metastore_stats(stage->store, &stats);
    } while ((stats.compacted < least || stats.reads > 0) && hub_clock_left(deadline_ns) > 0);
    return stats.compacted;
}

/* The store notes what is to become old. Returns its revision. */
static uint64_t note_revision(struct store_stage *stage)
{
    stage->now_ns += HOUR / 30;
    store_stage_sync(stage);
    return store_stage_sync(stage).rev;
}

static void put_often(struct store_stage *stage, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        store_stage_put(stage, "/a", "1");
}

struct watched {
    size_t changes, ends;
};

static void on_change(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                      size_t count)
{
    struct watched *watched = user;

    (void)rev;
    (void)changes;
    watched->changes += count;
    watched->ends += status == CLUSTER_TXN_COMPACTED;
}

static uint64_t begin_watch(struct store_stage *stage, const char *from, const char *to,
                            uint64_t rev, struct watched *watched)
{
    const struct cluster_span span = {store_stage_bytes(from), store_stage_bytes(to), rev, 0};
    uint64_t watch;

    assert_int_equal(cluster_metastore_watch(stage->store, &span, on_change, watched, &watch), 0);
    return watch;
}

/* One that begins where all is old is told all of it. r[verify cluster.store.keep] */
static void what_a_watch_was_not_told_is_not_forgotten(void **state)
{
    struct store_stage *stage = *state;
    static struct watched watched, idle; /* they are told when the store is closed */
    uint64_t first = store_stage_put(stage, "/a", "1").rev, last, watch;

    put_often(stage, 2000);
    last = note_revision(stage);
    begin_watch(stage, "/", "0", first, &watched);
    watch = begin_watch(stage, "/b", "/c", last - 30, &idle);
    stage->now_ns += HOUR;
    assert_true(store_stage_until(stage, &watched.changes, 2000, 20000));
    stage->now_ns += HOUR;
    assert_int_equal(await_compacted(stage, last - 30), last - 30);
    cluster_metastore_unwatch(stage->store, watch);
    stage->now_ns += HOUR;
    assert_int_equal(await_compacted(stage, last), last);
    assert_int_equal(watched.ends + idle.ends, 0);
    assert_int_equal(watched.changes, 2000);
}

struct pages {
    struct store_stage *stage;
    size_t read, failed, ended;
    uint64_t rev;
};

static void read_page(struct pages *pages, struct rapahub_bytes from);

/* The keys are a letter, so the next one begins a byte later. */
static void on_page(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct pages *pages = user;
    char next[3] = "/";

    (void)rev;
    pages->failed += status != CLUSTER_TXN_OK;
    pages->read++;
    pages->ended += status != CLUSTER_TXN_OK || !page->more;
    if (status != CLUSTER_TXN_OK || !page->more)
        return;
    next[1] = (char)(((const char *)page->pairs[0].key.data)[1] + 1);
    read_page(pages, store_stage_bytes(next));
}

static void read_page(struct pages *pages, struct rapahub_bytes from)
{
    const struct cluster_span span = {from, store_stage_bytes("0"), pages->rev, 1};

    assert_int_equal(cluster_metastore_range(pages->stage->store, &span, on_page, pages), 0);
}

/* r[verify cluster.store.keep] */
static void the_pages_of_a_reading_are_not_forgotten(void **state)
{
    struct store_stage *stage = *state;
    struct pages pages = {.stage = stage};
    char key[3] = "/a";
    uint64_t last;

    for (; key[1] <= 'z'; key[1]++)
        pages.rev = store_stage_put(stage, key, "1").rev;
    put_often(stage, 100);
    last = note_revision(stage);
    stage->now_ns += HOUR;
    read_page(&pages, store_stage_bytes("/"));
    assert_true(store_stage_until(stage, &pages.ended, 1, 20000));
    assert_int_equal(pages.failed, 0);
    assert_int_equal(pages.read, 26);
    stage->now_ns += HOUR / 60; /* the rest is not forgotten at once */
    assert_int_equal(await_compacted(stage, last), last);
}

static long size_of(struct store_stage *stage)
{
    struct stat stat_of;

    assert_int_equal(stat(stage->path, &stat_of), 0);
    return stat_of.st_size;
}

/* r[verify cluster.store.keep] */
static void the_place_of_what_was_forgotten_is_used_again(void **state)
{
    struct store_stage *stage = *state;
    char value[STORE_STAGE_VALUE_MAX];
    uint64_t last;
    long size = 0;

    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            store_stage_put(stage, "/a", value);
            store_stage_delete(stage, "/a");
        }
        last = note_revision(stage);
        stage->now_ns += HOUR;
        assert_int_equal(await_compacted(stage, last), last);
        store_stage_reopen(stage); /* so the file has all of the log */
        if (round == 1)
            size = size_of(stage);
    }
    assert_true(size_of(stage) <= size + size / 4);
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
        EACH(a_backup_is_a_store_of_its_own),
        EACH(a_store_that_was_restored_is_above_all_before),
        EACH(a_file_that_is_no_store_is_not_restored),
        EACH(changes_are_forgotten_after_an_hour),
        EACH(what_a_watch_was_not_told_is_not_forgotten),
        EACH(the_pages_of_a_reading_are_not_forgotten),
        EACH(the_place_of_what_was_forgotten_is_used_again),
        EACH(nothing_is_left_of_a_deleted_key),
        EACH(a_restored_store_is_above_all_that_it_was),
        EACH(transactions_share_commits),
        EACH(markers_of_earlier_lives_are_forgotten),
        EACH(the_log_does_not_grow_for_ever),
        EACH(no_other_user_can_read_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
