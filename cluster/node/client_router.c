/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_router.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/dispatch.h"
#include "cluster/node/client_sharing.h"
#include "cluster/node/clients.h"
#include "cluster/node/identity/node_identity.h"
#include "cluster/node/join/join_admission.h"
#include "cluster/stream/call_streams.h"
#include "host/socket/role.h"
#include "hub/base/clock.h"
#include "hub/base/id_map.h"
#include "hub/wire/signature.h"

#define CALLS_MAX   262144
#define STREAMS_MAX 1024
#define NODE_POOL   ((struct rapahub_pool_id){UINT32_MAX, 16})

struct cluster_client_router {
    struct cluster_client_router_parts parts;
    struct cluster_clients *clients; /* NULL: closed */
    struct cluster_client_sharing *sharing;
    struct hub_id_map *calls;   /* number of the client's call: that of the router's */
    struct hub_id_map *streams; /* the same number: struct cluster_call_streams, held */
};

/* ---- answers ---- */

static void tell_each(void *user, const struct cluster_node_call *call, uint32_t container,
                      const struct rapahub_raw_answer *answer)
{
    struct cluster_client_router *self = user;
    const struct cluster_clients_answer end = {.status = answer->status,
                                               .application = answer->application,
                                               .container = container,
                                               .replica = container - call->query.offset,
                                               .text = answer->text,
                                               .payload = answer->payload};

    if (self->clients)
        (void)cluster_clients_each(self->clients, call->key, &end);
}

static void end_call(struct cluster_client_router *self, uint64_t key,
                     const struct rapahub_raw_answer *answer)
{
    const struct cluster_clients_answer end = {.status = answer->status,
                                               .application = answer->application,
                                               .text = answer->text,
                                               .payload = answer->payload};

    struct cluster_call_streams *streams = hub_id_map_remove(self->streams, key);

    (void)hub_id_map_remove(self->calls, key);
    cluster_call_streams_drop(&streams);
    if (self->clients)
        (void)cluster_clients_answer(self->clients, key, &end);
}

/* An answer of an earlier run, to a call that was sent again: what that run wrote was for an
 * earlier connection. r[impl cluster.client.streams] */
static bool is_output_lost(const struct cluster_node_call *call,
                           const struct rapahub_raw_answer *answer)
{
    if (answer->status < 0 || call->streams_given)
        return false;
    for (uint32_t i = 0; i < call->streams_count; i++)
        if (call->streams[i].sink)
            return true;
    return false;
}

static void tell_answer(void *user, const struct cluster_node_call *call,
                        const struct rapahub_raw_answer *answer)
{
    static const struct rapahub_raw_answer lost = {
        .status = RAPAHUB_EMAYBE, .text = "it has run before, and what it wrote then is lost"};

    end_call(user, call->key, is_output_lost(call, answer) ? &lost : answer);
}

static const struct cluster_node_calls_caller a_client = {tell_each, tell_answer};

static void tell_asker(void *user, uint64_t key, const struct rapahub_raw_answer *answer)
{
    end_call(user, key, answer);
}

static const struct cluster_askers_way an_asker = {tell_asker};

/* ---- calls ---- */

static bool is_offer(const struct cluster_clients_call *call)
{
    return !cluster_ids_is_pool(call->frame->pool);
}

static struct cluster_resolve_query query_of(const struct cluster_clients_call *call)
{
    const struct cluster_body_call *body = call->body;

    if (call->members_count == 1)
        return (struct cluster_resolve_query){.offset = call->members[0].container};
    if (call->members_count > 1)
        return (struct cluster_resolve_query){.mode = CLUSTER_MODE_RANGE,
                                              .offset = call->members[0].container,
                                              .count = call->members_count};
    if (body->mode == CLUSTER_MODE_DIRECT)
        return (struct cluster_resolve_query){.offset = call->frame->container};
    return (struct cluster_resolve_query){body->mode, body->number, body->offset, body->count};
}

/* A container that is not here yet has the lineage that its entry has. */
static uint64_t lineage_of(const struct cluster_dispatch *parts, uint64_t pool, uint32_t container)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(parts->locals, pool, container);
    const struct cluster_address *address = cluster_address_map_find(parts->map, pool, container);

    if (local)
        return local->lineage;
    return address ? address->entry.lineage : 0;
}

/* r[impl cluster.client.resolved] */
static int resolve(void *user, const struct cluster_clients_call *call,
                   struct cluster_body_member *out)
{
    const struct cluster_client_router *self = user;
    const struct cluster_dispatch *parts = cluster_core_parts(self->parts.core);
    const struct cluster_resolve where = {parts->pools, parts->map, parts->locals, parts->node,
                                          &parts->catch_up};
    const struct cluster_resolve_query query = query_of(call);
    struct cluster_resolve_members members;
    int status;

