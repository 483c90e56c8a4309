/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/nested_upcall.h"

#include <string.h>

#include "host/call/call.h"
#include "host/call/service.h"
#include "host/call/share.h"
#include "host/call/upcalls.h"
#include "host/owner/wait.h"
#include "hub/call/direct_wait.h"
#include "hub/wire/lifecycle.h"

/* Returns whether the last look-up still applies: the version, which only the owner changes, is the
 * same, and so are target and method. */
static bool is_known(const struct host_call *host, const struct host_nested_upcall *known,
                     const struct hub_request *request)
{
    const struct rapahub_bytes *target = &request->metadata.target;

    return known->version == hub_load_relaxed(&host->process.owner.registry.routes.version) &&
           known->method_id == request->method_id && known->target_size == target->size &&
           target->size > 0 && memcmp(known->target, target->data, target->size) == 0;
}

/* Looks up the method. Returns true if a service has it and it has no streams. */
static bool find(struct host_life *life, const struct hub_request *request)
{
    struct host_call *host = HOST_CALL(life->host);
    struct host_nested_upcall *known = &life->nested;
    const struct rapahub_bytes *target = &request->metadata.target;
    struct rapahub_container_id id;
    struct host_container *container = NULL;
    const struct hub_signature *signature = NULL;

    if (target->size > 0 && target->size <= sizeof known->target &&
        hub_lifecycle_decode_target(*target, &id) == 0 && host_share_check(life, id, false) == 0)
        container = host_containers_find(&HOST_REGISTRY(host)->containers, id);
    if (container && container->offer && container->state != HOST_CONTAINER_HELD)
        signature = host_methods_of_id(host_service_methods(container->offer), request->method_id);
    if (!signature || host_methods_takes_streams(signature->types + 1))
        return false;
    *known = (struct host_nested_upcall){.version =
                                             hub_load_relaxed(&HOST_REGISTRY(host)->routes.version),
                                         .method_id = request->method_id,
                                         .container = container,
                                         .target_size = target->size};
    memcpy(known->target, target->data, target->size);
    return true;
}

static bool is_offered(void *user, struct hub_request *request)
{
    struct host_life *life = user;

    return is_known(HOST_CALL(life->host), &life->nested, request) || find(life, request);
}

/* Each nested upcall uses more of the stack, as nested turns do. */
static bool is_deep(const struct host_call *host)
{
    return host->process.owner.depth + host->process.owner.nested >= HOST_WAIT_DEPTH_MAX;
}

/* Ends a nested upcall. Events are reported in a turn, and perhaps none is about to begin, so the
 * loop is woken for them. */
static void end(struct host_call *host)
{
    host->process.owner.nested--;
    if (host->process.owner.events.count > 0)
        host_loop_wake(&host->process.owner.loop);
}

uint32_t host_nested_upcall_serve(struct host_call *host, struct host_life *life, uint32_t most)
{
    const struct hub_direct_wait wait = {.calls = life->connection.calls,
                                         .served = life->connection.served,
                                         .may = is_offered,
                                         .user = life};
    struct hub_request *request;
    uint32_t count = 0;

    if (is_deep(host))
        return 0;
    for (; count < most && hub_direct_wait_next(&wait, &request) == HUB_DIRECT_REQUEST; count++) {
        host->process.owner.nested++;
        host_upcalls_run(host, life, request, life->nested.container);
        end(host);
    }
    return count;
}

uint32_t host_nested_upcall_serve_queued(struct host_call *host, struct host_life *life,
                                         uint32_t most)
{
    uint32_t count;

    if (is_deep(host) || (hub_load_relaxed(&life->work) & HOST_WORK_REQUEST) == 0)
        return 0;
    (void)hub_clear_bits(&life->work, HOST_WORK_REQUEST);
    host->process.owner.nested++;
    count = host_upcalls_serve(host, life, most);
    end(host);
    return count;
}
