/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_frames.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/client_admission.h"
#include "cluster/node/client_ends.h"
#include "hub/base/clock.h"

#define RETRY_DEFAULT (60 * HUB_SECOND)

static int refuse_frame(const char *rule, const struct cluster_frame *frame, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, rule, "a %s %s", cluster_frame_name(frame->type), why);
}

/* ---- HELLO ---- */

/* r[impl cluster.client.hello] */
static int check_hello(const struct cluster_clients *clients,
                       const struct cluster_body_hello *hello)
{
    if (hello->role != CLUSTER_ROLE_CLIENT)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.client.hello",
                            "a node does not come by the socket for clients");
    if (hello->protocol_least > CLUSTER_BODY_PROTOCOL)
        return rapahub_fail(RAPAHUB_EABI, "cluster.client.hello",
                            "this node knows protocol %d, and the client protocols from %u on",
                            CLUSTER_BODY_PROTOCOL, hello->protocol_least);
    if (hello->cluster.size > 0 &&
        memcmp(hello->cluster.data, clients->cluster, sizeof clients->cluster) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.client.hello",
                            "this node is of another cluster");
    return 0;
}

/* Shared memory is of one machine. */
static bool may_share(const struct cluster_client *client)
{
    return client->clients->options.shares && !cluster_client_users_is_remote(&client->who);
}

static void put_hello(struct cluster_client *client)
{
    const struct cluster_clients *clients = client->clients;
    const struct cluster_body body = {
        .hello = {.protocol_least = CLUSTER_BODY_PROTOCOL,
                  .protocol_most = CLUSTER_BODY_PROTOCOL,
                  .role = CLUSTER_ROLE_NODE,
                  .cluster = {clients->cluster, sizeof clients->cluster},
                  .node = clients->options.node,
                  .boot = clients->options.boot,
                  .features = may_share(client) ? CLUSTER_FEATURE_SHARE : 0,
                  .origin = clients->options.session}};

    if (cluster_connection_put(client->connection,
                               &(struct cluster_frame){.type = CLUSTER_FRAME_HELLO_OK}, &body) < 0)
        cluster_client_links_fail(client);
}

/* An origin has one connection. Where the client comes anew its earlier one is dead, though that
 * may not be known yet. The client asks again for the ends that it misses. */
static void use_origin(struct cluster_client *client, struct cluster_origin *origin,
                       uint64_t retry_ns)
{
    struct cluster_client *before = origin->client;

    if (before) {
        if (before->told)
            cluster_origins_forget(client->clients->origins, before->told);
        before->told = NULL;
        cluster_client_links_lose_streams(before);
        before->origin = NULL;
        cluster_client_links_doom(before, "it has come anew");
    }
    HUB_LIST_EACH (&origin->unsent, link)
        hub_list_remove(link);
    origin->client = client;
    origin->retry_ns = retry_ns > 0 ? retry_ns : RETRY_DEFAULT;
    client->origin = origin;
    hub_states_move(&cluster_client_links_states, &client->state, CLUSTER_CLIENT_SERVED, "client",
                    "HELLO");
}

/* r[impl cluster.client.hello] */
static int take_hello(struct cluster_client *client, const struct cluster_body_hello *hello)
{
    struct cluster_clients *clients = client->clients;
    struct cluster_origin *origin = NULL;
    int r = check_hello(clients, hello);

    if (r == 0)
        r = cluster_origins_open(clients->origins, hello->origin, &client->who, &origin);
    if (r < 0) {
        cluster_client_links_refuse(client, r);
        return CLUSTER_CONNECTION_LATER; /* nothing more of it is read */
    }
    use_origin(client, origin, hello->retry_ns);
    put_hello(client);
    return 0;
}

/* ---- CALL ---- */

static int put_nack(struct cluster_client *client, const struct cluster_frame *call, uint8_t reason)
{
    const struct cluster_body body = cluster_client_admission_nack(reason);
    const struct cluster_frame frame = {.type = CLUSTER_FRAME_NACK,
                                        .uid = call->uid,
                                        .pool = call->pool,
                                        .container = call->container};

    return cluster_connection_put(client->connection, &frame, &body);
}

static int put_resolved(struct cluster_client *client, const struct cluster_clients_call *call)
{
    const struct cluster_body body = {
        .resolved = {{.of = call->members, .count = call->members_count}}};
    const struct cluster_frame frame = {.type = CLUSTER_FRAME_RESOLVED,
                                        .uid = call->frame->uid,
                                        .pool = call->frame->pool,
                                        .container = call->frame->container};

    return cluster_connection_put(client->connection, &frame, &body);
}

