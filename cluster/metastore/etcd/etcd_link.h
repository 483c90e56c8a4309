/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_link: a connection to a member of etcd: a socket, TLS or none, and a session of gRPC, which
 * takes calls from the beginning on. Nothing here waits. For one thread.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_LINK_H
#define CLUSTER_METASTORE_ETCD_ETCD_LINK_H

#include "cluster/link/host_port.h"
#include "cluster/metastore/etcd/grpc.h"

struct cluster_etcd_link;
struct ssl_ctx_st;

struct cluster_etcd_link_options {
    const struct cluster_host_port_address *address;
    const struct cluster_host_port *member; /* its name in the URL */
    struct ssl_ctx_st *tls;                 /* NULL: none */
    int epoll;                              /* is readable when there is something to do */
    const struct cluster_grpc_hooks *hooks;
    void *user;
};

/* Begins to connect. The failures of the socket, with the diagnosis. */
int cluster_etcd_link_open(const struct cluster_etcd_link_options *options,
                           struct cluster_etcd_link **out);
void cluster_etcd_link_release(struct cluster_etcd_link **link);

struct cluster_grpc *cluster_etcd_link_grpc(struct cluster_etcd_link *link);

/* Moves bytes that are there, up to a bound. A failure ends the connection: that of the socket, of
 * TLS, of cluster_grpc_receive; RAPAHUB_ECLOSED. Not from inside of a hook. */
int cluster_etcd_link_step(struct cluster_etcd_link *link);

/* Only sends. */
int cluster_etcd_link_flush(struct cluster_etcd_link *link);

/* Says whether bytes have come since it was asked last. */
bool cluster_etcd_link_was_heard(struct cluster_etcd_link *link);

#endif
