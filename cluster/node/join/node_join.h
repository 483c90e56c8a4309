/* SPDX-License-Identifier: Apache-2.0 */
/* node_join: an empty folder becomes that of a node of a cluster: its key and its request are made
 * here, the node that has the authority gives the number and the certificate, and the folder gets
 * its number last. Until then no node has it, and it can be joined with again, with another token.
 * It waits for the disk and the network, on its caller's thread.
 */
#ifndef CLUSTER_NODE_JOIN_NODE_JOIN_H
#define CLUSTER_NODE_JOIN_NODE_JOIN_H

#include "cluster/identity/certificate.h"
#include "cluster/link/host_port.h"
#include "cluster/store/files.h"
#include "cluster/wire/body.h"

struct cluster_node_join_options {     /* zero: the default given */
    const struct cluster_files *files; /* the system's */
    const char *data;                  /* the folder; required, as all but the name is */
    const char *node;                  /* HOST:PORT of the node that has the authority */
    const char *token;
    const char *ca_hash;   /* SHA-256 of the authority's certificate, 64 hexadecimal digits */
    const char *name;      /* the node's, for people: node and its number */
    const char *metastore; /* URL of the metastore, if it is in etcd, and this node reaches it by
                              other addresses than the node that is asked: as that says */
    uint64_t wait_ns;      /* for the node's answer: 30 s */
};

struct cluster_node_joined {
    uint8_t cluster[CLUSTER_URI_UUID];
    uint32_t node;
    char place[CLUSTER_BODY_PLACE_MAX + 1]; /* "seat:HOST:PORT", or the URL of one in etcd */
};

/* Joins. -EINVAL: an option is none; RAPAHUB_EEXIST, RAPAHUB_EBUSY and others of
 * cluster_data_folder_open; those of cluster_join_request_run; RAPAHUB_EPROTOCOL, RAPAHUB_EACCES:
 * the answer is not what it must be; RAPAHUB_ECONFIG: the metastore of the cluster is another one
 * than that of the options. */
int cluster_node_join_run(const struct cluster_node_join_options *options,
                          struct cluster_node_joined *out);

#endif
