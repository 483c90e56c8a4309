/* SPDX-License-Identifier: Apache-2.0 */
/* call: the description of a call to a container, wherever the container lives. */
#ifndef RAPAHUB_CALL_H
#define RAPAHUB_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/id.h>
#include <rapahub/method.h>

/* Memory that a caller borrows and the target reads in place: bytes written there are not copied on
 * their way. rapahub_host_loan makes it. Only one thread at a time may use it. The struct must not
 * be copied. */
struct rapahub_loan {
    void *data;         /* a multiple of 64; NULL: sent, or dropped */
    size_t size;        /* bytes, at least as many as were requested */
    uint64_t handle[2]; /* private to the library */
};

/* Which containers of a pool a call goes to. The router of a host resolves it
 * (<rapahub/route.h>). */
enum rapahub_query_mode {
    RAPAHUB_QUERY_DIRECT,    /* the target */
    RAPAHUB_QUERY_LOCAL,     /* any container of the pool on this node */
    RAPAHUB_QUERY_PHYSICAL,  /* the container of the pool on the node `number` */
    RAPAHUB_QUERY_HASH,      /* the one to which the hash `number` belongs */
    RAPAHUB_QUERY_RANGE,     /* `count` containers from `offset` on */
    RAPAHUB_QUERY_BROADCAST, /* all */
    RAPAHUB_QUERY_DYNAMIC    /* those that the callback `route` of a container chooses */
};

struct rapahub_query {
    enum rapahub_query_mode mode;
    uint64_t number; /* DYNAMIC: whatever `route` is to choose by */
    uint32_t offset, count;
    uint32_t order; /* calls of one caller to one container with the same number, which is not 0,
                       keep their order */
    bool collect;   /* RANGE, BROADCAST: one that fails does not end the others */
    /* RANGE, BROADCAST: called for each container that has ended, in the order of their ends. The
     * first failure is the status of the call. May be NULL. */
    void (*each)(void *user, struct rapahub_container_id from, int status, const void *result);
    void *user;
    uint64_t reserved[4];
};

/* A call with a query of mode DYNAMIC, as the callback `route` is asked where it shall go. */
struct rapahub_route {
    uint64_t method_id;  /* FNV-1a of the canonical signature */
    uint64_t number;     /* the query has it */
    uint64_t node;       /* the node that asks */
    uint32_t containers; /* the pool has so many, from 0 on */
    uint32_t reserved;
};

/* All memory belongs to the caller, who may release it as soon as the function that was given the
 * call returns. */
struct rapahub_call {
    struct rapahub_container_id target;
    /* "add" with `types`, or a whole signature, "add(i64, i64) -> i64". They alone say how the
     * memory of arguments and result is read and written; the target has no part in it. A bare name
     * without types is refused with RAPAHUB_EINVAL. r[impl hub.call.memory] */
    const char *method;
    /* result, arguments, NULL, as RAPAHUB_TYPES makes them; NULL: those of the signature */
    const struct rapahub_type *const *types;
    const void *const *arguments; /* the address of each, then NULL; NULL if there are none */
    uint64_t timeout_ns;          /* nanoseconds; 0: the host's default */
    /* the last argument, of type bytes, begins at its start; a sent loan is no longer lent, an
     * unsent one still is; NULL: none */
    struct rapahub_loan *loan;
    bool view; /* result bytes may be shown where the guest wrote them (rapahub_host_call) */
    /* a place where the library keeps the method's id, 0 at first; NULL: it is not kept */
    uint64_t *method_id;
    /* the router of the host chooses the containers, all of the target's pool; NULL: the target */
    const struct rapahub_query *query;
};

#endif
