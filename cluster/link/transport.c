/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/transport.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

static int hung_up(void)
{
    return rapahub_fail(RAPAHUB_ECLOSED, "", "the other side hung up");
}

static int receive(void *self, int fd, struct hub_received *received)
{
    ssize_t n = hub_received_take(fd, received);

    (void)self;
    if (n == -EAGAIN)
        return 0;
    if (n == 0 || n == -ECONNRESET || n == -EPIPE)
        return hung_up();
    return n < 0 ? rapahub_fail((int)n, "", "cannot read from a socket") : (int)n;
}

static ssize_t send_with(int fd, const void *bytes, size_t size, const int *fds)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(CLUSTER_TRANSPORT_FDS * sizeof *fds)];
    } control = {.header = {CMSG_LEN(CLUSTER_TRANSPORT_FDS * sizeof *fds), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec part = {(void *)(uintptr_t)bytes, size};
    const struct msghdr message = {.msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = &control,
                                   .msg_controllen = sizeof control.bytes};

    memcpy(CMSG_DATA(&control.header), fds, CLUSTER_TRANSPORT_FDS * sizeof *fds);
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t send_bytes(void *self, int fd, const void *bytes, size_t size, const int *fds)
{
    ssize_t n;

    (void)self;
    do
        n = fds ? send_with(fd, bytes, size, fds)
                : send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS)
        return 0;
    return errno == EPIPE || errno == ECONNRESET
               ? hung_up()
               : rapahub_fail(-errno, "", "cannot write to a socket");
}

static short events(const void *self, bool waits)
{
    (void)self;
    return (short)(POLLIN | (waits ? POLLOUT : 0));
}

static uint64_t due(const void *self)
{
    (void)self;
    return HUB_NEVER;
}

static void release(void *self)
{
    (void)self;
}

const struct cluster_transport_table cluster_transport_socket = {receive, send_bytes, events, due,
                                                                 release};
