/* SPDX-License-Identifier: Apache-2.0 */
/* csr: requests for a certificate. A request carries a public key, and proves that its maker has
 * the private one; its names are empty, and not looked at, for the authority gives the name. Any
 * thread.
 */
#ifndef CLUSTER_IDENTITY_CSR_H
#define CLUSTER_IDENTITY_CSR_H

#include <rapahub/value.h>

#include "cluster/identity/pem.h"

struct evp_pkey_st;

/* Makes a request for a key, in PEM. */
int cluster_csr_make(struct evp_pkey_st *key, struct cluster_pem *out);

/* Reads one, and gives its public key, which the caller releases. -EINVAL: it is none, its key is
 * none of the curve P-256, or its signature is not by that key. */
int cluster_csr_read(struct rapahub_bytes pem, struct evp_pkey_st **out);

#endif
