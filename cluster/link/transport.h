/* SPDX-License-Identifier: Apache-2.0 */
/* transport: how the bytes of a connection get through its socket: as they are, or by a session
 * that protects them. Nothing here waits, and no signal is raised for a side that has hung up.
 */
#ifndef CLUSTER_LINK_TRANSPORT_H
#define CLUSTER_LINK_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hub/base/received.h"

#define CLUSTER_TRANSPORT_FDS 2

/* A constant table. `self` is the session; a plain socket has none. A failure comes with its
 * diagnosis, and ends the connection; RAPAHUB_ECLOSED: the other side hung up. */
struct cluster_transport_table {
    /* Returns how many bytes were received; 0: none are there now. */
    int (*receive)(void *self, int fd, struct hub_received *received);
    /* Returns how many bytes were sent, and with the first of them CLUSTER_TRANSPORT_FDS
     * descriptors, unless that is NULL; 0: none can be now, and it is called again with at least
     * the same bytes. */
    ssize_t (*send)(void *self, int fd, const void *bytes, size_t size, const int *fds);
    /* Returns what to poll the socket for: POLLIN, POLLOUT. `waits`: bytes wait to be sent. */
    short (*events)(const void *self, bool waits);
    /* Returns when `receive` is to be called at the latest, though nothing has come; or HUB_NEVER.
     */
    uint64_t (*due)(const void *self);
    /* Ends the session, before its socket is closed. */
    void (*release)(void *self);
};

struct cluster_transport {
    const struct cluster_transport_table *table;
    void *self;
    int fd;
};

/* The socket itself. Descriptors go through it, if it is a Unix socket. */
extern const struct cluster_transport_table cluster_transport_socket;

#endif
