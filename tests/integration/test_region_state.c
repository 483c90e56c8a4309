/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a region from the shell, beside programs that write and read it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/region.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define SECOND UINT64_C(1000000000)

static char name[RAPAHUB_REGION_NAME_MAX + 1];

static int run(const char *const argv[], const char *input, char *out, size_t size)
{
    const struct process_options options = {.argv = argv, .input = input};
    struct process_result result;
    int status;

    assert_int_equal(process_run(&options, &result), 0);
    status = result.status;
    snprintf(out, size, "%s", status == 0 || status == 11 ? result.out : result.err);
    process_result_fini(&result);
    return status;
}

#define REGION(verb, ...) \
    ((const char *const[]){PROCESS_RAPAHUB, "region", verb, name, __VA_ARGS__})

static void create(const char *kind)
{
    char text[1024];

    snprintf(name, sizeof name, "state-%d", getpid());
    assert_int_equal(
        run(REGION("create", "--kind", kind, "--value-bytes", "64", "--file-mode", "640", NULL),
            NULL, text, sizeof text),
        0);
}

static void drop(void)
{
    char text[1024];

    assert_int_equal(run(REGION("rm", NULL), NULL, text, sizeof text), 0);
}

/* r[verify region.state] r[verify region.state.shape] */
static void a_value_is_put_and_got(void **state)
{
    static const char *const kinds[] = {"state-v1", "state-latch"};
    char text[4096], long_value[100];

    (void)state;
    memset(long_value, 'x', sizeof long_value - 1);
    long_value[sizeof long_value - 1] = '\0';
    for (size_t i = 0; i < 2; i++) {
        create(kinds[i]);
        assert_int_equal(run(REGION("get", NULL), NULL, text, sizeof text), 75);
        assert_non_null(strstr(text, "nothing was written"));
        assert_int_equal(run(REGION("put", "all is well", NULL), NULL, text, sizeof text), 0);
        assert_int_equal(run(REGION("get", NULL), NULL, text, sizeof text), 0);
        assert_string_equal(text, "all is well\n");
        assert_int_equal(run(REGION("put", NULL), "from\nstdin\n", text, sizeof text), 0);
        assert_int_equal(run(REGION("get", "--versions", NULL), NULL, text, sizeof text), 0);
        assert_string_equal(text, "2 from\nstdin\n");
        assert_int_equal(run(REGION("put", long_value, NULL), NULL, text, sizeof text), 13);
        assert_non_null(strstr(text, "room for 64"));
        assert_int_equal(run(REGION("stat", NULL), NULL, text, sizeof text), 0);
        assert_string_equal(text, "version 2  size 11 of 64  reaped 0\n");
        assert_int_equal(run(REGION("inspect", NULL), NULL, text, sizeof text), 0);
        assert_non_null(strstr(text, "value        version 2, 11 bytes\n"));
        assert_non_null(strstr(text, "roles        writer free\n"));
        assert_non_null(strstr(text, "action: none\n"));
        assert_int_equal(run(REGION("publish", NULL), "x\n", text, sizeof text), 8);
        assert_int_equal(run(REGION("tail", NULL), NULL, text, sizeof text), 8);
        drop();
    }
}

static struct rapahub_region *open_region(struct rapahub_writer **writer)
{
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_open(name, NULL, &region), 0);
    assert_int_equal(rapahub_writer_open(region, writer), 0);
    return region;
}

/* r[verify region.state.writer] r[verify region.state.wait] r[verify region.state.read-only] */
static void a_watcher_sees_what_a_program_writes(void **state)
{
    const char *const *argv;
    struct rapahub_writer *writer = NULL;
    struct rapahub_region *region;
    struct process process;
    struct process_result result;
    char text[4096];

    (void)state;
    create("state-latch");
    argv = REGION("get", "--watch", NULL);
    region = open_region(&writer);
    assert_int_equal(run(REGION("put", "x", NULL), NULL, text, sizeof text), 6);
    assert_non_null(strstr(text, "writer that lives"));
    assert_int_equal(
        process_start(&(struct process_options){.argv = argv, .within_ns = 60 * SECOND}, &process),
        0);
    assert_int_equal(rapahub_writer_write(writer, "one", 3), 0);
    assert_true(process_until_text(&process, "one\n", false, 20 * SECOND));
    assert_int_equal(rapahub_writer_write(writer, "two", 3), 0);
    assert_true(process_until_text(&process, "two\n", false, 20 * SECOND));
    assert_int_equal(run(REGION("rm", NULL), NULL, text, sizeof text), 75);
    assert_int_equal(process_kill(&process, SIGTERM), 0);
    assert_int_equal(process_finish(&process, &result), 0);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "one\ntwo\n");
    process_result_fini(&result);
    rapahub_writer_close(writer);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_int_equal(run(REGION("get", "--watch", "-n", "1", NULL), NULL, text, sizeof text), 0);
    assert_string_equal(text, "two\n");
    drop();
}

/* A process that has the role, has written, and is killed. */
static void die_as_writer(void)
{
    siginfo_t info;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct rapahub_region *region;
        struct rapahub_writer *writer;

        if (rapahub_region_open(name, NULL, &region) < 0 ||
            rapahub_writer_open(region, &writer) < 0 || rapahub_writer_write(writer, "last", 4) < 0)
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    assert_int_equal(info.si_status, SIGKILL);
}

static void begin_a_version(void)
{
    uint64_t odd = 3;
    char path[RAPAHUB_REGION_PATH_MAX];
    struct rapahub_region_report report;
    FILE *file;

    assert_int_equal(rapahub_region_inspect(name, false, &report), 0);
    snprintf(path, sizeof path, "%s", report.path);
    file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 256 + 128 * 64, SEEK_SET), 0);
    assert_int_equal(fwrite(&odd, sizeof odd, 1, file), 1);
    fclose(file);
}

/* r[verify region.action] r[verify region.state.reader] */
static void a_dead_writer_is_told_and_replaced(void **state)
{
    char text[4096];

    (void)state;
    create("state-v1");
    die_as_writer();
    assert_int_equal(run(REGION("get", NULL), NULL, text, sizeof text), 0);
    assert_string_equal(text, "last\n");
    assert_int_equal(run(REGION("inspect", NULL), NULL, text, sizeof text), 0);
    assert_non_null(strstr(text, " writer, "));
    assert_non_null(strstr(text, ", dead, "));
    begin_a_version();
    assert_int_equal(run(REGION("get", NULL), NULL, text, sizeof text), 9);
    assert_non_null(strstr(text, "died while it wrote"));
    assert_int_equal(run(REGION("inspect", NULL), NULL, text, sizeof text), 11);
    assert_non_null(strstr(text, "action: the writer died while it wrote: start a writer\n"));
    assert_int_equal(run(REGION("put", "well again", NULL), NULL, text, sizeof text), 0);
    assert_int_equal(run(REGION("get", "--versions", NULL), NULL, text, sizeof text), 0);
    assert_string_equal(text, "2 well again\n");
    assert_int_equal(run(REGION("inspect", NULL), NULL, text, sizeof text), 0);
    drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_value_is_put_and_got),
                                       cmocka_unit_test(a_watcher_sees_what_a_program_writes),
                                       cmocka_unit_test(a_dead_writer_is_told_and_replaced)};

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
