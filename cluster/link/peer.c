/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/peer.h"

#include <sys/socket.h>
#include <sys/types.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int cluster_peer_pidfd(int fd)
{
    int pidfd = -1;
    socklen_t size = sizeof pidfd;

    return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0 ? pidfd : -1;
}

int32_t cluster_peer_pid(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (int32_t)peer.pid : 0;
}
