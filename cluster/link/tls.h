/* SPDX-License-Identifier: Apache-2.0 */
/* tls: a session by TLS over a non-blocking socket, between two that have certificates of the same
 * cluster. The handshake, too, never waits, and has a deadline. Bytes go through only after it, to
 * and from the side that its certificate names. For one thread.
 */
#ifndef CLUSTER_LINK_TLS_H
#define CLUSTER_LINK_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/identity/certificate.h"
#include "cluster/identity/uri.h"
#include "cluster/link/transport.h"

#define CLUSTER_TLS_HANDSHAKE_NS UINT64_C(5000000000)
#define CLUSTER_TLS_PING_NS      UINT64_C(1000000000) /* see struct cluster_connection_options */
#define CLUSTER_TLS_SILENT_NS    UINT64_C(5000000000)

struct cluster_tls;
struct cluster_tls_context;

/* cluster_tls_context_create with what sessions need: see there. */
int cluster_tls_open(const char *folder, const char *name, struct cluster_tls_context **out);

/* A context of a client that has no certificate yet, and trusts the one authority whose certificate
 * has this SHA-256; the other side sends that certificate. The cluster is the one of the other side
 * then. -ENOMEM. */
int cluster_tls_open_pinned(const uint8_t digest[CLUSTER_CERTIFICATE_DIGEST],
                            struct cluster_tls_context **out);

/* Checks the dates of the own certificate. RAPAHUB_EACCES: it has expired, or is not valid yet. */
int cluster_tls_check_dates(const struct cluster_tls_context *context);

enum cluster_tls_side { CLUSTER_TLS_SERVER, CLUSTER_TLS_CLIENT };

/* Upwards. A constant table. */
struct cluster_tls_hooks {
    /* Says whether the certificate with this serial number has been revoked. */
    bool (*is_revoked)(void *user, const uint8_t *serial, size_t size);
};

struct cluster_tls_options {
    enum cluster_tls_side side;
    bool anonymous;       /* of a server: the other side need not show a certificate */
    uint64_t deadline_ns; /* when the handshake has ended, or fails; monotonic */
    const struct cluster_tls_hooks *hooks; /* NULL: no certificate has been revoked */
    void *user;
};

/* Makes a session for a socket, which may not be connected yet and stays the caller's. The other
 * side of a client is a node. -ENOMEM. */
int cluster_tls_create(const struct cluster_tls_context *context, int fd,
                       const struct cluster_tls_options *options, struct cluster_tls **out);

/* Goes on with the handshake. Returns 1: it has ended; 0: it goes on when the socket is ready for
 * cluster_tls_events. RAPAHUB_EACCES: one side has refused the certificate of the other;
 * RAPAHUB_EPROTOCOL: the other side does not speak TLS 1.3; -ETIMEDOUT; RAPAHUB_ECLOSED: it hung
 * up; -errno of the socket. */
int cluster_tls_handshake(struct cluster_tls *tls);

/* Returns what to poll the socket for while the handshake goes on. */
short cluster_tls_events(const struct cluster_tls *tls);

/* Says whether bytes can go through: the handshake has ended, though perhaps by a refusal of the
 * name of the other side. */
bool cluster_tls_can_speak(const struct cluster_tls *tls);

/* Says whether the other side has shown no certificate, once the handshake has ended. Then nothing
 * is known of it. */
bool cluster_tls_is_anonymous(const struct cluster_tls *tls);

/* Returns the name of the other side, once the handshake has ended, unless it is anonymous. */
const struct cluster_peer_name *cluster_tls_peer(const struct cluster_tls *tls);

/* Says whether the certificate of the other side has been revoked since its handshake ended. */
bool cluster_tls_is_revoked(const struct cluster_tls *tls);

/* For a connection whose `session` is a struct cluster_tls, which it owns. The handshake goes on by
 * it, where that has not ended. */
extern const struct cluster_transport_table cluster_tls_table;

void cluster_tls_release(struct cluster_tls **tls);

#endif
