/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/ask/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include <rapahub/error.h>

#include "cluster/link/connection.h"
#include "cluster/link/name_lookup.h"
#include "cluster/link/tcp.h"
#include "cluster/link/tls_context.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define LOOK_MS 10
#define WAIT_MS 1000

struct trying {
    const struct cluster_ask *ask;
    const struct cluster_tls *tls;
    bool asked, answered;
};

/* Says whom it is about in front of the diagnosis. */
static int blame(const struct cluster_host_port *to, int code)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    char text[512];

    snprintf(text, sizeof text, "%s", last->text);
    return rapahub_fail(code, last->rule, "%s:%u: %s", to->host, to->port, text);
}

/* ---- addresses ---- */

static int wait_for_name(const struct cluster_name_lookup *lookup, uint64_t deadline_ns,
                         struct cluster_name_lookup_found *out)
{
    int r = cluster_name_lookup_take(lookup, out);

    while (r == 0 && hub_clock_left(deadline_ns) > 0) {
        hub_clock_pause(LOOK_MS * HUB_MILLISECOND); /* the look-up rings at nothing */
        r = cluster_name_lookup_take(lookup, out);
    }
    return r == 0 ? rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the name was not found in time") : r;
}

static int look_up(const struct cluster_ask *ask, struct cluster_name_lookup_found *out)
{
    OWN(cluster_name_lookup) struct cluster_name_lookup *lookup = NULL;
    int r;

    out->count = 1;
    if (cluster_host_port_in_numbers(&ask->to, &out->addresses[0]))
        return 0;
    r = cluster_name_lookup_start(&ask->to, &lookup);
    if (r == 0)
        r = wait_for_name(lookup, ask->deadline_ns, out);
    return r < 0 ? r : 0;
}

/* ---- frames ---- */

static int on_frame(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct trying *trying = user;
    const struct cluster_ask *ask = trying->ask;
    int r = ask->hooks->take(ask->user, cluster_tls_peer(trying->tls), frame, body);

    trying->answered |= r > 0;
    return r < 0 ? r : 0;
}

static void on_credit(void *user)
{
    (void)user;
}

static const struct cluster_connection_hooks hooks = {on_frame, on_credit};

/* ---- an address is tried ---- */

static int wait_for(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd at = {.fd = fd, .events = events};

    if (hub_clock_left(deadline_ns) == 0)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "there is no answer in time");
    if (poll(&at, 1, hub_clock_left_ms(deadline_ns, WAIT_MS)) < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait for a socket");
    return 0;
}

static int shake_hands(struct cluster_tls *tls, int fd, uint64_t deadline_ns)
{
    int r = cluster_tls_handshake(tls);

    while (r == 0) {
        r = wait_for(fd, cluster_tls_events(tls), deadline_ns);
        if (r == 0)
            r = cluster_tls_handshake(tls);
    }
    return r < 0 ? r : 0;
}

static int put_and_wait(struct trying *trying, struct cluster_connection *connection)
{
    const struct cluster_ask *ask = trying->ask;
    const struct cluster_frame frame = {.type = ask->type};
    int r = cluster_connection_put(connection, &frame, &ask->body);

    trying->asked = true;
    if (r == 0)
        r = cluster_connection_flush(connection);
    while (r == 0 && !trying->answered) {
        if (cluster_connection_due(connection) > hub_clock_now())
            r = wait_for(cluster_connection_fd(connection), cluster_connection_events(connection),
                         ask->deadline_ns);
        if (r == 0)
            r = cluster_connection_dispatch(connection, hub_clock_now());
    }
    return trying->answered ? 0 : r;
}

/* The socket and the session are the connection's. */
static int go_through(struct trying *trying, int fd, struct cluster_tls *tls)
{
    OWN(hub_closer) struct hub_closer *closer = NULL;
    struct cluster_connection *connection = NULL;
    struct cluster_connection_options options = {
        .body_max = CLUSTER_FRAME_BODY_MAX, .transport = &cluster_tls_table, .session = tls};
    int r = hub_closer_create(&closer);

    if (r < 0) {
        cluster_tls_release(&tls);
        cluster_tcp_close(&fd);
        return r;
    }
    options.closer = closer;
    trying->tls = tls;
    r = cluster_connection_create(fd, &options, &hooks, trying, &connection);
    if (r < 0)
        return r;
    r = put_and_wait(trying, connection);
    cluster_connection_release(&connection);
    return r;
}

static int try_address(struct trying *trying, const struct cluster_host_port_address *address)
{
    const struct cluster_ask *ask = trying->ask;
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_CLIENT,
                                                .deadline_ns = ask->deadline_ns};
    struct cluster_tls *tls = NULL;
    int fd = -1, r = cluster_tcp_connect(address, &fd);

    if (r == 0)
        r = cluster_tls_create(ask->context, fd, &options, &tls);
    if (r == 0)
        r = shake_hands(tls, fd, ask->deadline_ns);
    if (r == 0)
        return go_through(trying, fd, tls);
    cluster_tls_release(&tls);
    if (fd >= 0)
        cluster_tcp_close(&fd);
    return r;
}

int cluster_ask_run(const struct cluster_ask *ask)
{
    struct trying trying = {.ask = ask};
    struct cluster_name_lookup_found found;
    int r = look_up(ask, &found);

    if (r < 0)
        return blame(&ask->to, r);
    r = RAPAHUB_ENOENT;
    for (unsigned i = 0; i < found.count && r < 0 && !trying.asked; i++)
        r = try_address(&trying, &found.addresses[i]);
    return r < 0 ? blame(&ask->to, r) : 0;
}
