/* SPDX-License-Identifier: Apache-2.0 */
/* fd_store: all descriptors of a message are received, because closing one may take any time.
 * Surplus ones are handed to the closer. */
#include "hub/shm/fd_store.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/names.h"
#include "hub/base/received.h"

#define RULE "supervise.keep.message"

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool hub_fd_store_is_name(const char *name)
{
    size_t size = strnlen(name, HUB_FD_STORE_NAME_MAX + 1);

    return size > 0 && size <= HUB_FD_STORE_NAME_MAX && strspn(name, HUB_NAMES_LETTERS) == size;
}

int hub_fd_store_create(int *own, int *peer)
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

int hub_fd_store_send(int socket, const char *name, int fd)
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

static int refuse(const char *what)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "a descriptor to keep came with %s", what);
}

/* An empty message and the end look the same, so both count as the end. */
static int check(const struct hub_received *received, ssize_t size, const char *name)
{
    if (size == 0)
        return -EPIPE;
    if (received->fds_count > 1)
        return refuse("others");
    if (received->flags & MSG_TRUNC)
        return refuse("a name that is too long");
    return strlen(name) == (size_t)size && hub_fd_store_is_name(name) ? 0
                                                                      : refuse("what is no name");
}

int hub_fd_store_receive(int socket, struct hub_closer *closer, struct hub_fd_store *out)
{
    struct hub_received received = {.bytes = out->name, .room = HUB_FD_STORE_NAME_MAX};
    ssize_t n;
    int r;

    out->fd = -1;
    memset(out->name, 0, sizeof out->name);
    n = hub_received_take(socket, &received);
    if (n < 0)
        return n == -EAGAIN || n == -ENFILE ? (int)n : -EPIPE;
    r = check(&received, n, out->name);
    if (r == 0 && received.fds_count > 0)
        out->fd = received.fds[--received.fds_count];
    while (received.fds_count > 0)
        hub_closer_give(closer, &received.fds[--received.fds_count]);
    return r;
}
