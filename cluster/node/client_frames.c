/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_frames.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

#define RETRY_DEFAULT (60 * HUB_SECOND)
#define BUSY_MS       50   /* after which a client that was refused may try again */
#define OVERHEAD      4096 /* bytes of an end beside its payload, at most */

static int refuse_frame(const char *rule, const struct cluster_frame *frame, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, rule, "a %s %s", cluster_frame_name(frame->type), why);
}

static uint64_t peer_of(uid_t uid)
{
    return (uint64_t)uid + 1; /* 0 is the node itself */
}

/* ---- ends ---- */

static int put_end(struct cluster_client *client, const struct cluster_origin_end *end)
{
    const struct cluster_frame frame = {.type = end->type,
                                        .uid = {client->origin->number, end->call->number},
                                        .pool = end->call->pool,
                                        .container = end->container,
                                        .replica = end->replica};
    const struct cluster_body body = {
        .result = {.status = end->status,
                   .application = end->application,
                   .lineage = end->lineage,
                   .text = {end->bytes, end->text_size},
                   .payload = {end->bytes + end->text_size, end->payload_size}}};

    return cluster_connection_put(client->connection, &frame, &body);
}

/* Sends the ends that are to be sent, as far as there is credit. */
static void send_ends(struct cluster_client *client)
{
    struct cluster_origin_end *end;

    while (client->state == CLUSTER_CLIENT_SERVED &&
           (end = cluster_origins_unsent(client->origin))) {
        int r = put_end(client, end);

        if (r == RAPAHUB_EAGAIN)
            return;
        if (r < 0) {
            cluster_client_links_fail(client);
            return;
        }
        hub_list_remove(&end->unsent);
    }
}

static void on_credit(void *user)
{
    send_ends(user);
}

static bool fits(const struct cluster_clients *clients, const struct cluster_clients_answer *answer)
{
    return answer->payload.size + OVERHEAD <= clients->options.body_max;
}

void cluster_client_frames_end(struct cluster_clients *clients, struct cluster_origin_call *call,
                               uint8_t type, const struct cluster_clients_answer *answer)
{
    static const struct cluster_clients_answer large = {
        .status = RAPAHUB_EMSGSIZE, .text = "the answer is larger than a client may get"};
    struct cluster_client *client = call->origin->client;
    bool kept = cluster_origins_keep(call, type, fits(clients, answer) ? answer : &large);

    if (type == CLUSTER_FRAME_RESULT)
        hub_states_move(&cluster_origins_states, &call->state, CLUSTER_ORIGIN_ENDED, "call", "");
    if (!client || client->state != CLUSTER_CLIENT_SERVED)
        return;
    if (!kept) { /* it comes again, and sends the call again */
        rapahub_fail(RAPAHUB_EBUDGET, "cluster.client.bounds",
                     "it does not take the ends of its calls");
        cluster_client_links_fail(client);
        return;
    }
    send_ends(client);
}

static void end_by_failure(struct cluster_client *client, struct cluster_origin_call *call,
                           int code)
{
    const struct rapahub_diagnosis *failure = rapahub_last_error();
    const struct cluster_clients_answer answer = {
        .status = code, .application = failure->application, .text = failure->text};

    cluster_client_frames_end(client->clients, call, CLUSTER_FRAME_RESULT, &answer);
}

void cluster_client_frames_end_origin(struct cluster_clients *clients,
                                      struct cluster_origin *origin)
{
    const struct cluster_clients_options *options = &clients->options;
    uint64_t number = origin->number;

    HUB_LIST_EACH (&origin->calls, link) {
        struct cluster_origin_call *call =
            HUB_LIST_ITEM(link, struct cluster_origin_call, of_origin);

        if (call->state == CLUSTER_ORIGIN_RUNNING)
            options->hooks->cancel(options->user, call->own);
        cluster_origins_forget(clients->origins, call);
    }
    if (origin->client) {
        origin->client->told = NULL;
        origin->client->origin = NULL;
    }
    cluster_origins_close(clients->origins, origin);
    options->hooks->origin_ended(options->user, number);
}

