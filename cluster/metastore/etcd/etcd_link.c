/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <rapahub/error.h>

#include "cluster/link/tcp.h"
#include "cluster/metastore/etcd/etcd_tls.h"
#include "cluster/metastore/etcd/etcd_url.h"

#define PIECE  ((size_t)64 << 10)
#define PIECES 16 /* received by one step */

struct cluster_etcd_link {
    int fd, epoll;
    uint32_t events; /* that epoll waits for */
    bool connected, heard, heard_ever;
    struct cluster_etcd_tls *tls;
    struct cluster_grpc *grpc;
    size_t out_at, out_size;
    uint8_t in[PIECE], plain[PIECE], out[PIECE];
};

static int watch_socket(struct cluster_etcd_link *link, uint32_t events, int how)
{
    struct epoll_event event = {.events = events};

    if (how == EPOLL_CTL_MOD && link->events == events)
        return 0;
    if (epoll_ctl(link->epoll, how, link->fd, &event) < 0)
        return rapahub_fail(-errno, "", "a connection to etcd cannot be waited for");
    link->events = events;
    return 0;
}

int cluster_etcd_link_open(const struct cluster_etcd_link_options *options,
                           struct cluster_etcd_link **out)
{
    struct cluster_etcd_link *link = calloc(1, sizeof *link);
    char authority[CLUSTER_ETCD_URL_MEMBER];
    int r;

    *out = link;
    if (!link)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "a connection to etcd: out of memory");
    link->fd = -1;
    link->epoll = options->epoll;
    cluster_etcd_url_print(options->member, authority);
    r = cluster_grpc_create(options->hooks, options->user, authority, &link->grpc);
    if (r == 0 && options->tls)
        r = cluster_etcd_tls_create(options->tls, options->member->host, &link->tls);
    if (r == 0)
        r = cluster_tcp_connect(options->address, &link->fd);
    if (r == 0)
        r = watch_socket(link, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD);
    if (r < 0)
        cluster_etcd_link_release(out);
    return r;
}

/* The descriptor leaves epoll by its close. */
void cluster_etcd_link_release(struct cluster_etcd_link **link)
{
    if (!*link)
        return;
    if ((*link)->fd >= 0)
        cluster_tcp_close(&(*link)->fd);
    cluster_grpc_release(&(*link)->grpc);
    cluster_etcd_tls_release(&(*link)->tls);
    free(*link);
    *link = NULL;
}

struct cluster_grpc *cluster_etcd_link_grpc(struct cluster_etcd_link *link)
{
    return link->grpc;
}

bool cluster_etcd_link_was_heard(struct cluster_etcd_link *link)
{
    bool heard = link->heard;

    link->heard = false;
    return heard;
}

/* Returns 1: it is connected; 0: not yet. */
static int look_at_connect(struct cluster_etcd_link *link)
{
    struct pollfd of = {.fd = link->fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int error = 0;

    if (link->connected)
        return 1;
    if (poll(&of, 1, 0) <= 0)
        return 0;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error != 0)
        return rapahub_fail(-error, "", "it cannot be connected to");
    link->connected = true;
    return 1;
}

/* ---- bytes that come ---- */

static int take_plain(struct cluster_etcd_link *link)
{
    ssize_t n;
    int r = 0;

    while (r == 0 && (n = cluster_etcd_tls_read(link->tls, link->plain, PIECE)) != 0)
        r = n < 0 ? (int)n : cluster_grpc_receive(link->grpc, link->plain, (size_t)n);
    return r;
}

static int take(struct cluster_etcd_link *link, size_t size)
{
    int r;

    link->heard = link->heard_ever = true;
    if (!link->tls)
        return cluster_grpc_receive(link->grpc, link->in, size);
    r = cluster_etcd_tls_feed(link->tls, link->in, size);
    return r < 0 ? r : take_plain(link);
}

static int receive(struct cluster_etcd_link *link)
{
    const bool is_mute = !link->heard_ever && !link->tls;
    ssize_t n = 0;
    int r = 0;

    for (unsigned i = 0; i < PIECES && r == 0; i++) {
        n = recv(link->fd, link->in, PIECE, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n < 0 && !(is_mute && errno == ECONNRESET)) /* it has not read all, as if it closed */
            return rapahub_fail(-errno, "", "the connection has failed");
        if (n <= 0)
            return rapahub_fail(RAPAHUB_ECLOSED, "", "it has closed the connection%s",
                                is_mute ? " without a word, as one that wants TLS" : "");
        r = take(link, (size_t)n);
    }
    return r;
}

/* ---- bytes that go ---- */

/* Puts some of the session's bytes into `out`, which is empty. Returns how many there are. */
static ssize_t fill(struct cluster_etcd_link *link)
{
    struct rapahub_bytes view;
    ssize_t n;
    int r = cluster_grpc_output(link->grpc, &view);

    if (r < 0)
        return r;
    if (!link->tls) {
        if (view.size > PIECE)
            view.size = PIECE;
        if (view.size > 0)
            memcpy(link->out, view.data, view.size);
        cluster_grpc_sent(link->grpc, view.size);
        return (ssize_t)view.size;
    }
    n = cluster_etcd_tls_write(link->tls, view.data, view.size);
    if (n < 0)
        return n;
    cluster_grpc_sent(link->grpc, (size_t)n);
    return (ssize_t)cluster_etcd_tls_take(link->tls, link->out, PIECE);
}

/* A member that closes the connection has said why, if it has: with that it is known what to do. */
static int fail_to_send(struct cluster_etcd_link *link, int code)
{
    int r = receive(link);

    return r < 0 ? r : rapahub_fail(-code, "", "the connection has failed");
}

int cluster_etcd_link_flush(struct cluster_etcd_link *link)
{
    ssize_t n = 0;

    while (link->connected) {
        if (link->out_at == link->out_size) {
            n = fill(link);
            if (n < 0)
                return (int)n;
            link->out_at = 0;
            link->out_size = (size_t)n;
        }
        if (link->out_size == 0)
            return watch_socket(link, EPOLLIN, EPOLL_CTL_MOD);
        n = send(link->fd, link->out + link->out_at, link->out_size - link->out_at,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return watch_socket(link, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
        if (n < 0 && errno != EINTR)
            return fail_to_send(link, errno);
        link->out_at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* r[impl cluster.store.etcd.tls] */
static int look_at_refusal(const struct cluster_etcd_link *link, int r)
{
    if ((r != -ECONNRESET && r != -EPIPE && r != RAPAHUB_ECLOSED) || !link->tls)
        return r;
    if (!cluster_etcd_tls_is_done(link->tls))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.tls",
                            "it hung up in the handshake, as one that does not speak TLS");
    if (cluster_etcd_tls_is_unheard(link->tls))
        return rapahub_fail(RAPAHUB_EACCES, "cluster.store.etcd.tls",
                            "it hung up after the handshake, as one that refuses our certificate");
    return r;
}

int cluster_etcd_link_step(struct cluster_etcd_link *link)
{
    int r = look_at_connect(link);

    if (r <= 0)
        return r;
    r = receive(link);
    if (r == 0)
        r = cluster_etcd_link_flush(link);
    if (r == 0 && cluster_grpc_is_over(link->grpc))
        r = rapahub_fail(RAPAHUB_ECLOSED, "", "it has ended the session");
    return r < 0 ? look_at_refusal(link, r) : 0;
}
