/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_links.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"

#define TOPIC "clients"

const struct hub_states cluster_client_links_states = {
    "client",
    {[CLUSTER_CLIENT_FREE] = {"Free", HUB_TO(CLUSTER_CLIENT_NEW)},
     [CLUSTER_CLIENT_NEW] = {"New", HUB_TO(CLUSTER_CLIENT_SERVED) | HUB_TO(CLUSTER_CLIENT_DOOMED) |
                                        HUB_TO(CLUSTER_CLIENT_FREE)},
     [CLUSTER_CLIENT_SERVED] = {"Served",
                                HUB_TO(CLUSTER_CLIENT_DOOMED) | HUB_TO(CLUSTER_CLIENT_FREE)},
     [CLUSTER_CLIENT_DOOMED] = {"Doomed", HUB_TO(CLUSTER_CLIENT_FREE)}}};

void cluster_client_links_note_refused(struct cluster_clients *clients)
{
    struct cluster_client_counts *counts = &clients->counts;
    uint64_t now_ns = hub_clock_now();

    cluster_rule_counts_add(&counts->broken, rapahub_last_error()->rule);
    counts->refused++;
    if (clients->refusal_ns != 0 && now_ns - clients->refusal_ns < HUB_SECOND)
        return;
    clients->refusal_ns = now_ns;
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "client refused: %s (%" PRIu64 " so far)",
                rapahub_last_error()->text, counts->refused);
}

void cluster_client_links_doom(struct cluster_client *client, const char *why)
{
    if (client->state != CLUSTER_CLIENT_DOOMED)
        hub_states_move(&cluster_client_links_states, &client->state, CLUSTER_CLIENT_DOOMED,
                        "client", why);
}

/* r[impl cluster.client.broken] */
void cluster_client_links_fail(struct cluster_client *client)
{
    const struct rapahub_diagnosis *failure = rapahub_last_error();
    char who[CLUSTER_CLIENT_USER_TEXT];

    cluster_rule_counts_add(&client->clients->counts.broken, failure->rule);
    if (failure->rule[0])
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "a client of %s is dropped: %s",
                    cluster_client_users_print(&client->who, who), failure->text);
    cluster_client_links_doom(client, failure->text);
}

void cluster_client_links_refuse(struct cluster_client *client, int code)
{
    const char *text = rapahub_last_error()->text;
    const struct cluster_body body = {.close = {code, {text, strlen(text)}}};

    cluster_client_links_note_refused(client->clients);
    if (cluster_connection_put(client->connection,
                               &(struct cluster_frame){.type = CLUSTER_FRAME_CLOSE}, &body) == 0)
        (void)cluster_connection_flush(client->connection);
    cluster_client_links_doom(client, "refused");
}

static void watch(struct cluster_client *client)
{
    short events = cluster_connection_events(client->connection);
    struct epoll_event event = {.data.u32 = (uint32_t)(client - client->clients->all)};

    event.events =
        (events & POLLIN ? (uint32_t)EPOLLIN : 0) | (events & POLLOUT ? (uint32_t)EPOLLOUT : 0);
    if (event.events == client->interest)
        return;
    client->interest = event.events;
    if (epoll_ctl(client->clients->epoll, EPOLL_CTL_MOD, cluster_connection_fd(client->connection),
                  &event) < 0)
        cluster_client_links_doom(client, "it cannot be watched");
}

void cluster_client_links_flush(struct cluster_client *client)
{
    if (client->state == CLUSTER_CLIENT_DOOMED)
        return;
    if (cluster_connection_flush(client->connection) < 0)
        cluster_client_links_fail(client);
    else
        watch(client);
}

/* r[impl cluster.client.streams] */
void cluster_client_links_lose_streams(struct cluster_client *client)
{
    struct cluster_clients *clients = client->clients;

    HUB_LIST_EACH (&client->streams.open, link) {
        const struct cluster_call_streams *streams =
            HUB_LIST_ITEM(link, struct cluster_call_streams, link);
        struct cluster_origin_call *call =
            client->origin ? cluster_origins_find(clients->origins, client->origin, streams->call)
                           : NULL;

        if (!call || call->state != CLUSTER_ORIGIN_RUNNING)
            continue;
        clients->options.hooks->cancel(clients->options.user, call->own);
        cluster_origins_forget(clients->origins, call);
    }
    cluster_streams_lose(&client->streams);
}

void cluster_client_links_send_streams(struct cluster_client *client)
{
    if (client->state == CLUSTER_CLIENT_SERVED &&
        cluster_streams_send(&client->streams, client->connection) < 0)
        cluster_client_links_fail(client);
    cluster_client_links_flush(client);
}

void cluster_client_links_share(struct cluster_client *client, bool has)
{
    struct cluster_clients *clients = client->clients;

    if (client->shares && !has)
        clients->options.hooks->unshare(clients->options.user, (uint32_t)(client - clients->all));
    clients->counts.shared += (has ? 1u : 0u) - (client->shares ? 1u : 0u);
    client->shares = has;
}

void cluster_client_links_close(struct cluster_client *client)
{
    struct cluster_clients *clients = client->clients;

    cluster_client_links_share(client, false);
    cluster_client_links_lose_streams(client);
    if (client->told)
        cluster_origins_forget(clients->origins, client->told);
    if (client->origin)
        cluster_origins_leave(clients->origins, client->origin);
    (void)epoll_ctl(clients->epoll, EPOLL_CTL_DEL, cluster_connection_fd(client->connection), NULL);
    cluster_connection_release(&client->connection);
    clients->counts.connections--;
    clients->counts.remote -= cluster_client_users_is_remote(&client->who) ? 1 : 0;
    cluster_client_users_disconnect(&clients->users, client->user,
                                    client->role == RAPAHUB_CONTROL_ADMIN);
    hub_states_move(&cluster_client_links_states, &client->state, CLUSTER_CLIENT_FREE, "client",
                    "closed");
    *client = (struct cluster_client){.clients = clients};
}

void cluster_client_links_close_doomed(struct cluster_clients *clients)
{
    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++)
        if (clients->all[i].state == CLUSTER_CLIENT_DOOMED)
            cluster_client_links_close(&clients->all[i]);
}

/* ---- the timer ---- */

static uint64_t due_of(const struct cluster_client *client)
{
    uint64_t due, stuck;

    if (client->state == CLUSTER_CLIENT_FREE)
        return HUB_NEVER;
    if (client->state == CLUSTER_CLIENT_DOOMED)
        return 0;
    due = cluster_connection_due(client->connection);
    if (client->state == CLUSTER_CLIENT_NEW)
        return client->hello_ns < due ? client->hello_ns : due;
    stuck = cluster_streams_due(&client->streams);
    return stuck < due ? stuck : due;
}

void cluster_client_links_arm(struct cluster_clients *clients)
{
    uint64_t due = cluster_origins_due(clients->origins);
    uint64_t handshake = cluster_client_handshakes_due(&clients->handshakes);
    uint64_t joiner = cluster_joiners_due(&clients->joiners);
    struct itimerspec when = {.it_value = {0}};

    if (clients->deaf && clients->deaf_ns < due)
        due = clients->deaf_ns;
    due = handshake < due ? handshake : due;
    due = joiner < due ? joiner : due;
    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++)
        if (due_of(&clients->all[i]) < due)
            due = due_of(&clients->all[i]);
    if (due == clients->armed_ns)
        return;
    clients->armed_ns = due;
    if (due != HUB_NEVER)
        when.it_value = hub_clock_timespec(due > 0 ? due : 1);
    (void)timerfd_settime(clients->timer, TFD_TIMER_ABSTIME, &when, NULL);
}
