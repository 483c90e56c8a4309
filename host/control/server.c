/* SPDX-License-Identifier: Apache-2.0 */
/* server: sockets and clients. A client that fails is only marked (reply.h); dispatch closes it
 * when it no longer uses it. */
#include "host/control/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/control/answer.h"
#include "host/control/invocation.h"
#include "host/control/operation.h"
#include "host/control/reply.h"
#include "host/socket/listener.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

void host_server_drop(struct rapahub_control *control, struct host_server_client *client)
{
    host_invocation_abandon(control, client);
    host_operation_abandon(client);
    (void)epoll_ctl(control->epoll, EPOLL_CTL_DEL, client->fd, NULL);
    (void)shutdown(client->fd, SHUT_RDWR); /* the client sees the end now, not after the closer has
                                              closed its descriptors */
    hub_closer_give_end(control->closer, &client->fd);
    host_frame_close(&client->in);
    host_frame_fini(&client->in);
    host_frame_fini(&client->out);
    *client = (struct host_server_client){.fd = -1};
}

/* ---- clients come ---- */

/* A set of clients: how many there are and may be, and which of those that wait for nothing was
 * silent longest. */
struct share {
    unsigned count, most;
    struct host_server_client *idlest;
};

static void count(struct share *share, struct host_server_client *client)
{
    share->count++;
    if (!client->call && !client->operation && !client->following &&
        (!share->idlest || client->last_active < share->idlest->last_active))
        share->idlest = client;
}

/* The clients that are there, as one who comes finds them. */
struct occupancy {
    struct host_server_client *free; /* NULL: no entry is */
    struct share all, shared, own;   /* shared: no admins; own: those of his user among them */
};

static void look_around(struct rapahub_control *control, uid_t uid, struct occupancy *out)
{
    *out = (struct occupancy){.all = {.most = HOST_SERVER_CLIENTS},
                              .shared = {.most = HOST_SERVER_SHARED},
                              .own = {.most = HOST_SERVER_OF_USER}};
    for (unsigned i = 0; i < HOST_SERVER_CLIENTS; i++) {
        struct host_server_client *client = &control->clients[i];

        if (client->fd < 0) {
            out->free = out->free ? out->free : client;
            continue;
        }
        count(&out->all, client);
        if (client->role == RAPAHUB_CONTROL_ADMIN)
            continue;
        count(&out->shared, client);
        if (client->uid == uid)
            count(&out->own, client);
    }
}

/* Finds an entry for a client: a free one, or that of the idlest of those whose place it may take.
 * An admin finds one whatever others do. RAPAHUB_EFULL: those are busy. r[impl sec.control.share]
 */
static int place_for_client(struct rapahub_control *control, const struct host_role_peer *peer,
                            struct host_server_client **out)
{
    bool admin = peer->role == RAPAHUB_CONTROL_ADMIN;
    const struct share *full;
    struct occupancy now;

    look_around(control, peer->uid, &now);
    *out = now.free;
    if (!admin && now.own.count >= now.own.most)
        full = &now.own;
    else if (!admin && now.shared.count >= now.shared.most)
        full = &now.shared;
    else if (now.free)
        return 0;
    else
        full = !admin || now.shared.idlest ? &now.shared : &now.all;
    *out = full->idlest;
    if (!*out && !now.free)
        full = &now.all;
    if (!*out)
        return rapahub_fail(RAPAHUB_EFULL, "", "%u clients of %u", full->count, full->most);
    host_server_drop(control, *out);
    return 0;
}

static int admit(struct rapahub_control *control, int fd, const struct host_role_peer *peer)
{
    struct host_server_client *client;
    int r = place_for_client(control, peer, &client);

    if (r < 0)
        return r;
    r = host_reply_watch(control, EPOLL_CTL_ADD, fd, (uint32_t)(client - control->clients),
                         EPOLLIN);
    if (r < 0)
        return r;
    *client = (struct host_server_client){.fd = fd,
                                          .uid = peer->uid,
                                          .role = peer->role,
                                          .interest = EPOLLIN,
                                          .last_active = hub_clock_now()};
    client->in.closer = control->closer;
    return 0;
}

/* A stranger who tries again and again fills no log: one line in a second. */
static void log_refusal(struct rapahub_control *control)
{
    uint64_t now_ns = hub_clock_now();
    char others[32] = "";

    if (control->refusal_ns != 0 && now_ns - control->refusal_ns < HUB_SECOND) {
        control->refused++;
        return;
    }
    if (control->refused > 0)
        snprintf(others, sizeof others, ", and %u before", (unsigned)control->refused);
    rapahub_log(RAPAHUB_LOG_WARN, "control", "client refused: %s%s", rapahub_last_error()->text,
                others);
    control->refusal_ns = now_ns;
    control->refused = 0;
}

static void take_client(struct rapahub_control *control, int fd)
{
    struct host_role_peer peer;
    int r = host_role_judge(fd, &control->group, &peer);

    if (r == 0)
        r = admit(control, fd, &peer);
    if (r == 0)
        return;
    log_refusal(control);
    host_reply_refuse(fd, r);
    hub_closer_give_end(control->closer, &fd);
}

