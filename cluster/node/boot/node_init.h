/* SPDX-License-Identifier: Apache-2.0 */
/* node_init: the first node of a cluster gets an authority and a certificate, while it does not
 * run. It waits for the disk.
 */
#ifndef CLUSTER_NODE_BOOT_NODE_INIT_H
#define CLUSTER_NODE_BOOT_NODE_INIT_H

#include "cluster/identity/certificate.h"
#include "cluster/node/boot/boot.h"

struct cluster_node_init {
    uint8_t uuid[CLUSTER_URI_UUID]; /* the cluster's */
    uint32_t node;
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST]; /* the authority's certificate has it */
};

/* Starts the node in its data folder, which may be empty, gives it its identity at `now_s`, in
 * seconds since 1970, and stops it. After a crash at any step it can be repeated. Failures are
 * those of cluster_boot_run, RAPAHUB_EBUSY while a node has the folder, and those of
 * cluster_identity_setup_run. */
int cluster_node_init_run(const struct cluster_boot_options *options, uint64_t now_s,
                          struct cluster_node_init *out);

#endif
