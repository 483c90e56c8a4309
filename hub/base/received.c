/* SPDX-License-Identifier: Apache-2.0 */
/* received: a peek (MSG_PEEK) first makes copies of the descriptors, so that receiving the message
 * afterwards never drops the last copy of one. */
#include "hub/base/received.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(HUB_RECEIVED_FDS_MAX * sizeof(int))];
};

static void collect(struct msghdr *message, struct hub_received *received)
{
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS ||
            count > HUB_RECEIVED_FDS_MAX - received->fds_count)
            continue;
        memcpy(received->fds + received->fds_count, CMSG_DATA(at), count * sizeof(int));
        received->fds_count += (unsigned)count;
    }
}

static ssize_t receive(int socket, struct msghdr *message, int flags)
{
    ssize_t n;

    do
        n = recvmsg(socket, message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == ENOMEM || errno == ENOBUFS ? -EAGAIN : -errno;
    return n;
}

/* The message still holds copies, so this closes none for good. */
static ssize_t leave(struct hub_received *received, ssize_t why)
{
    while (received->fds_count > 0)
        close(received->fds[--received->fds_count]);
    return why;
}

ssize_t hub_received_take(int socket, struct hub_received *received)
{
    union control control;
    struct iovec into = {received->bytes, received->room};
    struct msghdr message = {.msg_iov = &into,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = receive(socket, &message, MSG_PEEK);

    received->fds_count = 0;
    received->flags = n < 0 ? 0 : message.msg_flags;
    if (n < 0)
        return n;
    collect(&message, received);
    if (message.msg_flags & MSG_CTRUNC)
        return leave(received, -ENFILE);
    into.iov_len = (size_t)n;
    n = receive(socket, &(struct msghdr){.msg_iov = &into, .msg_iovlen = 1}, 0);
    return n < 0 ? leave(received, n) : n;
}