/* ---- HELLO ---- */

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

static int take_hello(struct cluster_client *client, const struct cluster_body_hello *hello)
{
    struct cluster_clients *clients = client->clients;
    struct cluster_origin *origin = NULL;
    int r = check_hello(clients, hello);

    if (r == 0)
        r = cluster_origins_open(clients->origins, hello->origin, client->peer.uid, &origin);
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
    const char *text = rapahub_last_error()->text;
    const struct cluster_body body = {
        .nack = {.reason = reason,
                 .after_ms = reason == CLUSTER_NACK_BUSY ? BUSY_MS : 0,
                 .text = {text, strlen(text)}}};
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

static int check_call(const struct cluster_clients_call *call)
{
    bool offer = !cluster_ids_is_pool(call->frame->pool);

    if ((call->body->sources | call->body->sinks) != 0)
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "a client's call takes no streams");
    if (!offer && call->role < RAPAHUB_CONTROL_OPERATOR)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.client.role",
                            "a call takes an operator; you are a viewer of this node");
    return 0;
}

static void read_members(struct cluster_clients *clients, struct cluster_clients_call *call)
{
    struct cluster_list list = call->body->members;

    while (call->members_count < CLUSTER_CLIENTS_MEMBERS_MAX &&
           cluster_body_next_member(&list, &clients->members[call->members_count]))
        call->members_count++;
}

/* Finds out where the call goes. Returns 1 if the client is to be told; 0: it knows, or it is a
 * call to an offer. */
static int resolve(struct cluster_clients *clients, struct cluster_clients_call *call)
{
    const struct cluster_clients_options *options = &clients->options;
    int r = check_call(call);

    call->members = clients->members;
    if (r < 0)
        return r;
    read_members(clients, call);
    if (call->members_count > 0)
        return 0;
    r = options->hooks->resolve(options->user, call, clients->members);
    if (r > 0)
        call->members_count = (uint32_t)r;
    return r > 0 ? 1 : r;
}

static void run(struct cluster_client *client, struct cluster_origin_call *known,
                struct cluster_clients_call *call)
{
    const struct cluster_clients_options *options = &client->clients->options;
    int r;

    client->told = NULL;
    call->number = known->own;
    call->members = known->members;
    call->members_count = known->members_count;
    hub_states_move(&cluster_origins_states, &known->state, CLUSTER_ORIGIN_RUNNING, "call", "");
    r = options->hooks->call(options->user, call);
    if (r < 0)
        end_by_failure(client, known, r);
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

        cluster_client_frames_end(client->clients, known, CLUSTER_FRAME_RESULT, &answer);
        return 0;
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
    run(client, known, call);
    return 0;
}

/* The call has been here before. */
static int attach(struct cluster_client *client, struct cluster_origin_call *known,
                  struct cluster_clients_call *call)
{
    const struct cluster_clients_options *options = &client->clients->options;

    if (known->pool != call->frame->pool || known->method != call->body->method_id)
        return refuse_frame("cluster.dedup.other", call->frame, "has the uid of another call");
    if (known->lost) { /* the core knows the call by its uid */
        if (known->state == CLUSTER_ORIGIN_RUNNING)
            options->hooks->cancel(options->user, known->own);
        cluster_origins_forget(client->clients->origins, known);
        return begin(client, call);
    }
    cluster_origins_send_again(known);
    send_ends(client);
    return 0;
}

/* Forgets the calls that the client says have ended. A call that runs goes on, unheard. */
static void note_done(struct cluster_client *client, uint64_t done_below)
{
    const struct cluster_clients_options *options = &client->clients->options;
    struct cluster_origin *origin = client->origin;

    if (done_below <= origin->done_below)
        return;
    origin->done_below = done_below;
    HUB_LIST_EACH (&origin->calls, link) {
        struct cluster_origin_call *call =
            HUB_LIST_ITEM(link, struct cluster_origin_call, of_origin);

        if (call->number >= done_below)
            return; /* the next call looks at the rest */
        if (call->state == CLUSTER_ORIGIN_RUNNING)
            options->hooks->cancel(options->user, call->own);
        cluster_origins_forget(client->clients->origins, call);
    }
}

