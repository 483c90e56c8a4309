/* SPDX-License-Identifier: Apache-2.0 */
/* client_handshakes: programs that have connected over the network and have not shown a certificate
 * yet. Each has a few seconds for that, and there are few of them: one more takes the place of the
 * oldest. Nothing here waits.
 */
#ifndef CLUSTER_NODE_CLIENT_HANDSHAKES_H
#define CLUSTER_NODE_CLIENT_HANDSHAKES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cluster/link/host_port.h"
#include "cluster/link/tls.h"

#define CLUSTER_HANDSHAKES_MAX       64
#define CLUSTER_HANDSHAKES_LISTENERS 8

/* Data of epoll events: these many from the first on. */
#define CLUSTER_HANDSHAKES_TAGS (CLUSTER_HANDSHAKES_LISTENERS + CLUSTER_HANDSHAKES_MAX)

struct cluster_handshake {
    int fd;                  /* -1: free */
    struct cluster_tls *tls; /* NULL: free */
    uint64_t deadline_ns;
    short interest; /* in epoll */
    char from[CLUSTER_HOST_PORT_TEXT];
};

struct cluster_client_handshakes {
    struct cluster_tls_context *context;
    char folder[PATH_MAX]; /* with the identity */
    const struct cluster_tls_hooks *hooks;
    void *user;     /* the hooks' */
    bool anonymous; /* sides that show no certificate arrive too */
    int epoll;
    uint32_t first_tag;
    unsigned listeners_count; /* 0: no client comes over the network */
    int listeners[CLUSTER_HANDSHAKES_LISTENERS];
    struct cluster_host_port_address addresses[CLUSTER_HANDSHAKES_LISTENERS];
    struct cluster_handshake all[CLUSTER_HANDSHAKES_MAX];
};

/* A program that has ended its handshake. The receiver owns socket and session. */
struct cluster_client_arrival {
    int fd;
    struct cluster_tls *tls; /* NULL: it did not get so far that it could be told anything */
    char from[CLUSTER_HOST_PORT_TEXT];
};

/* The hooks say which certificates are revoked. */
void cluster_client_handshakes_init(struct cluster_client_handshakes *self, int epoll,
                                    uint32_t first_tag, const struct cluster_tls_hooks *hooks,
                                    void *user);

/* Listens at addresses, "HOST:PORT" with commas between several, with the identity in a folder,
 * which is to be that of this node of this cluster. -EINVAL: an address is none; those of the files
 * and of the sockets. All with their diagnosis. */
int cluster_client_handshakes_open(struct cluster_client_handshakes *self, const char *listen,
                                   const char *folder, const struct cluster_peer_name *node);

/* The certificate of the node was renewed: handshakes that begin from now on show the new one. One
 * that cannot be read is logged, and the old one goes on. */
void cluster_client_handshakes_renew(struct cluster_client_handshakes *self);

/* Closes all of it; also one that is not open. */
void cluster_client_handshakes_close(struct cluster_client_handshakes *self);

/* Says whether the event is one of a listener; any other is one of a handshake. */
bool cluster_client_handshakes_is_listener(const struct cluster_client_handshakes *self,
                                           uint32_t tag);

/* Watches the listeners, or does not: there are no descriptors. */
void cluster_client_handshakes_hear(struct cluster_client_handshakes *self, bool hear);

/* Accepts one. Returns 1; 0: none waits. RAPAHUB_EBUSY: one was accepted, and took the place of
 * another one, which the diagnosis names; -errno of the listener, without a diagnosis. */
int cluster_client_handshakes_accept(struct cluster_client_handshakes *self, uint32_t tag);

/* Goes on with the handshake of an event. Returns 1: it has ended, by *out; 0: it goes on. A
 * failure has ended it, with the diagnosis, which names the address, and *out is to be closed. */
int cluster_client_handshakes_step(struct cluster_client_handshakes *self, uint32_t tag,
                                   struct cluster_client_arrival *out);

/* Returns the tag of a handshake whose time is over, or 0. */
uint32_t cluster_client_handshakes_late(const struct cluster_client_handshakes *self,
                                        uint64_t now_ns);

/* Returns when there is the first of these, or HUB_NEVER. */
uint64_t cluster_client_handshakes_due(const struct cluster_client_handshakes *self);

#endif
