/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_ends.h"

#include <rapahub/error.h>

#define OVERHEAD 4096 /* bytes of an end beside its payload, at most */

static struct cluster_body body_of(const struct cluster_origin_end *end)
{
    return (struct cluster_body){
        .result = {.status = end->status,
                   .application = end->application,
                   .lineage = end->lineage,
                   .text = {end->bytes, end->text_size},
                   .payload = {end->bytes + end->text_size, end->payload_size}}};
}

/* ---- by the socket ---- */

static int put_end(struct cluster_client *client, const struct cluster_origin_end *end)
{
    const struct cluster_frame frame = {.type = end->type,
                                        .uid = {client->origin->number, end->call->number},
                                        .pool = end->call->pool,
                                        .container = end->container,
                                        .replica = end->replica};
    const struct cluster_body body = body_of(end);

    return cluster_connection_put(client->connection, &frame, &body);
}

void cluster_client_ends_send(struct cluster_client *client)
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

/* ---- by shared memory ---- */

/* The end that was just kept answers the request. If it is too large for that the client is told
 * that it is there, and sends the call again by the socket. r[impl cluster.shared.answer] */
static void answer_request(struct cluster_client *client, struct cluster_origin_call *call)
{
    struct cluster_clients *clients = client->clients;
    const struct cluster_clients_options *options = &clients->options;
    const struct cluster_origin_end *end =
        HUB_LIST_ITEM(call->ends.previous, struct cluster_origin_end, of_call);
    const struct cluster_body body = body_of(end);
    bool large = end->payload_size + OVERHEAD > client->payload_max;
    uint64_t request = call->request;

    cluster_origins_unbind(clients->origins, call);
    options->hooks->respond(options->user, request,
                            large ? CLUSTER_FRAME_ACK : CLUSTER_FRAME_RESULT, &body);
}

/* ---- both ---- */

static bool fits(const struct cluster_clients *clients, const struct cluster_clients_answer *answer)
{
    return answer->payload.size + OVERHEAD <= clients->options.body_max;
}

/* r[impl cluster.client.bounds] */
void cluster_client_ends_tell(struct cluster_clients *clients, struct cluster_origin_call *call,
                              uint8_t type, const struct cluster_clients_answer *answer)
{
    static const struct cluster_clients_answer large = {
        .status = RAPAHUB_EMSGSIZE, .text = "the answer is larger than a client may get"};
    struct cluster_client *client = call->origin->client;
    bool kept;

    if (type == CLUSTER_FRAME_EACH && call->shared)
        return; /* it goes to one container, and its client asked for the result alone */
    kept = cluster_origins_keep(call, type, fits(clients, answer) ? answer : &large);
    if (type == CLUSTER_FRAME_RESULT)
        hub_states_move(&cluster_origins_states, &call->state, CLUSTER_ORIGIN_ENDED, "call", "");
    if (client && type == CLUSTER_FRAME_RESULT)
        cluster_streams_answered(&client->streams, call->number, answer->status == 0);
    if (!client || client->state != CLUSTER_CLIENT_SERVED)
        return;
    if (!kept) { /* it comes again, and sends the call again */
        rapahub_fail(RAPAHUB_EBUDGET, "cluster.client.bounds",
                     "it does not take the ends of its calls");
        cluster_client_links_fail(client);
        return;
    }
    if (call->request != 0)
        answer_request(client, call);
    cluster_client_ends_send(client);
}

void cluster_client_ends_fail(struct cluster_clients *clients, struct cluster_origin_call *call,
                              int code)
{
    const struct rapahub_diagnosis *failure = rapahub_last_error();
    const struct cluster_clients_answer answer = {
        .status = code, .application = failure->application, .text = failure->text};

    cluster_client_ends_tell(clients, call, CLUSTER_FRAME_RESULT, &answer);
}

void cluster_client_ends_origin(struct cluster_clients *clients, struct cluster_origin *origin)
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
