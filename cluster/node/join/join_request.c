/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/join/join_request.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/link/connection.h"
#include "cluster/link/name_lookup.h"
#include "cluster/link/tcp.h"
#include "cluster/link/tls.h"
#include "cluster/link/tls_context.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define LOOK_MS 10
#define WAIT_MS 1000
#define ADDRESS (CLUSTER_HOST_PORT_HOST + 8)

struct exchange {
    const struct cluster_join_request *request;
    struct cluster_join_answer *out;
    uint64_t deadline_ns;
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

static int look_up(const struct exchange *exchange, struct cluster_name_lookup_found *out)
{
    const struct cluster_host_port *to = &exchange->request->to;
    OWN(cluster_name_lookup) struct cluster_name_lookup *lookup = NULL;
    int r;

    out->count = 1;
    if (cluster_host_port_in_numbers(to, &out->addresses[0]))
        return 0;
    r = cluster_name_lookup_start(to, &lookup);
    if (r == 0)
        r = wait_for_name(lookup, exchange->deadline_ns, out);
    return r < 0 ? r : 0;
}

/* ---- frames ---- */

static int take_refusal(const struct cluster_body_close *body)
{
    return rapahub_fail(body->code < 0 ? body->code : RAPAHUB_EPROTOCOL, "", "%.*s",
                        (int)body->text.size, body->text.data);
}

static void copy_answer(const struct cluster_body_join_ok *ok, struct cluster_join_answer *out)
{
    out->node = ok->node;
    out->revision = ok->revision;
    memcpy(out->cluster, ok->cluster.data, sizeof out->cluster);
    snprintf(out->seat, sizeof out->seat, "%.*s", (int)ok->seat.size, ok->seat.data);
    out->certificate.size = ok->certificate.size;
    memcpy(out->certificate.text, ok->certificate.data, ok->certificate.size);
    out->anchors_size = ok->anchors.size;
    memcpy(out->anchors, ok->anchors.data, ok->anchors.size);
}

static int on_frame(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct exchange *exchange = user;

    if (frame->type == CLUSTER_FRAME_CLOSE)
        return take_refusal(&body->close);
    if (frame->type != CLUSTER_FRAME_JOIN_OK || exchange->answered)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.join.only", "an answer to a JOIN is no %s",
                            cluster_frame_name(frame->type));
    copy_answer(&body->join_ok, exchange->out);
    exchange->answered = true;
    return 0;
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

static int ask(struct exchange *exchange, struct cluster_connection *connection)
{
    const struct cluster_body body = {.join = exchange->request->join};
    int r = cluster_connection_put(connection, &(struct cluster_frame){.type = CLUSTER_FRAME_JOIN},
                                   &body);

    exchange->asked = true;
    if (r == 0)
        r = cluster_connection_flush(connection);
    while (r == 0 && !exchange->answered) {
        uint64_t due_ns = cluster_connection_due(connection);

        if (due_ns > hub_clock_now())
            r = wait_for(cluster_connection_fd(connection), cluster_connection_events(connection),
                         exchange->deadline_ns);
        if (r == 0)
            r = cluster_connection_dispatch(connection, hub_clock_now());
    }
    return exchange->answered ? 0 : r;
}

/* The cluster that the node names itself to be of is the one that its authority has certified. */
static int check_cluster(const struct exchange *exchange, const struct cluster_tls *tls)
{
    if (memcmp(cluster_tls_peer(tls)->uuid, exchange->out->cluster,
               sizeof exchange->out->cluster) == 0)
        return 0;
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.join.pinned",
                        "the node answers for another cluster than that of its certificate");
}

/* The socket and the session are the connection's. */
static int exchange_frames(struct exchange *exchange, int fd, struct cluster_tls *tls)
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
    r = cluster_connection_create(fd, &options, &hooks, exchange, &connection);
    if (r < 0)
        return r;
    r = ask(exchange, connection);
    if (r == 0)
        r = check_cluster(exchange, tls);
    cluster_connection_release(&connection);
    return r;
}

static int try_address(struct exchange *exchange, const struct cluster_tls_context *context,
                       const struct cluster_host_port_address *address)
{
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_CLIENT,
                                                .deadline_ns = exchange->deadline_ns};
    struct cluster_tls *tls = NULL;
    int fd = -1, r = cluster_tcp_connect(address, &fd);

    if (r == 0)
        r = cluster_tls_create(context, fd, &options, &tls);
    if (r == 0)
        r = shake_hands(tls, fd, exchange->deadline_ns);
    if (r == 0)
        return exchange_frames(exchange, fd, tls);
    cluster_tls_release(&tls);
    if (fd >= 0)
        cluster_tcp_close(&fd);
    return r;
}

/* r[impl cluster.join.pinned] */
int cluster_join_request_run(const struct cluster_join_request *request,
                             struct cluster_join_answer *out)
{
    OWN(cluster_tls_context) struct cluster_tls_context *context = NULL;
    struct cluster_name_lookup_found found;
    struct exchange exchange = {
        .request = request, .out = out, .deadline_ns = hub_clock_after(request->wait_ns)};
    int r = cluster_tls_open_pinned(request->ca_digest, &context);

    if (r < 0)
        return r;
    r = look_up(&exchange, &found);
    if (r < 0)
        return blame(&request->to, r);
    r = -ENOENT;
    for (unsigned i = 0; i < found.count && r < 0 && !exchange.asked; i++)
        r = try_address(&exchange, context, &found.addresses[i]);
    return r < 0 ? blame(&request->to, r) : 0;
}
