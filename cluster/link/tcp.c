/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define BACKLOG 128
#define UNSENT_MOST                                                              \
    (128 * 1024) /* bytes that the kernel keeps unsent: others wait in our queue \
                  */
#define DRAINED      4096
#define DRAINS       16
#define UNHEARD_MOST 10000 /* ms after which bytes that are not taken end the connection */

static void set(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value,
                     sizeof value); /* without it the socket is only slower */
}

/* Small frames go at once, and what waits to be sent waits where it can be seen: so bytes that get
 * through are a sign of life. */
static void tune(int fd)
{
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_MOST);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNHEARD_MOST);
}

static int make(const struct cluster_host_port_address *address, int *out)
{
    *out = socket(address->of.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return *out < 0 ? rapahub_fail(-errno, "", "cannot make a socket") : 0;
}

static int fail(const struct cluster_host_port_address *address, const char *what)
{
    int error = errno;
    char text[CLUSTER_HOST_PORT_TEXT];

    cluster_host_port_print(address, text);
    return rapahub_fail(-error, "", "cannot %s %s", what, text);
}

int cluster_tcp_listen(struct cluster_host_port_address *address, int *out)
{
    const struct sockaddr *of = (const void *)&address->of;
    OWN(hub_fd) int fd = -1;
    int r = make(address, &fd);

    if (r < 0)
        return r;
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (address->of.ss_family == AF_INET6)
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (bind(fd, of, address->size) < 0 || listen(fd, BACKLOG) < 0)
        return fail(address, "listen at");
    if (getsockname(fd, (void *)&address->of, &address->size) < 0)
        return fail(address, "ask for the port of");
    *out = TAKE(fd);
    return 0;
}

/* Errors of a connection that ended while it waited are none of the listener. */
static bool is_passing(int error)
{
    return error == ECONNABORTED || error == EPROTO || error == ENETDOWN || error == ENOPROTOOPT ||
           error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH || error == ENETUNREACH ||
           error == EINTR || error == ETIMEDOUT;
}

int cluster_tcp_accept(int listener, int *out, struct cluster_host_port_address *from)
{
    do {
        from->size = sizeof from->of;
        *out = accept4(listener, (void *)&from->of, &from->size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    } while (*out < 0 && is_passing(errno));
    if (*out < 0)
        return errno == EAGAIN ? 0 : -errno;
    tune(*out);
    return 1;
}

void cluster_tcp_close(int *fd)
{
    char bytes[DRAINED];

    (void)shutdown(*fd, SHUT_RDWR);
    for (unsigned i = 0; i < DRAINS && recv(*fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0; i++)
        ;
    hub_fd_release(fd);
}

int cluster_tcp_connect(const struct cluster_host_port_address *address, int *out)
{
    const struct sockaddr *of = (const void *)&address->of;
    OWN(hub_fd) int fd = -1;
    int r = make(address, &fd);

    if (r < 0)
        return r;
    tune(fd);
    if (connect(fd, of, address->size) < 0 && errno != EINPROGRESS)
        return fail(address, "connect to");
    *out = TAKE(fd);
    return 0;
}
