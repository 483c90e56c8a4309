/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of plain files stands for the kernel's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/process/cgroup.h"
#include "tests/support/testing.h"

struct stage {
    char path[64];
    struct host_cgroup cgroup;
};

static void put(const struct stage *stage, const char *file, const char *text)
{
    int fd = openat(stage->cgroup.folder, file, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void assert_has(const struct stage *stage, const char *file, const char *wanted)
{
    char text[128] = "";
    int fd = openat(stage->cgroup.folder, file, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) >= 0);
    assert_string_equal(text, wanted);
    close(fd);
}

static void open_stage(struct stage *stage)
{
    snprintf(stage->path, sizeof stage->path, "/tmp/rapahub-cgroup-XXXXXX");
    assert_non_null(mkdtemp(stage->path));
    stage->cgroup.folder = open(stage->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(stage->cgroup.folder >= 0);
    stage->cgroup.open = true;
}

static void close_stage(struct stage *stage)
{
    static const char *const files[] = {"memory.max",  "memory.high",   "pids.max",
                                        "cpu.max",     "memory.events", "cgroup.events",
                                        "cgroup.kill", "cgroup.procs"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlinkat(stage->cgroup.folder, files[i], 0);
    close(stage->cgroup.folder);
    assert_int_equal(rmdir(stage->path), 0);
}

/* r[verify supervise.limits.cgroup] */
static void each_limit_is_written_as_the_kernel_wants_it(void **state)
{
    const struct host_cgroup_limits limits = {
        .memory_max = 1 << 26, .memory_high = 1 << 25, .pids_max = 12, .cpu_percent = 150};
    struct stage stage = {0};

    (void)state;
    open_stage(&stage);
    put(&stage, "memory.max", "");
    put(&stage, "memory.high", "");
    put(&stage, "pids.max", "");
    put(&stage, "cpu.max", "");
    assert_int_equal(host_cgroup_limit(&stage.cgroup, &limits), 0);
    assert_has(&stage, "memory.max", "67108864");
    assert_has(&stage, "memory.high", "33554432");
    assert_has(&stage, "pids.max", "12");
    assert_has(&stage, "cpu.max", "150000 100000");
    close_stage(&stage);
}

/* r[verify supervise.limits.cgroup] */
static void a_controller_that_is_not_there_is_named_with_the_remedy(void **state)
{
    const struct host_cgroup_limits limits = {.pids_max = 12};
    struct stage stage = {0};

    (void)state;
    open_stage(&stage);
    assert_int_equal(host_cgroup_limit(&stage.cgroup, &(struct host_cgroup_limits){0}), 0);
    assert_int_equal(host_cgroup_limit(&stage.cgroup, &limits), -ENOTSUP);
    assert_non_null(strstr(rapahub_last_error()->text, "pids.max: no such controller"));
    assert_non_null(strstr(rapahub_last_error()->text, "Delegate=yes"));
    close_stage(&stage);
}

/* r[verify supervise.oom] r[verify supervise.kill-mode] */
static void what_happened_in_it_is_read_and_all_in_it_is_killed(void **state)
{
    struct stage stage = {0};

    (void)state;
    open_stage(&stage);
    assert_int_equal(host_cgroup_ooms(&stage.cgroup), 0);
    put(&stage, "memory.events", "low 0\nhigh 7\noom 2\noom_kill 3\noom_kill_disable 9\n");
    assert_int_equal(host_cgroup_ooms(&stage.cgroup), 3);
    assert_false(host_cgroup_populated(&stage.cgroup));
    put(&stage, "cgroup.events", "populated 1\nfrozen 0\n");
    assert_true(host_cgroup_populated(&stage.cgroup));
    put(&stage, "cgroup.events", "populated 0\nfrozen 1\n");
    assert_false(host_cgroup_populated(&stage.cgroup));
    assert_int_equal(host_cgroup_kill(&stage.cgroup), -ENOENT);
    put(&stage, "cgroup.kill", "");
    assert_int_equal(host_cgroup_kill(&stage.cgroup), 0);
    assert_has(&stage, "cgroup.kill", "1");
    close_stage(&stage);
}

/* The kernel's are far shorter. */
static void the_first_1023_bytes_of_a_file_are_read(void **state)
{
    static const char last[] = "\noom_kill 37";
    struct stage stage = {0};
    char text[1024];

    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text + sizeof text - sizeof last, last, sizeof last);
    open_stage(&stage);
    put(&stage, "memory.events", text);
    assert_int_equal(host_cgroup_ooms(&stage.cgroup), 37);
    close_stage(&stage);
}

static void one_is_made_below_the_hosts_and_removed(void **state)
{
    struct stage stage = {0};
    struct host_cgroup made = {0};
    int above;

    (void)state;
    open_stage(&stage);
    above = host_cgroup_find(stage.path);
    assert_true(above >= 0);
    assert_int_equal(host_cgroup_create(above, &made), 0);
    assert_int_equal(faccessat(above, made.name, F_OK, 0), 0);
    assert_int_equal(host_cgroup_door(&made), -ENOENT);
    assert_true(host_cgroup_release(above, &made));
    assert_true(host_cgroup_release(above, &made)); /* once */
    close(above);
    close_stage(&stage);
    assert_int_equal(host_cgroup_find(stage.path), -ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "option cgroup"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_limit_is_written_as_the_kernel_wants_it),
        cmocka_unit_test(a_controller_that_is_not_there_is_named_with_the_remedy),
        cmocka_unit_test(what_happened_in_it_is_read_and_all_in_it_is_killed),
        cmocka_unit_test(the_first_1023_bytes_of_a_file_are_read),
        cmocka_unit_test(one_is_made_below_the_hosts_and_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
