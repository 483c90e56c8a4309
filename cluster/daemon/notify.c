/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/config/units.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define TEXT 1001

/* The name of an abstract socket begins with a zero byte, and has no end but its length. */
static int address_of(const char *name, struct sockaddr_un *to, socklen_t *size)
{
    size_t length = strlen(name);

    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof to->sun_path)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "NOTIFY_SOCKET is neither a path nor @NAME, or too long: '%.120s'",
                            name);
    memcpy(to->sun_path, name, length);
    if (name[0] == '@')
        to->sun_path[0] = '\0';
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
    return 0;
}

static uint64_t watchdog_of(const struct daemon_notify_given *given, pid_t self)
{
    uint64_t pid, usec;

    if (!given->watchdog_usec || config_units_count(given->watchdog_usec, &usec) < 0)
        return 0;
    if (given->watchdog_pid &&
        (config_units_count(given->watchdog_pid, &pid) < 0 || pid != (uint64_t)self))
        return 0;
    return usec < UINT64_MAX / HUB_MICROSECOND ? usec * HUB_MICROSECOND : 0;
}

int daemon_notify_open(const struct daemon_notify_given *given, pid_t self,
                       struct daemon_notify *out)
{
    OWN(hub_fd) int fd = -1;
    struct sockaddr_un to;
    socklen_t size = 0;
    int r;

    *out = (struct daemon_notify){.fd = -1};
    if (!given->socket || !*given->socket)
        return 0;
    r = address_of(given->socket, &to, &size);
    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, size) < 0)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "NOTIFY_SOCKET '%s' cannot be used: %s",
                            given->socket, strerrordesc_np(errno));
    *out = (struct daemon_notify){.fd = TAKE(fd), .watchdog_ns = watchdog_of(given, self)};
    return 0;
}

void daemon_notify_close(struct daemon_notify *notify)
{
    hub_fd_release(&notify->fd);
    *notify = (struct daemon_notify){.fd = -1};
}

/* r[impl cluster.daemon.notify] */
void daemon_notify_send(const struct daemon_notify *notify, const char *format, ...)
{
    char text[TEXT];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (notify->fd < 0 || size <= 0)
        return;
    if (size >= TEXT)
        size = TEXT - 1;
    (void)send(notify->fd, text, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
}
