/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/proof.h"

#define SELF          "/proc/self/exe"
#define STATUS_FAILED 127

extern char **environ;

void daemon_process_name(const char *name)
{
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
}

void daemon_process_clean(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) == 0);
    (void)close_range(STDERR_FILENO + 1, ~0U, 0);
}

int daemon_process_become(char *const *arguments)
{
    execve(SELF, arguments, environ);
    return rapahub_fail(-errno, "", "cannot start " SELF ": %s", strerrordesc_np(errno));
}

/* Only system calls that are allowed after a fork. */
static void run_child(char *const *arguments, const int fds[DAEMON_PROCESS_FDS])
{
    static const char failed[] = "error rapahubd: cannot start " SELF "\n";
    sigset_t asked;

    for (unsigned i = 0; i < DAEMON_PROCESS_FDS; i++)
        (void)fcntl(fds[i], F_SETFD, 0);
    (void)setpgid(0, 0);
    sigemptyset(&asked);
    sigaddset(&asked, SIGINT);
    sigaddset(&asked, SIGTERM);
    sigaddset(&asked, SIGHUP);
    (void)sigprocmask(SIG_SETMASK, &asked, NULL);
    execve(SELF, arguments, environ);
    (void)!write(STDERR_FILENO, failed, sizeof failed - 1);
    _exit(STATUS_FAILED);
}

/* Without a pidfd its end could not be waited for. */
static void give_up(pid_t pid)
{
    siginfo_t info;

    (void)kill(pid, SIGKILL);
    while (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0 && errno == EINTR)
        continue;
}

int daemon_process_start(char *const *arguments, const int fds[DAEMON_PROCESS_FDS], pid_t *pid,
                         int *pidfd)
{
    *pid = fork();
    if (*pid == 0)
        run_child(arguments, fds);
    if (*pid < 0)
        return rapahub_fail(-errno, "", "cannot make a process: %s", strerrordesc_np(errno));
    *pidfd = hub_proof_open(*pid);
    if (*pidfd >= 0)
        return 0;
    give_up(*pid);
    return rapahub_fail(*pidfd, "", "cannot watch a process: %s", strerrordesc_np(-*pidfd));
}

int daemon_process_guest(char to[DAEMON_PROCESS_PATH])
{
    const char *chosen = secure_getenv("RAPAHUB_GUEST");
    char path[2 * DAEMON_PROCESS_PATH];
    ssize_t size;

    if (chosen && *chosen && strlen(chosen) < DAEMON_PROCESS_PATH) {
        memcpy(to, chosen, strlen(chosen) + 1);
        return 0;
    }
    size = readlink(SELF, path, DAEMON_PROCESS_PATH);
    while (size > 0 && path[size - 1] != '/')
        size--;
    if (size <= 0 || size >= DAEMON_PROCESS_PATH)
        return rapahub_fail(RAPAHUB_ENOENT, "", "cannot find the folder of this program");
    memcpy(path + size, RAPAHUB_GUEST_FROM_BIN, sizeof RAPAHUB_GUEST_FROM_BIN);
    if (!realpath(path, to))
        return rapahub_fail(-errno, "", "'%s' is not there; RAPAHUB_GUEST may name it", path);
    return 0;
}
