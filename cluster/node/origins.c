/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/origins.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/id_map.h"
#include "hub/base/memory.h"
#include "hub/base/own.h"
#include "hub/base/random.h"
#include "hub/wire/postcard.h"

#define BUCKETS 65536u /* a power of 2 */

struct cluster_origins {
    struct cluster_client_users *users;
    struct hub_list all;
    uint64_t secret; /* so that no client can fill one bucket */
    uint64_t numbers, due_ns;
    uint32_t calls, shared; /* shared: those that are no admins' */
    struct hub_id_map *by_own, *by_request;
    struct cluster_origin_call **buckets;
};

const struct hub_states cluster_origins_states = {
    "client call",
    {[CLUSTER_ORIGIN_TOLD] = {"Told",
                              HUB_TO(CLUSTER_ORIGIN_RUNNING) | HUB_TO(CLUSTER_ORIGIN_ENDED)},
     [CLUSTER_ORIGIN_RUNNING] = {"Running", HUB_TO(CLUSTER_ORIGIN_ENDED)},
     [CLUSTER_ORIGIN_ENDED] = {"Ended", 0}}};

int cluster_origins_create(struct cluster_client_users *users, struct cluster_origins **out)
{
    struct cluster_origins *origins = calloc(1, sizeof *origins);

    if (origins) {
        origins->users = users;
        hub_list_init(&origins->all);
        origins->due_ns = HUB_NEVER;
        origins->secret = hub_random_nonce();
        origins->buckets = hub_memory_sparse(BUCKETS * sizeof(struct cluster_origin_call *));
    }
    if (!origins || !origins->buckets ||
        hub_id_map_create(CLUSTER_ORIGINS_CALLS, &origins->by_own) < 0 ||
        hub_id_map_create(CLUSTER_ORIGINS_REQUESTS, &origins->by_request) < 0) {
        cluster_origins_release(&origins);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for clients");
    }
    *out = origins;
    return 0;
}

void cluster_origins_release(struct cluster_origins **origins)
{
    struct cluster_origins *gone = *origins;

    *origins = NULL;
    if (!gone)
        return;
    HUB_LIST_EACH (&gone->all, link) {
        struct cluster_origin *origin = HUB_LIST_ITEM(link, struct cluster_origin, link);

        HUB_LIST_EACH (&origin->calls, call)
            cluster_origins_forget(gone,
                                   HUB_LIST_ITEM(call, struct cluster_origin_call, of_origin));
        cluster_origins_close(gone, origin);
    }
    hub_id_map_release(&gone->by_own);
    hub_id_map_release(&gone->by_request);
    hub_memory_free_sparse(gone->buckets, BUCKETS * sizeof(struct cluster_origin_call *));
    free(gone);
}

/* ---- origins ---- */

/* r[impl cluster.call.origin] */
static int check_user(const struct cluster_origin *origin, const struct cluster_client_user_id *id)
{
    if (cluster_client_users_is_same(&origin->user->id, id))
        return 0;
    return rapahub_fail(RAPAHUB_EACCES, "cluster.call.origin",
                        "the origin of these calls is another user's");
}

static int make(struct cluster_origins *origins, uint64_t number,
                const struct cluster_client_user_id *id, struct cluster_origin **out)
{
    struct cluster_origin *origin = calloc(1, sizeof *origin);
    int r = origin ? cluster_client_users_add_origin(origins->users, id, &origin->user)
                   : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a client");

    if (r < 0) {
        free(origin);
        return r;
    }
    origin->number = number;
    origin->left_ns = hub_clock_now();
    hub_list_init(&origin->calls);
    hub_list_init(&origin->unsent);
    hub_list_append(&origins->all, &origin->link);
    *out = origin;
    return 0;
}

int cluster_origins_open(struct cluster_origins *origins, uint64_t number,
                         const struct cluster_client_user_id *id, struct cluster_origin **out)
{
    HUB_LIST_EACH (&origins->all, link) {
        *out = HUB_LIST_ITEM(link, struct cluster_origin, link);
        if ((*out)->number == number)
            return check_user(*out, id);
    }
    return make(origins, number, id, out);
}

void cluster_origins_close(struct cluster_origins *origins, struct cluster_origin *origin)
{
    hub_list_remove(&origin->link);
    cluster_client_users_remove_origin(origins->users, origin->user);
    free(origin);
}

static uint64_t end_of(const struct cluster_origin *origin)
{
    return origin->client ? HUB_NEVER : origin->left_ns + 2 * origin->retry_ns;
}

void cluster_origins_leave(struct cluster_origins *origins, struct cluster_origin *origin)
{
    origin->client = NULL;
    origin->left_ns = hub_clock_now();
    if (end_of(origin) < origins->due_ns)
        origins->due_ns = end_of(origin);
}

/* r[impl cluster.client.ends] */
struct cluster_origin *cluster_origins_expired(struct cluster_origins *origins, uint64_t now_ns)
{
    uint64_t due = HUB_NEVER;

