/* SPDX-License-Identifier: Apache-2.0 */
/* linger: a socket whose close takes as long as its owner wants, and ways to send it. */
#ifndef TESTS_SUPPORT_LINGER_H
#define TESTS_SUPPORT_LINGER_H

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINGER_INLINE __attribute__((unused)) static

/* Makes a TCP socket with bytes that its peer, in *peer, does not read: closing the last copy of it
 * takes `seconds`. -1 if there is no loopback. */
LINGER_INLINE int linger_open(int seconds, int *peer)
{
    static const char bytes[65536];
    const struct linger linger = {1, seconds};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *peer = -1;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        *peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
    if (*peer < 0) {
        close(fd);
        return -1;
    }
    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    return fd;
}

/* Sends one byte, or one urgent byte, with `count` copies of `fd`. Returns 0, or -errno. */
LINGER_INLINE int linger_send(int socket, int fd, unsigned count, int flags)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(253 * sizeof(int))];
    } control;
    char byte = 1;
    struct iovec one = {&byte, 1};
    struct msghdr message = {.msg_iov = &one,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};

    memset(&control, 0, sizeof control);
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                      .cmsg_type = SCM_RIGHTS,
                                      .cmsg_len = CMSG_LEN(count * sizeof(int))};
    for (unsigned i = 0; i < count; i++)
        memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &fd, sizeof fd);
    return sendmsg(socket, &message, flags | MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

#endif
