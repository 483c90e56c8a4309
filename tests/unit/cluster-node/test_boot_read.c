/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/ids.h"
#include "cluster/node/disk/store_thread.h"
#include "hub/base/clock.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"

#define POOL    ((uint64_t)CLUSTER_POOL_MAJOR_LEAST << 32)
#define SEGMENT "wal/domain_table.0000000000000001.bin"

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static int begin(void **state)
{
    struct folder_stage *stage = calloc(1, sizeof *stage);

    folder_stage_begin(stage);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    folder_stage_end(*state);
    free(*state);
    return 0;
}

static void start(const struct folder_stage *stage, struct cluster_boot *boot)
{
    if (boot_stage_run(stage, boot) != 0)
        fail_msg("%s", rapahub_last_error()->text);
}

static struct boot_told read_all(struct cluster_boot *boot)
{
    struct boot_told told = {0};

    if (cluster_boot_read_all(boot, &boot_stage_visitor, &told) != 0)
        fail_msg("%s", rapahub_last_error()->text);
    assert_false(told.disordered);
    assert_int_equal(told.readings, 1);
    assert_int_equal(told.last, boot->last);
    assert_int_equal(told.revision, boot->revision);
    return told;
}

/* Appends deltas to the log, which the metastore has: container i at revisions[i]. */
static void append(struct cluster_boot *boot, const uint64_t *revisions, uint32_t from, uint32_t to)
{
    struct cluster_wal wal;

    assert_int_equal(cluster_wal_begin(&wal, &boot->wal), 0);
    for (uint32_t i = from; i < to; i++) {
        const struct cluster_delta_change change = {
            .pool = POOL,
            .container = i,
            .entry = {.state = CLUSTER_ENTRY_STARTING,
                      .owner = 1,
                      .session = 1,
                      .epoch = 1,
                      .lineage = cluster_ids_lineage(1, 0)}};
        const struct cluster_wal_record record = {
            .revision = revisions[i], .previous = i > 0 ? revisions[i - 1] : 0, .count = 1};

        assert_int_equal(cluster_wal_append(&wal, &record, &change), 0);
    }
    assert_int_equal(cluster_wal_sync(&wal), 0);
    cluster_wal_end(&wal);
}

/* A life that writes `count` entries; the first `logged` of them are in its log. */
static void live(const struct folder_stage *stage, uint32_t count, uint32_t logged,
                 uint64_t *revisions)
{
    struct cluster_boot boot;

    start(stage, &boot);
    assert_true(boot_stage_fill(&boot) > 0);
    read_all(&boot);
    for (uint32_t i = 0; i < count; i++) {
        revisions[i] = boot_stage_map(&boot, i, i > 0 ? revisions[i - 1] : 0);
        assert_true(revisions[i] > 0);
    }
    append(&boot, revisions, 0, logged);
    cluster_boot_close(&boot);
}

/* r[verify cluster.boot.read] */
static void all_of_it_is_told_in_order(void **state)
{
    const struct folder_stage *stage = *state;
    uint64_t revisions[10];
    struct cluster_boot boot;
    struct boot_told told;

    live(stage, 10, 10, revisions);
    start(stage, &boot);
    assert_int_equal(boot.map.revision, revisions[9]);
    assert_int_equal(boot.map.count, 10);
    told = read_all(&boot);
    assert_int_equal(told.pools, 1);
    assert_int_equal(told.entries, 10);
    assert_int_equal(told.operations, 2);
    assert_int_equal(told.modules, 1);
    assert_int_equal(told.last, revisions[9]);
    for (int i = 0; i < 10; i++)
        assert_int_equal(told.entry_revisions[i], revisions[i]);
    assert_int_equal(boot.wal.revision, revisions[9]);
    assert_false(folder_stage_has(stage, "wal/domain_table.snapshot")); /* none is needed */
    cluster_boot_close(&boot);
}

/* The module that boot_stage_fill records has the digest of a text. r[verify cluster.node.modules]
 */
