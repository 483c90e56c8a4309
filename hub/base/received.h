/* SPDX-License-Identifier: Apache-2.0 */
/* received: receives a message of a Unix socket with all its descriptors. None is dropped: dropping
 * the last copy of a descriptor closes it, which may take as long as its sender wants. If this
 * process has no numbers left for the descriptors of a message, the message stays in the socket. */
#ifndef HUB_BASE_RECEIVED_H
#define HUB_BASE_RECEIVED_H

#include <stddef.h>
#include <sys/types.h>

#define HUB_RECEIVED_FDS_MAX 253 /* the kernel's limit for one message */

struct hub_received {
    void *bytes; /* the caller's `room` bytes; longer messages are cut if they have boundaries */
    size_t room;
    int flags;                     /* MSG_TRUNC if it was cut */
    int fds[HUB_RECEIVED_FDS_MAX]; /* CLOEXEC; they belong to the receiver */
    unsigned fds_count;
};

/* Receives and returns the number of bytes; from a stream, those up to the first descriptors. Never
 * waits. -EAGAIN if there is no message or no memory. -ENFILE if a message stays because it has
 * more descriptors than this process has numbers for. Other errors are those of recvmsg. An error
 * comes without a diagnosis and without descriptors. Only one thread at a time may read the socket.
 * r[impl hub.descriptor.elsewhere] */
ssize_t hub_received_take(int socket, struct hub_received *received);

#endif
