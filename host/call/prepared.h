/* SPDX-License-Identifier: Apache-2.0 */
/* prepared: a call whose method is resolved and whose arguments are encoded. Any thread. */
#ifndef HOST_CALL_PREPARED_H
#define HOST_CALL_PREPARED_H

#include "host/call/caller.h"
#include "host/call/route.h"
#include "hub/wire/stream_ids.h"

struct host_call;

/* `storage` is what it was resolved from. All of it is released by host_prepared_release. */
struct host_prepared {
    uint64_t method_id;
    const struct rapahub_type *result;
    struct rapahub_bytes arguments; /* in the buffer; of bytes apart what stands before them */
    struct hub_loan *loan;          /* NULL: none */
    struct rapahub_bytes apart;     /* in the loan, or where the caller has them; or none */
    size_t aligned;                 /* as of an exchange */
    bool view;                      /* asked for */
    char name[RAPAHUB_METHOD_NAME_MAX + 1];
    struct hub_signature *storage; /* or NULL */
    bool of_offer;                 /* the host itself serves the call */
    struct hub_stream_marks marks; /* none where it is of an offer */
    struct host_buffer buffer;
};

/* RAPAHUB_ENOMETHOD, RAPAHUB_EARGUMENTS, -EMSGSIZE, -EINVAL: nothing is sent then. `waits`: the
 * caller's arguments hold until the call has ended, so large bytes may stay where they are. */
int host_prepared_make(struct host_call *host, const struct rapahub_call *call,
                       const struct host_route *route, bool waits, struct host_prepared *out);
void host_prepared_release(struct host_prepared *prepared);

#endif