static int take_call(struct cluster_client *client, const struct cluster_frame *frame,
                     const struct cluster_body_call *body)
{
    struct cluster_clients_call call = {.frame = frame,
                                        .body = body,
                                        .role = client->peer.role,
                                        .uid = client->peer.uid,
                                        .peer = peer_of(client->peer.uid)};
    struct cluster_origin_call *known;

    call.deadline_ns = body->left_us > HUB_NEVER / HUB_MICROSECOND
                           ? HUB_NEVER
                           : hub_clock_after(body->left_us * HUB_MICROSECOND);
    known = cluster_origins_find(client->clients->origins, client->origin, frame->uid.number);
    if (known && known == client->told) {
        run(client, known, &call);
        return 0;
    }
    note_done(client, body->done_below);
    if (frame->uid.number < client->origin->done_below)
        return refuse_frame("cluster.dedup.ended", frame, "has ended, as its client said");
    if (known)
        return attach(client, known, &call);
    if (body->left_us == 0) {
        rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the time of the call is over");
        return put_nack(client, frame, CLUSTER_NACK_EXPIRED);
    }
    return begin(client, &call);
}

/* ---- the others ---- */

static void forget(struct cluster_client *client, const struct cluster_frame *frame, bool cancel)
{
    const struct cluster_clients_options *options = &client->clients->options;
    struct cluster_origin_call *known =
        cluster_origins_find(client->clients->origins, client->origin, frame->uid.number);

    if (!known || (known->state != CLUSTER_ORIGIN_ENDED && !cancel))
        return;
    if (known->state == CLUSTER_ORIGIN_RUNNING)
        options->hooks->cancel(options->user, known->own);
    cluster_origins_forget(client->clients->origins, known);
}

static int take_of_call(struct cluster_client *client, const struct cluster_frame *frame,
                        const struct cluster_body *body)
{
    if (frame->uid.origin != client->origin->number)
        return refuse_frame("cluster.call.origin", frame, "is of another origin");
    if (frame->type == CLUSTER_FRAME_CALL)
        return take_call(client, frame, &body->call);
    if (frame->type != CLUSTER_FRAME_ACK && frame->type != CLUSTER_FRAME_CANCEL)
        return refuse_frame("cluster.client.frame", frame, "came from a client");
    forget(client, frame, frame->type == CLUSTER_FRAME_CANCEL);
    return 0;
}

/* A client that closes makes no calls any more. */
static int take_close(struct cluster_client *client, const struct cluster_body_close *close)
{
    if (close->code == 0)
        cluster_client_frames_end_origin(client->clients, client->origin);
    cluster_client_links_doom(client, "CLOSE");
    return CLUSTER_CONNECTION_LATER;
}

static int take(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct cluster_client *client = user;

    if (client->state == CLUSTER_CLIENT_DOOMED)
        return CLUSTER_CONNECTION_LATER;
    if (client->state == CLUSTER_CLIENT_NEW)
        return frame->type == CLUSTER_FRAME_HELLO
                   ? take_hello(client, &body->hello)
                   : refuse_frame("cluster.client.hello", frame, "came before a HELLO");
    switch (frame->type) {
    case CLUSTER_FRAME_CLOSE:
        return take_close(client, &body->close);
    case CLUSTER_FRAME_HELLO:
    case CLUSTER_FRAME_HELLO_OK:
        return refuse_frame("cluster.client.hello", frame, "came when the client was known");
    default:
        return take_of_call(client, frame, body);
    }
}

const struct cluster_connection_hooks cluster_client_frames_hooks = {take, on_credit};
