/* SPDX-License-Identifier: Apache-2.0 */
/* route: calls as bytes, and a router, which carries out the calls of a host whose containers are
 * elsewhere. A program that joins several hosts, or hosts of several machines, gives each of them a
 * router.
 */
#ifndef RAPAHUB_ROUTE_H
#define RAPAHUB_ROUTE_H

#include <stdint.h>

#include <rapahub/call.h>
#include <rapahub/export.h>
#include <rapahub/id.h>
#include <rapahub/stream.h>
#include <rapahub/value.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_host;
struct rapahub_container_options;

/* A stream among the arguments: one of the two is set. */
struct rapahub_raw_stream {
    struct rapahub_source *source; /* the method reads it */
    struct rapahub_sink *sink;     /* the method writes it */
};

/* A call whose arguments are encoded. All memory is that of the one who makes it, until the
 * function that was given the call returns; streams until it has ended. */
struct rapahub_raw_call {
    struct rapahub_container_id target;
    const struct rapahub_query *query; /* NULL: the target itself */
    uint64_t method_id;                /* FNV-1a of the canonical signature */
    uint64_t chain;                    /* calls that are made to answer each other; 0: none */
    uint64_t timeout_ns;               /* 0: the host's default; a router gets the time left */
    struct rapahub_bytes arguments;    /* POSTCARD; a stream is its index in `streams` */
    const struct rapahub_raw_stream *streams; /* the list, too, is the router's until it answers */
    uint32_t streams_count;
    struct rapahub_uid uid;
    struct rapahub_guest_id from;     /* who calls; zeroed: this process */
    struct rapahub_pool_id from_pool; /* of the first container of that guest */
    uint64_t reserved[4];
};

/* The end of a call. */
struct rapahub_raw_answer {
    int status;                   /* 0, or a code of error.h */
    int application;              /* the method's own error, where that is RAPAHUB_EAPPLICATION */
    struct rapahub_bytes payload; /* the result in POSTCARD, if status is 0 */
    const char *text;             /* for people, if it is not; NULL: that of the code */
    /* rapahub_host_call_raw: a byte of the streams was read or written, or an end, so they are of
     * no use to another call. Else they are as they were. */
    bool moved;
};

/* Runs once, on the owner. The answer is valid until it returns. */
typedef void rapahub_on_raw(void *user, const struct rapahub_raw_answer *answer);

/* Begins a call to a container of this host, also to one that is `routed`. If it has a query, or if
 * the container is not in this host, the router gets it. A guest that is called so sees no
 * difference. With `chain` and `uid` the calls that it makes to answer this one have the same chain
 * and uid. on_done runs once, unless this function fails. -ENOENT, -EBUSY, -EINVAL and the other
 * errors of a call. rapahub_host_cancel ends it early. `out` may be NULL. This never
 * waits, so hosts may lead to each other. Any thread. */
RAPAHUB_API_CHECKED int rapahub_host_call_raw(struct rapahub_host *host,
                                              const struct rapahub_raw_call *call,
                                              rapahub_on_raw *on_done, void *user,
                                              struct rapahub_request_id *out);

/* Gets each call whose container is not in this host or is `routed`, and each that has a query or a
 * uid. Its functions run on the owner, and must not wait. They may call containers and answer calls
 * of the router. */
struct rapahub_router {
    /* Takes the call, and copies what it keeps of it; or refuses it with an error and its
     * diagnosis. rapahub_host_answer_raw ends a call that was taken, also before this returns. A
     * call that is not answered ends at its deadline. */
    int (*begin)(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id answer);
    /* The call has ended without an answer: it was cancelled, its time was up, its guest has ended,
     * or the router is replaced. An answer would be refused; if the call has streams, the router
     * has them until it answers all the same, or the host ends. NULL: not told. */
    void (*cancel)(void *user, struct rapahub_request_id answer);
    /* Visits the signatures of a container that is elsewhere, or fails. NULL: none are known. */
    int (*methods)(void *user, struct rapahub_container_id target,
                   void (*visit)(void *visitor, const char *signature), void *visitor);
    void *user;
    uint64_t reserved[4];
};

/* Sets the router, which is copied; NULL: none. The calls that an earlier router has taken end with
 * RAPAHUB_ECLOSED; it is told of each, and has no call when this returns. At the end of the host
 * they end with RAPAHUB_EDIED. Owner, not in a callback. */
RAPAHUB_API_CHECKED int rapahub_host_set_router(struct rapahub_host *host,
                                                const struct rapahub_router *router);

/* Inquiries: methods of this process that are answered later, by any thread, and that know who
 * asks. Those of rapahub_host_offer run on the owner to their end instead. */
struct rapahub_inquiries {
    const char *const *methods; /* signatures without streams, ended by NULL; copied */
    /* Takes a call of one of them, whose arguments are of its types, and copies what it keeps; or
     * refuses it with an error and its diagnosis. `call->from` is the life of the guest that asks.
     * rapahub_host_answer_raw ends a call that was taken, also before this returns; one that is not
     * answered ends at its deadline. On the owner; must not wait. */
    int (*begin)(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id answer);
    /* The call has ended without an answer: it was cancelled, its time was up, or its guest or the
     * host has ended. An answer would be refused. On the owner; must not wait. NULL: not told. */
    void (*cancel)(void *user, struct rapahub_request_id answer);
    void *user;
    /* The host lets go of `user`, at its end: nothing of the above is called after it. NULL: not
     * told. On the owner; must call nothing of the host. */
    void (*released)(void *user);
    uint64_t reserved[3];
};

/* Offers inquiries as a container of this process, to the host itself and to its guests, as long as
 * the host lasts. With a router or without, their calls are no calls for it. A guest has at most
 * its share of them (sec.call.share), and the host 8,192 of its own; one more is refused with
 * -EBUSY. They count with those that a router has. -EINVAL: what is given is not complete, or the
 * container is `routed` or `managed`; -ENOTSUP: a method has a stream; -EEXIST: the id is taken. */
RAPAHUB_API_CHECKED int rapahub_host_offer_inquiries(
    struct rapahub_host *host, const struct rapahub_container_options *options,
    const struct rapahub_inquiries *inquiries);

/* Ends a call that the router has taken, or an inquiry; the answer is copied. RAPAHUB_ESTALE: it
 * has ended, it was answered before, or there is no such call. Any thread. */
RAPAHUB_API_CHECKED int rapahub_host_answer_raw(struct rapahub_host *host,
                                                struct rapahub_request_id request,
                                                const struct rapahub_raw_answer *answer);

RAPAHUB_END_DECLS

#endif
