/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/detection/datagrams.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"

#define COST_NS  (HUB_SECOND / CLUSTER_DATAGRAMS_RATE)
#define BURST_NS (CLUSTER_DATAGRAMS_BURST * COST_NS)
#define PAUSE_NS (BURST_NS / 4) /* then a quarter of a burst may be read */

/* ---- opened and closed ---- */

static int fail(const struct cluster_host_port_address *at, const char *what)
{
    int error = errno;
    char text[CLUSTER_HOST_PORT_TEXT];

    cluster_host_port_print(at, text);
    return rapahub_fail(-error, "cluster.detect.socket",
                        "cannot %s UDP %s, where other nodes ask whether this one lives", what,
                        text);
}

static int watch(const struct cluster_datagrams *self, int how, bool wanted)
{
    struct epoll_event event = {.events = wanted ? EPOLLIN : 0};

    return epoll_ctl(self->epoll, how, self->fd, &event);
}

int cluster_datagrams_open(struct cluster_datagrams *self,
                           const struct cluster_host_port_address *at)
{
    const struct sockaddr *of = (const void *)&at->of;
    const int yes = 1;

    *self = (struct cluster_datagrams){.epoll = epoll_create1(EPOLL_CLOEXEC)};
    self->fd = socket(at->of.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->epoll < 0 || self->fd < 0)
        return fail(at, "make a socket for");
    (void)setsockopt(self->fd, SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof yes); /* for the figure only */
    if (at->of.ss_family == AF_INET6)
        (void)setsockopt(self->fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(self->fd, of, at->size) < 0)
        return fail(at, "listen at");
    return watch(self, EPOLL_CTL_ADD, true) < 0 ? fail(at, "watch") : 0;
}

void cluster_datagrams_close(struct cluster_datagrams *self)
{
    hub_fd_release(&self->fd);
    hub_fd_release(&self->epoll);
}

/* ---- in ---- */

void cluster_datagrams_begin(struct cluster_datagrams *self, uint64_t now_ns)
{
    self->turn = CLUSTER_DATAGRAMS_TURN;
    if (self->resume_ns == 0 || now_ns < self->resume_ns)
        return;
    self->resume_ns = 0;
    (void)watch(self, EPOLL_CTL_MOD, true);
}

uint64_t cluster_datagrams_next(const struct cluster_datagrams *self)
{
    return self->resume_ns != 0 ? self->resume_ns : HUB_NEVER;
}

/* The kernel counts all that it has dropped, in 32 bits. */
static void note_dropped(struct cluster_datagrams *self, struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        uint32_t now;

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SO_RXQ_OVFL)
            continue;
        memcpy(&now, CMSG_DATA(part), sizeof now);
        self->dropped += now - self->overflown;
        self->overflown = now;
    }
}

/* Says whether one more may be read now. Each uses up a span of time, and a few may be ahead of it.
 * r[impl cluster.detect.bounds] */
static bool may_read(struct cluster_datagrams *self, uint64_t now_ns)
{
    if (self->fd < 0 || self->turn == 0 || self->resume_ns != 0)
        return false;
    self->spent_ns = self->spent_ns > now_ns ? self->spent_ns : now_ns;
    if (self->spent_ns - now_ns <= BURST_NS)
        return true;
    self->resume_ns = now_ns + PAUSE_NS;
    (void)watch(self, EPOLL_CTL_MOD, false);
    return false;
}

size_t cluster_datagrams_take(struct cluster_datagrams *self, uint64_t now_ns, uint8_t *to,
                              size_t max)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint32_t))];
    struct iovec bytes = {to, max};
    ssize_t size = 0;

    while (size == 0) { /* an empty datagram is none, and costs as much */
        struct msghdr message = {.msg_iov = &bytes,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};

        if (!may_read(self, now_ns))
            return 0;
        size = recvmsg(self->fd, &message, MSG_DONTWAIT | MSG_TRUNC);
        if (size < 0)
            return 0;
        self->turn--;
        self->spent_ns += COST_NS;
        self->taken++;
        note_dropped(self, &message);
    }
    return (size_t)size;
}

/* ---- out ---- */

void cluster_datagrams_send(struct cluster_datagrams *self,
                            const struct cluster_host_port_address *to, const uint8_t *bytes,
                            size_t size)
{
    const struct sockaddr *of = (const void *)&to->of;
    ssize_t sent = sendto(self->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, of, to->size);

    if (sent == (ssize_t)size)
        self->sent++;
    else
        self->unsent++; /* it counts as lost on its way */
}
