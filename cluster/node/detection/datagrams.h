/* SPDX-License-Identifier: Apache-2.0 */
/* datagrams: the socket of a node for datagrams of other nodes. Anybody may send to it, so a node
 * reads at most so many in a second: beyond that it does not look, and the kernel drops them.
 * Owner; nothing here waits.
 */
#ifndef CLUSTER_NODE_DETECTION_DATAGRAMS_H
#define CLUSTER_NODE_DETECTION_DATAGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/link/host_port.h"

#define CLUSTER_DATAGRAMS_RATE  2000 /* that are read in a second */
#define CLUSTER_DATAGRAMS_BURST 256  /* and so many at once */
#define CLUSTER_DATAGRAMS_TURN  64   /* in one turn */

struct cluster_datagrams {
    int fd, epoll;
    uint64_t spent_ns;  /* datagrams that were read have used up the time until then */
    uint64_t resume_ns; /* the socket is not looked at before; 0: it is */
    uint32_t turn;      /* that may still be read in this one */
    uint32_t overflown; /* the count of the kernel, at the last datagram */
    uint64_t dropped;   /* by the kernel, since more came than are read */
    uint64_t taken, sent, unsent;
};

/* Opens the socket at an address with a port. -EADDRINUSE and others, with the diagnosis. */
int cluster_datagrams_open(struct cluster_datagrams *self,
                           const struct cluster_host_port_address *at);

/* Also of one that is not open. */
void cluster_datagrams_close(struct cluster_datagrams *self);

/* Begins a turn, in which a bounded number is taken. */
void cluster_datagrams_begin(struct cluster_datagrams *self, uint64_t now_ns);

/* Takes the next one, and returns its bytes: more than `max` of one that was longer, of which only
 * the first are there. 0: none is to be taken in this turn. */
size_t cluster_datagrams_take(struct cluster_datagrams *self, uint64_t now_ns, uint8_t *to,
                              size_t max);

/* Returns when a turn is to be taken though the descriptor is not readable, or HUB_NEVER. */
uint64_t cluster_datagrams_next(const struct cluster_datagrams *self);

/* Sends, or drops what the socket does not take. */
void cluster_datagrams_send(struct cluster_datagrams *self,
                            const struct cluster_host_port_address *to, const uint8_t *bytes,
                            size_t size);

#endif
