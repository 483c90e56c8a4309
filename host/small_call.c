/* SPDX-License-Identifier: Apache-2.0 */
#include "host/small_call.h"

#include <errno.h>

#include "host/corks.h"
#include "host/exchange.h"
#include "host/host.h"
#include "hub/wire/payload.h"

#define SMALL 512 /* bytes of metadata and arguments; more is worth the long way */

void host_small_call_note(struct rapahub_host *host, const struct host_route *route)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);

    if (!scratch || !route->life || !route->container || host_scratch_is_inside(scratch))
        return;
    scratch->target = route->container->id;
    scratch->handle = route->handle;
    host_scratch_set_place(scratch, route->life, route->container, route->version);
}

static bool is_there(const struct host_scratch *scratch, struct rapahub_container_id target)
{
    return scratch->target.pool.major == target.pool.major &&
           scratch->target.pool.minor == target.pool.minor &&
           scratch->target.container == target.container;
}

static bool takes_streams(const struct rapahub_type *const *types)
{
    while (*types && !hub_signature_is_stream(*types))
        types++;
    return *types != NULL;
}

/* The id is known, and so the name need not be looked at. */
static uint64_t known_id(const struct rapahub_call *call)
{
    bool plain = call->method_id && call->types && !call->loan && !call->view &&
                 (call->arguments || !call->types[1]) && !takes_streams(call->types + 1);

    return plain ? hub_peek64((const struct hub_a64 *)(const void *)call->method_id) : 0;
}

static int encode(struct rapahub_host *host, const struct host_scratch *scratch,
                  const struct rapahub_call *call, struct hub_writer *writer)
{
    static const void *const none[] = {NULL};
    uint64_t chain = host_threads_is_owner(host) ? host->chain : 0;

    if ((scratch->handle | chain) == 0)
        hub_writer_byte(writer, 0); /* no metadata */
    else
        writer->size = host_exchange_head(scratch->handle, chain, writer->data);
    hub_payload_put_arguments(writer, call->types + 1, call->arguments ? call->arguments : none);
    return writer->failure < 0 ? -EAGAIN : 0;
}

static int send_and_wait(struct rapahub_host *host, struct host_life *life,
                         const struct hub_call *request)
{
    struct hub_calls *calls = life->connection.calls;
    uint64_t number;
    int r;

    host_corks_push(host);
    r = hub_calls_begin(calls, request, &number);
    return r < 0 ? r : host_exchange_wait(host, calls, number, false);
}

/* Inside. What was not executed is tried again, the long way; also to say what is wrong. */
static int call_there(struct rapahub_host *host, struct host_scratch *scratch,
                      const struct rapahub_call *call, uint64_t id, void *result)
{
    struct host_life *life = host_scratch_life(scratch);
    uint8_t data[SMALL];
    struct hub_writer writer = {.data = data, .capacity = sizeof data};
    int r = encode(host, scratch, call, &writer);

    if (r < 0)
        return r;
    if (host_scratch_shows(scratch))
        host_scratch_hide(scratch);
    const struct hub_call request = {.method_id = id,
                                     .payload = {.head = {data, writer.size}},
                                     .timeout_ns = call->timeout_ns ? call->timeout_ns
                                                                    : host->options.call_timeout_ns,
                                     .answer = &scratch->quick,
                                     .at_once = true};

    r = send_and_wait(host, life, &request);
    if (r < 0 && r != -EAGAIN && r != RAPAHUB_ESTALE)
        r = host_life_explain(life, r, call->method);
    if (r == 0)
        r = host_exchange_take(life, &scratch->quick, call->method, call->types[0], result);
    return r == RAPAHUB_ESTALE || r == RAPAHUB_ENOMETHOD ? -EAGAIN : r;
}

int host_small_call(struct rapahub_host *host, const struct rapahub_call *call, void *result)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);
    uint64_t id = known_id(call);
    bool same, ended;
    int r = -EAGAIN;

    if (!scratch || id == 0 || !is_there(scratch, call->target) ||
        host_scratch_is_inside(scratch) || hub_peek(&host->version) != scratch->version)
        return -EAGAIN;
    host_scratch_enter(scratch);
    same = hub_observe(&host->version) == scratch->version;
    if (same)
        r = call_there(host, scratch, call, id, result);
    ended = !same || hub_link_closed(host_scratch_life(scratch)->connection.link);
    host_scratch_leave(scratch);
    if (ended)
        host_loop_wake(&host->loop); /* the owner may wait for who is inside */
    return r;
}
