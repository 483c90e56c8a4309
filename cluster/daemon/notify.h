/* SPDX-License-Identifier: Apache-2.0 */
/* notify: tells the service manager how a service is, by datagrams to the socket that it names in
 * NOTIFY_SOCKET: the protocol of sd_notify(3). Where there is none nothing is told, and nothing
 * fails. Nothing waits. For one thread. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <stdint.h>
#include <sys/types.h>

#include <rapahub/export.h>

/* The texts of the environment; NULL: not there. */
struct daemon_notify_given {
    const char *socket;        /* NOTIFY_SOCKET: a path, or "@" and an abstract name */
    const char *watchdog_usec; /* WATCHDOG_USEC: the longest between two WATCHDOG=1 */
    const char *watchdog_pid;  /* WATCHDOG_PID: the process that it asks that of; NULL: any */
};

struct daemon_notify {
    int fd;               /* -1: nothing is told */
    uint64_t watchdog_ns; /* 0: it wants to hear nothing */
};

/* RAPAHUB_ECONFIG: the socket is none that can be used; `out` tells nothing then. */
int daemon_notify_open(const struct daemon_notify_given *given, pid_t self,
                       struct daemon_notify *out);
void daemon_notify_close(struct daemon_notify *notify);

/* Sends lines, as "READY=1\nMAINPID=12"; at most 1,000 bytes. A line that cannot be sent now is
 * lost. */
void daemon_notify_send(const struct daemon_notify *notify, const char *format, ...)
    RAPAHUB_PRINTF(2, 3);

#endif
