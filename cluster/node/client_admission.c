/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_admission.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/client_ends.h"
#include "hub/base/clock.h"

#define BUSY_MS      50  /* after which a client that was refused may try again */
#define STREAMS_MAX  64  /* that a client has before one more call */
#define STREAMS_USER 128 /* that all clients of a user have: a quarter of a node's */

struct cluster_clients_call cluster_client_admission_describe(const struct cluster_client *client,
                                                              const struct cluster_frame *frame,
                                                              const struct cluster_body_call *body)
{
    return (struct cluster_clients_call){
        .frame = frame,
        .body = body,
        .role = client->role,
        .who = &client->who,
        .peer = cluster_client_users_number(&client->who),
        .deadline_ns = body->left_us > HUB_NEVER / HUB_MICROSECOND
                           ? HUB_NEVER
                           : hub_clock_after(body->left_us * HUB_MICROSECOND)};
}

static bool has_streams(const struct cluster_body_call *call)
{
    return (call->sources | call->sinks) != 0;
}

/* r[impl cluster.client.role] r[impl cluster.client.streams] */
int cluster_client_admission_check(const struct cluster_clients_call *call)
{
    bool offer = !cluster_ids_is_pool(call->frame->pool);

    if (has_streams(call->body) && offer)
        return rapahub_fail(RAPAHUB_ENOTSUP, "cluster.client.streams",
                            "no method of a node itself takes a stream");
    if (has_streams(call->body) &&
        (call->body->mode == CLUSTER_MODE_RANGE || call->body->mode == CLUSTER_MODE_BROADCAST))
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.client.streams",
                            "a stream is read or written once: a call with streams goes to one "
                            "container");
    if (!offer && call->role < RAPAHUB_CONTROL_OPERATOR)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.client.role",
                            "a call takes an operator; you are a viewer of this node");
    return 0;
}

static uint64_t patience_of(const struct cluster_body_call *call)
{
    return call->left_us > HUB_NEVER / HUB_MICROSECOND ? HUB_NEVER
                                                       : call->left_us * HUB_MICROSECOND;
}

static void drop_streams(struct cluster_client *client, uint64_t call)
{
    struct cluster_call_streams *streams = cluster_streams_find(&client->streams, call);

    if (streams)
        cluster_streams_remove(&client->streams, streams);
}

static unsigned streams_of_user(const struct cluster_client *client)
{
    const struct cluster_client *all = client->clients->all;
    unsigned count = 0;

    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++)
        if (all[i].user == client->user)
            count += all[i].streams.count;
    return count;
}

/* r[impl cluster.stream.bounds] */
int cluster_client_admission_make_streams(struct cluster_client *client,
                                          const struct cluster_clients_call *call)
{
    const struct cluster_call_streams_order order = {.call = call->frame->uid.number,
                                                     .patience_ns = patience_of(call->body),
                                                     .come = call->body->sources,
                                                     .go = call->body->sinks,
                                                     .bell = client->clients->bell,
                                                     .budget = client->user->budget};
    struct cluster_call_streams *streams = NULL;
    int r;

    drop_streams(client, order.call); /* the end of the same call was lost */
    if (!has_streams(call->body))
        return 0;
    if (client->streams.count >= STREAMS_MAX || streams_of_user(client) >= STREAMS_USER)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.stream.bounds",
                            "calls of this client have %u streams, and those of its user %u, as "
                            "many as they may",
                            client->streams.count, streams_of_user(client));
    r = cluster_call_streams_make(&order, &streams);
    if (r == 0)
        cluster_streams_add(&client->streams, streams);
    return r;
}

bool cluster_client_admission_knows(const struct cluster_clients_call *call)
{
    struct cluster_list list = call->body->members;
    struct cluster_body_member member;
    uint32_t i = 0;

    if (list.count != call->members_count)
        return false;
    for (; cluster_body_next_member(&list, &member); i++)
        if (member.container != call->members[i].container ||
            member.lineage != call->members[i].lineage)
            return false;
    return true;
}

void cluster_client_admission_run(struct cluster_clients *clients,
                                  struct cluster_origin_call *known,
                                  struct cluster_clients_call *call)
{
    const struct cluster_clients_options *options = &clients->options;
    struct cluster_client *client = known->origin->client;
    int r;

    call->streams = client ? cluster_streams_find(&client->streams, known->number) : NULL;
    call->number = known->own;
    call->members = known->members;
    call->members_count = known->members_count;
    hub_states_move(&cluster_origins_states, &known->state, CLUSTER_ORIGIN_RUNNING, "call", "");
    r = has_streams(call->body) && !call->streams
            ? rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.stream.patience", "its streams waited long")
            : options->hooks->call(options->user, call);
    if (r < 0)
        cluster_client_ends_fail(clients, known, r);
}

void cluster_client_admission_forget(struct cluster_client *client, uint64_t number, bool cancel)
{
    const struct cluster_clients_options *options = &client->clients->options;
    struct cluster_origin_call *known =
        cluster_origins_find(client->clients->origins, client->origin, number);

    if (!known || (known->state != CLUSTER_ORIGIN_ENDED && !cancel))
        return;
    if (known->state == CLUSTER_ORIGIN_RUNNING)
        options->hooks->cancel(options->user, known->own);
    if (cancel)
        drop_streams(client, number);
    if (client->told == known)
        client->told = NULL;
    cluster_origins_forget(client->clients->origins, known);
}

void cluster_client_admission_note_done(struct cluster_client *client, enum cluster_origins_way way,
                                        uint64_t done_below)
{
    const struct cluster_clients_options *options = &client->clients->options;
    struct cluster_origin *origin = client->origin;

    if (done_below > origin->said_below[way])
        origin->said_below[way] = done_below;
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
        drop_streams(client, call->number);
        if (client->told == call)
            client->told = NULL;
        cluster_origins_forget(client->clients->origins, call);
    }
}

/* A client that ends a call which is on its way by the socket may at once call by shared memory,
 * which is read first. r[impl cluster.shared.overtaken] */
int cluster_client_admission_check_done(const struct cluster_client *client,
                                        enum cluster_origins_way way, uint64_t number)
{
    if (number >= client->origin->done_below)
        return 0;
    if (number >= client->origin->said_below[way])
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the call ended at its client on its way here");
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.dedup.ended",
                        "a CALL %s has ended, as its client said",
                        way == CLUSTER_ORIGINS_SHARED ? "by shared memory" : "by the socket");
}

struct cluster_body cluster_client_admission_nack(uint8_t reason)
{
    const char *text = rapahub_last_error()->text;

    return (struct cluster_body){.nack = {.reason = reason,
                                          .after_ms = reason == CLUSTER_NACK_BUSY ? BUSY_MS : 0,
                                          .text = {text, strlen(text)}}};
}
