/* SPDX-License-Identifier: Apache-2.0 */
/* The system's own calls, on a folder of /tmp, and the log over them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "tests/store/log_stage.h"
#include "tests/support/testing.h"

static const struct cluster_files *const files = &cluster_files_system;

struct stage {
    char path[64];
    struct cluster_files_folder folder;
};

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);

    snprintf(stage->path, sizeof stage->path, "/tmp/rapahub-store-XXXXXX");
    assert_non_null(mkdtemp(stage->path));
    assert_int_equal(cluster_files_open_folder(files, NULL, stage->path, false, &stage->folder), 0);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    *state = stage;
    return 0;
}

static void remove_file(void *user, const char *name)
{
    if (name[0] != '.' && unlinkat(*(int *)user, name, 0) < 0)
        unlinkat(*(int *)user, name, AT_REMOVEDIR);
}

static int end(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(files->list(files, stage->folder.fd, remove_file, &stage->folder.fd), 0);
    cluster_files_close_folder(&stage->folder);
    assert_int_equal(rmdir(stage->path), 0);
    free(stage);
    return 0;
}

static int put(struct stage *stage, const char *name, const char *text)
{
    int fd = files->open(files, stage->folder.fd, name, O_RDWR | O_CREAT | O_EXCL, 0600);

    assert_true(fd >= 0);
    assert_int_equal(cluster_files_write(files, fd, text, strlen(text), 0), 0);
    return fd;
}

static void holds(struct stage *stage, const char *name, const char *text)
{
    uint8_t *bytes;
    size_t size;

    assert_int_equal(cluster_files_load(&stage->folder, name, 100, &bytes, &size), 0);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static void a_file_is_read_as_it_was_written(void **state)
{
    struct stage *stage = *state;
    uint8_t *bytes;
    size_t size;
    int fd = put(stage, "a", "some bytes");

    assert_int_equal(files->sync(files, fd), 0);
    assert_int_equal(files->size(files, fd), 10);
    assert_int_equal(files->cut(files, fd, 4), 0);
    assert_int_equal(files->allocate(files, fd, 2), 0);
    files->close(files, fd);
    holds(stage, "a", "some");
    assert_int_equal(cluster_files_load(&stage->folder, "a", 3, &bytes, &size), RAPAHUB_EFBIG);
    assert_non_null(strstr(rapahub_last_error()->text, "/a: cannot read it: "));
    assert_int_equal(cluster_files_load(&stage->folder, "b", 3, &bytes, &size), -ENOENT);
}

static void a_settled_file_takes_the_place_of_another(void **state)
{
    struct stage *stage = *state;
    int fd = put(stage, "a.new", "new");

    files->close(files, put(stage, "a", "before"));
    assert_int_equal(cluster_files_settle(&stage->folder, fd, "a.new", "a"), 0);
    holds(stage, "a", "new");
    assert_int_equal(files->remove(files, stage->folder.fd, "a.new"), -ENOENT);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* it is closed */
}

static void a_damaged_file_is_put_aside(void **state)
{
    struct stage *stage = *state;

    files->close(files, put(stage, "a", "1"));
    assert_int_equal(cluster_files_put_aside(&stage->folder, "a", "it is damaged"), 0);
    holds(stage, "a.bad", "1");
    files->close(files, put(stage, "a", "2"));
    assert_int_equal(cluster_files_put_aside(&stage->folder, "a", "it is damaged"), 0);
    holds(stage, "a.bad", "2");
    assert_int_equal(cluster_files_put_aside(&stage->folder, "a", "it is damaged"), -ENOENT);
}

static void a_link_leaves_a_name_that_is_in_use(void **state)
{
    struct stage *stage = *state;
    int folder = stage->folder.fd;

    files->close(files, put(stage, "a", "1"));
    assert_int_equal(files->link(files, folder, "a", folder, "b"), 0);
    files->close(files, put(stage, "c", "2"));
    assert_int_equal(files->link(files, folder, "c", folder, "b"), -EEXIST);
    holds(stage, "b", "1");
    assert_int_equal(files->rename(files, folder, "c", "b"), 0);
    holds(stage, "b", "2");
}

static void what_is_no_file_is_refused(void **state)
{
    struct stage *stage = *state;
    struct cluster_files_folder sub, none;
    uint8_t *bytes;
    size_t size;

    assert_int_equal(cluster_files_open_folder(files, &stage->folder, "sub", true, &sub), 0);
    assert_string_equal(sub.path + strlen(stage->path), "/sub");
    cluster_files_close_folder(&sub);
    assert_int_equal(cluster_files_open_folder(files, &stage->folder, "sub", true, &sub), 0);
    cluster_files_close_folder(&sub);
    assert_int_equal(cluster_files_load(&stage->folder, "sub", 3, &bytes, &size), RAPAHUB_EINVAL);
    assert_int_equal(symlinkat("/dev/zero", stage->folder.fd, "zero"), 0);
    assert_int_equal(cluster_files_load(&stage->folder, "zero", 3, &bytes, &size), -ELOOP);
    assert_int_equal(mkfifoat(stage->folder.fd, "pipe", 0600), 0);
    assert_int_equal(cluster_files_load(&stage->folder, "pipe", 3, &bytes, &size), RAPAHUB_EINVAL);
    assert_int_equal(cluster_files_open_folder(files, &stage->folder, "pipe", false, &none),
                     RAPAHUB_ENOTDIR);
    assert_int_equal(cluster_files_open_folder(files, &stage->folder, "none", false, &none),
                     RAPAHUB_ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "/none: cannot open the folder: "));
}

static int count(void *user, const struct cluster_wal_record *record)
{
    *(uint64_t *)user = record->revision;
    return 0;
}

/* r[verify cluster.wal.order] r[verify cluster.wal.snapshot] */
static void a_log_of_full_size_is_kept_on_a_real_disk(void **state)
{
    struct stage *stage = *state;
    struct cluster_segments log = {.folder = stage->folder, .node = 1, .boot = 1};
    struct log_story *story = calloc(1, sizeof *story);
    struct cluster_replay replay;
    struct hub_random random;
    struct cluster_wal wal;
    uint64_t revision = 0, last = 0;

    hub_random_init(&random, 2);
    log_stage_make(story, &random);
    assert_int_equal(
        cluster_wal_begin(&wal, &(struct cluster_wal_options){.log = &log, .sequence = 1}), 0);
    for (int i = 1; i <= LOG_RECORDS; i++)
        assert_int_equal(cluster_wal_append(&wal, &story->records[i], story->changes[i]), 0);
    assert_int_equal(cluster_wal_sync(&wal), 0);
    cluster_wal_end(&wal);
    assert_int_equal(log_stage_snapshot(story, &log, LOG_RECORDS / 2), 0);
    assert_int_equal(cluster_snapshot_read(&log, count, &last, &revision), 0);
    assert_int_equal(revision, story->records[LOG_RECORDS / 2].revision);
    assert_int_equal(cluster_replay_run(&log, revision, count, &last, &replay), 0);
    assert_int_equal(replay.end, CLUSTER_REPLAY_WHOLE);
    assert_int_equal(replay.records, LOG_RECORDS / 2);
    assert_int_equal(last, story->records[LOG_RECORDS].revision);
    free(story);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_read_as_it_was_written), TEST(a_settled_file_takes_the_place_of_another),
        TEST(a_damaged_file_is_put_aside),      TEST(a_link_leaves_a_name_that_is_in_use),
        TEST(what_is_no_file_is_refused),       TEST(a_log_of_full_size_is_kept_on_a_real_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
