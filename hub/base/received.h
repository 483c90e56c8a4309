/* SPDX-License-Identifier: Apache-2.0 */
/* received: one message of a Unix socket with all descriptors that came with it. None of them is
 * dropped, for to drop the last copy of one is to close it, and that may take as long as its sender
 * wants: a message whose descriptors this process has no numbers for stays in the socket. */
#ifndef HUB_BASE_RECEIVED_H
#define HUB_BASE_RECEIVED_H

#include <stddef.h>
#include <sys/types.h>

#define HUB_RECEIVED_FDS_MAX 253 /* the kernel sends no more in one message */

struct hub_received {
    void
        *bytes; /* the caller's, for `room` bytes; what is longer is cut where messages have ends */
    size_t room;
    int flags;                     /* MSG_TRUNC where it was cut */
    int fds[HUB_RECEIVED_FDS_MAX]; /* CLOEXEC, and the receiver's from here on */
    unsigned fds_count;
};

/* How many bytes; of a stream those up to the first descriptors and no further. Never waits.
 * -EAGAIN where nothing is there or no memory, -ENFILE where a message is there and stays because
 * it has more descriptors than this process has numbers for, or what recvmsg says; all without a
 * diagnosis, and without descriptors. Only one thread at a time may read the socket.
 * r[impl hub.descriptor.elsewhere] */
ssize_t hub_received_take(int socket, struct hub_received *received);

#endif
