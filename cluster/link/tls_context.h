/* SPDX-License-Identifier: Apache-2.0 */
/* tls_context: the identity of this side of all links by TLS, and who is trusted: TLS 1.3 alone,
 * with AES-GCM or ChaCha20, a certificate of the cluster on both sides, no early data, no tickets.
 * Nothing of it is a state of the whole process. Sessions of a context end before it does.
 */
#ifndef CLUSTER_LINK_TLS_CONTEXT_H
#define CLUSTER_LINK_TLS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/identity/certificate.h"
#include "cluster/identity/uri.h"

struct bio_method_st;
struct bio_st;
struct ssl_ctx_st;
struct x509_store_ctx_st;

struct cluster_tls_context {
    struct ssl_ctx_st *ssl;
    struct bio_method_st *socket; /* bytes of a session */
    struct cluster_peer_name own; /* where it is not `pinned` */
    bool pinned;                  /* there is no own certificate, and one authority is trusted: */
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
};

/* How OpenSSL gets at the socket of a session, and has a certificate looked at. */
struct cluster_tls_context_parts {
    int (*read)(struct bio_st *bio, char *to, int size);
    int (*write)(struct bio_st *bio, const char *from, int size);
    long (*control)(struct bio_st *bio, int command, long number, void *pointer);
    int (*verify)(int sound, struct x509_store_ctx_st *store);
};

/* Reads FOLDER/ca.pem, whom it trusts, and FOLDER/NAME.pem and FOLDER/NAME.key, its own
 * certificate and key. All three are looked at, but for dates: -ENOENT: one is not there;
 * RAPAHUB_EACCES: it may not be read, others may read the key, or the certificate is of another
 * authority; -EINVAL: a file is damaged, or does not fit the others. The text names the file.
 * -ENOMEM. */
int cluster_tls_context_create(const char *folder, const char *name,
                               const struct cluster_tls_context_parts *parts,
                               struct cluster_tls_context **out);

/* Has no certificate, and trusts the authority with this digest. -ENOMEM. */
int cluster_tls_context_create_pinned(const uint8_t digest[CLUSTER_CERTIFICATE_DIGEST],
                                      const struct cluster_tls_context_parts *parts,
                                      struct cluster_tls_context **out);

/* Reads the own certificate and key anew: sessions that begin from now on have them. A failure, as
 * above, changes nothing. The certificate is to have the same name. */
int cluster_tls_context_renew(struct cluster_tls_context *context, const char *folder,
                              const char *name);
void cluster_tls_context_release(struct cluster_tls_context **context);

#endif
