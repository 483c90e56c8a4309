/* SPDX-License-Identifier: Apache-2.0 */
/* own_identity: the certificate and the key of a node, the authorities that it trusts, and the
 * authority itself where the node has it, as they are in its data folder: read and checked. A
 * struct has one thread at a time.
 */
#ifndef CLUSTER_NODE_IDENTITY_OWN_IDENTITY_H
#define CLUSTER_NODE_IDENTITY_OWN_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/identity/ca.h"
#include "cluster/identity/revocation.h"
#include "cluster/node/identity/identity_files.h"

struct cluster_own_identity { /* zeros: none */
    struct cluster_ca ca;     /* zeros: the node does not have the authority */
    struct evp_pkey_st *key;
    struct x509_st *certificate;
    struct x509_st *anchors[CLUSTER_CERTIFICATE_ANCHORS]; /* authorities that it trusts */
    size_t anchors_count;
    struct cluster_peer_name name; /* in the certificate */
    struct cluster_revocation_serial serial;
    uint64_t from_s, until_s;
};

/* The node whose identity it shall be. */
struct cluster_own_identity_owner {
    const uint8_t *uuid; /* the cluster's */
    uint32_t node;
};

/* Reads the identity of a node. Returns 0; 1 if it has none; or a failure that names the file and
 * the remedy: RAPAHUB_EACCES: others may read a key. -EINVAL: a file is damaged, or its content is
 * that of another cluster or node. Dates are not looked at. */
int cluster_own_identity_load(const struct cluster_identity_files *files,
                              const struct cluster_own_identity_owner *owner,
                              struct cluster_own_identity *out);

/* Reads the authority. Returns as above. */
int cluster_own_identity_load_ca(const struct cluster_identity_files *files,
                                 const struct cluster_own_identity_owner *owner,
                                 struct cluster_ca *out);

/* Has the authority sign another certificate for the key, and gives it, and its text. */
int cluster_own_identity_renew(const struct cluster_own_identity *own, uint64_t now_s,
                               struct x509_st **out, struct cluster_pem *pem);

/* Takes a certificate in place of that of now, if it is this node's. */
int cluster_own_identity_take(struct cluster_own_identity *own, struct x509_st *certificate,
                              const struct cluster_own_identity_owner *owner);

/* Checks that a certificate may take the place of that of now: it is this node's, by an authority
 * that the node trusts, valid now and for longer. -EINVAL, RAPAHUB_EACCES. */
int cluster_own_identity_check_next(const struct cluster_own_identity *own,
                                    struct x509_st *certificate,
                                    const struct cluster_own_identity_owner *owner, uint64_t now_s);

/* The certificates of the authorities that a node trusts, as a text. */
struct cluster_own_identity_anchors {
    char text[CLUSTER_CERTIFICATE_ANCHORS * CLUSTER_PEM_SIZE_MAX + 1]; /* ended by a 0 */
    size_t size;
};
int cluster_own_identity_write_anchors(const struct cluster_own_identity *own,
                                       struct cluster_own_identity_anchors *out);

void cluster_own_identity_fini(struct cluster_own_identity *own);

#endif
