/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/services.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/host.h>
#include <rapahub/route.h>

#include "cluster/node/services/asking.h"
#include "cluster/node/services/backup_orders.h"
#include "cluster/node/services/certificate_orders.h"
#include "cluster/node/services/module_orders.h"
#include "cluster/node/services/node_inquiries.h"
#include "cluster/node/services/node_listing.h"
#include "cluster/node/services/node_orders.h"
#include "cluster/node/services/pool_orders.h"
#include "cluster/node/services/token_orders.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/wire/postcard.h"
#include "hub/wire/signature.h"

#define ASKERS_MAX 1024
#define STOP_NS    (2 * HUB_SECOND)

struct cluster_services {
    struct cluster_asking asking;
    struct cluster_node_inquiries *inquiries;
};

/* ---- the methods ---- */

typedef int take(struct cluster_asking *asking, struct cluster_asker *asker,
                 struct hub_reader *arguments);

static int answer_text(struct cluster_asking *asking, struct cluster_asker *asker, char *text)
{
    OWN(hub_memory) char *owned = text;

    if (!owned)
        return rapahub_last_error()->code;
    cluster_askers_answer_text(asking->askers, asker, owned);
    return 0;
}

static int take_status(struct cluster_asking *asking, struct cluster_asker *asker,
                       struct hub_reader *arguments)
{
    (void)arguments;
    return answer_text(asking, asker, cluster_lists_status(&asking->lists));
}

static int take_nodes(struct cluster_asking *asking, struct cluster_asker *asker,
                      struct hub_reader *arguments)
{
    (void)arguments;
    return cluster_node_listing_ask(asking, asker);
}

static int take_pools(struct cluster_asking *asking, struct cluster_asker *asker,
                      struct hub_reader *arguments)
{
    (void)arguments;
    return answer_text(asking, asker, cluster_lists_pools(&asking->lists));
}

static int take_pool(struct cluster_asking *asking, struct cluster_asker *asker,
                     struct hub_reader *arguments)
{
    struct rapahub_string name = hub_postcard_read_string(arguments);

    return arguments->failure < 0
               ? arguments->failure
               : answer_text(asking, asker, cluster_lists_pool(&asking->lists, name));
}

static int take_pool_id(struct cluster_asking *asking, struct cluster_asker *asker,
                        struct hub_reader *arguments)
{
    struct rapahub_string name = hub_postcard_read_string(arguments);

    uint64_t number = 0;
    int status = arguments->failure < 0 ? arguments->failure
                                        : cluster_lists_pool_id(&asking->lists, name, &number);

    if (status == 0)
        cluster_askers_answer_number(asking->askers, asker, number);
    return status;
}

static int take_operations(struct cluster_asking *asking, struct cluster_asker *asker,
                           struct hub_reader *arguments)
{
    (void)arguments;
    return answer_text(asking, asker, cluster_lists_operations(&asking->lists));
}

static int take_operation(struct cluster_asking *asking, struct cluster_asker *asker,
                          struct hub_reader *arguments)
{
    uint64_t number = hub_postcard_read_unsigned(arguments, 64);

    return arguments->failure < 0
               ? arguments->failure
               : answer_text(asking, asker, cluster_lists_operation(&asking->lists, number));
}

static int take_modules(struct cluster_asking *asking, struct cluster_asker *asker,
                        struct hub_reader *arguments)
{
    (void)arguments;
    return cluster_module_orders_list(asking, asker);
}

static int take_apply(struct cluster_asking *asking, struct cluster_asker *asker,
                      struct hub_reader *arguments)
{
    struct rapahub_bytes spec = hub_postcard_read_bytes(arguments);
    bool check = hub_postcard_read_bool(arguments);

    return arguments->failure < 0 ? arguments->failure
                                  : cluster_pool_orders_apply(asking, asker, spec, check);
}

static int take_remove(struct cluster_asking *asking, struct cluster_asker *asker,
                       struct hub_reader *arguments)
{
    struct rapahub_string name = hub_postcard_read_string(arguments);

    return arguments->failure < 0 ? arguments->failure
                                  : cluster_pool_orders_remove(asking, asker, name);
}

static int take_release(struct cluster_asking *asking, struct cluster_asker *asker,
                        struct hub_reader *arguments)
{
    struct rapahub_string name = hub_postcard_read_string(arguments);
    uint32_t container = (uint32_t)hub_postcard_read_unsigned(arguments, 32);

    return arguments->failure < 0 ? arguments->failure
                                  : cluster_pool_orders_release(asking, asker, name, container);
}