static void read_members(struct cluster_clients *clients, struct cluster_clients_call *call)
{
    struct cluster_list list = call->body->members;

    while (call->members_count < CLUSTER_CLIENTS_MEMBERS_MAX &&
           cluster_body_next_member(&list, &clients->members[call->members_count]))
        call->members_count++;
}

/* Finds out where the call goes. Returns 1 if the client is to be told; 0: it knows, or it is a
 * call to an offer. A call that may have been admitted goes where its client says. Otherwise a
 * client guesses, from the call before. r[impl cluster.client.resolved] */
static int resolve(struct cluster_clients *clients, struct cluster_clients_call *call)
{
    const struct cluster_clients_options *options = &clients->options;
    int r = cluster_client_admission_check(call);

    call->members = clients->members;
    if (r < 0)
        return r;
    if (call->body->maybe)
        read_members(clients, call);
    if (call->members_count > 0)
        return 0;
    r = options->hooks->resolve(options->user, call, clients->members);
    if (r <= 0)
        return r;
    call->members_count = (uint32_t)r;
    return cluster_client_admission_knows(call) ? 0 : 1;
}

static int begin(struct cluster_client *client, struct cluster_clients_call *call)
{
    struct cluster_origin_call *known;
    int told = resolve(client->clients, call);
    struct rapahub_diagnosis refusal = *rapahub_last_error();
    int r = cluster_origins_add(client->clients->origins, client->origin, call, &known);

    if (r < 0)
        return put_nack(client, call->frame, CLUSTER_NACK_BUSY);
    if (told < 0) {
        const struct cluster_clients_answer answer = {.status = told, .text = refusal.text};

        cluster_client_ends_tell(client->clients, known, CLUSTER_FRAME_RESULT, &answer);
        return 0;
    }
    r = cluster_client_admission_make_streams(client, call);
    if (r < 0) {
        cluster_origins_forget(client->clients->origins, known);
        return put_nack(client, call->frame, CLUSTER_NACK_BUSY);
    }
    client->told = known;
    if (told > 0) {
        r = put_resolved(client, call);
        if (r == 0)
            r = cluster_connection_flush(client->connection);
        if (r < 0)
            return r;
        if (cluster_connection_waits(client->connection))
            return CLUSTER_CONNECTION_LATER; /* it is admitted when the client has been told */
    }
    client->told = NULL;
    cluster_client_admission_run(client->clients, known, call);
    return 0;
}

/* The output of the method went by the earlier connection, so the answer is not good for another
 * one.
 */
static bool has_lost_output(const struct cluster_origin_call *known,
                            const struct cluster_body_call *call)
{
    return known->state == CLUSTER_ORIGIN_ENDED && call->sinks != 0;
}

/* The call has been here before. */
static int attach(struct cluster_client *client, struct cluster_origin_call *known,
                  struct cluster_clients_call *call)
{
    const struct cluster_clients_options *options = &client->clients->options;

    if (known->pool != call->frame->pool || known->method != call->body->method_id)
        return refuse_frame("cluster.dedup.other", call->frame, "has the uid of another call");
    if (known->lost || has_lost_output(known, call->body)) { /* the core knows it by its uid */
        if (known->state == CLUSTER_ORIGIN_RUNNING)
            options->hooks->cancel(options->user, known->own);
        cluster_origins_forget(client->clients->origins, known);
        return begin(client, call);
    }
    cluster_origins_unbind(client->clients->origins, known);
    cluster_origins_send_again(known);
    cluster_client_ends_send(client);
    return 0;
}

static int take_call(struct cluster_client *client, const struct cluster_frame *frame,
                     const struct cluster_body_call *body)
{
    struct cluster_clients_call call = cluster_client_admission_describe(client, frame, body);
    struct cluster_origin_call *known;
    int r;

    known = cluster_origins_find(client->clients->origins, client->origin, frame->uid.number);
    if (known && known == client->told) {
        client->told = NULL;
        cluster_client_admission_run(client->clients, known, &call);
        return 0;
    }
    cluster_client_admission_note_done(client, CLUSTER_ORIGINS_SOCKET, body->done_below);
    r = cluster_client_admission_check_done(client, CLUSTER_ORIGINS_SOCKET, frame->uid.number);
    if (r < 0)
        return r == RAPAHUB_ETIMEDOUT ? put_nack(client, frame, CLUSTER_NACK_EXPIRED) : r;
    if (known)
        return attach(client, known, &call);
    if (body->left_us == 0) {
        rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the time of the call is over");
        return put_nack(client, frame, CLUSTER_NACK_EXPIRED);
    }
    return begin(client, &call);
}

/* ---- the others ---- */

