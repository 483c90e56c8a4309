/* SPDX-License-Identifier: Apache-2.0 */
/* ca: the certificate authority of a cluster: a key, and a certificate that is signed by it. It
 * gives nodes and clients their certificates. A struct has one thread at a time.
 */
#ifndef CLUSTER_IDENTITY_CA_H
#define CLUSTER_IDENTITY_CA_H

#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/identity/certificate.h"

#define CLUSTER_CA_DAY_S  UINT64_C(86400)
#define CLUSTER_CA_LIFE_S (3650 * CLUSTER_CA_DAY_S) /* an authority */
#define CLUSTER_CA_PEER_S (90 * CLUSTER_CA_DAY_S)   /* a node, a client */
#define CLUSTER_CA_BACKDATE_S                                          \
    UINT64_C(300) /* a clock may be so late and take a new certificate \
                   */

struct cluster_ca { /* zeros: none */
    struct x509_st *certificate;
    struct evp_pkey_st *key;
    uint8_t uuid[CLUSTER_URI_UUID]; /* the cluster's */
};

/* Makes the authority of a cluster, valid from `now_s` on, in seconds since 1970. */
int cluster_ca_make(const uint8_t uuid[CLUSTER_URI_UUID], uint64_t now_s, struct cluster_ca *out);

/* Reads one from its two texts. -EINVAL: they are damaged, or do not fit each other. */
int cluster_ca_read(struct rapahub_bytes certificate, struct rapahub_bytes key,
                    struct cluster_ca *out);

/* Signs a certificate for the key of a request, under a name of this cluster. -EINVAL: the request
 * is refused, or the name is none. RAPAHUB_EACCES: the authority's own has expired, or the name is
 * of another cluster. The caller releases it. */
int cluster_ca_sign(const struct cluster_ca *ca, struct rapahub_bytes request,
                    const struct cluster_peer_name *name, uint64_t now_s, struct x509_st **out);

/* Releases it; also one that is all zeros. */
void cluster_ca_fini(struct cluster_ca *ca);

#endif
