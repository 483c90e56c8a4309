/* SPDX-License-Identifier: Apache-2.0 */
/* A backup takes the place of a metastore, or is refused with what is wrong with it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/boot/store_keys.h"
#include "cluster/node/boot/store_restore.h"
#include "hub/base/clock.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"

#define PATH 256

/* ---- the stage ---- */

static int begin(void **state)
{
    struct folder_stage *stage = calloc(1, sizeof *stage);

    folder_stage_begin(stage);
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
        fail_msg("start: %s", rapahub_last_error()->text);
}

static void stop(struct cluster_boot *boot)
{
    assert_int_equal(cluster_boot_end_session(boot), 0);
    cluster_boot_close(boot);
}

static void note_end(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                     size_t count)
{
    (void)rev, (void)gets, (void)count;
    assert_int_equal(status, CLUSTER_TXN_OK);
    *(bool *)user = true;
}

static void back_up(const struct cluster_boot *boot, const char *path)
{
    uint64_t next, until_ns = hub_clock_after(20 * HUB_SECOND);
    bool ended = false;

    assert_int_equal(cluster_metastore_backup(boot->store, path, note_end, &ended), 0);
    while (!ended && hub_clock_left(until_ns) > 0)
        assert_int_equal(cluster_metastore_step(boot->store, hub_clock_now(), &next), 0);
    assert_true(ended);
}

static void name(const struct folder_stage *stage, const char *file, char to[PATH])
{
    snprintf(to, PATH, "%s/%s", stage->top, file);
}

static int restore(const struct folder_stage *stage, const char *file, uint32_t least,
                   struct cluster_store_restored *out)
{
    const struct cluster_boot_options options = boot_stage_options(stage);
    const struct cluster_store_restore how = {.data = stage->path,
                                              .file = file,
                                              .least = least,
                                              .wait_ns = options.wait_ns,
                                              .ends = options.ends};

    return cluster_store_restore_run(&how, out);
}

static void is_refused(const struct folder_stage *stage, const char *file, int code,
                       const char *text)
{
    struct cluster_store_restored restored;

    assert_int_equal(restore(stage, file, 0, &restored), code);
    if (!strstr(rapahub_last_error()->text, text))
        fail_msg("no '%s' in: %s", text, rapahub_last_error()->text);
    if (folder_stage_has(stage, "meta.db.restored"))
        fail_msg("a copy is left");
}

static int take_counter(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                        const struct cluster_record *record)
{
    (void)key, (void)pair;
    *(uint64_t *)user = record->counter.next;
    return 0;
}

static uint64_t next_of(const struct cluster_boot *boot, enum cluster_keys_kind kind)
{
    const struct cluster_store_wait wait = {
        .store = boot->store, .wait_ns = 20 * HUB_SECOND, .url = "test"};
    uint64_t next = 0;

    assert_int_equal(
        cluster_store_keys_get(&wait, &(struct cluster_key){.kind = kind}, 0, take_counter, &next),
        0);
    return next;
}

/* ---- tests ---- */

/* r[verify cluster.store.restore] */
static void a_node_starts_from_a_backup(void **state)
{
    struct folder_stage *stage = *state;
    struct cluster_store_restored restored;
    struct cluster_boot boot;
    uint64_t seen, nodes, pools;
    char file[PATH];

    name(stage, "one", file);
    start(stage, &boot);
    nodes = next_of(&boot, CLUSTER_KEY_NEXT_NODE);
    pools = next_of(&boot, CLUSTER_KEY_NEXT_POOL);
    back_up(&boot, file);
    boot_stage_map(&boot, 0, 0);
    seen = boot.session;
    stop(&boot);
    folder_stage_remove(stage, "meta.db");
    assert_int_equal(restore(stage, file, 0, &restored), 0);
    assert_int_equal(restored.generation, 1);
    assert_string_equal(restored.aside, ""); /* there was none */
    start(stage, &boot);
    assert_int_equal(boot.generation, 1);
    assert_true(boot.session > seen);
    assert_true(next_of(&boot, CLUSTER_KEY_NEXT_NODE) > nodes + 1000);
    assert_true(next_of(&boot, CLUSTER_KEY_NEXT_POOL) > pools + 1000);
    stop(&boot);
    assert_int_equal(access(file, F_OK), 0); /* the backup stays */
}

