/* SPDX-License-Identifier: Apache-2.0 */
/* A metastore that was put back from a copy is told as old, also where it lacks a transaction that
 * changed nothing of the map. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cluster/node_process.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define SECOND   UINT64_C(1000000000)
#define FILE_MAX ((size_t)16 << 20)
#define NOTED_MS 5000

static const char *const store_files[] = {"meta.db", "meta.db-wal"};

static struct node_process node;
static struct process warden;

static int begin(void **state)
{
    (void)state;
    node_process_open(&node);
    return 0;
}

static int end(void **state)
{
    (void)state;
    node_process_close(&node);
    return 0;
}

static void begin_node(void)
{
    char data[NODE_PROCESS_PATH + 8], run[NODE_PROCESS_PATH + 8];
    const char *const argv[] = {TEST_PREFIX "/bin/rapahubd", "--data", data, "--run", run, NULL};
    const struct process_options options = {.argv = argv, .within_ns = 60 * SECOND};

    snprintf(data, sizeof data, "%s/data", node.folder);
    snprintf(run, sizeof run, "%s/run", node.folder);
    assert_int_equal(process_start(&options, &warden), 0);
}

/* The path of a file of the data folder, or of its copy. */
static const char *path_of(const char *folder, const char *name)
{
    static char path[NODE_PROCESS_PATH + 64];

    snprintf(path, sizeof path, "%s/%s/%s", node.folder, folder, name);
    return path;
}

static size_t read_all(const char *path, char *to, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, to, room) : 0;

    if (fd >= 0)
        close(fd);
    assert_true(n >= 0);
    return (size_t)n;
}

static void copy_file(const char *from, const char *to, const char *name)
{
    static char bytes[FILE_MAX];
    size_t size = read_all(path_of(from, name), bytes, sizeof bytes);
    int fd;

    (void)unlink(path_of(to, name));
    if (size == 0)
        return;
    fd = open(path_of(to, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static void copy_store(const char *from, const char *to)
{
    for (unsigned i = 0; i < sizeof store_files / sizeof *store_files; i++)
        copy_file(from, to, store_files[i]);
}

/* Copies it between two of its transactions. */
static void copy_while_it_runs(void)
{
    pid_t pid = warden.pid;
    struct node_process of = node;

    of.warden = pid;
    pid = node_process_daemon(&of);
    assert_true(pid > 0);
    assert_int_equal(mkdir(path_of("copy", ""), 0700), 0);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    copy_store("data", "copy");
    assert_int_equal(kill(pid, SIGCONT), 0);
}

/* The note is written beside the work: the test waits until it is another one. */
static void push_until_noted(void)
{
    const char *const words[] = {"module", "push", TEST_PREFIX "/tests/modules/ledger.so", NULL};
    char before[512] = "", after[512] = "";
    struct process_result result;
    int waited = 0;

    (void)read_all(path_of("data", "node.store"), before, sizeof before - 1);
    if (node_process_rapahub(&node, words, &result) != 0)
        fail_msg("%s", result.err);
    process_result_fini(&result);
    do {
        pause_ms(1);
        (void)read_all(path_of("data", "node.store"), after, sizeof after - 1);
    } while (strcmp(before, after) == 0 && ++waited < NOTED_MS);
}

/* Nothing is noted at such an end. The daemon has the folder until it is dead. */
static void kill_node(void)
{
    struct node_process of = node;
    struct process_result result;
    struct pollfd dead = {.events = POLLIN};

    of.warden = warden.pid;
    dead.fd = pidfd_open(node_process_daemon(&of), 0);
    assert_true(dead.fd >= 0);
    assert_int_equal(process_kill(&warden, SIGKILL), 0);
    assert_int_equal(pidfd_send_signal(dead.fd, SIGKILL, NULL, 0), 0);
    assert_int_equal(poll(&dead, 1, 20000), 1);
    close(dead.fd);
    assert_int_equal(process_finish(&warden, &result), 0);
    process_result_fini(&result);
}

/* r[verify cluster.store.old] */
static void a_metastore_without_its_last_transaction_is_refused(void **state)
{
    struct process_result result;

    (void)state;
    begin_node();
    assert_true(process_until_text(&warden, "rapahubd: serves '", true, 20 * SECOND));
    copy_while_it_runs();
    push_until_noted();
    kill_node();
    copy_store("copy", "data");
    (void)unlink(path_of("data", "meta.db-shm"));
    begin_node();
    (void)process_until_text(&warden, "rapahubd: serves '", true, 2 * SECOND);
    (void)process_kill(&warden, SIGTERM);
    assert_int_equal(process_finish(&warden, &result), 0);
    if (result.status == 0 || !strstr(result.err, "RAPAHUB_ESTOREOLD"))
        fail_msg("status %d: %s", result.status, result.err);
    process_result_fini(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_metastore_without_its_last_transaction_is_refused),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
