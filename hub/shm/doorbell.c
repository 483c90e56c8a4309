/* SPDX-License-Identifier: Apache-2.0 */
/* doorbell: the bytes carry no meaning. So none of them is examined, and a full socket is as good
 * as one more byte. Every loop ends after a fixed number of rounds, whatever the peer sends. */
#include "hub/shm/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <rapahub/error.h>

#define READ_SIZE   4096
#define READ_ROUNDS 16 /* reads of READ_SIZE: 64 KiB */
#define RING_ROUNDS 16 /* interrupted sends in a row; after that the byte is owed */

#ifndef SO_PASSRIGHTS /* missing in headers before Linux 6.16 */
#define SO_PASSRIGHTS 83
#endif

/* On a kernel without this option the reader must cope. Urgent bytes stay in line: a read would
 * skip one, and drop descriptors that came with it. */
static void seal(int fd)
{
    static const int no = 0, yes = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof no);
    (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof yes);
}

int hub_doorbell_create(int *own, int *peer)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return rapahub_fail(-errno, "shm.doorbell.socketpair", "cannot make a doorbell");
    seal(ends[0]);
    *own = ends[0];
    *peer = ends[1];
    return 0;
}

bool hub_doorbell_is_sealed(int fd)
{
    int may = 1;
    socklen_t size = sizeof may;

    return getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &may, &size) == 0 && may == 0;
}

/* Returns -1 if it is no socket. */
static int socket_type(int fd)
{
    int type = -1;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ? -1 : type;
}

bool hub_doorbell_of_datagrams(int fd)
{
    return fd >= 0 && socket_type(fd) == SOCK_DGRAM;
}

/* A foreign peer may bring a doorbell of datagrams. r[impl shm.spawn.fd-inheritance] */
int hub_doorbell_adopt(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || socket_type(fd) < 0)
        return rapahub_fail(RAPAHUB_EINVAL, "shm.doorbell.socketpair",
                            "descriptor %d is no doorbell", fd);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return rapahub_fail(-errno, "shm.doorbell.socketpair",
                            "cannot prepare descriptor %d as a doorbell", fd);
    return 0;
}

static enum hub_bell bell_after(int error)
{
    switch (error) {
    case EAGAIN: /* the peer has not yet read earlier bytes */
        return HUB_BELL_RUNG;
    case EINTR:
    case ENOBUFS:
    case ENOMEM:
        return HUB_BELL_OWED;
    default:
        return HUB_BELL_GONE;
    }
}

enum hub_bell hub_doorbell_ring(int fd)
{
    for (int i = 0; i < RING_ROUNDS; i++) {
        if (send(fd, "\x01", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
            return HUB_BELL_RUNG;
        if (errno != EINTR)
            return bell_after(errno);
    }
    return HUB_BELL_OWED;
}

bool hub_doorbell_send(int fd, int sent)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char one = 1;
    struct iovec byte = {&one, 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};

    control.header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(&control.header), &sent, sizeof sent);
    for (int i = 0; i < RING_ROUNDS; i++) {
        if (sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
            return true;
        if (errno != EINTR)
            return false;
    }
    return false;
}

static void hand_over(struct msghdr *message, const struct hub_doorbell_inbox *inbox)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fd;

    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd)) {
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
        inbox->take(inbox->user, fd);
    }
    if (message->msg_flags & MSG_CTRUNC)
        inbox->cut(inbox->user);
}

/* Has space for one descriptor. */
static ssize_t read_with(int fd, const struct hub_doorbell_inbox *inbox)
{
    char bytes[READ_SIZE];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec into = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &into,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             /* without padding, which could hold another descriptor */
                             .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n >= 0)
        hand_over(&message, inbox);
    return n;
}

/* Receiving a message without its descriptors closes them, which may take as long as their sender
 * wants. So a peek, which drops none, comes first, and no more is read than was peeked at.
 * r[impl hub.doorbell.descriptor] */
static ssize_t read_without(int fd, bool sealed, bool *unwanted)
{
    char bytes[READ_SIZE];
    struct iovec into = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &into, .msg_iovlen = 1};
    ssize_t n = sealed ? READ_SIZE : recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0)
        return n;
    *unwanted = (message.msg_flags & MSG_CTRUNC) != 0;
    return *unwanted ? n : recv(fd, bytes, (size_t)n, MSG_DONTWAIT);
}

/* A datagram may be empty; on a stream, reading nothing is the end. r[impl shm.doorbell.wait]
 * r[impl shm.doorbell.death] */
enum hub_heard hub_doorbell_drain(int fd, const struct hub_doorbell_ear *ear)
{
    bool unwanted = false;

    for (int i = 0; i < READ_ROUNDS; i++) {
        ssize_t n =
            ear->inbox ? read_with(fd, ear->inbox) : read_without(fd, ear->sealed, &unwanted);

        if (unwanted)
            return HUB_HEARD_DESCRIPTOR;
        if (n < 0 && (errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS))
            return HUB_HEARD_BELLS;
        if (n < 0 && errno != EINTR)
            return HUB_HEARD_END;
        if (n == 0 && !hub_doorbell_of_datagrams(fd))
            return HUB_HEARD_END;
    }
    return HUB_HEARD_BELLS;
}
