/* SPDX-License-Identifier: Apache-2.0 */
/* peer: the process at the other end of a Unix socket, as the kernel knows it.
 */
#ifndef CLUSTER_LINK_PEER_H
#define CLUSTER_LINK_PEER_H

#include <stdint.h>

/* Returns a pidfd of the process that made the socket, or -1 where the kernel does not say (before
 * Linux 6.5). */
int cluster_peer_pidfd(int fd);

/* Returns its number, which may belong to another process by now; 0: not known. */
int32_t cluster_peer_pid(int fd);

#endif
