/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "cluster/client/client_loop.h"
#include "cluster/client/shm_call.h"
#include "cluster/client/thread_results.h"
#include "cluster/link/orders.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/own.h"

#define WAIT_DEFAULT    (30 * HUB_SECOND)
#define RETRY_DEFAULT   (60 * HUB_SECOND)
#define TIMEOUT_DEFAULT (30 * HUB_SECOND)
#define LOOK_AGAIN      HUB_SECOND /* a wake that was missed would last so long */

struct rapahub_client {
    struct cluster_client_loop loop;
    struct cluster_thread_results results;
    uint64_t call_timeout_ns;
};

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

static int init(struct rapahub_client *client, const struct rapahub_client_options *options)
{
    int r;

    if ((unsigned)options->transport > RAPAHUB_CLIENT_SHARED_MEMORY)
        return rapahub_fail(RAPAHUB_EINVAL, "", "there is no transport %d",
                            (int)options->transport);
    client->loop.wanted = options->transport;
    client->call_timeout_ns = or_default(options->call_timeout_ns, TIMEOUT_DEFAULT);
    client->loop.retry_ns = or_default(options->retry_ns, RETRY_DEFAULT);
    if (client->loop.retry_ns > CLUSTER_BODY_RETRY_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "retry_ns is above 600 s");
    r = cluster_node_list_init(&client->loop.nodes, options->nodes);
    if (r == 0 && cluster_node_list_has_remote(&client->loop.nodes))
        r = cluster_tls_transport_init(&client->loop.tls, options->tls);
    return r;
}

int rapahub_client_open(const struct rapahub_client_options *options, struct rapahub_client **out)
{
    static const struct rapahub_client_options defaults = {.nodes = NULL};
    struct rapahub_client *client = calloc(1, sizeof *client);
    uint64_t wait_ns;
    int r;

    options = options ? options : &defaults;
    wait_ns = or_default(options->wait_ns, WAIT_DEFAULT);
    r = client ? init(client, options) : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a client");
    if (r == 0)
        r = cluster_thread_results_init(&client->results);
    if (r == 0) {
        r = cluster_client_loop_start(&client->loop);
        if (r < 0)
            cluster_thread_results_fini(&client->results);
    }
    if (r < 0) {
        if (client)
            cluster_tls_transport_fini(&client->loop.tls);
        free(client);
        return r;
    }
    r = cluster_client_loop_wait(&client->loop, hub_clock_after(wait_ns));
    if (r < 0)
        rapahub_client_close(client);
    else
        *out = client;
    return r;
}

void rapahub_client_close(struct rapahub_client *client)
{
    if (!client)
        return;
    cluster_client_loop_stop(&client->loop);
    cluster_tls_transport_fini(&client->loop.tls);
    cluster_thread_results_fini(&client->results);
    free(client);
}

enum rapahub_client_transport rapahub_client_current_transport(const struct rapahub_client *client)
{
    return hub_observe(&client->loop.shares) != 0 ? RAPAHUB_CLIENT_SHARED_MEMORY
                                                  : RAPAHUB_CLIENT_SOCKET;
}

/* ---- calls ---- */

/* A query goes to a node as it is, so it is looked at here first. */
static int check_target(const struct rapahub_call *call)
{
    const struct rapahub_query *query = call->query;
    uint64_t pool = cluster_ids_pool(call->target.pool);

    if (!cluster_ids_is_pool(pool) && call->target.pool.major != UINT32_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a pool of a node has a major number from %d on",
                            CLUSTER_POOL_MAJOR_LEAST);
    if (!cluster_ids_is_container(call->target.container))
        return rapahub_fail(RAPAHUB_EINVAL, "", "a pool has at most %d containers",
                            CLUSTER_CONTAINERS_MAX);
    if (!query)
        return 0;
    if ((unsigned)query->mode > RAPAHUB_QUERY_DYNAMIC)
        return rapahub_fail(RAPAHUB_EINVAL, "", "there is no query of mode %d", (int)query->mode);
    if (query->mode == RAPAHUB_QUERY_RANGE &&
        (query->count == 0 || query->count > CLUSTER_CONTAINERS_MAX ||
         query->offset >= CLUSTER_CONTAINERS_MAX))
        return rapahub_fail(RAPAHUB_EINVAL, "", "a range of %u containers from %u on is none",
                            query->count, query->offset);
    if (query->mode == RAPAHUB_QUERY_PHYSICAL && (query->number == 0 || query->number > UINT32_MAX))
        return rapahub_fail(RAPAHUB_EINVAL, "", "no node has this number");
    return 0;
}

static bool goes_to_several(const struct rapahub_query *query)
{
    return query && (query->mode == RAPAHUB_QUERY_RANGE || query->mode == RAPAHUB_QUERY_BROADCAST);
}