/* A generation that the node has seen is not used again, whatever the backup says.
 * r[verify cluster.store.restore] */
static void each_restored_store_has_a_higher_generation(void **state)
{
    struct folder_stage *stage = *state;
    struct cluster_store_restored restored;
    struct cluster_boot boot;
    char file[PATH];

    name(stage, "one", file);
    start(stage, &boot);
    back_up(&boot, file);
    stop(&boot);
    assert_int_equal(restore(stage, file, 41, &restored), 0);
    assert_int_equal(restored.generation, 41);
    assert_string_equal(restored.aside, "meta.db.replaced.1");
    start(stage, &boot);
    stop(&boot);
    assert_int_equal(restore(stage, file, 0, &restored), 0);
    assert_int_equal(restored.generation, 42);
    assert_string_equal(restored.aside, "meta.db.replaced.2");
    assert_true(folder_stage_has(stage, "meta.db.replaced.1"));
    start(stage, &boot);
    assert_int_equal(boot.generation, 42);
    stop(&boot);
}

/* r[verify cluster.store.restore] */
static void a_backup_that_does_not_fit_is_refused(void **state)
{
    struct folder_stage *stage = *state, other;
    struct cluster_boot boot, of_other;
    char file[PATH], none[PATH], text[PATH];

    name(stage, "one", file);
    name(stage, "none", none);
    name(stage, "text", text);
    is_refused(stage, file, RAPAHUB_ENOENT, stage->path); /* no folder yet */
    assert_int_equal(mkdir(stage->path, 0700), 0);
    is_refused(stage, file, RAPAHUB_EFORMAT, "no folder of a node");
    start(stage, &boot);
    is_refused(stage, file, RAPAHUB_EBUSY, "runs a node in this folder");
    stop(&boot);
    is_refused(stage, none, RAPAHUB_ENOENT, none);
    is_refused(stage, stage->path, RAPAHUB_EFORMAT, "not a file");
    folder_stage_begin(&other);
    start(&other, &of_other);
    back_up(&of_other, file);
    stop(&of_other);
    folder_stage_end(&other);
    is_refused(stage, file, RAPAHUB_EFORMAT, "of another node");
    start(stage, &boot); /* nothing has changed */
    assert_int_equal(boot.generation, 0);
    stop(&boot);
}

static void damage(const char *file, long at)
{
    FILE *stream = fopen(file, "r+");

    assert_non_null(stream);
    assert_int_equal(fseek(stream, at, SEEK_SET), 0);
    fputs("damage", stream);
    fclose(stream);
}

static void a_damaged_backup_is_refused(void **state)
{
    struct folder_stage *stage = *state;
    struct cluster_boot boot;
    char file[PATH];

    name(stage, "one", file);
    start(stage, &boot);
    back_up(&boot, file);
    stop(&boot);
    damage(file, 0);
    is_refused(stage, file, RAPAHUB_EIO, file);
    assert_int_equal(truncate(file, 0), 0);
    is_refused(stage, file, RAPAHUB_EIO, file);
    start(stage, &boot);
    stop(&boot);
}

/* The log of changes of the store of before must never be taken for that of the backup. */
static void the_log_of_a_killed_node_goes_with_its_store(void **state)
{
    struct folder_stage *stage = *state;
    struct cluster_store_restored restored;
    struct cluster_boot boot;
    char file[PATH];

    name(stage, "one", file);
    start(stage, &boot);
    back_up(&boot, file);
    stop(&boot);
    folder_stage_write(stage, "meta.db-wal", "left by a death", 15);
    assert_int_equal(restore(stage, file, 0, &restored), 0);
    assert_false(folder_stage_has(stage, "meta.db-wal"));
    assert_true(folder_stage_has(stage, "meta.db.replaced.1-wal"));
    start(stage, &boot);
    stop(&boot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_starts_from_a_backup),
        TEST(each_restored_store_has_a_higher_generation),
        TEST(a_backup_that_does_not_fit_is_refused),
        TEST(a_damaged_backup_is_refused),
        TEST(the_log_of_a_killed_node_goes_with_its_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
