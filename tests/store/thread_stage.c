/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/store/thread_stage.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "tests/support/testing.h"

const uint8_t thread_stage_boot[CLUSTER_MACHINE_ID] = "the boot of now";

/* A disk that is full, or fails: the system's, but for writes and syncs of the log. */
int thread_stage_full, thread_stage_broken, thread_stage_blobs_full;

static bool is_in(int fd, const char *part)
{
    char path[64], name[256];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    n = readlink(path, name, sizeof name - 1);
    name[n > 0 ? n : 0] = 0;
    return strstr(name, part) != NULL;
}

static bool is_log(int fd)
{
    return is_in(fd, "domain_table");
}

static int64_t write_or_fail(const struct cluster_files *files, int fd, const void *from,
                             size_t size, uint64_t at)
{
    if (__atomic_load_n(&thread_stage_full, __ATOMIC_SEQ_CST) && is_log(fd))
        return -ENOSPC;
    if (__atomic_load_n(&thread_stage_blobs_full, __ATOMIC_SEQ_CST) && is_in(fd, "/sha256/"))
        return -ENOSPC;
    return cluster_files_system.write(files, fd, from, size, at);
}

static int sync_or_fail(const struct cluster_files *files, int fd)
{
    if (__atomic_load_n(&thread_stage_broken, __ATOMIC_SEQ_CST) && is_log(fd))
        return -EIO;
    return cluster_files_system.sync(files, fd);
}

static struct cluster_files failing;

uint64_t thread_stage_clock_s = 1800000000;

static uint64_t wall_s(void)
{
    return __atomic_load_n(&thread_stage_clock_s, __ATOMIC_SEQ_CST);
}

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

void thread_stage_start(struct thread_stage *stage)
{
    const struct cluster_store_thread_options options = {.folder = &stage->data,
                                                         .log = &stage->wal,
                                                         .machine_boot = thread_stage_boot,
                                                         .wall_s = wall_s};

    assert_int_equal(cluster_store_thread_start(&options, &stage->thread), 0);
}

void thread_stage_open(struct thread_stage *stage)
{
    assert_int_equal(
        cluster_data_folder_open(&stage->data,
                                 &(struct cluster_data_folder_options){
                                     .files = &failing, .path = stage->folder.path, .lock_fd = -1}),
        0);
    stage->log =
        (struct cluster_segments){.folder = stage->data.wal, .node = stage->data.node, .boot = 1};
    memcpy(stage->log.uuid, stage->data.uuid, sizeof stage->log.uuid);
    stage->wal = (struct cluster_wal_options){.log = &stage->log, .sequence = 1};
    if (stage->data.boot == 0)
        assert_int_equal(cluster_data_folder_count_boot(&stage->data), 0);
}

void thread_stage_stop(struct thread_stage *stage, bool drain, uint64_t deadline_ns)
{
    struct cluster_store_thread *thread = stage->thread;

    stage->thread = NULL;
    cluster_store_thread_stop(thread, drain, deadline_ns);
}

int thread_stage_begin(void **state)
{
    struct thread_stage *stage = calloc(1, sizeof *stage);

    failing = cluster_files_system;
    failing.write = write_or_fail;
    failing.sync = sync_or_fail;
    thread_stage_full = thread_stage_broken = 0;
    folder_stage_begin(&stage->folder);
    thread_stage_open(stage);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    thread_stage_start(stage);
    *state = stage;
    return 0;
}

int thread_stage_end(void **state)
{
    struct thread_stage *stage = *state;

    thread_stage_stop(stage, false, 0);
    cluster_data_folder_close(&stage->data);
    folder_stage_end(&stage->folder);
    free(stage);
    return 0;
}

void thread_stage_on_done(void *user, struct cluster_disk_result *result)
{
    struct thread_answer *answer = user;

    answer->ends++;
    answer->result = *result;
    snprintf(answer->text, sizeof answer->text, "%s", result->text);
    result->fd = -1;
    result->copies = (struct cluster_disk_copies){0};
}

int thread_stage_step(struct thread_stage *stage, int ms)
{
    struct pollfd fd = {.fd = cluster_store_thread_fd(stage->thread), .events = POLLIN};

    poll(&fd, 1, ms);
    return cluster_store_thread_step(stage->thread);
}

int thread_stage_wait(struct thread_stage *stage, const struct thread_answer *answer)
{
    uint64_t deadline_ns = hub_clock_after(20 * HUB_SECOND);
    int r = 0;

    while (answer->ends == 0 && hub_clock_left(deadline_ns) > 0)
        r = thread_stage_step(stage, 1000);
    assert_int_equal(answer->ends, 1);
    return r;
}
