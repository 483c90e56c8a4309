/* SPDX-License-Identifier: Apache-2.0 */
/* upcalls: requests of guests to the host: to be ready, or a call to a service or to a container of
 * another guest. Arguments and answer of the latter pass unchanged. Owner. */
#ifndef HOST_CALL_UPCALLS_H
#define HOST_CALL_UPCALLS_H

#include "host/process/life.h"

struct host_call;

#define HOST_UPCALLS_BATCH 64 /* requests of one guest in a turn, before the next guest */

/* Serves at most `most` of the queued requests. Returns how many. If more may be left, the loop is
 * woken. */
uint32_t host_upcalls_serve(struct host_call *host, struct host_life *life, uint32_t most);

/* Runs the service's method that a request names, and answers it. The caller uses the life. */
void host_upcalls_run(struct host_call *host, struct host_life *life, struct hub_request *request,
                      struct host_container *container);

/* Cancels the requests that were sent on for a life that has ended. Their answers are dropped. */
void host_upcalls_forget(struct host_call *host, struct host_life *life);

/* Cancels the requests that were sent on for guests that no longer wait. */
void host_upcalls_look(struct host_call *host);

/* Writes the names of the channels of a request. `user` is a life. Returns how many, or a failure.
 * Under the receive token, any thread. */
int host_upcalls_streams(void *user, struct hub_request *request,
                         struct hub_channel_name names[HUB_CHANNELS_OF_CALL]);

#endif
