/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_admission.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/client_ends.h"
#include "hub/base/clock.h"

#define BUSY_MS 50 /* after which a client that was refused may try again */

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

/* r[impl cluster.client.role] */
int cluster_client_admission_check(const struct cluster_clients_call *call)
{
    bool offer = !cluster_ids_is_pool(call->frame->pool);

    if ((call->body->sources | call->body->sinks) != 0)
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "a client's call takes no streams");
    if (!offer && call->role < RAPAHUB_CONTROL_OPERATOR)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.client.role",
                            "a call takes an operator; you are a viewer of this node");
    return 0;
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
    int r;

    call->number = known->own;
    call->members = known->members;
    call->members_count = known->members_count;
    hub_states_move(&cluster_origins_states, &known->state, CLUSTER_ORIGIN_RUNNING, "call", "");
    r = options->hooks->call(options->user, call);
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
    cluster_origins_forget(client->clients->origins, known);
}

void cluster_client_admission_note_done(struct cluster_client *client, uint64_t done_below)
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

struct cluster_body cluster_client_admission_nack(uint8_t reason)
{
    const char *text = rapahub_last_error()->text;

    return (struct cluster_body){.nack = {.reason = reason,
                                          .after_ms = reason == CLUSTER_NACK_BUSY ? BUSY_MS : 0,
                                          .text = {text, strlen(text)}}};
}