    if (is_offer(call) || query.mode == CLUSTER_MODE_DYNAMIC) /* that is asked for later */
        return 0;
    status = cluster_resolve_members(&where, call->frame->pool, &query, &members);
    if (status < 0)
        return status;
    for (uint32_t i = 0; i < members.count; i++)
        out[i] = (struct cluster_body_member){
            members.first + i, lineage_of(parts, call->frame->pool, members.first + i)};
    return (int)members.count;
}

/* Several members have one lineage, or none is known that holds for all. */
static uint64_t common_lineage(const struct cluster_clients_call *call)
{
    uint64_t lineage = call->members_count > 0 ? call->members[0].lineage : call->body->lineage;

    for (uint32_t i = 1; i < call->members_count; i++)
        if (call->members[i].lineage != lineage)
            return 0;
    return lineage;
}

static struct cluster_send_call send_of(const struct cluster_clients_call *call)
{
    const struct cluster_body_call *body = call->body;

    return (struct cluster_send_call){.pool = call->frame->pool,
                                      .query = query_of(call),
                                      .uid = call->frame->uid,
                                      .method = body->method_id,
                                      .digest = cluster_router_digest(body->arguments),
                                      .peer = call->peer,
                                      .done_below = body->done_below,
                                      .lineage = common_lineage(call),
                                      /* while bytes move it goes on: cluster.stream.patience */
                                      .deadline_ns = call->streams ? HUB_NEVER : call->deadline_ns,
                                      .order = body->order,
                                      .order_previous = body->order_prev,
                                      .maybe = body->maybe,
                                      .collect = body->collect};
}

/* The call has them until it is answered. */
static int hold_streams(struct cluster_client_router *self, const struct cluster_clients_call *call)
{
    if (!call->streams)
        return 0;
    if (hub_id_map_put(self->streams, call->number, call->streams) < 0)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.stream.bounds",
                            "as many calls with streams are open as may be");
    (void)cluster_call_streams_hold(call->streams);
    return 0;
}

static int call_pool(struct cluster_client_router *self, const struct cluster_clients_call *call)
{
    const struct cluster_send_call asked = send_of(call);
    const struct cluster_node_call open = {
        .uid = asked.uid,
        .caller = &a_client,
        .user = self,
        .key = call->number,
        .pool = asked.pool,
        .container = asked.query.mode == CLUSTER_MODE_DIRECT ? asked.query.offset
                                                             : CLUSTER_NODE_CALLS_SEVERAL,
        .method = asked.method,
        .query = {.offset = asked.query.offset},
        .streams = call->streams ? call->streams->ends : NULL,
        .streams_count = call->streams ? call->streams->count : 0};
    struct cluster_call_streams *held;
    uint64_t number = 0;
    int status = hold_streams(self, call);

    if (status < 0)
        return status;
    status = cluster_router_call(self->parts.router, &open, &asked, call->body->arguments, &number);
    if (status < 0) {
        held = hub_id_map_remove(self->streams, call->number);
        cluster_call_streams_drop(&held);
    }
    if (status < 0 || number == 0)
        return status;
    if (hub_id_map_put(self->calls, call->number, (void *)(uintptr_t)number) < 0)
        rapahub_clear_error(); /* it ends at its deadline, and not by a cancel */
    return 0;
}

static int ask_services(struct cluster_client_router *self, const struct cluster_clients_call *call)
{
    const struct cluster_asker asker = {.way = &an_asker,
                                        .user = self,
                                        .key = call->number,
                                        .role = call->role,
                                        .deadline_ns = call->deadline_ns};

    if (call->frame->pool != cluster_ids_pool(NODE_POOL) || call->frame->container != 0)
        return rapahub_fail(RAPAHUB_ENOPOOL, "cluster.resolve.query",
                            "this node offers rapahub.node, and nothing else");
    return cluster_services_ask(self->parts.services, &asker, call->body->method_id,
                                call->body->arguments);
}

static int begin(void *user, const struct cluster_clients_call *call)
{
    return is_offer(call) ? ask_services(user, call) : call_pool(user, call);
}

static void cancel(void *user, uint64_t number)
{
    struct cluster_client_router *self = user;
    uint64_t call = (uintptr_t)hub_id_map_get(self->calls, number);

    if (call != 0)
        cluster_router_cancel(self->parts.router, call);
    else
        cluster_services_cancel(self->parts.services, self, number);
}

static void end_origin(void *user, uint64_t origin)
{
    struct cluster_client_router *self = user;
    const struct cluster_event event = {.kind = CLUSTER_EVENT_ORIGIN_ENDED, .number = origin};

    if (cluster_event_queue_add(self->parts.events, &event) < 0)
        rapahub_clear_error(); /* its calls are remembered for longer */
}

/* ---- shared memory ---- */

static int share(void *user, uint32_t client, int fd, struct cluster_clients_segment *out)
{
    const struct cluster_client_router *self = user;

    return cluster_client_sharing_give(self->sharing, client, fd, out);
}

static void unshare(void *user, uint32_t client)
{
    const struct cluster_client_router *self = user;

    cluster_client_sharing_take_back(self->sharing, client);
}

