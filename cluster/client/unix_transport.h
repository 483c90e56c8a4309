/* SPDX-License-Identifier: Apache-2.0 */
/* unix_transport: the sockets of nodes of this machine: where they are, a connection to one of
 * them, and whether the process at its other end lives.
 */
#ifndef CLUSTER_CLIENT_UNIX_TRANSPORT_H
#define CLUSTER_CLIENT_UNIX_TRANSPORT_H

#include <stdbool.h>

#define CLUSTER_UNIX_NODES_MAX 8
#define CLUSTER_UNIX_PATH      108

struct cluster_unix_transport {
    unsigned count; /* 0: the default places are looked at */
    unsigned next;  /* is tried next */
    char paths[CLUSTER_UNIX_NODES_MAX][CLUSTER_UNIX_PATH];
};

/* Takes the list of the options, ended by NULL, or NULL. -EINVAL: an entry is no "unix:PATH", a
 * path is too long, there are too many, or none. */
int cluster_unix_transport_init(struct cluster_unix_transport *transport, const char *const *nodes);

/* Connects to the node whose turn it is, and passes the turn on. Never waits. -ENOENT: no node
 * listens there; -EAGAIN: so many wait to be accepted that there is no place; -EACCES. `pidfd` is
 * of its process, or -1 where the kernel does not say (before Linux 6.5). */
int cluster_unix_transport_connect(struct cluster_unix_transport *transport, int *fd, int *pidfd);

/* Says whether the process of a pidfd has ended. A hang-up of the socket says so as well, unless
 * another process has that, too. */
bool cluster_unix_transport_is_dead(int pidfd);

#endif