static struct cluster_client_call *make(struct rapahub_client *client,
                                        const struct rapahub_call *call, bool held, int *failure)
{
    struct cluster_client_call *made;
    struct cluster_typed_call typed;

    *failure = check_target(call);
    if (*failure == 0)
        *failure = cluster_typed_call_make(call, CLUSTER_CLIENT_BODY_MAX, &typed);
    if (*failure < 0)
        return NULL;
    if (typed.marks && goes_to_several(call->query)) {
        cluster_typed_call_fini(&typed);
        *failure = rapahub_fail(RAPAHUB_EINVAL, "cluster.client.streams",
                                "a stream is read or written once: a call with streams goes to one "
                                "container");
        return NULL;
    }
    made = cluster_client_call_make(call, &typed, held);
    if (!made) {
        cluster_typed_call_fini(&typed);
        *failure = RAPAHUB_ENOMEM;
        return NULL;
    }
    made->begun_ns = hub_clock_now();
    made->timeout_ns = or_default(call->timeout_ns, client->call_timeout_ns);
    made->deadline_ns = hub_clock_after(made->timeout_ns);
    return made;
}

/* Adds the call, and returns 1 if the leader is to be woken. After a failure it is gone. */
static int add(struct rapahub_client *client, struct cluster_client_call *call, bool held,
               struct rapahub_request_id *out)
{
    int r = cluster_client_calls_add(&client->loop.calls, call, out);

    if (r >= 0)
        return r;
    cluster_client_call_drop(call);
    if (held)
        cluster_client_call_drop(call);
    return r;
}

/* Each call is ended in its time, by this thread or another one, so the wait needs no end of its
 * own. */
static void wait_for(struct cluster_client_loop *loop, struct cluster_client_call *call, bool wakes)
{
    if (!cluster_client_loop_lead(loop, call) && wakes)
        cluster_client_loop_wake(loop);
    while (hub_observe(&call->ended) == 0)
        (void)hub_futex_wait_private(&call->ended, 0, hub_clock_after(LOOK_AGAIN));
}

/* The bytes of the result stay with the thread. */
static int take_result(struct cluster_thread_result *thread, struct cluster_client_call *call,
                       void *result)
{
    if (call->end.code < 0)
        return cluster_client_call_fail(&call->end);
    thread->memory = call->end_memory;
    call->end_memory = NULL;
    return cluster_typed_call_result(&call->typed, call->end.payload, &thread->moved, result);
}

/* After a failure the call is gone. */
static int carry_out(struct rapahub_client *client, struct cluster_thread_result *thread,
                     struct cluster_client_call *call)
{
    struct cluster_client_loop *loop = &client->loop;
    int r = 1;

    switch (cluster_shm_call_run(&loop->calls, call, loop->origin, &thread->answer, &call->end)) {
    case CLUSTER_SHM_CALL_ENDED:
        cluster_client_call_drop(call); /* it is in no table */
        return 0;
    case CLUSTER_SHM_CALL_LEFT:
        break;
    default:
        r = add(client, call, true, NULL);
    }
    if (r < 0)
        return r;
    wait_for(loop, call, r > 0);
    return 0;
}

int rapahub_client_call(struct rapahub_client *client, const struct rapahub_call *call,
                        void *result)
{
    struct cluster_thread_result *thread;
    struct cluster_client_call *made;
    int r;

    if (cluster_client_loop_is_here(&client->loop))
        return rapahub_fail(RAPAHUB_ESTATE, "", "a callback of a client must not wait for a call");
    made = make(client, call, true, &r);
    if (!made)
        return r;
    thread = cluster_thread_results_get(&client->results); /* the arguments are encoded by now */
    if (!thread) {
        cluster_client_call_drop(made);
        cluster_client_call_drop(made);
        return RAPAHUB_ENOMEM;
    }
    r = carry_out(client, thread, made);
    if (r < 0)
        return r;
    r = take_result(thread, made, result);
    cluster_client_call_drop(made);
    return r;
}

int rapahub_client_call_async(struct rapahub_client *client, const struct rapahub_call *call,
                              rapahub_on_done *on_done, void *user, struct rapahub_request_id *out)
{
    struct cluster_client_call *made;
    int r;

    if (!on_done)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a call that nobody waits for needs an on_done");
    made = make(client, call, false, &r);
    if (!made)
        return r;
    made->on_done = on_done;
    made->user = user;
    r = add(client, made, false, out);
    if (r > 0)
        cluster_client_loop_wake(&client->loop);
    return r < 0 ? r : 0;
}

void rapahub_client_cancel(struct rapahub_client *client, struct rapahub_request_id request)
{
    if (cluster_client_calls_cancel(&client->loop.calls, request.number))
        cluster_client_loop_wake(&client->loop);
}

int rapahub_client_pool(struct rapahub_client *client, const char *name,
                        struct rapahub_pool_id *out)
{
    const struct rapahub_string wanted = rapahub_string_of(name);
    const void *const arguments[] = {&wanted, NULL};
    const struct rapahub_call call = {.target = {CLUSTER_ORDERS_POOL, 0},
                                      .method = CLUSTER_ORDERS_POOL_ID,
                                      .arguments = arguments};
    uint64_t number = 0;
    int r = rapahub_client_call(client, &call, &number);

    if (r < 0)
        return r;
    if (!cluster_ids_is_pool(number))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.client.result",
                            "the node gave '%.63s' a number that no pool has", name);
    *out = cluster_ids_pool_of(number);
    return 0;
}
