/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_tls: TLS 1.3 to a member of etcd, by OpenSSL, without a socket: bytes of the network go in
 * and out on one side, those of HTTP/2 on the other. Both sides have certificates, and that of the
 * member is for the host that was called. For one thread.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_TLS_H
#define CLUSTER_METASTORE_ETCD_ETCD_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cluster_etcd_tls;
struct ssl_ctx_st;

/* Reads FOLDER/ca.pem, whom it trusts, FOLDER/client.pem and FOLDER/client.key. -ENOENT,
 * RAPAHUB_EACCES (others may read the key), -EINVAL, with the name of the file; -ENOMEM. */
int cluster_etcd_tls_context(const char *folder, struct ssl_ctx_st **out);
void cluster_etcd_tls_context_release(struct ssl_ctx_st **context);

/* -ENOMEM. */
int cluster_etcd_tls_create(struct ssl_ctx_st *context, const char *host,
                            struct cluster_etcd_tls **out);
void cluster_etcd_tls_release(struct cluster_etcd_tls **tls);

/* Says whether the handshake has ended, and nothing was read since: a member that refuses a
 * certificate says so now, unless its words get lost with the connection. */
bool cluster_etcd_tls_is_unheard(const struct cluster_etcd_tls *tls);
bool cluster_etcd_tls_is_done(const struct cluster_etcd_tls *tls); /* the handshake */

/* Takes bytes that came from the network. -ENOMEM. */
int cluster_etcd_tls_feed(struct cluster_etcd_tls *tls, const uint8_t *bytes, size_t size);

/* Gives bytes for the network, at most `room`; they are the caller's from here on. */
size_t cluster_etcd_tls_take(struct cluster_etcd_tls *tls, uint8_t *to, size_t room);

/* Go on with the handshake first. Return how many bytes were read or written; 0: none now.
 * RAPAHUB_EACCES: one side refuses the certificate of the other; RAPAHUB_EPROTOCOL: the other side
 * does not speak TLS 1.3 and HTTP/2; RAPAHUB_ECLOSED: it has ended the session. */
ssize_t cluster_etcd_tls_read(struct cluster_etcd_tls *tls, uint8_t *to, size_t room);
ssize_t cluster_etcd_tls_write(struct cluster_etcd_tls *tls, const void *bytes, size_t size);

#endif
