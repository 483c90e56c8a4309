/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_url: where a store in etcd is: etcd://HOST:PORT,HOST:PORT/PREFIX, or etcds:// with TLS. The
 * hosts are members of one etcd; a port that is not given is 2379.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_URL_H
#define CLUSTER_METASTORE_ETCD_ETCD_URL_H

#include "cluster/link/host_port.h"
#include "cluster/metastore/etcd/etcd_space.h"

#define CLUSTER_ETCD_MEMBERS_MAX 8

struct cluster_etcd_url {
    unsigned count;
    struct cluster_host_port members[CLUSTER_ETCD_MEMBERS_MAX];
    char prefix[CLUSTER_ETCD_PREFIX_MAX + 1];
};

/* RAPAHUB_ECONFIG: it is none, and the text says why. */
int cluster_etcd_url_parse(const char *text, struct cluster_etcd_url *out);

/* Writes HOST:PORT of a member, as it is written in a URL. */
#define CLUSTER_ETCD_URL_MEMBER (CLUSTER_HOST_PORT_HOST + 16)
void cluster_etcd_url_print(const struct cluster_host_port *member,
                            char to[CLUSTER_ETCD_URL_MEMBER]);

#endif
