/* SPDX-License-Identifier: Apache-2.0 */
/* joiners: links to sides that have shown no certificate: they may ask to join, once, and say
 * nothing else. There are few of them, each has a few seconds, and one more takes the place of the
 * oldest that has not asked yet. Owner; nothing waits.
 */
#ifndef CLUSTER_NODE_JOIN_JOINERS_H
#define CLUSTER_NODE_JOIN_JOINERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/link/connection.h"
#include "cluster/link/host_port.h"
#include "cluster/link/tls.h"
#include "hub/base/closer.h"

#define CLUSTER_JOINERS_MAX 8
#define CLUSTER_JOINERS_NS \
    UINT64_C(10000000000) /* how long one has, from the end of its handshake */

/* Upwards. A constant table. */
struct cluster_joiners_hooks {
    /* A side has asked; all of it is good until this returns. cluster_joiners_answer answers it,
     * later, by this number. A failure, with its diagnosis, refuses it. */
    int (*join)(void *user, uint64_t number, const struct cluster_body_join *join);
    /* A side was refused, or has broken a rule, with the diagnosis. */
    void (*refused)(void *user);
};

struct cluster_joiners;

struct cluster_joiner {
    struct cluster_joiners *joiners;
    struct cluster_connection *connection; /* NULL: free */
    uint64_t number;
    uint64_t deadline_ns;
    bool asked;        /* it has said JOIN */
    bool answered;     /* it is closed when that is sent */
    uint32_t interest; /* in epoll */
    char from[CLUSTER_HOST_PORT_TEXT];
};

struct cluster_joiners {
    int epoll;
    uint32_t first_tag;        /* data of epoll events: CLUSTER_JOINERS_MAX from this on */
    struct hub_closer *closer; /* set by its maker */
    const struct cluster_joiners_hooks *hooks;
    void *user;
    uint64_t last; /* number that was given */
    struct cluster_joiner all[CLUSTER_JOINERS_MAX];
};

void cluster_joiners_init(struct cluster_joiners *self, int epoll, uint32_t first_tag,
                          const struct cluster_joiners_hooks *hooks, void *user);

/* Takes a side whose handshake has ended; socket and session are the joiners' from here on. */
void cluster_joiners_take(struct cluster_joiners *self, int fd, struct cluster_tls *tls,
                          const char *from);

/* Serves the one of an event. */
void cluster_joiners_serve(struct cluster_joiners *self, uint32_t tag);

/* Returns when the next one is to be served, or has had its time; or HUB_NEVER. */
uint64_t cluster_joiners_due(const struct cluster_joiners *self);
void cluster_joiners_do_due(struct cluster_joiners *self, uint64_t now_ns);

/* Answers one; NULL: it is refused, with the diagnosis. A side that has gone is no fault: its
 * number is lost. */
void cluster_joiners_answer(struct cluster_joiners *self, uint64_t number,
                            const struct cluster_body_join_ok *ok);

/* Closes all. */
void cluster_joiners_close(struct cluster_joiners *self);

#endif
