/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/command/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rapahub/error.h>

int cli_interrupt_open(int *out)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot wait for signals");
    *out = fd;
    return 0;
}

bool cli_interrupt_take(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof info) == sizeof info;
}
