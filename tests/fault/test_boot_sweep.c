/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL between any two system calls of a node that starts, and of the thread of its disk; then
 * it is started again: its folder is finished, its lives and sessions are counted on, its guests
 * are dead, and all that was told as done is there. --every looks at each point. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/disk/copy_jobs.h"
#include "cluster/node/disk/store_thread.h"
#include "hub/base/clock.h"
#include "tests/fault/syscall_sweep.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"

#define POOL      ((uint64_t)CLUSTER_POOL_MAJOR_LEAST << 32)
#define CONTAINER ((struct cluster_disk_container){POOL, 1})
#define TOKEN     cluster_ids_token(0, 1, 1)

/* Told by the process that dies. */
struct told {
    uint32_t boot;
    uint64_t session, deltas;
    bool guest, copy, changes, blob, aside;
};

struct test {
    struct folder_stage stage;
    struct told *told; /* shared */
    struct told before;
    uint64_t revisions[8];
    struct cluster_guest_record guest;
};

static void set_up_nothing(void *user)
{
    struct test *test = user;

    memset(test->told, 0, sizeof *test->told);
    memset(&test->before, 0, sizeof test->before);
    folder_stage_begin(&test->stage);
}

/* ---- the start ---- */

static int read_all(struct cluster_boot *boot, struct boot_told *told)
{
    return cluster_boot_read_all(boot, &boot_stage_visitor, told);
}

static void boot(void *user)
{
    struct test *test = user;
    struct cluster_boot life;
    struct boot_told read = {0};

    if (boot_stage_run(&test->stage, &life) != 0)
        _exit(98);
    test->told->boot = life.folder.boot;
    test->told->session = life.session;
    if (read_all(&life, &read) != 0)
        _exit(97);
    cluster_boot_close(&life);
}

/* It has no descriptor of the node, as a guest has none. */
static struct cluster_guest_record start_guest(void)
{
    struct cluster_guest_record guest = {.pid = fork()};

