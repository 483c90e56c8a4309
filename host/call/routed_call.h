/* SPDX-License-Identifier: Apache-2.0 */
/* routed_call: a call that a thread waits for, and that the router carries out. Any thread. */
#ifndef HOST_CALL_ROUTED_CALL_H
#define HOST_CALL_ROUTED_CALL_H

#include <rapahub/host.h>
#include <rapahub/route.h>

#include "host/call/routed.h"
#include "hub/call/calls.h"
#include "hub/wire/stream_ids.h"

struct host_call;

struct host_routed_order {
    const struct rapahub_call *call;
    struct rapahub_uid uid;
    uint64_t deadline_ns;
};

/* Returns as rapahub_host_call does. The owner takes turns meanwhile. */
int host_routed_call(struct host_call *host, const struct host_routed_order *order, void *result);

/* A call whose arguments are encoded. */
struct host_routed_request {
    struct rapahub_container_id target;
    uint64_t method_id;
    struct rapahub_bytes arguments;
    const struct hub_stream_marks *marks; /* NULL, or without marks: none */
    struct host_routed_origin origin;     /* without the ends of streams */
    bool foreign;                         /* a guest asked for it */
    uint64_t deadline_ns;
    const char *method;               /* for people */
    bool (*is_cancelled)(void *user); /* NULL: never */
    void *user;
};

/* Has the router carry it out, and waits for its end. Returns 0 and the answer, a Response; or a
 * failure with its diagnosis. If both the call and the caller's own stream fail, the failure of the
 * stream is reported. */
int host_routed_call_run(struct host_call *host, const struct host_routed_request *request,
                         struct hub_answer *answer);

#endif