    if (now_ns < origins->due_ns)
        return NULL;
    HUB_LIST_EACH (&origins->all, link) {
        struct cluster_origin *origin = HUB_LIST_ITEM(link, struct cluster_origin, link);
        uint64_t end = end_of(origin);

        if (end <= now_ns)
            return origin;
        if (end < due)
            due = end;
    }
    origins->due_ns = due;
    return NULL;
}

uint64_t cluster_origins_due(const struct cluster_origins *origins)
{
    return origins->due_ns;
}

/* ---- calls ---- */

static struct cluster_origin_call **bucket(const struct cluster_origins *origins, uint64_t origin,
                                           uint64_t number)
{
    struct hub_random random;

    hub_random_init(&random, origins->secret ^ origin);
    hub_random_init(&random, hub_random_next(&random) ^ number);
    return &origins->buckets[hub_random_next(&random) & (BUCKETS - 1)];
}

struct cluster_origin_call *cluster_origins_find(const struct cluster_origins *origins,
                                                 const struct cluster_origin *origin,
                                                 uint64_t number)
{
    struct cluster_origin_call *call = *bucket(origins, origin->number, number);

    while (call && (call->origin != origin || call->number != number))
        call = call->next;
    return call;
}

struct cluster_origin_call *cluster_origins_find_own(const struct cluster_origins *origins,
                                                     uint64_t own)
{
    return hub_id_map_get(origins->by_own, own);
}

/* r[impl cluster.client.bounds] */
static int check_share(const struct cluster_origins *origins, const struct cluster_origin *origin)
{
    const struct cluster_client_user *user = origin->user;

    if (user->calls >= CLUSTER_ORIGINS_CALLS_USER)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                            "this user has %u calls, as many as a user may who is no admin",
                            user->calls);
    if (origins->shared >= CLUSTER_ORIGINS_CALLS_SHARED)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                            "clients that are no admins have %u calls, as many as they may",
                            origins->shared);
    return 0;
}

/* r[impl cluster.client.bounds] */
static int check_room(const struct cluster_origins *origins, const struct cluster_origin *origin,
                      bool admin)
{
    if (origin->calls_count >= CLUSTER_ORIGINS_CALLS_OF)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                            "this client has %u calls, as many as it may", origin->calls_count);
    if (origin->kept > CLUSTER_ORIGINS_KEPT)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                            "answers of %" PRIu64 " bytes wait for this client", origin->kept);
    return admin ? 0 : check_share(origins, origin);
}

static size_t weight_of(const struct cluster_origin_call *call)
{
    return sizeof *call + call->members_count * sizeof *call->members;
}

/* The memory of a call is its user's. */
static void free_call(struct cluster_origin_call *call, struct cluster_client_user *user)
{
    hub_budget_give(user->budget, weight_of(call));
    free(call->members);
    free(call);
}

/* Makes the entry of a call, with a copy of its members, from its user's budget. */
static struct cluster_origin_call *make_call(const struct cluster_clients_call *call,
                                             struct cluster_client_user *user)
{
    struct cluster_origin_call *made = calloc(1, sizeof *made);
    size_t size = call->members_count * sizeof *call->members;

    if (made && size > 0)
        made->members = malloc(size);
    if (made)
        made->members_count = call->members_count;
    if (!made || (size > 0 && !made->members) || !hub_budget_take(user->budget, weight_of(made))) {
        if (made)
            free(made->members);
        free(made);
        return NULL;
    }
    if (size > 0)
        memcpy(made->members, call->members, size);
    return made;
}

static void add_to_counts(struct cluster_origins *origins, const struct cluster_origin_call *call,
                          uint32_t more)
{
    call->origin->calls_count += more;
    origins->calls += more;
    if (call->admin)
        return;
    call->origin->user->calls += more;
    origins->shared += more;
}

/* r[impl cluster.client.bounds] */
static int enter(struct cluster_origins *origins, struct cluster_origin_call *call)
{
    struct cluster_origin_call **head = bucket(origins, call->origin->number, call->number);
    int r = hub_id_map_put(origins->by_own, call->own, call);

    if (r < 0)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                            "clients have %d calls, as many as they may", CLUSTER_ORIGINS_CALLS);
    call->next = *head;
    *head = call;
    hub_list_append(&call->origin->calls, &call->of_origin);
    add_to_counts(origins, call, 1);
    return 0;
}

int cluster_origins_add(struct cluster_origins *origins, struct cluster_origin *origin,
                        const struct cluster_clients_call *call, struct cluster_origin_call **out)
{
    bool admin = call->role == RAPAHUB_CONTROL_ADMIN;
    struct cluster_origin_call *made;
    int r = check_room(origins, origin, admin);

    if (r < 0)
        return r;
    made = make_call(call, origin->user);
    if (!made)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call of this user");
    made->origin = origin;
    made->admin = admin;
    made->own = ++origins->numbers;
    made->number = call->frame->uid.number;
    made->pool = call->frame->pool;
    made->method = call->body->method_id;
    made->state = CLUSTER_ORIGIN_TOLD;
    hub_list_init(&made->ends);
    r = enter(origins, made);
    if (r < 0) {
        free_call(made, origin->user);
        return r;
    }
    *out = made;
    return 0;
}

