/* SPDX-License-Identifier: Apache-2.0 */
/* unix_transport: the sockets of nodes of this machine: where they are, a connection to one of
 * them, and whether the process at its other end lives.
 */
#ifndef CLUSTER_CLIENT_TRANSPORT_UNIX_TRANSPORT_H
#define CLUSTER_CLIENT_TRANSPORT_UNIX_TRANSPORT_H

#include <stdbool.h>

/* Connects to the socket at a path; NULL: to the first node at the default places. Never waits.
 * -ENOENT: no node listens there; -EAGAIN: so many wait to be accepted that there is no place;
 * -EACCES. `pidfd` is of its process, or -1 where the kernel does not say (before Linux 6.5). */
int cluster_unix_transport_connect(const char *path, int *fd, int *pidfd);

/* Says whether the process of a pidfd has ended. A hang-up of the socket says so as well, unless
 * another process has that, too. */
bool cluster_unix_transport_is_dead(int pidfd);

#endif
