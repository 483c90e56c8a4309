/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL between any two system calls of a process that restores a metastore from its backup; the
 * node then starts from what was there before or from the backup, or says that the metastore is
 * missing; and the command, repeated, succeeds. --every looks at each point. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/node/boot/store_restore.h"
#include "hub/base/clock.h"
#include "tests/fault/syscall_sweep.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"

struct test {
    struct folder_stage stage;
    char file[256];
    bool *done; /* shared: it was told to have ended well */
};

static void note_end(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                     size_t count)
{
    (void)rev, (void)gets, (void)count;
    *(bool *)user = status == CLUSTER_TXN_OK;
}

/* A store of generation 0 with a log of changes, as after a death, and a backup of it. */
static void set_up(void *user)
{
    struct test *test = user;
    struct cluster_boot boot;
    uint64_t next, until_ns = hub_clock_after(20 * HUB_SECOND);
    bool ended = false;

    *test->done = false;
    folder_stage_begin(&test->stage);
    snprintf(test->file, sizeof test->file, "%s/backup", test->stage.top);
    assert_int_equal(boot_stage_run(&test->stage, &boot), 0);
    assert_int_equal(cluster_metastore_backup(boot.store, test->file, note_end, &ended), 0);
    while (!ended && hub_clock_left(until_ns) > 0)
        assert_int_equal(cluster_metastore_step(boot.store, hub_clock_now(), &next), 0);
    assert_true(ended);
    cluster_boot_close(&boot);
}

static int restore(const struct test *test, struct cluster_store_restored *out)
{
    const struct cluster_boot_options options = boot_stage_options(&test->stage);

    return cluster_store_restore_run(&(struct cluster_store_restore){.data = test->stage.path,
                                                                     .file = test->file,
                                                                     .wait_ns = options.wait_ns,
                                                                     .ends = options.ends},
                                     out);
}

static void operate(void *user)
{
    const struct test *test = user;
    struct cluster_store_restored restored;

    if (restore(test, &restored) != 0)
        _exit(98);
    *test->done = true;
}

/* Gives the generation that the node starts with; -1: it says that its metastore is missing, -2: it
 * does not start. */
static int start(const struct test *test)
{
    struct cluster_boot boot;
    int r = boot_stage_run(&test->stage, &boot);

    if (r == RAPAHUB_ENOENT && strstr(rapahub_last_error()->text, "missing"))
        return -1;
    if (r != 0)
        return -2;
    r = (int)boot.generation;
    cluster_boot_close(&boot);
    return r;
}

static const char *judge(const struct test *test, bool finished)
{
    static char text[256];
    struct cluster_store_restored restored;
    int generation = start(test);

    if (generation == -2) {
        snprintf(text, sizeof text, "it does not start: %.200s", rapahub_last_error()->text);
        return text;
    }
    if ((finished || *test->done) && generation != 1)
        return "a restore that was told as done is not there";
    if (generation > 1)
        return "it has a generation that no one gave it";
    if (restore(test, &restored) != 0) {
        snprintf(text, sizeof text, "it cannot be repeated: %.200s", rapahub_last_error()->text);
        return text;
    }
    return start(test) == (int)restored.generation && (int)restored.generation > generation
               ? NULL
               : "the node does not start from the repeated restore";
}

static const char *check(void *user, bool finished)
{
    struct test *test = user;
    const char *wrong = judge(test, finished);

    folder_stage_end(&test->stage);
    return wrong;
}

/* r[verify cluster.store.restore] */
static void a_process_dies_while_it_restores(void **state)
{
    struct test test = {.done = syscall_sweep_share(sizeof(bool))};

    (void)state;
    syscall_sweep_whole(&(struct syscall_sweep){.name = "metastore, restore",
                                                .setup = set_up,
                                                .operate = operate,
                                                .check = check,
                                                .user = &test},
                        20);
    munmap(test.done, sizeof(bool));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_process_dies_while_it_restores)};

    syscall_sweep_read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