    if (guest.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_int_equal(cluster_machine_start_of(guest.pid, &guest.start), 0);
    return guest;
}

static void digest_of(uint8_t to[CLUSTER_DIGEST_SIZE])
{
    struct cluster_digest digest;

    cluster_digest_begin(&digest);
    cluster_digest_add(&digest, "module", 6);
    cluster_digest_end(&digest, to);
}

/* Its bytes come later. */
static uint64_t record_module(struct cluster_boot *boot)
{
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    const struct boot_stage_put put = {
        {.kind = CLUSTER_KEY_MODULE, .text = {"m", 1}, .version = {"1", 1}},
        {.module = {.name = {"m", 1},
                    .version = {"1", 1},
                    .machine = {"x86_64", 6},
                    .abi = 1,
                    .size = 6,
                    .digest = {digest, sizeof digest}}}};

    digest_of(digest);
    return boot_stage_write(boot, &put, 1);
}

/* A node of which a guest runs still, and whose log lacks the last deltas. */
static void set_up_node(void *user)
{
    struct test *test = user;
    struct cluster_guest_records records;
    struct cluster_boot life;
    struct boot_told read = {0};

    set_up_nothing(user);
    test->guest = start_guest();
    assert_int_equal(boot_stage_run(&test->stage, &life), 0);
    assert_int_equal(read_all(&life, &read), 0);
    assert_true(record_module(&life) > 0);
    for (uint32_t i = 0; i < 4; i++)
        test->revisions[i] = boot_stage_map(&life, i, i > 0 ? test->revisions[i - 1] : 0);
    cluster_guest_records_init(&records, &life.folder.root, life.machine.boot);
    assert_int_equal(cluster_guest_records_add(&records, test->guest), 0);
    assert_int_equal(cluster_guest_records_write(&records), 0);
    test->before.boot = life.folder.boot;
    test->before.session = life.session;
    cluster_boot_close(&life);
}

static const char *check_life(const struct test *test, const struct cluster_boot *life)
{
    const struct told *last = test->told->boot > 0 ? test->told : &test->before;

    if (life->folder.boot <= last->boot || life->session <= last->session)
        return "a life has the number of an earlier one, or its session";
    return NULL;
}

static const char *check_boot(void *user, bool finished)
{
    struct test *test = user;
    struct cluster_boot life;
    struct boot_told read = {0};
    const char *wrong = NULL;

    if (finished && test->told->session == 0)
        return "it finished early";
    if (boot_stage_run(&test->stage, &life) != 0)
        return rapahub_last_error()->text;
    wrong = check_life(test, &life);
    if (!wrong && read_all(&life, &read) != 0)
        wrong = "what the metastore has cannot be read";
    if (!wrong && read.entries != (test->before.boot > 0 ? 4 : 0))
        wrong = "entries are lost";
    cluster_boot_close(&life);
    folder_stage_end(&test->stage);
    return wrong;
}

/* The sweep may have met its end first. */
static bool lives(struct cluster_guest_record guest)
{
    bool alive = waitpid(guest.pid, NULL, WNOHANG) == 0;

    if (alive) {
        kill(guest.pid, SIGKILL);
        waitpid(guest.pid, NULL, 0);
    }
    return alive;
}

static const char *check_node(void *user, bool finished)
{
    struct test *test = user;
    const char *wrong = check_boot(user, finished);

    return lives(test->guest) && !wrong ? "a guest of an earlier life lives on" : wrong;
}

/* ---- the thread of the disk ---- */

struct life {
    struct cluster_boot boot;
    struct cluster_store_thread *thread;
};

static void on_done(void *user, struct cluster_disk_result *result)
{
    *(int *)user = result->status == 0 ? 1 : -1;
}

/* Waits for a request that was given with the result `r`. */
static void until(struct life *life, int r, const int *ended)
{
    while (r == 0 && *ended == 0) {
        struct pollfd fd = {.fd = cluster_store_thread_fd(life->thread), .events = POLLIN};

        poll(&fd, 1, -1); /* the sweep ends it */
        r = cluster_store_thread_step(life->thread);
    }
    if (r != 0 || *ended != 1)
        _exit(96);
}

static void append(struct test *test, struct life *life, uint32_t number)
{
    const struct cluster_delta_change change = {.pool = POOL,
                                                .container = number,
                                                .entry = {.state = CLUSTER_ENTRY_STARTING,
                                                          .owner = 1,
                                                          .session = 1,
                                                          .epoch = 1,
                                                          .lineage = cluster_ids_lineage(1, 0)}};
    const struct cluster_wal_record record = {
        .revision = test->revisions[number], .previous = test->revisions[number - 1], .count = 1};
    int ended = 0;

    until(life, cluster_store_thread_append(life->thread, &record, &change, on_done, &ended),
          &ended);
    test->told->deltas = record.revision;
}

static void keep_copies(struct test *test, struct life *life)
{
    struct cluster_copy copy = {.token = TOKEN, .seq = 1, .state = {strdup("state"), 5}};
    int whole = 0, changes = 0, guest = 0;

    until(life, cluster_copy_jobs_write(life->thread, CONTAINER, &copy, on_done, &whole), &whole);
    test->told->copy = true;
    copy = (struct cluster_copy){
        .token = TOKEN, .seq = 2, .base_token = TOKEN, .base_seq = 1, .state = {strdup("more"), 4}};
    until(life, cluster_copy_jobs_write(life->thread, CONTAINER, &copy, on_done, &changes),
          &changes);
    test->told->changes = true;
    until(life, cluster_store_thread_guest_came(life->thread, test->guest, on_done, &guest),
          &guest);
    test->told->guest = true;
}

static void keep_files(struct test *test, struct life *life)
{
    struct cluster_disk_part part = {.size = 6, .part = {"module", 6}};
    int pushed = 0, made = 0, aside = 0;

    digest_of(part.digest);
    until(life, cluster_store_thread_blob_part(life->thread, &part, on_done, &pushed), &pushed);
    test->told->blob = true;
    until(life, cluster_store_thread_folder_make(life->thread, CONTAINER, on_done, &made), &made);
    until(life, cluster_store_thread_folder_aside(life->thread, CONTAINER, on_done, &aside),
          &aside);
    test->told->aside = true;
}

static void start_thread(struct test *test, struct life *life)
{
    struct boot_told read = {0};
    struct cluster_store_thread_options options = {.folder = &life->boot.folder,
                                                   .log = &life->boot.wal,
                                                   .machine_boot = life->boot.machine.boot};

    if (boot_stage_run(&test->stage, &life->boot) != 0 || read_all(&life->boot, &read) != 0 ||
        cluster_store_thread_start(&options, &life->thread) != 0)
        _exit(95);
}

static void work(void *user)
{
    struct test *test = user;
    struct life life;
    struct cluster_disk_entries entries = {.revision = test->revisions[3]};
    int ended = 0;

    start_thread(test, &life);
    for (uint32_t i = 4; i < 7; i++) {
        test->revisions[i] = boot_stage_map(&life.boot, i, test->revisions[i - 1]);
        append(test, &life, i);
    }
    keep_copies(test, &life);
    keep_files(test, &life);
    entries.revision = test->revisions[6];
    until(&life, cluster_store_thread_snapshot(life.thread, &entries, on_done, &ended), &ended);
    cluster_store_thread_stop(life.thread, true, hub_clock_after(HUB_SECOND));
    cluster_boot_close(&life.boot);
}

static void on_read(void *user, struct cluster_disk_result *result)
{
    *(size_t *)user = 1 + result->copies.count;
}

static void on_blob(void *user, struct cluster_disk_result *result)
{
    *(size_t *)user = result->fd >= 0 ? 2 : 1;
}

static const char *look_at_files(struct test *test, struct life *life)
{
    size_t copies = 0, blob = 0, least = 1U + test->told->copy + test->told->changes;
    uint64_t deadline_ns = hub_clock_after(10 * HUB_SECOND);
    uint8_t digest[CLUSTER_DIGEST_SIZE];

    digest_of(digest);
    cluster_store_thread_copy_read(life->thread, CONTAINER, on_read, &copies);
    cluster_store_thread_blob_get(life->thread, digest, on_blob, &blob);
    while ((copies == 0 || blob == 0) && hub_clock_left(deadline_ns) > 0) {
        struct pollfd fd = {.fd = cluster_store_thread_fd(life->thread), .events = POLLIN};

        poll(&fd, 1, 1000);
        cluster_store_thread_step(life->thread);
    }
    if (copies < least)
        return "a copy that was told as kept is lost";
    if (test->told->blob && blob != 2)
        return "a blob that was told as pushed is lost";
    if (test->told->aside && folder_stage_has(&test->stage, "pools/0000010000000000/00000001"))
        return "a folder that was put aside is back";
    return NULL;
}

static const char *check_work(void *user, bool finished)
{
    struct test *test = user;
    struct life life;
    const char *wrong;

    if (finished && !test->told->aside)
        return "it finished early";
    start_thread(test, &life);
    wrong =
        life.boot.map.revision < test->told->deltas ? "a delta is lost that was in the log" : NULL;
    if (!wrong)
        wrong = look_at_files(test, &life);
    cluster_store_thread_stop(life.thread, true, hub_clock_after(HUB_SECOND));
    cluster_boot_close(&life.boot);
    folder_stage_end(&test->stage);
    return lives(test->guest) && !wrong ? "a guest of an earlier life lives on" : wrong;
}

static void sweep(const struct syscall_sweep *what)
{
    struct test test = {.told = syscall_sweep_share(sizeof(struct told))};
    struct syscall_sweep one = *what;

    one.user = &test;
    syscall_sweep_whole(&one, 10);
    munmap(test.told, sizeof(struct told));
}

/* r[verify cluster.boot.order] r[verify cluster.folder.setup] */
static void a_node_dies_while_it_sets_up_its_folder(void **state)
{
    (void)state;
    sweep(&(struct syscall_sweep){.name = "node, first start of a folder",
                                  .setup = set_up_nothing,
                                  .operate = boot,
                                  .check = check_boot});
}

/* r[verify cluster.guests.dead] */
static void a_node_dies_while_it_starts_again(void **state)
{
    (void)state;
    sweep(&(struct syscall_sweep){
        .name = "node, start", .setup = set_up_node, .operate = boot, .check = check_node});
}

/* r[verify cluster.disk.order] */
static void a_node_dies_while_its_disk_works(void **state)
{
    (void)state;
    sweep(&(struct syscall_sweep){.name = "node, thread of the disk",
                                  .setup = set_up_node,
                                  .operate = work,
                                  .check = check_work});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_dies_while_it_sets_up_its_folder),
        cmocka_unit_test(a_node_dies_while_it_starts_again),
        cmocka_unit_test(a_node_dies_while_its_disk_works),
    };

    syscall_sweep_read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