static void files_of_no_module_are_removed(void **state)
{
    static const char known[] =
        "blobs/sha256/12/120970d812836f19888625587a4606a5ad23cef31c8684e601771552548fc6b9";
    static const char other[] =
        "blobs/sha256/12/120970d812836f19888625587a4606a5ad23cef31c8684e601771552548fc6ba";
    const struct folder_stage *stage = *state;
    uint64_t revisions[1];
    struct cluster_boot boot;
    char path[256];

    live(stage, 1, 1, revisions);
    snprintf(path, sizeof path, "%s/blobs/sha256/12", stage->path);
    assert_int_equal(mkdir(path, 0700), 0);
    folder_stage_write(stage, known, "module", 6);
    folder_stage_write(stage, other, "module", 6);
    start(stage, &boot);
    assert_true(folder_stage_has(stage, other)); /* what is needed is not known yet */
    (void)read_all(&boot);
    assert_true(folder_stage_has(stage, known));
    assert_false(folder_stage_has(stage, other));
    cluster_boot_close(&boot);
}

/* More entries than a page has. */
static void pages_are_of_one_revision(void **state)
{
    const struct folder_stage *stage = *state;
    static uint64_t revisions[1300];
    struct cluster_boot boot;
    struct boot_told told;

    live(stage, 1300, 1300, revisions);
    start(stage, &boot);
    told = read_all(&boot);
    assert_int_equal(told.entries, 1300);
    cluster_boot_close(&boot);
}

/* r[verify cluster.boot.log] */
static void a_log_that_is_behind_is_brought_up(void **state)
{
    const struct folder_stage *stage = *state;
    uint64_t revisions[11];
    struct cluster_boot boot;

    live(stage, 10, 6, revisions); /* killed before four deltas were in the log */
    start(stage, &boot);
    assert_int_equal(boot.map.revision, revisions[5]);
    read_all(&boot);
    assert_true(folder_stage_has(stage, "wal/domain_table.snapshot"));
    revisions[10] = boot_stage_map(&boot, 10, revisions[9]);
    append(&boot, revisions, 10, 11); /* it goes on from the last delta */
    cluster_boot_close(&boot);
    start(stage, &boot);
    assert_int_equal(boot.map.revision, revisions[10]);
    assert_int_equal(boot.map.count, 11);
    read_all(&boot);
    cluster_boot_close(&boot);
}

static void a_damaged_log_comes_from_the_metastore(void **state)
{
    const struct folder_stage *stage = *state;
    uint64_t revisions[11];
    struct cluster_boot boot;
    struct boot_told told;

    live(stage, 10, 10, revisions);
    folder_stage_flip(stage, SEGMENT, 200);
    start(stage, &boot);
    assert_int_equal(boot.map.revision, 0);
    assert_int_equal(boot.map.count, 0);
    assert_true(folder_stage_has(stage, SEGMENT ".bad"));
    told = read_all(&boot);
    assert_int_equal(told.entries, 10);
    revisions[10] = boot_stage_map(&boot, 10, revisions[9]);
    append(&boot, revisions, 10, 11);
    cluster_boot_close(&boot);
    start(stage, &boot);
    assert_int_equal(boot.map.revision, revisions[10]);
    assert_int_equal(boot.map.count, 11);
    cluster_boot_close(&boot);
}

static void the_log_of_another_node_is_refused(void **state)
{
    const struct folder_stage *stage = *state;
    struct folder_stage other = *stage;
    static uint8_t bytes[8 << 20];
    uint64_t revisions[4];
    struct cluster_boot boot;
    size_t size;

    snprintf(other.path, sizeof other.path, "%s/other", stage->top);
    live(&other, 4, 4, revisions);
    live(stage, 4, 4, revisions);
    size = folder_stage_read(&other, SEGMENT, bytes, sizeof bytes);
    folder_stage_write(stage, SEGMENT, bytes, size);
    assert_int_equal(boot_stage_run(stage, &boot), RAPAHUB_EFORMAT);
    assert_non_null(strstr(rapahub_last_error()->text, "the log of another node"));
}

