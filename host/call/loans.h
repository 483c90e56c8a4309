/* SPDX-License-Identifier: Apache-2.0 */
/* loans: memory in a guest's segment that a caller fills before it calls. A loan holds the life of
 * its guest, so that the memory stays mapped whatever becomes of the guest. Any thread. */
#ifndef HOST_CALL_LOANS_H
#define HOST_CALL_LOANS_H

#include <rapahub/host.h>

#include "host/call/free_list.h"
#include "host/call/route.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/link/loan.h"

struct host_call;

/* Records stay until the host ends, as many as were ever out at once: so a handle that is stale
 * names one that has another serial. */
struct host_loans {
    struct hub_mutex lock;
    struct hub_list all GUARDED_BY(lock);
    struct host_free_list spare; /* and one in the scratch of each thread */
};

void host_loans_open(struct host_loans *loans);

/* Drops all that are out: nobody may use one any more. */
void host_loans_close(struct host_loans *loans);

/* The whole of rapahub_host_loan and rapahub_host_drop_loan. */
int host_loans_take(struct host_call *host, struct rapahub_container_id target, size_t size,
                    struct rapahub_loan *out);
void host_loans_drop(struct host_call *host, struct rapahub_loan *loan);

/* What a call is to send: its slot, NULL where the target is the host itself; RAPAHUB_ESTALE where
 * the target lives elsewhere now, -EINVAL where `last` does not lie at the start of the loan. */
int host_loans_find(const struct rapahub_loan *loan, const struct host_route *route,
                    const struct rapahub_bytes *last, struct hub_loan **out);

/* The same for a call to `life` that goes the long way where this is NULL: without a diagnosis. */
struct hub_loan *host_loans_of(const struct rapahub_loan *loan, const struct host_life *life,
                               const struct rapahub_bytes *last);

/* Behind the call: a loan that was sent is the caller's no more. */
void host_loans_settle(struct host_call *host, struct rapahub_loan *loan);

/* The same, but its life is held by who calls now: NULL where nothing was sent. */
struct host_life *host_loans_inherit(struct host_call *host, struct rapahub_loan *loan);

/* The same where the slot of this loan was sent by who has this scratch. */
struct host_life *host_loans_pass_on(struct host_call *host, struct host_caller *scratch,
                                     struct rapahub_loan *loan, struct hub_loan *slot);

#endif
