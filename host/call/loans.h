/* SPDX-License-Identifier: Apache-2.0 */
/* loans: memory in a guest's segment that a caller fills before it calls. A loan holds the life of
 * its guest, so that the memory stays mapped even after the guest has ended. Any thread. */
#ifndef HOST_CALL_LOANS_H
#define HOST_CALL_LOANS_H

#include <rapahub/host.h>

#include "host/call/free_list.h"
#include "host/call/route.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/link/loan.h"

struct host_call;

/* Records are freed only when the host ends; there are as many as were ever in use at once. So a
 * stale handle names a record whose serial has changed. */
struct host_loans {
    struct hub_mutex lock;
    struct hub_list all GUARDED_BY(lock);
    struct host_free_list spare; /* besides, each thread keeps one in its caller */
};

void host_loans_open(struct host_loans *loans);

/* Drops all loans. No thread may use one any more. */
void host_loans_close(struct host_loans *loans);

/* rapahub_host_loan and rapahub_host_drop_loan. */
int host_loans_take(struct host_call *host, struct rapahub_container_id target, size_t size,
                    struct rapahub_loan *out);
void host_loans_drop(struct host_call *host, struct rapahub_loan *loan);

/* Finds the slot that a call sends: NULL if the target is the host itself. RAPAHUB_ESTALE if the
 * target is in another life now, -EINVAL if `last` is not at the start of the loan. */
int host_loans_find(const struct rapahub_loan *loan, const struct host_route *route,
                    const struct rapahub_bytes *last, struct hub_loan **out);

/* Does the same for a call to `life`. Returns NULL without a diagnosis if the call must use the
 * general path. */
struct hub_loan *host_loans_of(const struct rapahub_loan *loan, const struct host_life *life,
                               const struct rapahub_bytes *last);

/* Ends a loan that was sent by a call: it no longer belongs to the caller. */
void host_loans_settle(struct host_call *host, struct rapahub_loan *loan);

/* Does the same, but passes the hold on the life to the calling function. Returns NULL if nothing
 * was sent. `caller` is that of the calling thread. */
struct host_life *host_loans_inherit(struct host_call *host, struct host_caller *caller,
                                     struct rapahub_loan *loan);

#endif
