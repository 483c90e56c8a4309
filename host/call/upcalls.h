/* SPDX-License-Identifier: Apache-2.0 */
/* upcalls: what guests ask of the host: to be ready, the signature of a method, a call to an
 * offer, or to a container of another guest, to which arguments and answer pass unchanged. Owner.
 */
#ifndef HOST_CALL_UPCALLS_H
#define HOST_CALL_UPCALLS_H

#include "host/process/life.h"

struct host_call;

#define HOST_UPCALLS_BATCH 64 /* of one guest in a turn, before the next one's */

/* Serves what is queued, at most so many: how many. More may be left; then the loop is woken. */
uint32_t host_upcalls_serve(struct host_call *host, struct host_life *life, uint32_t most);

/* Runs a request's method of an offer, and answers it. The caller uses the life. */
void host_upcalls_run(struct host_call *host, struct host_life *life, struct hub_request *request,
                      struct host_container *container);

/* The life has ended: what was sent on for it is answered to nobody. */
void host_upcalls_forget(struct host_call *host, struct host_life *life);

/* Calls back what was sent on for guests that do not wait any more. */
void host_upcalls_look(struct host_call *host);

/* The channels that a request of `user`, a life, names. Under the receive token, any thread. */
int host_upcalls_streams(void *user, struct hub_request *request,
                         struct hub_channel_name names[HUB_CHANNELS_OF_CALL]);

#endif
