/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL between any two system calls of a log of a map that is appended to, goes on in its next
 * segments, and is made shorter by a snapshot: then the map is read that was told as durable, or a
 * later one, and the log goes on from there. --every looks at each point. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hub/base/random.h"
#include "tests/fault/syscall_sweep.h"
#include "tests/store/folder_stage.h"
#include "tests/store/log_stage.h"
#include "tests/support/testing.h"

#define TOGETHER 3 /* records that are made durable together */

struct told { /* by the process that dies */
    int synced;
    unsigned snapshots;
    uint64_t segments;
};

struct test {
    struct folder_stage stage;
    struct log_story story;
    struct told *told; /* shared */
};

static void set_up(void *user)
{
    struct test *test = user;

    memset(test->told, 0, sizeof *test->told);
    folder_stage_begin(&test->stage);
}

static int open_log(const struct test *test, uint32_t boot, struct cluster_segments *out)
{
    *out = (struct cluster_segments){.node = 7, .boot = boot, .uuid = {1, 2, 3}};
    return cluster_files_open_folder(&cluster_files_system, NULL, test->stage.path, true,
                                     &out->folder);
}

static int begin(struct cluster_wal *wal, const struct cluster_segments *log,
                 const struct cluster_replay *from)
{
    const struct cluster_wal_options options = {.log = log,
                                                .revision = from->revision,
                                                .sequence = from->sequence,
                                                .segments = from->segments,
                                                .segment_size = LOG_SEGMENT_SIZE};

    return cluster_wal_begin(wal, &options);
}

static int append(const struct test *test, struct cluster_wal *wal, int number)
{
    return cluster_wal_append(wal, &test->story.records[number], test->story.changes[number]);
}

static int sync_and_tell(struct test *test, struct cluster_wal *wal, int number)
{
    int r = cluster_wal_sync(wal);

    if (r == 0)
        test->told->synced = number;
    if (r == 0 && cluster_wal_wants_snapshot(wal)) {
        r = log_stage_snapshot(&test->story, wal->log, number);
        cluster_wal_has_snapshot(wal);
        test->told->snapshots++;
    }
    test->told->segments = wal->sequence;
    return r;
}

static void work(void *user)
{
    struct test *test = user;
    struct cluster_segments log;
    struct cluster_wal wal;
    struct log_found found;
    int r = open_log(test, 1, &log);

    found = log_stage_read_of(&log);
    if (r == 0)
        r = begin(&wal, &log, &found.replay);
    for (int i = 1; r == 0 && i < LOG_RECORDS; i++) {
        r = append(test, &wal, i);
        if (r == 0 && i % TOGETHER == 0)
            r = sync_and_tell(test, &wal, i);
    }
    if (r < 0)
        _exit(96);
    cluster_wal_end(&wal);
}

/* The record after the last one that was found. */
static const char *go_on(const struct test *test, const struct cluster_segments *log,
                         const struct log_found *found)
{
    int next = log_stage_number(&test->story, found->replay.revision) + 1;
    struct log_found again;
    struct cluster_wal wal;
    int r = begin(&wal, log, &found->replay);

    if (r == 0)
        r = append(test, &wal, next);
    if (r == 0)
        r = cluster_wal_sync(&wal);
    cluster_wal_end(&wal);
    again = log_stage_read_of(log);
    return r == 0 && log_stage_has(&test->story, &again, next) ? NULL : "the log does not go on";
}

static const char *check(void *user, bool finished)
{
    struct test *test = user;
    struct cluster_segments log;
    struct log_found found;
    const char *wrong = NULL;

    if (finished && (test->told->snapshots == 0 || test->told->segments < 6))
        return "it finished early";
    if (open_log(test, 2, &log) != 0)
        return "its folder cannot be opened";
    found = log_stage_read_of(&log);
    if (found.bad_snapshot || found.replay.end == CLUSTER_REPLAY_DAMAGED)
        wrong = "a log that was cut short counts as damaged";
    else if (!log_stage_has(&test->story, &found, test->told->synced))
        wrong = "a record is lost that was told as durable, or the map is another one";
    else
        wrong = go_on(test, &log, &found);
    cluster_files_close_folder(&log.folder);
    folder_stage_end(&test->stage);
    return wrong;
}

/* r[verify cluster.wal.order] r[verify cluster.wal.tail] r[verify cluster.wal.snapshot] */
static void a_log_is_cut_short(void **state)
{
    static struct test test;
    const struct syscall_sweep sweep = {.name = "log, appended, next segments, snapshot",
                                        .setup = set_up,
                                        .operate = work,
                                        .check = check,
                                        .user = &test};
    struct hub_random random;

    (void)state;
    test.told = syscall_sweep_share(sizeof *test.told);
    hub_random_init(&random, 16);
    log_stage_make(&test.story, &random);
    syscall_sweep_whole(&sweep, 20);
    munmap(test.told, sizeof *test.told);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_log_is_cut_short)};

    syscall_sweep_read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
