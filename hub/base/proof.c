/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/proof.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/clock.h"

int hub_proof_open(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    return fd < 0 ? -errno : fd;
}

bool hub_proof_of_death(int pidfd)
{
    return hub_proof_wait(pidfd, 0) == 0;
}

int hub_proof_wait(int pidfd, uint64_t deadline_ns)
{
    struct pollfd ends = {.fd = pidfd, .events = POLLIN};

    for (;;) {
        int n = poll(&ends, 1, hub_clock_left_ms(deadline_ns, 10000));

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && (ends.revents & POLLIN))
            return 0;
        if (n > 0) /* not a pidfd at all: it proves nothing */
            return -EBADF;
        if (hub_clock_left(deadline_ns) == 0)
            return -ETIMEDOUT;
    }
}

static int look(int pidfd, int options, struct hub_exit *out)
{
    siginfo_t info = {0};

    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | options) < 0)
        if (errno != EINTR)
            return -errno;
    if (info.si_pid == 0)
        return -EAGAIN;
    *out = (struct hub_exit){.code = info.si_code, .status = info.si_status};
    return 0;
}

int hub_proof_status(int pidfd, struct hub_exit *out)
{
    return look(pidfd, WNOWAIT, out);
}

int hub_proof_reap(int pidfd, struct hub_exit *out)
{
    return look(pidfd, 0, out);
}
