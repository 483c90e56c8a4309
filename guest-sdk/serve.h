/* SPDX-License-Identifier: Apache-2.0 */
/* serve: runs a request and answers it; the first message of a guest and its last ones. The loop is
 * serve_run.c. */
#ifndef GUEST_SDK_SERVE_H
#define GUEST_SDK_SERVE_H

#include "guest-sdk/guest_state.h"

/* Tells the host that the module is loaded, and waits for its answer. */
int guest_serve_announce(struct guest *guest);

/* Is the host gone, or does it want this guest to go? */
bool guest_serve_deserted(const struct guest *guest);

/* Is it, or does this guest go by itself? */
bool guest_serve_over(const struct guest *guest);

/* Around a request that runs. Is it one of several in line? One that runs inside of another is
 * answered at once. And then: may its answer be held back? */
bool guest_serve_begin_hold(struct guest *guest, const struct hub_request *request);
bool guest_serve_end_hold(struct guest *guest, const struct hub_request *request);

/* Runs one queued request that `may` run now, and answers it: false where there is none. */
bool guest_serve_one(struct guest *guest,
                     bool (*may)(void *user, const struct hub_request *request));

/* Runs this one, and answers it. */
void guest_serve_request(struct guest *guest, struct hub_request *request);

/* Runs and answers all that wait. True where there was any: another one may come at once. */
bool guest_serve_queued(struct guest *guest);

/* Answers the innermost request, for a method that gave bytes, or failed where `status` is not 0.
 * True where they lay in the frame's loan and went directly, as of GUEST_RAW_DIRECT: then that is
 * gone. */
bool guest_serve_answer_bytes(struct guest *guest, int status, struct rapahub_bytes result);

/* Says goodbye, receives what is under way, answers it; at most 5 s. r[impl shm.guest.detach] */
void guest_serve_leave(struct guest *guest);

/* The channels a request names, for the link. It leaves the method in the request. */
int guest_serve_streams(void *user, struct hub_request *request,
                        struct hub_channel_name names[HUB_CHANNELS_OF_CALL]);

#endif
