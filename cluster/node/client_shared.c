/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_shared.h"

#include <rapahub/error.h>

#include "cluster/node/client_admission.h"
#include "cluster/node/client_ends.h"
#include "cluster/wire/shared_call.h"

static int refuse(const char *rule, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, rule, "a call by shared memory %s", why);
}

static void respond(struct cluster_clients *clients, uint64_t request, uint8_t type,
                    const struct cluster_body *body)
{
    clients->options.hooks->respond(clients->options.user, request, type, body);
}

static void nack(struct cluster_clients *clients, uint64_t request, uint8_t reason)
{
    const struct cluster_body body = cluster_client_admission_nack(reason);

    respond(clients, request, CLUSTER_FRAME_NACK, &body);
}

/* Returns how many containers the call goes to; a failure: it is refused. */
static int resolve(struct cluster_clients *clients, struct cluster_clients_call *call)
{
    const struct cluster_clients_options *options = &clients->options;
    int r = cluster_client_admission_check(call);

    call->members = clients->members;
    if (r == 0)
        r = options->hooks->resolve(options->user, call, clients->members);
    if (r > 0)
        call->members_count = (uint32_t)r;
    return r;
}

/* A client that names other containers, or none, is told the right ones, and asks again. So it
 * knows them before the call is admitted. r[impl cluster.client.resolved] */
static void begin(struct cluster_client *client, uint64_t request,
                  struct cluster_clients_call *call)
{
    struct cluster_clients *clients = client->clients;
    struct cluster_origin_call *known = NULL;
    int told = resolve(clients, call), r;
    struct rapahub_diagnosis refusal = *rapahub_last_error();

    if (told > 0 && !cluster_client_admission_knows(call)) {
        const struct cluster_body body = {
            .resolved = {{.of = call->members, .count = call->members_count}}};

        respond(clients, request, CLUSTER_FRAME_RESOLVED, &body);
        return;
    }
    r = cluster_origins_add(clients->origins, client->origin, call, &known);
    if (r == 0)
        r = cluster_origins_bind(clients->origins, known, request);
    if (r < 0) {
        nack(clients, request, CLUSTER_NACK_BUSY);
        if (known)
            cluster_origins_forget(clients->origins, known);
    } else if (told < 0) {
        const struct cluster_clients_answer answer = {.status = told, .text = refusal.text};

        cluster_client_ends_tell(clients, known, CLUSTER_FRAME_RESULT, &answer);
    } else {
        cluster_client_admission_run(clients, known, call);
    }
}

/* A call that may have been admitted comes by the socket, where it is found again. */
static int check(const struct cluster_client *client, const struct cluster_shared_call *asked)
{
    uint64_t number = asked->frame.uid.number;

    if (asked->frame.uid.origin != client->origin->number)
        return refuse("cluster.call.origin", "is of another origin");
    if ((asked->body.call.sources | asked->body.call.sinks) != 0)
        return refuse("cluster.shared.request", "has streams");
    if (asked->body.call.maybe)
        return refuse("cluster.shared.request", "may have been admitted");
    return cluster_origins_find(client->clients->origins, client->origin, number)
               ? refuse("cluster.dedup.other", "has the uid of another call")
               : cluster_client_admission_check_done(client, CLUSTER_ORIGINS_SHARED, number);
}

int cluster_client_shared_take(struct cluster_client *client, uint64_t request,
                               struct rapahub_bytes bytes)
{
    struct cluster_shared_call asked;
    struct cluster_clients_call call;
    int r = cluster_shared_call_read(bytes, &asked);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < asked.acks_count; i++)
        cluster_client_admission_forget(client, asked.acks[i], false);
    cluster_client_admission_note_done(client, CLUSTER_ORIGINS_SHARED, asked.body.call.done_below);
    r = check(client, &asked);
    if (r == RAPAHUB_ETIMEDOUT)
        nack(client->clients, request, CLUSTER_NACK_EXPIRED);
    if (r < 0)
        return r == RAPAHUB_ETIMEDOUT ? 0 : r;
    call = cluster_client_admission_describe(client, &asked.frame, &asked.body.call);
    if (asked.body.call.left_us == 0) {
        rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the time of the call is over");
        nack(client->clients, request, CLUSTER_NACK_EXPIRED);
    } else {
        begin(client, request, &call);
    }
    return 0;
}
