/* SPDX-License-Identifier: Apache-2.0 */
/* prepared: a call whose method is found and whose arguments are encoded. Any thread. */
#ifndef HOST_CALL_PREPARED_H
#define HOST_CALL_PREPARED_H

#include "host/call/caller.h"
#include "host/call/route.h"
#include "hub/wire/stream_ids.h"

struct host_call;

/* A prepared call. The signature that it was resolved from is in `storage`. host_prepared_release
 * releases all of it. */
struct host_prepared {
    uint64_t method_id;
    const struct rapahub_type *result;
    struct rapahub_bytes arguments; /* in the buffer; only those before the bytes apart */
    struct hub_loan *loan;          /* NULL: none */
    struct rapahub_bytes apart;     /* in the loan, or in the caller's memory; or none */
    size_t aligned;                 /* the same as in host_request */
    bool view;                      /* the caller asked for a view */
    char name[RAPAHUB_METHOD_NAME_MAX + 1];
    struct hub_signature *storage; /* or NULL */
    bool of_offer;                 /* the host itself serves the call */
    struct hub_stream_marks marks; /* empty if the call goes to a service */
    struct host_buffer buffer;
};

/* Prepares a call. RAPAHUB_ENOMETHOD, RAPAHUB_EARGUMENTS, -EMSGSIZE, -EINVAL: nothing is sent then.
 * `waits`: the caller's arguments stay valid until the call has ended, so large bytes need not be
 * copied. */
int host_prepared_make(struct host_call *host, const struct rapahub_call *call,
                       const struct host_route *route, bool waits, struct host_prepared *out);
void host_prepared_release(struct host_prepared *prepared);

#endif
