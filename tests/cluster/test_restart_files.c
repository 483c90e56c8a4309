/* SPDX-License-Identifier: Apache-2.0 */
/* Pool files in the folder `restart` of a node: each is applied once when the node starts, and what
 * is no such file is told by a line and kept. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cluster/node_process.h"
#include "tests/support/testing.h"

#define SECOND UINT64_C(1000000000)
#define GOOD                                                           \
    "pool_name: %s\nmodule: " TEST_PREFIX "/tests/modules/ledger.so\n" \
    "durability: none\n"

static struct node_process node;
static struct process daemon_process;
static bool runs;

/* Runs the node until it serves. */
static void begin_node(void)
{
    char data[NODE_PROCESS_PATH + 8], run[NODE_PROCESS_PATH + 8];
    const char *const argv[] = {TEST_PREFIX "/bin/rapahubd", "--data", data, "--run", run, NULL};
    const struct process_options options = {.argv = argv, .within_ns = 100 * SECOND};

    snprintf(data, sizeof data, "%s/data", node.folder);
    snprintf(run, sizeof run, "%s/run", node.folder);
    assert_int_equal(process_start(&options, &daemon_process), 0);
    runs = true;
    if (!process_until_text(&daemon_process, "rapahubd: serves '", true, 20 * SECOND))
        fail_msg("%s", daemon_process.err);
}

static void end_node(void)
{
    struct process_result result;

    runs = false;
    assert_int_equal(process_kill(&daemon_process, SIGTERM), 0);
    assert_int_equal(process_finish(&daemon_process, &result), 0);
    if (result.status != 0)
        fail_msg("status %d: %s", result.status, result.err);
    process_result_fini(&result);
}

static int begin(void **state)
{
    (void)state;
    node_process_open(&node);
    begin_node();
    end_node();
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (runs) /* a test has failed */
        end_node();
    node_process_close(&node);
    return 0;
}

static const char *path_of(const char *name)
{
    static char path[NODE_PROCESS_PATH + 200];

    snprintf(path, sizeof path, "%s/data/restart/%s", node.folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void write_pool(const char *name, const char *pool)
{
    char text[1024];

    snprintf(text, sizeof text, GOOD, pool);
    write_text(name, text);
}

static bool is_there(const char *name)
{
    struct stat status;

    return lstat(path_of(name), &status) == 0;
}

static void expect_line(const char *text)
{
    if (!process_until_text(&daemon_process, text, true, 20 * SECOND))
        fail_msg("no '%s' in:\n%s", text, daemon_process.err);
}

static void expect_pools(const char *wanted)
{
    const char *const words[] = {"get", "pools", "-o", "name", NULL};
    struct process_result result;

    assert_int_equal(node_process_rapahub(&node, words, &result), 0);
    assert_string_equal(result.out, wanted);
    process_result_fini(&result);
}

/* r[verify cluster.daemon.restart] */
static void a_file_is_applied_once(void **state)
{
    const char *const words[] = {"delete", "second", NULL};
    struct process_result result;

    (void)state;
    write_pool("2.yaml", "second");
    write_pool("1.yaml", "first");
    begin_node();
    expect_line("rapahubd: restart/1.yaml: applied\n");
    expect_line("rapahubd: restart/2.yaml: applied\n");
    expect_pools("first\nsecond\n");
    assert_false(is_there("1.yaml") || is_there("2.yaml"));
    assert_true(is_there("1.yaml.done") && is_there("2.yaml.done"));
    assert_int_equal(node_process_rapahub(&node, words, &result), 0);
    process_result_fini(&result);
    end_node();
    write_pool("1.yaml", "first"); /* as it is already */
    begin_node();
    expect_line("rapahubd: restart/1.yaml: applied\n");
    expect_pools("first\n");
    end_node();
}

/* r[verify cluster.daemon.restart] */
static void what_is_wrong_has_a_line_and_is_kept(void **state)
{
    static const struct {
        const char *name, *text;
    } wrong[] = {
        {"key.yaml", "/restart/key.yaml:2:1: unknown key 'modul', did you mean 'module'?\n"},
        {"no.yaml", "/restart/no.yaml:2:1: flow sequence"},
        {"link.yaml", "it is no plain file; copy it into one\n"},
        {"fifo.yaml", "it is no plain file; copy it into one\n"},
        {"folder.yaml", "it is no plain file; copy it into one\n"},
        {"huge.yaml", "it has more than 1 MiB\n"},
        {"open.yaml", "it is another user's, or others may write to it\n"},
    };
    static const char *const hostile[] = {"-f.yaml", "a\nwarn b.yaml", "\x1b[2J.yaml", "..yaml"};

    (void)state;
    write_text("key.yaml", "pool_name: x\nmodul: y\n");
    write_text("no.yaml", "pools: [");
    assert_int_equal(symlink("/etc/passwd", path_of("link.yaml")), 0);
    assert_int_equal(mkfifo(path_of("fifo.yaml"), 0600), 0);
    assert_int_equal(mkdir(path_of("folder.yaml"), 0700), 0);
    write_text("huge.yaml", "");
    assert_int_equal(truncate(path_of("huge.yaml"), ((off_t)1 << 20) + 1), 0);
    write_pool("open.yaml", "open");
    assert_int_equal(chmod(path_of("open.yaml"), 0622), 0);
    for (unsigned i = 0; i < sizeof hostile / sizeof *hostile; i++)
        write_pool(hostile[i], "hostile");
    write_pool("zz.yaml", "good"); /* the last one goes on its way all the same */
    begin_node();
    expect_line("restart/zz.yaml: applied\n");
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[80];

        snprintf(line, sizeof line, "restart/%s: not applied, and kept: ", wrong[i].name);
        expect_line(line);
        expect_line(wrong[i].text);
        assert_true(is_there(wrong[i].name));
    }
    expect_line("restart/-f.yaml: not applied, and kept: its name has");
    expect_line("restart/a?warn?b.yaml: not applied");
    expect_line("restart/??2J.yaml: not applied");
    for (unsigned i = 0; i < sizeof hostile / sizeof *hostile; i++)
        assert_true(is_there(hostile[i]));
    expect_pools("good\n");
    end_node();
}

/* A pool that is there stays as it is; the keys that differ are named. */
static void a_pool_that_is_there_is_not_changed(void **state)
{
    (void)state;
    write_pool("1.yaml", "first");
    begin_node();
    expect_line("restart/1.yaml: applied\n");
    end_node();
    write_text("1.yaml", "pool_name: first\nmodule: " TEST_PREFIX
                         "/tests/modules/ledger.so\ndurability: none\ncontainers: 3\n");
    begin_node();
    expect_line("restart/1.yaml: not applied, and kept: first: ");
    expect_line("containers");
    assert_true(is_there("1.yaml"));
    end_node();
}

/* An end that comes while files are applied leaves no process. */
static void an_end_does_not_wait_for_files(void **state)
{
    char name[16];

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "%02u.yaml", i);
        write_pool(name, name);
    }
    begin_node();
    end_node();
    assert_true(is_there("39.yaml"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_applied_once),
        TEST(what_is_wrong_has_a_line_and_is_kept),
        TEST(a_pool_that_is_there_is_not_changed),
        TEST(an_end_does_not_wait_for_files),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