static int take_wait(struct cluster_asking *asking, struct cluster_asker *asker,
                     struct hub_reader *arguments)
{
    uint64_t operation = hub_postcard_read_unsigned(arguments, 64);
    uint64_t timeout_ns = hub_postcard_read_unsigned(arguments, 64);

    return arguments->failure < 0 ? arguments->failure
                                  : cluster_pool_orders_wait(asking, asker, operation, timeout_ns);
}

static int take_push(struct cluster_asking *asking, struct cluster_asker *asker,
                     struct hub_reader *arguments)
{
    struct cluster_module_orders_part part = {.digest = hub_postcard_read_string(arguments)};

    part.offset = hub_postcard_read_unsigned(arguments, 64);
    part.size = hub_postcard_read_unsigned(arguments, 64);
    part.bytes = hub_postcard_read_bytes(arguments);
    return arguments->failure < 0 ? arguments->failure
                                  : cluster_module_orders_push(asking, asker, &part);
}

static int take_unpush(struct cluster_asking *asking, struct cluster_asker *asker,
                       struct hub_reader *arguments)
{
    struct rapahub_string name = hub_postcard_read_string(arguments);
    struct rapahub_string version = hub_postcard_read_string(arguments);

    return arguments->failure < 0 ? arguments->failure
                                  : cluster_module_orders_remove(asking, asker, name, version);
}

static int take_certificate(struct cluster_asking *asking, struct cluster_asker *asker,
                            struct hub_reader *arguments)
{
    struct cluster_certificate_orders_client client = {
        hub_postcard_read_string(arguments), {NULL, 0}, {NULL, 0}};

    client.role = hub_postcard_read_string(arguments);
    client.name = hub_postcard_read_string(arguments);
    return arguments->failure < 0 ? arguments->failure
                                  : cluster_certificate_orders_sign(asking, asker, &client);
}

static int take_revoke(struct cluster_asking *asking, struct cluster_asker *asker,
                       struct hub_reader *arguments)
{
    struct rapahub_string serial = hub_postcard_read_string(arguments);

    return arguments->failure < 0 ? arguments->failure
                                  : cluster_certificate_orders_revoke(asking, asker, serial);
}

static int take_revoked(struct cluster_asking *asking, struct cluster_asker *asker,
                        struct hub_reader *arguments)
{
    (void)arguments;
    return cluster_certificate_orders_revoked(asking, asker);
}

static int take_token(struct cluster_asking *asking, struct cluster_asker *asker,
                      struct hub_reader *arguments)
{
    uint64_t ttl_ns = hub_postcard_read_unsigned(arguments, 64);
    uint32_t uses = (uint32_t)hub_postcard_read_unsigned(arguments, 32);

    return arguments->failure < 0 ? arguments->failure
                                  : cluster_token_orders_create(asking, asker, ttl_ns, uses);
}

static int take_tokens(struct cluster_asking *asking, struct cluster_asker *asker,
                       struct hub_reader *arguments)
{
    (void)arguments;
    return cluster_token_orders_list(asking, asker);
}

static int take_token_revoke(struct cluster_asking *asking, struct cluster_asker *asker,
                             struct hub_reader *arguments)
{
    struct rapahub_string id = hub_postcard_read_string(arguments);

    return arguments->failure < 0 ? arguments->failure
                                  : cluster_token_orders_revoke(asking, asker, id);
}

/* Each method, in its canonical form, the least role that may ask it, and which nodes answer it:
 * the one that leads knows operations, and carries out orders; the one with the authority signs. */
#define METHODS(X)                                                                         \
    X("status() -> string", VIEWER, EACH_NODE, take_status)                                \
    X("nodes() -> string", VIEWER, EACH_NODE, take_nodes)                                  \
    X("pools() -> string", VIEWER, EACH_NODE, take_pools)                                  \
    X("pool(string) -> string", VIEWER, EACH_NODE, take_pool)                              \
    X("pool_id(string) -> u64", VIEWER, EACH_NODE, take_pool_id)                           \
    X("operations() -> string", VIEWER, LEADER, take_operations)                           \
    X("operation(u64) -> string", VIEWER, LEADER, take_operation)                          \
    X("modules() -> string", VIEWER, EACH_NODE, take_modules)                              \
    X("wait(u64, u64) -> string", VIEWER, LEADER, take_wait)                               \
    X("release(string, u32) -> u64", OPERATOR, LEADER, take_release)                       \
    X("apply(bytes, bool) -> u64", ADMIN, LEADER, take_apply)                              \
    X("remove(string) -> u64", ADMIN, LEADER, take_remove)                                 \
    X("dead(u32, bool) -> u64", ADMIN, LEADER, cluster_node_orders_dead)                   \
    X("leave(u32, bool) -> u64", ADMIN, LEADER, cluster_node_orders_leave)                 \
    X("push(string, u64, u64, bytes) -> bool", ADMIN, EACH_NODE, take_push)                \
    X("unpush(string, string) -> void", ADMIN, LEADER, take_unpush)                        \
    X("tokens() -> string", VIEWER, EACH_NODE, take_tokens)                                \
    X("revoked() -> string", VIEWER, EACH_NODE, take_revoked)                              \
    X("certificate(string, string, string) -> string", ADMIN, AUTHORITY, take_certificate) \
    X("revoke(string) -> void", ADMIN, LEADER, take_revoke)                                \
    X("token(u64, u32) -> string", ADMIN, LEADER, take_token)                              \
    X("token_revoke(string) -> void", ADMIN, LEADER, take_token_revoke)                    \
    X("backup(string) -> string", ADMIN, LEADER, cluster_backup_orders_make)

