/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/command/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"

extern char **environ;

/* A program gets the default of SIGPIPE, which this one ignores, and no blocked signals. */
static void set_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, pipe;

    sigemptyset(&none);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &pipe);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int start(const char *const *argv, int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    union {
        const char *const *given;
        char *const *wanted; /* posix_spawn changes none of it */
    } words = {argv};
    int r;

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    set_signals(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    r = posix_spawnp(pid, argv[0], &actions, &attributes, words.wanted, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return r == 0 ? 0 : rapahub_fail(-r, "", "cannot start '%s'", argv[0]);
}

/* Copies what was printed to standard error. */
static void show(int output)
{
    char piece[4096];
    ssize_t n;

    fflush(stderr);
    for (off_t at = 0; (n = pread(output, piece, sizeof piece, at)) > 0; at += n) {
        if (write(STDERR_FILENO, piece, (size_t)n) < 0)
            return;
    }
}

static int wait_for(pid_t pid, const char *name, uint64_t timeout_ns)
{
    OWN(hub_fd) int pidfd = pidfd_open(pid, 0);
    struct hub_exit ended;
    bool late;

    if (pidfd < 0)
        return rapahub_fail(-errno, "", "cannot wait for '%s'", name);
    late = hub_proof_wait(pidfd, hub_clock_after(timeout_ns)) < 0;
    if (late) {
        pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
        (void)!hub_proof_wait(pidfd, hub_clock_after(HUB_SECOND));
    }
    if (hub_proof_reap(pidfd, &ended) < 0 || late)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "'%s' did not end in time and was killed", name);
    if (ended.code != CLD_EXITED || ended.status != 0)
        return rapahub_fail(RAPAHUB_EIO, "", "'%s' failed: %s %d", name,
                            ended.code == CLD_EXITED ? "exit status" : "signal", ended.status);
    return 0;
}

int cli_process_run(const char *const *argv, bool shown, uint64_t timeout_ns)
{
    OWN(hub_fd) int kept = -1;
    pid_t pid;
    int r;

    if (!shown) {
        kept = memfd_create("output", MFD_CLOEXEC);
        if (kept < 0)
            return rapahub_fail(-errno, "", "no memory for the output of '%s'", argv[0]);
    }
    r = start(argv, shown ? STDERR_FILENO : kept, &pid);
    if (r < 0)
        return r;
    r = wait_for(pid, argv[0], timeout_ns);
    if (r < 0 && !shown)
        show(kept);
    return r;
}
