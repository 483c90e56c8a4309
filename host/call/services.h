/* SPDX-License-Identifier: Apache-2.0 */
/* services: methods of this very process, offered to guests as a container. They run on the owner.
 */
#ifndef HOST_CALL_SERVICES_H
#define HOST_CALL_SERVICES_H

#include <rapahub/host.h>

#include "host/call/prepared.h"
#include "host/registry/containers.h"
#include "host/registry/methods.h"
#include "hub/call/calls.h"
#include "hub/wire/response.h"

struct host_call;

/* What is asked of an offer. */
struct host_services_request {
    uint64_t method_id;
    struct rapahub_bytes arguments;
    const struct hub_channel_list
        *channels; /* NULL: of this process, where a stream is a pointer */
};

/* Owner: runs a method and makes the answer a guest would have sent; always 0 but for -ENOMEM. */
int host_services_answer(struct host_call *host, struct host_container *container,
                         const struct host_services_request *request, struct hub_answer *answer);

/* The same for who sends it on, which `take` does: called once, or not at all where this fails. The
 * body is there as long. */
struct host_services_sink {
    void (*take)(void *user, const struct hub_response *response, struct rapahub_bytes body);
    void *user;
};
int host_services_serve(struct host_call *host, struct host_container *container,
                        const struct host_services_request *request,
                        const struct host_services_sink *sink);

/* A call of this process to an offer, from any thread: the owner carries it out. */
int host_services_call(struct host_call *host, struct host_container *container,
                       const struct host_prepared *prepared, uint64_t deadline_ns, void *result);

#endif
