/* SPDX-License-Identifier: Apache-2.0 */
/* origins: the clients of a node as makers of calls, over all their connections: their calls, and
 * the ends of these, kept until the client has them. An origin belongs to the user who used it
 * first, and ends some time after that user's program has gone. While it is connected it does not:
 * it may wait for a call for long, and say nothing.
 */
#ifndef CLUSTER_NODE_ORIGINS_H
#define CLUSTER_NODE_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/node/client_users.h"
#include "cluster/node/clients.h"
#include "hub/base/list.h"
#include "hub/base/states.h"

#define CLUSTER_ORIGINS_CALLS        65536               /* in all origins */
#define CLUSTER_ORIGINS_CALLS_OF     4096                /* in one */
#define CLUSTER_ORIGINS_CALLS_USER   16384               /* of one user who is no admin */
#define CLUSTER_ORIGINS_CALLS_SHARED 49152               /* of all who are no admins */
#define CLUSTER_ORIGINS_KEPT         (UINT64_C(8) << 20) /* bytes; with more no new call is taken */
#define CLUSTER_ORIGINS_KEPT_MOST    (UINT64_C(128) << 20) /* with more an end is not kept */
#define CLUSTER_ORIGINS_REQUESTS     16384 /* calls by shared memory that are open */

enum cluster_origin_call_state {
    CLUSTER_ORIGIN_TOLD,    /* the client is told where it goes */
    CLUSTER_ORIGIN_RUNNING, /* it was handed on */
    CLUSTER_ORIGIN_ENDED,
    CLUSTER_ORIGIN_STATES
};

extern const struct hub_states cluster_origins_states;

/* The ways by which a client's calls come. Each keeps their order, and none that of the other. */
enum cluster_origins_way { CLUSTER_ORIGINS_SOCKET, CLUSTER_ORIGINS_SHARED, CLUSTER_ORIGINS_WAYS };

/* The end of a call, or of one of its containers. */
struct cluster_origin_end {
    struct hub_list of_call, unsent; /* unsent: in the list of its origin, or in none */
    struct cluster_origin_call *call;
    uint8_t type; /* RESULT or EACH */
    int32_t status, application;
    uint32_t container, replica;
    uint64_t lineage;
    size_t text_size, payload_size;
    char bytes[]; /* the text, then the payload */
};

struct cluster_origin_call {
    struct hub_list of_origin;
    struct cluster_origin_call *next; /* in its bucket */
    struct cluster_origin *origin;
    uint64_t own;    /* this node's number for it */
    uint64_t number; /* the client's */
    uint64_t pool, method;
    uint32_t state;   /* enum cluster_origin_call_state */
    bool admin;       /* its client is an admin */
    bool lost;        /* an end could not be kept */
    bool shared;      /* it came by shared memory, and its end does not go by the socket */
    uint64_t request; /* gets its end, if it is `shared`; 0: that was given up */
    struct cluster_body_member *members; /* that were told; NULL: none */
    uint32_t members_count;
    struct hub_list ends;
};

struct cluster_origin {
    struct hub_list link;
    uint64_t number;
    struct cluster_client_user *user;
    uint64_t retry_ns, left_ns;    /* left_ns: since when it is not used */
    struct cluster_client *client; /* that uses it now; NULL: none */
    uint32_t calls_count;
    uint64_t done_below;                       /* all calls below have ended at the client */
    uint64_t said_below[CLUSTER_ORIGINS_WAYS]; /* the same, as it was said by each way */
    uint64_t kept;
    struct hub_list calls, unsent;
};

struct cluster_client;
struct cluster_origins;

int cluster_origins_create(struct cluster_client_users *users, struct cluster_origins **out);

/* Forgets all, without a word to anybody. */
void cluster_origins_release(struct cluster_origins **origins);

/* Finds or makes an origin. RAPAHUB_EACCES: it is another user's; -EBUSY, -ENOMEM. */
int cluster_origins_open(struct cluster_origins *origins, uint64_t number,
                         const struct cluster_client_user_id *id, struct cluster_origin **out);

/* Forgets an origin that has no calls any more. */
void cluster_origins_close(struct cluster_origins *origins, struct cluster_origin *origin);

/* The origin is not used now: from here on it waits for its end. */
void cluster_origins_leave(struct cluster_origins *origins, struct cluster_origin *origin);

/* Returns an origin that is not used and whose time is over, or NULL. */
struct cluster_origin *cluster_origins_expired(struct cluster_origins *origins, uint64_t now_ns);

/* Returns when to look for one, or HUB_NEVER. */
uint64_t cluster_origins_due(const struct cluster_origins *origins);

/* Find a call by the client's number, and by the node's. NULL: there is none. */
struct cluster_origin_call *cluster_origins_find(const struct cluster_origins *origins,
                                                 const struct cluster_origin *origin,
                                                 uint64_t number);
struct cluster_origin_call *cluster_origins_find_own(const struct cluster_origins *origins,
                                                     uint64_t own);

/* Adds a call, TOLD, with a copy of these members, from the budget of its user. -EBUSY: the client,
 * its user or all who are no admins have too many calls, or it takes no answers; the text says
 * which. -ENOMEM: there is no memory, or the user may have no more. */
int cluster_origins_add(struct cluster_origins *origins, struct cluster_origin *origin,
                        const struct cluster_clients_call *call, struct cluster_origin_call **out);

/* The call came by shared memory, with this request, which is not 0. -EBUSY: too many did. */
int cluster_origins_bind(struct cluster_origins *origins, struct cluster_origin_call *call,
                         uint64_t request);

/* The request has been answered, or is given up. */
void cluster_origins_unbind(struct cluster_origins *origins, struct cluster_origin_call *call);

/* Finds the call that came with a request, or NULL. */
struct cluster_origin_call *cluster_origins_find_request(const struct cluster_origins *origins,
                                                         uint64_t request);

/* Forgets a call and its ends. */
void cluster_origins_forget(struct cluster_origins *origins, struct cluster_origin_call *call);

/* Keeps an end of a call, to be sent, unless the call is `shared`. False: there is no room, and the
 * call is `lost`. */
bool cluster_origins_keep(struct cluster_origin_call *call, uint8_t type,
                          const struct cluster_clients_answer *answer);

/* All ends of the call are to be sent, once more, and by the socket. */
void cluster_origins_send_again(struct cluster_origin_call *call);

/* Returns the next end that is to be sent, or NULL. */
struct cluster_origin_end *cluster_origins_unsent(struct cluster_origin *origin);

struct cluster_origins_count {
    uint32_t origins, calls;
    uint64_t kept; /* bytes of ends */
};
struct cluster_origins_count cluster_origins_count(const struct cluster_origins *origins);

#endif
