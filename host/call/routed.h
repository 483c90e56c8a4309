/* SPDX-License-Identifier: Apache-2.0 */
/* routed: what a call needs beyond its host_async to be carried out by the router of the host: see
 * router.h. The lock of asyncs protects the lists and what is marked. */
#ifndef HOST_CALL_ROUTED_H
#define HOST_CALL_ROUTED_H

#include <rapahub/route.h>

#include "host/call/routed_streams.h"
#include "hub/base/atomic.h"
#include "hub/base/list.h"

/* How many calls of its own a host may have at its router. Requests of guests have their share:
 * host_async_table_share. */
#define HOST_ROUTED_OWN_MAX 8192

/* How many ended requests of one guest may have streams that the router still has. They are in no
 * share any more. */
#define HOST_ROUTED_LENT_MAX 64

struct host_async;
struct host_asyncs;
struct host_inquiries;

/* An answer that the owner has not passed on yet. The text ends with a NUL. */
struct host_routed_answer {
    int status, application;
    char text[256];
    size_t size;
    uint8_t payload[];
};

enum host_routed_state {
    HOST_ROUTED_NEW,   /* the router does not have it */
    HOST_ROUTED_TAKEN, /* the router has it, or is being given it */
    HOST_ROUTED_ENDED  /* it was answered, or it ends without an answer */
};

/* What the maker of a call says of it. */
struct host_routed_origin {
    const struct rapahub_query *query; /* copied; NULL: none */
    struct rapahub_uid uid;
    struct rapahub_guest_id from;
    struct rapahub_pool_id from_pool;
    struct host_routed_ends *ends; /* held by the record; NULL: it has no streams */
    uint64_t patience_ns;          /* with these: how long nothing need move */
};

/* Tells what is known of a call that has no record, and turns out to be for the router. Any thread,
 * which alone has the call. */
struct host_routed_origin host_routed_origin_of(const struct host_async *async);

struct host_routed {
    struct host_async *async;         /* NULL: it has ended, and the router still has its streams */
    uint64_t number;                  /* then: the number of the call */
    bool counted;                     /* the call is one of the host itself */
    struct host_routed_origin origin; /* its query is the one below, or NULL */
    struct rapahub_query query;
    bool returned; /* under the lock: the router has answered too late, and uses nothing of it */
    /* They carry the call out instead of the router; NULL: the router does. Owner. */
    const struct host_inquiries *inquiries;
    enum host_routed_state state;      /* under the lock */
    struct host_routed_answer *answer; /* under the lock; NULL: none */
    struct hub_list link;              /* in one of the router's lists; under the lock */
};

/* The router of a host. */
struct host_router {
    struct rapahub_router router; /* owner; without `begin`: none */
    struct hub_a32 set;           /* 1: there is one; changes under the write lock of routes */
    struct hub_list open;         /* calls that the router has; under the lock of asyncs */
    struct hub_list ended;        /* calls that the owner is to end; under the lock of asyncs */
    struct hub_a32 ends;          /* how many these are; changes under that lock */
    struct hub_list lent;         /* records whose streams the router has; under that lock */
    uint64_t due_ns;              /* no open call is overdue before; owner */
};

/* Gives the call a record, so that it goes to the router. -EBUSY if as many calls of the host as
 * may are there; -ENOMEM. Any thread, which alone has the call. */
int host_routed_add(struct host_asyncs *asyncs, struct host_async *async,
                    const struct host_routed_origin *origin);

/* Frees the record of a call that has ended, or was not begun. Accepts a call without one. Any
 * thread, which alone has the call. */
void host_routed_free(struct host_asyncs *asyncs, struct host_async *async);

/* Returns when a call that the router has is overdue: a while after the last byte of its streams
 * moved, or at its deadline. Any thread. */
uint64_t host_routed_due(const struct host_routed *routed);

/* Keeps the record of a call that ends without an answer, if the router has streams of it and has
 * not answered too late already, until host_routed_take_back is called with the number of the call.
 * That returns whether there was such a record, and frees it. host_routed_take_back_all frees all.
 * Any thread. */
void host_routed_lend(struct host_router *router, struct host_asyncs *asyncs,
                      struct host_async *async);
bool host_routed_take_back(struct host_router *router, struct host_asyncs *asyncs, uint64_t number);
void host_routed_take_back_all(struct host_router *router, struct host_asyncs *asyncs);

/* Says whether a guest may make one more request with streams: -EBUSY if the router still has those
 * of HOST_ROUTED_LENT_MAX that have ended. Any thread. */
int host_routed_check_lent(struct host_router *router, struct host_asyncs *asyncs,
                           struct rapahub_guest_id from);

/* Has the owner end a call that the router has. host_routed_cancel does nothing for any other call.
 * Under the lock of asyncs; the caller wakes the loop. */
void host_routed_end(struct host_router *router, struct host_routed *routed);
void host_routed_cancel(struct host_router *router, struct host_async *async);

#endif
