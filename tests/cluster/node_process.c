/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cluster/node_process.h"

#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/pause.h"
#include "tests/support/process_child.h"
#include "tests/support/testing.h"

#define END_MS 20000

extern char **environ;

void node_process_open(struct node_process *node)
{
    char path[NODE_PROCESS_PATH + 8];

    *node = (struct node_process){.folder = "/tmp/rapahub-node-XXXXXX"};
    assert_non_null(mkdtemp(node->folder));
    snprintf(path, sizeof path, "%s/run", node->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(node->address, sizeof node->address, "unix:%.400s/run/node.node", node->folder);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void node_process_close(struct node_process *node)
{
    if (node->warden > 0)
        node_process_end(node);
    assert_int_equal(nftw(node->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void node_process_begin(struct node_process *node)
{
    char data[NODE_PROCESS_PATH + 8], run[NODE_PROCESS_PATH + 8];
    char program[] = TEST_PREFIX "/bin/rapahubd", by_data[] = "--data", by_run[] = "--run";
    char *const words[] = {program, by_data, data, by_run, run, (char *)(uintptr_t)node->option,
                           NULL};

    snprintf(data, sizeof data, "%s/data", node->folder);
    snprintf(run, sizeof run, "%s/run", node->folder);
    assert_int_equal(posix_spawn(&node->warden, words[0], NULL, NULL, words, environ), 0);
}

static void await_end(pid_t pid)
{
    int waited = 0;

    while (waitpid(pid, NULL, WNOHANG) == 0 && waited < END_MS) {
        pause_ms(1);
        waited++;
    }
    if (waited == END_MS)
        kill(pid, SIGKILL);
    assert_true(waited < END_MS);
}

void node_process_end(struct node_process *node)
{
    pid_t daemon = node_process_daemon(node);
    int fd = daemon > 0 ? pidfd_open(daemon, 0) : -1;

    assert_int_equal(kill(node->warden, SIGTERM), 0);
    await_end(node->warden);
    node->warden = 0;
    if (fd >= 0) {
        assert_int_equal(pidfd_send_signal(fd, 0, NULL, 0), -1);
        close(fd);
    }
}

int node_process_rapahub(const struct node_process *node, const char *const words[],
                         struct process_result *out)
{
    const char *argv[16] = {PROCESS_RAPAHUB};
    const struct process_options options = {.argv = argv, .within_ns = UINT64_C(60000000000)};
    unsigned count = 1;

    for (; words[count - 1]; count++)
        argv[count] = words[count - 1];
    argv[count++] = "--node";
    argv[count] = node->address;
    assert_int_equal(process_run(&options, out), 0);
    return out->status;
}

int node_process_try_apply(const struct node_process *node, const char *pools,
                           struct process_result *out)
{
    char path[NODE_PROCESS_PATH + 16];
    const char *const words[] = {"apply", "-f", path, NULL};
    FILE *file;

    snprintf(path, sizeof path, "%s/pools.yaml", node->folder);
    file = fopen(path, "we");
    assert_non_null(file);
    fputs(pools, file);
    fclose(file);
    return node_process_rapahub(node, words, out);
}

void node_process_apply(const struct node_process *node, const char *pools)
{
    struct process_result result;

    if (node_process_try_apply(node, pools, &result) != 0)
        fail_msg("apply: %s%s", result.out, result.err);
    process_result_fini(&result);
}

pid_t node_process_daemon(const struct node_process *node)
{
    return process_child(node->warden, 0);
}

pid_t node_process_guest(const struct node_process *node, unsigned index)
{
    return process_child(node_process_daemon(node), index);
}

/* A pid may be used again, but a descriptor stays its process's own: it is looked at after. */
static bool kill_child(pid_t pid, pid_t parent, unsigned index)
{
    int fd = pid > 0 ? pidfd_open(pid, 0) : -1;
    bool killed = fd >= 0 && process_child(parent, index) == pid &&
                  pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0;

    if (fd >= 0)
        close(fd);
    return killed;
}

bool node_process_kill_guest(const struct node_process *node, unsigned index)
{
    pid_t daemon = node_process_daemon(node);

    return kill_child(process_child(daemon, index), daemon, index);
}

bool node_process_kill_daemon(const struct node_process *node)
{
    return node_process_guest(node, 0) > 0 &&
           kill_child(node_process_daemon(node), node->warden, 0);
}

/* A daemon whose warden has died ends by itself, and keeps the folder locked until then. */
static void await_daemon(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};

    if (fd < 0)
        return;
    assert_int_equal(poll(&end, 1, END_MS), 1);
    close(fd);
}

bool node_process_kill_warden(struct node_process *node, bool and_daemon)
{
    pid_t daemon = node_process_daemon(node);
    int fd = daemon > 0 ? pidfd_open(daemon, 0) : -1;

    if (node_process_guest(node, 0) <= 0 || (and_daemon && !node_process_kill_daemon(node))) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    assert_int_equal(kill(node->warden, SIGKILL), 0);
    assert_int_equal(waitpid(node->warden, NULL, 0), node->warden);
    await_daemon(fd);
    node_process_begin(node);
    return true;
}