static void respond(void *user, uint64_t request, uint8_t type, const struct cluster_body *body)
{
    const struct cluster_client_router *self = user;

    cluster_client_sharing_respond(self->sharing, request, type, body);
}

static int on_request(void *user, uint32_t client, uint64_t request, struct rapahub_bytes bytes)
{
    const struct cluster_client_router *self = user;

    return self->clients
               ? cluster_clients_request(self->clients, client, request, bytes)
               : rapahub_fail(RAPAHUB_ECLOSED, "", "the node takes no more calls of clients");
}

static void on_given_up(void *user, uint64_t request)
{
    const struct cluster_client_router *self = user;

    if (self->clients)
        cluster_clients_give_up(self->clients, request);
}

static bool is_revoked(void *user, const uint8_t *serial, size_t size)
{
    const struct cluster_client_router *self = user;

    return cluster_node_identity_is_revoked(self->parts.identity, serial, size);
}

/* ---- nodes that join ---- */

static void on_joined(void *user, uint64_t number, const struct cluster_body_join_ok *ok)
{
    const struct cluster_client_router *self = user;

    if (self->clients)
        cluster_clients_joined(self->clients, number, ok);
}

static const struct cluster_join_admission_hooks admission_hooks = {on_joined};

static int join(void *user, uint64_t number, const struct cluster_body_join *asked)
{
    struct cluster_client_router *self = user;
    const struct cluster_join_admission_parts parts = {.marker = self->parts.marker,
                                                       .identity = self->parts.identity,
                                                       .place = self->parts.place,
                                                       .hooks = &admission_hooks,
                                                       .user = self};

    return cluster_join_admission_begin(&parts, number, asked);
}

static const struct cluster_client_sharing_hooks sharing_hooks = {on_request, on_given_up};

static const struct cluster_clients_hooks hooks = {resolve, begin,   cancel,     end_origin, share,
                                                   unshare, respond, is_revoked, join};

/* ---- made and released ---- */

int cluster_client_router_create(const struct cluster_client_router_parts *parts,
                                 const struct cluster_clients_options *options,
                                 struct cluster_client_router **out)
{
    struct cluster_client_router *self = calloc(1, sizeof *self);
    struct cluster_clients_options how = *options;
    int status = 0;

    *out = self;
    if (!self)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the clients of a node");
    self->parts = *parts;
    how.hooks = &hooks;
    how.shares = true;
    how.user = self;
    if (hub_id_map_create(CALLS_MAX, &self->calls) < 0 ||
        hub_id_map_create(STREAMS_MAX, &self->streams) < 0)
        status = rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the clients of a node");
    if (status == 0)
        status = cluster_client_sharing_create(parts->host, &sharing_hooks, self, &self->sharing);
    if (status == 0)
        status = cluster_clients_open(&how, &self->clients);
    if (status < 0)
        cluster_client_router_release(out);
    return status;
}

const struct cluster_client_counts *cluster_client_router_counts(
    const struct cluster_client_router *self)
{
    return cluster_clients_counts(self->clients);
}

void cluster_client_router_close(struct cluster_client_router *self)
{
    if (self)
        cluster_clients_release(&self->clients);
}

/* The answer of its call did not come. */
static void drop_streams(void *user, uint64_t number, void *value)
{
    struct cluster_call_streams *streams = value;

    (void)user;
    (void)number;
    cluster_call_streams_drop(&streams);
}

void cluster_client_router_release(struct cluster_client_router **self)
{
    if (*self) {
        cluster_clients_release(&(*self)->clients);
        cluster_client_sharing_release(&(*self)->sharing);
        hub_id_map_release(&(*self)->calls);
        if ((*self)->streams)
            hub_id_map_each((*self)->streams, drop_streams, NULL);
        hub_id_map_release(&(*self)->streams);
    }
    free(*self);
    *self = NULL;
}

int cluster_client_router_fd(const struct cluster_client_router *self)
{
    return cluster_clients_fd(self->clients);
}

void cluster_client_router_look_at_certificates(struct cluster_client_router *self)
{
    if (self->clients)
        cluster_clients_look_at_certificates(self->clients);
}

int cluster_client_router_dispatch(struct cluster_client_router *self)
{
    return self->clients ? cluster_clients_dispatch(self->clients) : 0;
}

int cluster_client_router_group(const char *text, char group[CLUSTER_CLIENT_ROUTER_GROUP],
                                struct cluster_clients_options *out)
{
    size_t size = strcspn(text, ":");

    if (size == 0 || size >= CLUSTER_CLIENT_ROUTER_GROUP)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' names no group", text);
    memcpy(group, text, size);
    group[size] = '\0';
    out->group = group;
    out->group_role = RAPAHUB_CONTROL_VIEWER;
    if (text[size] == ':' && !host_role_of_word(text + size + 1, &out->group_role))
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s': a role is viewer, operator or admin", text);
    return 0;
}
