/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity: the identity of a node that runs. It signs certificates of clients where the node
 * has the authority, has the node's own certificate renewed, and knows which certificates are
 * revoked. A node whose identity is damaged serves on this machine; what needs the identity is
 * refused, with what is wrong. Owner.
 */
#ifndef CLUSTER_NODE_IDENTITY_NODE_IDENTITY_H
#define CLUSTER_NODE_IDENTITY_NODE_IDENTITY_H

#include "cluster/node/disk/store_thread.h"
#include "cluster/node/identity/own_identity.h"

struct cluster_node_identity;

struct cluster_node_identity_options { /* zero: the default given */
    const struct cluster_data_folder *folder;
    struct cluster_store_thread *disk; /* both live longer; required */
    uint64_t (*wall_s)(void);          /* seconds since 1970; the clock's */
};

/* Reads the identity. Waits for the disk. RAPAHUB_ENOMEM. */
int cluster_node_identity_create(const struct cluster_node_identity_options *options,
                                 struct cluster_node_identity **out);

/* The disk's thread has stopped. */
void cluster_node_identity_release(struct cluster_node_identity **identity);

/* Returns the identity, which stays until `changes` rises; NULL with a diagnosis: the node has
 * none, RAPAHUB_ESTATE, or it is damaged. */
const struct cluster_own_identity *cluster_node_identity_own(
    const struct cluster_node_identity *identity);

/* Rises with each new certificate of the node, and with each that is revoked. */
uint64_t cluster_node_identity_changes(const struct cluster_node_identity *identity);

/* Checks that this node has the authority. RAPAHUB_ESTATE, or what is wrong with it. */
int cluster_node_identity_check_ca(const struct cluster_node_identity *identity);

/* Signs a request of a client or a node under a name of this cluster, whose uuid need not be set,
 * and writes the certificate. Failures as above, and those of cluster_ca_sign. */
int cluster_node_identity_sign(const struct cluster_node_identity *identity,
                               struct rapahub_bytes request, struct cluster_peer_name name,
                               struct cluster_pem *out);

/* Says whether a certificate is revoked, by its serial number. */
bool cluster_node_identity_is_revoked(const struct cluster_node_identity *identity,
                                      const uint8_t *serial, size_t size);

/* Checks that a certificate may be revoked. -EINVAL: it is that of this node, which would refuse
 * itself. RAPAHUB_EFULL: too many are. RAPAHUB_ESTATE: the node has no certificate. */
int cluster_node_identity_check_revocable(const struct cluster_node_identity *identity,
                                          const struct cluster_revocation_serial *serial);

/* Notes that it is, once the metastore has that. RAPAHUB_EFULL, RAPAHUB_ENOMEM. */
int cluster_node_identity_revoke(struct cluster_node_identity *identity,
                                 const struct cluster_revocation_serial *serial);

/* The node's clock, in seconds since 1970. */
uint64_t cluster_node_identity_now(const struct cluster_node_identity *identity);

/* Says whether two thirds of the time of the node's certificate are over, and no new one is being
 * written. A node that has no identity is never due. */
bool cluster_node_identity_is_due(const struct cluster_node_identity *identity);

/* Makes a request for another certificate, for the key of the node. */
int cluster_node_identity_request(const struct cluster_node_identity *identity,
                                  struct cluster_pem *out);

/* Takes a certificate that the authority, on another node, has given: checked, and in use when it
 * is durable. -EINVAL: it is not this node's, or good no longer than the one of now.
 * RAPAHUB_EACCES: no authority that the node trusts has signed it, or it is not valid now.
 * RAPAHUB_EBUSY: one is being written. */
int cluster_node_identity_install(struct cluster_node_identity *identity,
                                  struct rapahub_bytes certificate);

/* On a node with the authority: has the certificate of the node renewed when two thirds of its time
 * are over. Returns when it is to be called again at the latest. */
uint64_t cluster_node_identity_step(struct cluster_node_identity *identity, uint64_t now_ns);

#endif
