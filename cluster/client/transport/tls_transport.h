/* SPDX-License-Identifier: Apache-2.0 */
/* tls_transport: connections to nodes in the network, with the certificate of this client. Its
 * files are read for each connection, so that a renewed one is used without a restart of the
 * program. A host that is written as a name may have several addresses, which are tried in turn.
 * Nothing here waits. For one thread.
 */
#ifndef CLUSTER_CLIENT_TRANSPORT_TLS_TRANSPORT_H
#define CLUSTER_CLIENT_TRANSPORT_TLS_TRANSPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cluster/link/host_port.h"
#include "cluster/link/name_lookup.h"
#include "cluster/link/tls.h"

struct cluster_tls_transport {
    char folder[PATH_MAX]; /* "": no node is in the network */
    struct cluster_tls_context *context;
    struct cluster_host_port to; /* the next four belong to it */
    struct cluster_name_lookup *lookup;
    uint64_t lookup_ns; /* it began */
    struct cluster_name_lookup_found found;
    unsigned tried; /* so many of the addresses */
};

/* Reads the files once, to find faults of them early. `folder` NULL: that of the user's settings.
 * The failures of cluster_tls_open. */
int cluster_tls_transport_init(struct cluster_tls_transport *self, const char *folder);
void cluster_tls_transport_fini(struct cluster_tls_transport *self);

/* Begins to connect. -EAGAIN: the host is being looked up. The failures of cluster_tls_open,
 * cluster_name_lookup_take and of the socket. The session ends before the next call. */
int cluster_tls_transport_connect(struct cluster_tls_transport *self,
                                  const struct cluster_host_port *to, int *fd,
                                  struct cluster_tls **session);

/* Says whether the same node is to be tried again: it is being looked up, or has other addresses.
 */
bool cluster_tls_transport_has_more(const struct cluster_tls_transport *self);

#endif
