/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/children.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define LIST "/proc/thread-self/children"

int daemon_children_adopt(void)
{
    if (access(LIST, R_OK) < 0)
        return rapahub_fail(RAPAHUB_ENOTSUP, "",
                            "the kernel does not list the children of a process in " LIST
                            ", without which orphans cannot be ended");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return rapahub_fail(-errno, "", "cannot become the parent of orphans");
    return 0;
}

/* It is a child that was not reaped, so no other process has this number. */
static void end(pid_t child)
{
    OWN(hub_fd) int pidfd = hub_proof_open(child);

    if (pidfd >= 0)
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
}

/* r[impl cluster.warden.ends] */
int daemon_children_kill(void)
{
    FILE *list = fopen(LIST, "re");
    int count = 0, child;

    if (!list)
        return rapahub_fail(-errno, "", "cannot read " LIST);
    while (fscanf(list, "%d", &child) == 1) { // NOLINT(cert-err34-c): the kernel writes it
        end(child);
        count++;
    }
    (void)fclose(list);
    return count;
}

bool daemon_children_reap(pid_t but)
{
    for (;;) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
            if (errno == EINTR)
                continue;
            return false; /* ECHILD */
        }
        if (info.si_pid == 0 || info.si_pid == but)
            return true;
        (void)waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG | __WALL);
    }
}