/* r[impl cluster.client.frame] */
static int take_of_call(struct cluster_client *client, const struct cluster_frame *frame,
                        const struct cluster_body *body)
{
    if (frame->uid.origin != client->origin->number)
        return refuse_frame("cluster.call.origin", frame, "is of another origin");
    if (frame->type == CLUSTER_FRAME_BULK_OPEN)
        return cluster_streams_opened(&client->streams, frame, &body->bulk_open);
    if (frame->type == CLUSTER_FRAME_CALL)
        return take_call(client, frame, &body->call);
    if (frame->type != CLUSTER_FRAME_ACK && frame->type != CLUSTER_FRAME_CANCEL)
        return refuse_frame("cluster.client.frame", frame, "came from a client");
    cluster_client_admission_forget(client, frame->uid.number, frame->type == CLUSTER_FRAME_CANCEL);
    return 0;
}

/* ---- SHARE ---- */

static int put_shared(struct cluster_client *client, const struct cluster_clients_segment *given,
                      int status)
{
    const char *text = status < 0 ? rapahub_last_error()->text : "";
    const struct cluster_frame frame = {.type = CLUSTER_FRAME_SHARED};
    const struct cluster_body body = {.shared = {.status = status,
                                                 .peer = given->peer,
                                                 .waiting = given->waiting,
                                                 .text = {text, strlen(text)}}};

    return status < 0 ? cluster_connection_put(client->connection, &frame, &body)
                      : cluster_connection_put_descriptors(client->connection, &frame, &body,
                                                           given->descriptors);
}

static int give_segment(struct cluster_client *client, struct cluster_clients_segment *out)
{
    const struct cluster_clients_options *options = &client->clients->options;
    uint64_t now_ns = hub_clock_now();

    if (!may_share(client))
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "this node gives no shared memory");
    if (client->role < RAPAHUB_CONTROL_OPERATOR)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.client.role",
                            "shared memory is for calls, which take an operator");
    if (now_ns < client->share_ns)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.shared",
                            "a client gets a segment at most once a second");
    client->share_ns = now_ns + HUB_SECOND;
    return options->hooks->share(options->user, (uint32_t)(client - client->clients->all),
                                 cluster_connection_fd(client->connection), out);
}

/* r[impl cluster.client.shared] */
static int take_share(struct cluster_client *client, const struct cluster_body_share *asked)
{
    struct cluster_clients_segment given = {.peer = 0};
    int r;

    cluster_client_links_share(client, false);
    r = give_segment(client, &given);
    if (r < 0) {
        client->clients->counts.unshared++;
        return put_shared(client, &given, r);
    }
    client->payload_max = asked->payload_max;
    cluster_client_links_share(client, true);
    return put_shared(client, &given, 0);
}

/* A client that closes makes no calls any more. */
static int take_close(struct cluster_client *client, const struct cluster_body_close *close)
{
    if (close->code == 0)
        cluster_client_ends_origin(client->clients, client->origin);
    cluster_client_links_doom(client, "CLOSE");
    return CLUSTER_CONNECTION_LATER;
}

/* r[impl cluster.client.hello] r[impl cluster.client.frame] */
static int take(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct cluster_client *client = user;
    struct cluster_call_streams *of;

    if (client->state == CLUSTER_CLIENT_DOOMED)
        return CLUSTER_CONNECTION_LATER;
    if (client->state == CLUSTER_CLIENT_NEW)
        return frame->type == CLUSTER_FRAME_HELLO
                   ? take_hello(client, &body->hello)
                   : refuse_frame("cluster.client.hello", frame, "came before a HELLO");
    switch (frame->type) {
    case CLUSTER_FRAME_CREDIT:
    case CLUSTER_FRAME_BULK_DATA:
    case CLUSTER_FRAME_BULK_DONE:
    case CLUSTER_FRAME_BULK_RESET:
        return cluster_streams_take(&client->streams, frame, body, &of);
    case CLUSTER_FRAME_CLOSE:
        return take_close(client, &body->close);
    case CLUSTER_FRAME_HELLO:
    case CLUSTER_FRAME_HELLO_OK:
        return refuse_frame("cluster.client.hello", frame, "came when the client was known");
    case CLUSTER_FRAME_SHARE:
        return take_share(client, &body->share);
    case CLUSTER_FRAME_SHARED:
        return refuse_frame("cluster.client.frame", frame, "came from a client");
    default:
        return take_of_call(client, frame, body);
    }
}

static void on_credit(void *user)
{
    cluster_client_ends_send(user);
}

const struct cluster_connection_hooks cluster_client_frames_hooks = {take, on_credit};