int cluster_origins_bind(struct cluster_origins *origins, struct cluster_origin_call *call,
                         uint64_t request)
{
    if (hub_id_map_put(origins->by_request, request, call) < 0)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                            "clients have %d calls by shared memory, as many as they may",
                            CLUSTER_ORIGINS_REQUESTS);
    call->shared = true;
    call->request = request;
    return 0;
}

void cluster_origins_unbind(struct cluster_origins *origins, struct cluster_origin_call *call)
{
    if (call->request != 0)
        hub_id_map_remove(origins->by_request, call->request);
    call->request = 0;
}

struct cluster_origin_call *cluster_origins_find_request(const struct cluster_origins *origins,
                                                         uint64_t request)
{
    return hub_id_map_get(origins->by_request, request);
}

static uint64_t weight(const struct cluster_origin_end *end)
{
    return sizeof *end + end->text_size + end->payload_size;
}

static void drop_ends(struct cluster_origin_call *call)
{
    HUB_LIST_EACH (&call->ends, link) {
        struct cluster_origin_end *end = HUB_LIST_ITEM(link, struct cluster_origin_end, of_call);

        call->origin->kept -= weight(end);
        hub_budget_give(call->origin->user->budget, weight(end));
        hub_list_remove(&end->unsent);
        hub_list_remove(&end->of_call);
        free(end);
    }
}

void cluster_origins_forget(struct cluster_origins *origins, struct cluster_origin_call *call)
{
    struct cluster_origin_call **at = bucket(origins, call->origin->number, call->number);

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    drop_ends(call);
    cluster_origins_unbind(origins, call);
    hub_id_map_remove(origins->by_own, call->own);
    hub_list_remove(&call->of_origin);
    add_to_counts(origins, call, UINT32_MAX);
    free_call(call, call->origin->user);
}

/* ---- ends ---- */

/* A method may return any text, but one on the wire is UTF-8. */
static void copy_text(char *to, const char *text, size_t size)
{
    bool sound = hub_postcard_utf8(text, size);

    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)text[i] < 0x80 || sound ? text[i] : '?';
}

static struct cluster_origin_end *copy_end(uint8_t type,
                                           const struct cluster_clients_answer *answer)
{
    size_t text = answer->text ? strnlen(answer->text, CLUSTER_BODY_TEXT_MAX) : 0;
    struct cluster_origin_end *end = malloc(sizeof *end + text + answer->payload.size);

    if (!end)
        return NULL;
    *end = (struct cluster_origin_end){.type = type,
                                       .status = answer->status,
                                       .application = answer->application,
                                       .container = answer->container,
                                       .replica = answer->replica,
                                       .lineage = answer->lineage,
                                       .text_size = text,
                                       .payload_size = answer->payload.size};
    copy_text(end->bytes, answer->text, text);
    if (answer->payload.size > 0)
        memcpy(end->bytes + text, answer->payload.data, answer->payload.size);
    return end;
}

/* r[impl cluster.client.kept] r[impl cluster.client.bounds] */
bool cluster_origins_keep(struct cluster_origin_call *call, uint8_t type,
                          const struct cluster_clients_answer *answer)
{
    struct cluster_origin *origin = call->origin;
    struct cluster_origin_end *end = origin->kept + answer->payload.size > CLUSTER_ORIGINS_KEPT_MOST
                                         ? NULL
                                         : copy_end(type, answer);

    if (!end || !hub_budget_take(origin->user->budget, weight(end))) {
        free(end);
        call->lost = true;
        return false;
    }
    end->call = call;
    origin->kept += weight(end);
    hub_list_append(&call->ends, &end->of_call);
    hub_list_init(&end->unsent);
    if (!call->shared)
        hub_list_append(&origin->unsent, &end->unsent);
    return true;
}

void cluster_origins_send_again(struct cluster_origin_call *call)
{
    call->shared = false;
    HUB_LIST_EACH (&call->ends, link) {
        struct cluster_origin_end *end = HUB_LIST_ITEM(link, struct cluster_origin_end, of_call);

        hub_list_remove(&end->unsent);
        hub_list_append(&call->origin->unsent, &end->unsent);
    }
}

struct cluster_origin_end *cluster_origins_unsent(struct cluster_origin *origin)
{
    return hub_list_empty(&origin->unsent)
               ? NULL
               : HUB_LIST_ITEM(origin->unsent.next, struct cluster_origin_end, unsent);
}

struct cluster_origins_count cluster_origins_count(const struct cluster_origins *origins)
{
    struct cluster_origins_count count = {.origins = origins->users->origins,
                                          .calls = origins->calls};

    HUB_LIST_EACH (&origins->all, link)
        count.kept += HUB_LIST_ITEM(link, struct cluster_origin, link)->kept;
    return count;
}
