/* SPDX-License-Identifier: Apache-2.0 */
/* deposit: there is room for one descriptor in what is received, so the kernel closes any other. */
#include "hub/shm/deposit.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define RULE  "supervise.keep.message"
#define CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool hub_deposit_is_name(const char *name)
{
    size_t size = strnlen(name, HUB_DEPOSIT_NAME_MAX + 1);

    return size > 0 && size <= HUB_DEPOSIT_NAME_MAX && strspn(name, CHARS) == size;
}

int hub_deposit_create(int *own, int *peer)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return rapahub_fail(-errno, "", "cannot make a socket for descriptors to keep");
    *own = ends[0];
    *peer = ends[1];
    return 0;
}

static int failed(int error, const char *name)
{
    if (error == EPIPE || error == ECONNRESET || error == ENOTCONN)
        return rapahub_fail(RAPAHUB_EDIED, "", "the host is gone");
    return rapahub_fail(-error, "", "cannot give '%s' to the host: %s", name,
                        strerrordesc_np(error));
}

int hub_deposit_send(int socket, const char *name, int fd)
{
    union control control = {.header = {.cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS,
                                        .cmsg_len = CMSG_LEN(sizeof fd)}};
    struct iovec text = {(void *)(uintptr_t)name, strlen(name)};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};
    ssize_t n;

    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
    }
    do
        n = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? failed(errno, name) : 0;
}

static int take_descriptor(struct msghdr *message)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

static int refuse(const char *what)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "a descriptor to keep came with %s", what);
}

/* An empty message, and the end, look the same: so it is the end. A message that was cut without a
 * descriptor in it had one that this process has no number for. */
static int check(const struct msghdr *message, ssize_t size, int fd)
{
    if (size == 0)
        return -EPIPE;
    if (message->msg_flags & MSG_CTRUNC)
        return fd < 0 ? -ENFILE : refuse("others");
    return message->msg_flags & MSG_TRUNC ? refuse("a name that is too long") : 0;
}

int hub_deposit_receive(int socket, struct hub_deposit *out)
{
    union control control;
    struct iovec text = {out->name, HUB_DEPOSIT_NAME_MAX};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_LEN(sizeof(int))}; /* padding holds another */
    OWN(hub_fd) int fd = -1;
    ssize_t n;
    int r;

    out->fd = -1;
    memset(out->name, 0, sizeof out->name);
    do
        n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS ? -EAGAIN : -EPIPE;
    fd = take_descriptor(&message);
    r = check(&message, n, fd);
    if (r == 0 && (strlen(out->name) != (size_t)n || !hub_deposit_is_name(out->name)))
        r = refuse("what is no name");
    if (r == 0)
        out->fd = TAKE(fd);
    return r;
}
