/* SPDX-License-Identifier: Apache-2.0 */
/* tcp: sockets of links over a network. Nothing here waits.
 */
#ifndef CLUSTER_LINK_TCP_H
#define CLUSTER_LINK_TCP_H

#include "cluster/link/host_port.h"

/* Listens at an address; port 0: one that is free, and `address` is told which. -EADDRINUSE and
 * others of the socket, with the diagnosis. */
int cluster_tcp_listen(struct cluster_host_port_address *address, int *out);

/* Accepts the next one, CLOEXEC and non-blocking, and tells its address: 1; 0 if none waits;
 * -errno, without a diagnosis. */
int cluster_tcp_accept(int listener, int *out, struct cluster_host_port_address *from);

/* Begins to connect: the socket becomes writable when it is connected, and fails when it cannot be.
 * -errno, with the diagnosis. */
int cluster_tcp_connect(const struct cluster_host_port_address *address, int *out);

/* Closes a socket, at once: nothing can be in its queue that would take time. Bytes that wait there
 * are thrown away first, up to a bound, so that the other side gets the last ones before the end.
 */
void cluster_tcp_close(int *fd);

#endif