/* r[verify cluster.store.old] The log has a delta that the metastore lost. */
static void a_log_that_is_ahead_refuses_the_metastore(void **state)
{
    const struct folder_stage *stage = *state;
    uint64_t revisions[5];
    struct cluster_boot boot;
    struct boot_told told = {0};

    live(stage, 4, 4, revisions);
    start(stage, &boot);
    read_all(&boot);
    revisions[4] = boot_stage_fill(&boot); /* a revision, but of no delta */
    append(&boot, revisions, 4, 5);
    cluster_boot_close(&boot);
    start(stage, &boot);
    assert_int_equal(cluster_boot_read_all(&boot, &boot_stage_visitor, &told), RAPAHUB_ESTOREOLD);
    assert_non_null(strstr(rapahub_last_error()->text, "put the newer one back"));
    cluster_boot_close(&boot);

    start(stage, &boot);
    revisions[4] = boot.session + 1000; /* a revision that is not there yet */
    boot.wal = (struct cluster_wal_options){
        .log = &boot.log, .revision = 0, .sequence = boot.map.replay.sequence};
    assert_int_equal(cluster_segments_put_aside(&boot.log, "for the test"), 0);
    revisions[0] = revisions[4];
    append(&boot, revisions, 0, 1);
    cluster_boot_close(&boot);
    assert_int_equal(boot_stage_run(stage, &boot), RAPAHUB_ESTOREOLD);
}

static void a_record_that_is_damaged_is_named(void **state)
{
    const struct folder_stage *stage = *state;
    const struct cluster_write bad = {CLUSTER_PUT, {"/c/pool/0000010000000000", 24}, {"junk", 4}};
    const struct cluster_write unknown = {CLUSTER_PUT, {"/c/mod/x", 8}, {"junk", 4}};
    struct cluster_boot boot;
    struct boot_told told = {0};

    start(stage, &boot);
    assert_true(boot_stage_put_raw(&boot, &bad) > 0);
    assert_int_equal(cluster_boot_read_all(&boot, &boot_stage_visitor, &told), RAPAHUB_EFORMAT);
    assert_non_null(strstr(rapahub_last_error()->text, "'/c/pool/0000010000000000' is damaged"));
    assert_true(boot_stage_fill(&boot) > 0);
    assert_true(boot_stage_put_raw(&boot, &unknown) > 0);
    assert_int_equal(cluster_boot_read_all(&boot, &boot_stage_visitor, &told), RAPAHUB_EFORMAT);
    assert_non_null(strstr(rapahub_last_error()->text, "'/c/mod/x'"));
    cluster_boot_close(&boot);
}

static void a_teller_may_fail_anywhere(void **state)
{
    const struct folder_stage *stage = *state;
    uint64_t revisions[3];
    struct boot_told told;

    live(stage, 3, 1, revisions); /* so that each of them begins a snapshot */
    for (unsigned at = 1; at <= 8; at++) {
        struct cluster_boot boot;

        told = (struct boot_told){.fail_at = at};
        start(stage, &boot);
        assert_int_equal(cluster_boot_read_all(&boot, &boot_stage_visitor, &told), -ECANCELED);
        assert_int_equal(told.calls, at);
        cluster_boot_close(&boot);
    }
}

/* The thread of the disk takes the log over. */
static void the_thread_of_the_disk_goes_on(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_store_thread_options options = {0};
    struct cluster_store_thread *thread;
    struct cluster_store_thread_stats stats;
    uint64_t revisions[4];
    struct cluster_boot boot;

    live(stage, 4, 2, revisions);
    start(stage, &boot);
    read_all(&boot);
    options.folder = &boot.folder;
    options.log = &boot.wal;
    options.machine_boot = boot.machine.boot;
    assert_int_equal(cluster_store_thread_start(&options, &thread), 0);
    cluster_store_thread_stats(thread, &stats);
    assert_int_equal(stats.synced, revisions[3]);
    cluster_store_thread_stop(thread, true, hub_clock_after(HUB_SECOND));
    assert_int_equal(cluster_boot_end_session(&boot), 0);
    cluster_boot_close(&boot);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(all_of_it_is_told_in_order),
        TEST(files_of_no_module_are_removed),
        TEST(pages_are_of_one_revision),
        TEST(a_log_that_is_behind_is_brought_up),
        TEST(a_damaged_log_comes_from_the_metastore),
        TEST(the_log_of_another_node_is_refused),
        TEST(a_log_that_is_ahead_refuses_the_metastore),
        TEST(a_record_that_is_damaged_is_named),
        TEST(a_teller_may_fail_anywhere),
        TEST(the_thread_of_the_disk_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