static int accept_clients(struct rapahub_control *control)
{
    int r = 1;

    for (unsigned i = 0; i < HOST_SERVER_CLIENTS && r > 0; i++) {
        int fd;

        r = host_listener_accept(control->listener, &fd);
        if (r > 0)
            take_client(control, fd);
    }
    return r;
}

/* ---- requests ---- */

/* Says whether a client may send this request now. While its call runs only the cancel may come;
 * during an operation, and while it gets lines, nothing. */
static bool in_order(const struct host_server_client *client, enum host_frame_kind kind)
{
    return !client->following && !client->operation && (!client->call || kind == HOST_FRAME_CANCEL);
}

static void take_requests(struct rapahub_control *control, struct host_server_client *client)
{
    union host_frame_record record;
    int r = 1;

    while (!client->doomed && r > 0) {
        r = host_frame_decode(&client->in, 0, HOST_FRAME_REQUESTS, &record);
        if (r < 0)
            host_reply_doom(control, client, rapahub_last_error()->text);
        if (r <= 0)
            break;
        if (!in_order(client, host_frame_kind(&client->in)))
            host_reply_doom(control, client, "a request out of order");
        else
            host_answer(control, client, host_frame_kind(&client->in), &record);
        host_frame_close(&client->in);
        host_frame_drop(&client->in);
    }
}

static void serve_client(struct rapahub_control *control, struct host_server_client *client,
                         uint32_t events)
{
    client->last_active = hub_clock_now();
    if (events & EPOLLOUT)
        host_reply_flush(control, client);
    if (events & EPOLLOUT)
        host_answer_lines(control, client);
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || client->doomed)
        return;
    if (host_frame_fill(&client->in, client->fd) < 0)
        host_reply_doom(control, client, NULL);
    else
        take_requests(control, client);
}

static void hand_out_lines(struct rapahub_control *control)
{
    uint64_t count;

    (void)!read(control->wake, &count, sizeof count);
    for (unsigned i = 0; i < HOST_SERVER_CLIENTS; i++) {
        if (control->clients[i].fd >= 0)
            host_answer_lines(control, &control->clients[i]);
    }
}

static void close_doomed(struct rapahub_control *control)
{
    for (unsigned i = 0; i < HOST_SERVER_CLIENTS; i++) {
        if (control->clients[i].fd >= 0 && control->clients[i].doomed)
            host_server_drop(control, &control->clients[i]);
    }
}

static int serve(struct rapahub_control *control, const struct epoll_event *event)
{
    uint32_t tag = event->data.u32;

    if (tag == HOST_SERVER_LISTENER)
        return accept_clients(control);
    if (tag == HOST_SERVER_WAKE)
        hand_out_lines(control);
    else if (control->clients[tag].fd >= 0 && !control->clients[tag].doomed)
        serve_client(control, &control->clients[tag], event->events);
    return 0;
}

int host_server_check(const struct rapahub_control *control)
{
    return control->process == getpid()
               ? 0
               : rapahub_fail(RAPAHUB_ESTATE, "hub.host.fork", "a forked child has no host");
}

int rapahub_control_dispatch(struct rapahub_control *control)
{
    struct epoll_event events[HOST_SERVER_CLIENTS + 2];
    int failure = 0, n = host_server_check(control);

    if (n < 0)
        return n;
    n = epoll_wait(control->epoll, events, HOST_SERVER_CLIENTS + 2, 0);
    if (n < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait at the control socket");
    for (int i = 0; i < n; i++) {
        int r = serve(control, &events[i]);

        if (r < 0)
            failure = r;
    }
    close_doomed(control);
    return failure < 0 ? failure : (n > 0 ? n : 0);
}

int rapahub_control_fd(const struct rapahub_control *control)
{
    int r = host_server_check(control);

    return r < 0 ? r : control->epoll;
}

void rapahub_control_log(struct rapahub_control *control, enum rapahub_log_level level,
                         const char *topic, const char *text)
{
    int kept_errno = errno;
    char clean[HOST_LINES_TEXT];

    if (host_server_check(control) < 0)
        return;
    host_reply_clean(clean, sizeof clean, text);
    host_lines_add(control->lines, level, topic, clean);
    host_reply_wake(control);
    errno = kept_errno;
}

int rapahub_control_offer(struct rapahub_control *control, const char *name,
                          struct rapahub_pool_id pool)
{
    struct host_server_offer *offer = &control->offers[control->offers_count];
    int r = host_server_check(control);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < control->offers_count; i++) {
        if (strcmp(control->offers[i].name, name) == 0)
            return rapahub_fail(RAPAHUB_EEXIST, "", "'%s' is offered already", name);
    }
    if (control->offers_count == HOST_SERVER_OFFERS)
        return rapahub_fail(RAPAHUB_EFULL, "", "%d names of %d", HOST_SERVER_OFFERS,
                            HOST_SERVER_OFFERS);
    if (strlen(name) >= sizeof offer->name)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' is too long for a name", name);
    snprintf(offer->name, sizeof offer->name, "%s", name);
    offer->pool = pool;
    control->offers_count++;
    return 0;
}

void rapahub_control_withdraw(struct rapahub_control *control, const char *name)
{
    if (host_server_check(control) < 0)
        return;
    for (uint32_t i = 0; i < control->offers_count; i++) {
        if (strcmp(control->offers[i].name, name) != 0)
            continue;
        control->offers[i] = control->offers[--control->offers_count];
        return;
    }
}
