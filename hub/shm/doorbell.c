/* SPDX-License-Identifier: Apache-2.0 */
/* doorbell: bytes carry no meaning, so none that is read is looked at, and a full socket is as good
 * as one more byte. Every loop ends after a fixed number of rounds, whatever the peer sends. */
#include "hub/shm/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>

#include <rapahub/error.h>

#define READ_SIZE   4096
#define READ_ROUNDS 16 /* of READ_SIZE: 64 KiB */
#define RING_ROUNDS 16 /* interrupted sends in a row, then the byte is owed */

int hub_doorbell_create(int *own, int *peer)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return rapahub_fail(-errno, "shm.doorbell.socketpair", "cannot make a doorbell");
    *own = ends[0];
    *peer = ends[1];
    return 0;
}

/* -1 where it is no socket. */
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

/* A peer's own kind of doorbell may be of datagrams. r[impl shm.spawn.fd-inheritance] */
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
    case EAGAIN: /* the peer has bytes it did not read yet */
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

/* No control data is asked for, so descriptors that a peer sends along are closed by the kernel.
 * A datagram may be empty; on a stream, nothing read is its end.
 * r[impl shm.doorbell.wait] r[impl shm.doorbell.death] */
bool hub_doorbell_drain(int fd)
{
    char bytes[READ_SIZE];

    for (int i = 0; i < READ_ROUNDS; i++) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS))
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        if (n == 0 && !hub_doorbell_of_datagrams(fd))
            return false;
    }
    return true;
}
