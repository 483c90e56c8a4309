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

static int watch(pid_t pid, int *pidfd)
{
    if (pid < 0)
        return rapahub_fail(-errno, "", "cannot make a process: %s", strerrordesc_np(errno));
    *pidfd = hub_proof_open(pid);
    if (*pidfd >= 0)
        return 0;
    give_up(pid);
    return rapahub_fail(*pidfd, "", "cannot watch a process: %s", strerrordesc_np(-*pidfd));
}

int daemon_process_start(char *const *arguments, const int fds[DAEMON_PROCESS_FDS], pid_t *pid,
                         int *pidfd)
{
    *pid = fork();
    if (*pid == 0)
        run_child(arguments, fds);
    return watch(*pid, pidfd);
}

int daemon_process_copy(int (*run)(void *user), void *user, pid_t *pid, int *pidfd)
{
    *pid = fork();
    if (*pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(run(user) < 0 ? 1 : 0);
    }
    return watch(*pid, pidfd);
}

/* Only system calls that are allowed after a fork. */
static void run_command(const char *path, char *const *arguments, int output)
{
    static const char failed[] = "error: the program rapahub cannot be started\n";
    sigset_t none;

    (void)setpgid(0, 0);
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execve(path, arguments, environ);
    (void)!write(STDERR_FILENO, failed, sizeof failed - 1);
    _exit(STATUS_FAILED);
}

/* The path of a program from the folder of this one. */
static int find_beside(const char *name, char to[DAEMON_PROCESS_PATH])
{
    char path[2 * DAEMON_PROCESS_PATH];
    ssize_t size = readlink(SELF, path, DAEMON_PROCESS_PATH);

    while (size > 0 && path[size - 1] != '/')
        size--;
    if (size <= 0 || size >= DAEMON_PROCESS_PATH)
        return rapahub_fail(RAPAHUB_ENOENT, "", "cannot find the folder of this program");
    snprintf(path + size, DAEMON_PROCESS_PATH, "%s", name);
    return realpath(path, to) ? 0 : rapahub_fail(-errno, "", "'%s' is not there", path);
}

int daemon_process_command(char *const *arguments, int output, pid_t *pid, int *pidfd)
{
    char path[DAEMON_PROCESS_PATH];
    int r = find_beside("rapahub", path);

    if (r < 0)
        return r;
    *pid = fork();
    if (*pid == 0)
        run_command(path, arguments, output);
    return watch(*pid, pidfd);
}

int daemon_process_guest(char to[DAEMON_PROCESS_PATH])
{
    const char *chosen = secure_getenv("RAPAHUB_GUEST");
    char why[DAEMON_PROCESS_PATH];
    int r;

    if (chosen && *chosen && strlen(chosen) < DAEMON_PROCESS_PATH) {
        memcpy(to, chosen, strlen(chosen) + 1);
        return 0;
    }
    r = find_beside(RAPAHUB_GUEST_FROM_BIN, to);
    if (r == 0)
        return 0;
    snprintf(why, sizeof why, "%s", rapahub_last_error()->text);
    return rapahub_fail(r, "", "%s; RAPAHUB_GUEST may name it", why);
}