enum where { EACH_NODE, LEADER, AUTHORITY };

static const struct method {
    const char *signature;
    enum rapahub_control_role role;
    enum where where;
    take *take;
} methods[] = {
#define METHOD(signature, role, where, function) \
    {signature, RAPAHUB_CONTROL_##role, where, function},
    METHODS(METHOD)
#undef METHOD
};
#define METHODS_COUNT (sizeof methods / sizeof *methods)

static const char *const signatures[] = {
#define SIGNATURE(signature, role, where, function) signature,
    METHODS(SIGNATURE)
#undef SIGNATURE
        NULL};

static const struct method *find_method(uint64_t id)
{
    for (size_t i = 0; i < METHODS_COUNT; i++)
        if (hub_signature_hash(methods[i].signature) == id)
            return &methods[i];
    return NULL;
}

/* ---- questions ---- */

/* r[impl cluster.node.roles] */
static int check_role(const struct method *method, enum rapahub_control_role role)
{
    static const char *const names[] = {"a viewer", "an operator", "an admin"};

    return role >= method->role
               ? 0
               : rapahub_fail(RAPAHUB_EACCES, "cluster.node.roles", "%.*s is for %s only",
                              (int)strcspn(method->signature, "("), method->signature,
                              names[method->role]);
}

/* r[impl cluster.join.orders] */
static int check_where(const struct cluster_services *services, const struct method *method)
{
    const struct cluster_leader *leader = services->asking.lists.leader;
    uint32_t node = method->where == LEADER      ? leader->node
                    : method->where == AUTHORITY ? leader->authority
                                                 : 0;
    bool known = node == leader->node && leader->address[0] != '\0';

    return node == 0
               ? 0
               : rapahub_fail(RAPAHUB_ENOTLOCAL, "cluster.join.orders",
                              "%.*s: node %u carries out no orders: give it to node %u, which "
                              "%s%s%s",
                              (int)strcspn(method->signature, "("), method->signature,
                              (unsigned)services->asking.lists.node, (unsigned)node,
                              method->where == LEADER ? "leads" : "has the authority",
                              known ? ", with --node " : "", known ? leader->address : "");
}

/* r[impl cluster.node.services] */
int cluster_services_ask(struct cluster_services *services, const struct cluster_asker *from,
                         uint64_t method_id, struct rapahub_bytes arguments)
{
    const struct method *method = find_method(method_id);
    struct cluster_asker *asker;
    struct hub_reader reader;
    int status;

    if (!method)
        return rapahub_fail(RAPAHUB_ENOMETHOD, "", "rapahub.node has no such method");
    status = check_role(method, from->role);
    if (status == 0)
        status = check_where(services, method);
    if (status < 0)
        return status;
    asker = cluster_askers_add(services->asking.askers, from);
    if (!asker)
        return rapahub_last_error()->code;
    hub_reader_init(&reader, arguments.data, arguments.size);
    status = method->take(&services->asking, asker, &reader);
    if (status < 0)
        cluster_askers_remove(services->asking.askers, asker);
    return status;
}

static void drop(struct cluster_services *services, struct cluster_asker *asker)
{
    cluster_pool_orders_cancel(&services->asking, asker->number);
    cluster_askers_remove(services->asking.askers, asker);
}

void cluster_services_cancel(struct cluster_services *services, const void *user, uint64_t key)
{
    struct cluster_asker *asker = cluster_askers_of_key(services->asking.askers, user, key);

    if (asker)
        drop(services, asker);
}

void cluster_services_ordered(struct cluster_services *services,
                              const struct cluster_effect *effect)
{
    cluster_pool_orders_ordered(&services->asking, effect);
}

void cluster_services_refused(struct cluster_services *services, uint64_t order, int status)
{
    struct cluster_asker *asker = cluster_askers_find(services->asking.askers, order);

    if (asker)
        cluster_askers_fail(services->asking.askers, asker, status, rapahub_last_error()->text);
}

int cluster_services_fd(const struct cluster_services *services)
{
    return cluster_inspections_fd(services->asking.inspections);
}

uint64_t cluster_services_step(struct cluster_services *services, uint64_t now_ns, bool readable)
{
    struct cluster_asker *asker;
    uint64_t next = HUB_NEVER, renew_ns;

    if (readable)
        cluster_inspections_step(services->asking.inspections);
    while ((asker = cluster_askers_due(services->asking.askers, now_ns, &next))) {
        cluster_pool_orders_cancel(&services->asking, asker->number);
        cluster_askers_fail(services->asking.askers, asker, RAPAHUB_ETIMEDOUT,
                            "the operation goes on");
        next = HUB_NEVER;
    }
    renew_ns = cluster_node_identity_step(services->asking.identity, now_ns);
    return renew_ns < next ? renew_ns : next;
}

/* ---- asked by the host ---- */

static void answer_host(void *user, uint64_t key, const struct rapahub_raw_answer *answer)
{
    const struct cluster_services *services = user;

    if (rapahub_host_answer_raw(services->asking.host, (struct rapahub_request_id){key}, answer) <
        0)
        rapahub_clear_error(); /* its asker waits no more */
}

static const struct cluster_askers_way the_host = {answer_host};

/* A guest is refused, and so is what serves to answer one: a pool asks its node nothing. */
static int on_question(void *user, const struct rapahub_raw_call *call,
                       struct rapahub_request_id request)
{
    struct cluster_services *services = user;
    const struct cluster_asker asker = {.way = &the_host,
                                        .user = services,
                                        .key = request.number,
                                        .role = RAPAHUB_CONTROL_ADMIN,
                                        .deadline_ns = HUB_NEVER};

    if (call->from.peer != 0)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.node.roles", "a guest asks its node nothing");
    return cluster_services_ask(services, &asker, call->method_id, call->arguments);
}

static void on_cancel(void *user, struct rapahub_request_id request)
{
    cluster_services_cancel(user, user, request.number);
}

static const struct cluster_node_inquiries_hooks hooks = {on_question, on_cancel};

/* ---- made and released ---- */

int cluster_services_create(const struct cluster_services_parts *parts,
                            struct cluster_services **out)
{
    static const struct rapahub_container_options container = {.id = {.pool = {UINT32_MAX, 16}},
                                                               .pool_name = "rapahub.node"};
    struct cluster_services *services = calloc(1, sizeof *services);
    const struct cluster_node_inquiries_offer offer = {&container, signatures, &hooks, services};
    int status;

    *out = services;
    if (!services)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the services of a node");
    services->asking = (struct cluster_asking){.host = parts->host,
                                               .events = parts->events,
                                               .disk = parts->disk,
                                               .store = parts->store,
                                               .marker = parts->marker,
                                               .identity = parts->identity,
                                               .backups = parts->backups,
                                               .lists = parts->lists};
    status = cluster_askers_create(ASKERS_MAX, &services->asking.askers);
    if (status == 0)
        status = cluster_inspections_create(parts->host, &services->asking.inspections);
    if (status == 0)
        status = cluster_node_inquiries_make(parts->host, &offer, &services->inquiries);
    if (status == 0)
        status = cluster_module_orders_begin(&services->asking);
    if (status < 0)
        cluster_services_release(out);
    return status;
}

static void end_asker(struct cluster_services *services, struct cluster_asker *asker)
{
    cluster_askers_fail(services->asking.askers, asker, RAPAHUB_ECLOSED, "the node stops");
}

void cluster_services_show_clients(struct cluster_services *services,
                                   const struct cluster_client_counts *clients)
{
    services->asking.lists.clients = clients;
}

void cluster_services_close(struct cluster_services *services)
{
    struct cluster_asker *asker;
    uint64_t next = 0;

    cluster_node_inquiries_end(&services->inquiries);
    while ((asker = cluster_askers_due(services->asking.askers, HUB_NEVER, &next)))
        end_asker(services, asker);
    cluster_inspections_stop(services->asking.inspections, STOP_NS);
}

void cluster_services_release(struct cluster_services **services)
{
    if (*services) {
        cluster_node_inquiries_end(&(*services)->inquiries);
        cluster_inspections_release(&(*services)->asking.inspections);
        cluster_askers_release(&(*services)->asking.askers);
        free((*services)->asking.modules.text);
    }
    free(*services);
    *services = NULL;
}
