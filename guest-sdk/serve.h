/* SPDX-License-Identifier: Apache-2.0 */
/* serve: runs a request and answers it; sends the first message of a guest and its last ones. The
 * loop is in serve_run.c. Serving thread, except guest_serve_streams. */
#ifndef GUEST_SDK_SERVE_H
#define GUEST_SDK_SERVE_H

#include "guest-sdk/guest_state.h"

/* Tells the host that the module is loaded, and waits at most 10 s for its response. 0, or the
 * failure. */
int guest_serve_announce(struct guest *guest);

/* Says whether the host is gone, or has said goodbye. */
bool guest_serve_deserted(const struct guest *guest);

/* The same, or whether this guest was asked to leave. */
bool guest_serve_over(const struct guest *guest);

/* Call these before and after a request runs. The first one says whether its response may be
 * published together with others; it publishes held responses if the method is not trusted to be
 * short. A request that runs inside another one is answered at once, so it gets false. After true
 * call the second one, which says whether the response may be held back. */
bool guest_serve_begin_hold(struct guest *guest, const struct hub_request *request);
bool guest_serve_end_hold(struct guest *guest, const struct hub_request *request);

/* Runs and answers one queued request that `may` accepts; NULL accepts all. False if there is none.
 */
bool guest_serve_one(struct guest *guest,
                     bool (*may)(void *user, const struct hub_request *request));

/* Runs and answers this request. */
void guest_serve_request(struct guest *guest, struct hub_request *request);

/* Runs and answers all queued requests, and delivers messages of roles that are due. True if there
 * were any: another one may come at once. */
bool guest_serve_queued(struct guest *guest);

/* Answers the innermost request, which hub_direct_serve_next returned, for a method that returned
 * bytes, or that failed if `status` is not 0. Returns whether the Response was sent directly. */
bool guest_serve_answer_bytes(struct guest *guest, int status, struct rapahub_bytes result);

/* Answers what is under way, says goodbye, and detaches. It waits for the host at most 2 s, and
 * besides for the methods that still run. r[impl shm.guest.detach] */
void guest_serve_leave(struct guest *guest);

/* The hub_inbound_calls_streams of a guest: finds the channels that a request names, and stores its
 * method in the request. Under the receive token. */
int guest_serve_streams(void *user, struct hub_request *request,
                        struct hub_channel_name names[HUB_CHANNELS_OF_CALL]);

#endif
