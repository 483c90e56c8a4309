/* SPDX-License-Identifier: Apache-2.0 */
/* direct_serve: receives, runs and answers requests on one thread, one after the other, without a
 * table. For a side that serves on one thread and has nothing else to do meanwhile. */
#ifndef HUB_CALL_DIRECT_SERVE_H
#define HUB_CALL_DIRECT_SERVE_H

#include "hub/call/inbound_calls.h"

/* Returns the next request, if one comes at once that is small, without metadata and without
 * streams, and no other is open: run it, and answer it like any other. NULL: wait for requests the
 * ordinary way. Only the serving thread. r[impl call.request-id.duplicate-detection] */
struct hub_request *hub_direct_serve_next(struct hub_inbound_calls *served);

/* Says whether others followed it in the ring when it was received: they are next. */
bool hub_direct_serve_waits(const struct hub_inbound_calls *served);

/* Answers it with bytes, if they are few and can be sent now; else false, and it is not answered.
 * With `more` the Response may be held back: hub_link_push. */
bool hub_direct_serve_bytes(struct hub_inbound_calls *served, struct rapahub_bytes bytes,
                            bool more);

/* Answers it: like hub_inbound_calls_answer_parts, which calls this. Returns 1 if the Response was
 * sent like bytes above, or held back; 0 if it is queued, or was sent the ordinary way. */
int hub_direct_serve_answer(struct hub_inbound_calls *served, const struct hub_response *response,
                            const struct hub_parts *body);

#endif
