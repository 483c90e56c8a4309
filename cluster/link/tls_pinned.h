/* SPDX-License-Identifier: Apache-2.0 */
/* tls_pinned: the certificate of a node is looked at by a side that trusts no authority yet, but
 * knows the digest of the certificate of one, which a person has told. Any thread.
 */
#ifndef CLUSTER_LINK_TLS_PINNED_H
#define CLUSTER_LINK_TLS_PINNED_H

struct x509_store_ctx_st;

/* For SSL_CTX_set_cert_verify_callback, with the digest, CLUSTER_CERTIFICATE_DIGEST bytes: takes
 * the authority with it out of what the other side has sent, and looks at the certificate of that
 * side by it, as is done by an authority that is trusted. Returns 1, or 0 with the error in the
 * store. */
int cluster_tls_pinned_verify(struct x509_store_ctx_st *store, void *digest);

#endif
