/* SPDX-License-Identifier: Apache-2.0 */
/* services: methods of the host's own process, which guests may call as a container. They run on
 * the owner. */
#ifndef HOST_CALL_SERVICES_H
#define HOST_CALL_SERVICES_H

#include <rapahub/host.h>

#include "host/call/prepared.h"
#include "host/registry/containers.h"
#include "host/registry/methods.h"
#include "hub/call/calls.h"
#include "hub/wire/response.h"

struct host_call;

/* A request to a service. */
struct host_services_request {
    uint64_t method_id;
    struct rapahub_bytes arguments;
    /* NULL: the request is of this process, and a stream is a pointer. */
    const struct hub_channel_list *channels;
};

/* Runs a method and makes the answer that a guest would have sent. Returns 0, or a failure if there
 * is no memory or the result cannot be encoded. Owner. */
int host_services_answer(struct host_call *host, struct host_container *container,
                         const struct host_services_request *request, struct hub_answer *answer);

/* Does the same for a caller that sends the answer on. `take` is called once, or not at all if this
 * fails. `body` is valid until it returns. Owner. */
struct host_services_sink {
    void (*take)(void *user, const struct hub_response *response, struct rapahub_bytes body);
    void *user;
};
int host_services_serve(struct host_call *host, struct host_container *container,
                        const struct host_services_request *request,
                        const struct host_services_sink *sink);

/* Makes a call of this process to a service. The owner carries it out. Any thread. */
int host_services_call(struct host_call *host, struct host_container *container,
                       const struct host_prepared *prepared, uint64_t deadline_ns, void *result);

#endif
