/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/join/joiners.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

#define RULE     "cluster.join.only"
#define TURNS    4 /* dispatches in a row of one whose bytes are in TLS */
#define TEXT_MAX 300

void cluster_joiners_init(struct cluster_joiners *self, int epoll, uint32_t first_tag,
                          const struct cluster_joiners_hooks *hooks, void *user)
{
    *self = (struct cluster_joiners){
        .epoll = epoll, .first_tag = first_tag, .hooks = hooks, .user = user};
    for (unsigned i = 0; i < CLUSTER_JOINERS_MAX; i++)
        self->all[i].joiners = self;
}

/* ---- answers ---- */

static void release(struct cluster_joiner *joiner)
{
    struct cluster_joiners *self = joiner->joiners;

    (void)epoll_ctl(self->epoll, EPOLL_CTL_DEL, cluster_connection_fd(joiner->connection), NULL);
    cluster_connection_release(&joiner->connection);
    *joiner = (struct cluster_joiner){.joiners = self};
}

static int watch(struct cluster_joiner *joiner, int how)
{
    short events = cluster_connection_events(joiner->connection);
    struct epoll_event event = {.data.u32 = joiner->joiners->first_tag +
                                            (uint32_t)(joiner - joiner->joiners->all)};

    event.events =
        (events & POLLIN ? (uint32_t)EPOLLIN : 0) | (events & POLLOUT ? (uint32_t)EPOLLOUT : 0);
    if (how == EPOLL_CTL_MOD && event.events == joiner->interest)
        return 0;
    joiner->interest = event.events;
    return epoll_ctl(joiner->joiners->epoll, how, cluster_connection_fd(joiner->connection),
                     &event) < 0
               ? rapahub_fail(-errno, "", "cannot watch a socket")
               : 0;
}

/* Sends what waits. A side that has its answer is closed when all of it is sent. */
static void settle(struct cluster_joiner *joiner)
{
    if (cluster_connection_flush(joiner->connection) < 0 ||
        (joiner->answered && !cluster_connection_waits(joiner->connection)) ||
        watch(joiner, EPOLL_CTL_MOD) < 0) {
        rapahub_clear_error();
        release(joiner);
    }
}

static void put(struct cluster_joiner *joiner, uint8_t type, const struct cluster_body *body)
{
    const struct cluster_frame frame = {.type = type};

    joiner->answered = true;
    if (cluster_connection_put(joiner->connection, &frame, body) < 0)
        rapahub_clear_error(); /* nothing waits then, and it is closed */
}

/* Says why, with the address in front for those who read the log of this node. */
static void refuse(struct cluster_joiner *joiner)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    struct cluster_body body = {.close = {.code = last->code}};
    const char *rule = last->rule;
    char text[TEXT_MAX];

    snprintf(text, sizeof text, "%s", last->text);
    body.close.text = rapahub_string_of(text);
    rapahub_fail(body.close.code, rule, "%s: %s", joiner->from, text);
    joiner->joiners->hooks->refused(joiner->joiners->user);
    put(joiner, CLUSTER_FRAME_CLOSE, &body);
}

/* r[impl cluster.join.only] */
static int on_frame(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct cluster_joiner *joiner = user;
    struct cluster_joiners *self = joiner->joiners;
    int r;

    if (joiner->answered)
        return 0; /* it may not have read that yet */
    if (frame->type != CLUSTER_FRAME_JOIN || joiner->asked)
        r = rapahub_fail(RAPAHUB_EACCES, RULE,
                         "a side without a certificate may say JOIN, once, and it says %s",
                         cluster_frame_name(frame->type));
    else
        r = self->hooks->join(self->user, joiner->number, &body->join);
    joiner->asked = true;
    if (r < 0)
        refuse(joiner);
    return 0;
}

static void on_credit(void *user)
{
    (void)user;
}

static const struct cluster_connection_hooks connection_hooks = {on_frame, on_credit};

/* A side that has hung up is told nothing. */
static void serve(struct cluster_joiner *joiner)
{
    unsigned turns = 0;
    int r;

    do
        r = cluster_connection_dispatch(joiner->connection, hub_clock_now());
    while (r == 0 && cluster_connection_due(joiner->connection) == 0 && ++turns < TURNS);
    if (r == RAPAHUB_ECLOSED || (r < 0 && joiner->answered)) {
        rapahub_clear_error();
        release(joiner);
        return;
    }
    if (r < 0)
        refuse(joiner);
    settle(joiner);
}

/* ---- taken ---- */

/* Returns a free entry, or the oldest that has not asked; NULL: all have. */
static struct cluster_joiner *choose(struct cluster_joiners *self)
{
    struct cluster_joiner *oldest = NULL;

    for (unsigned i = 0; i < CLUSTER_JOINERS_MAX; i++) {
        struct cluster_joiner *joiner = &self->all[i];

        if (!joiner->connection)
            return joiner;
        if (!joiner->asked && (!oldest || joiner->deadline_ns < oldest->deadline_ns))
            oldest = joiner;
    }
    return oldest;
}

static void turn_out(struct cluster_joiner *joiner)
{
    rapahub_fail(RAPAHUB_EBUSY, "cluster.join.bounds", "%d others without a certificate are here",
                 CLUSTER_JOINERS_MAX);
    refuse(joiner);
    (void)cluster_connection_flush(joiner->connection);
    release(joiner);
}

static int connect_joiner(struct cluster_joiner *joiner, int fd, struct cluster_tls *tls)
{
    const struct cluster_connection_options options = {.body_max = CLUSTER_FRAME_BODY_MAX,
                                                       .closer = joiner->joiners->closer,
                                                       .transport = &cluster_tls_table,
                                                       .session = tls};

    return cluster_connection_create(fd, &options, &connection_hooks, joiner, &joiner->connection);
}

/* r[impl cluster.join.bounds] */
void cluster_joiners_take(struct cluster_joiners *self, int fd, struct cluster_tls *tls,
                          const char *from)
{
    struct cluster_joiner over = {.joiners = self}, *joiner = choose(self);

    if (joiner && joiner->connection)
        turn_out(joiner);
    if (!joiner)
        joiner = &over;
    if (connect_joiner(joiner, fd, tls) < 0) {
        rapahub_clear_error();
        return;
    }
    snprintf(joiner->from, sizeof joiner->from, "%s", from);
    joiner->number = ++self->last;
    joiner->deadline_ns = hub_clock_after(CLUSTER_JOINERS_NS);
    if (joiner == &over) {
        turn_out(joiner);
        return;
    }
    if (watch(joiner, EPOLL_CTL_ADD) < 0) {
        rapahub_clear_error();
        release(joiner);
    }
}

/* ---- turns ---- */

void cluster_joiners_serve(struct cluster_joiners *self, uint32_t tag)
{
    struct cluster_joiner *joiner = &self->all[tag - self->first_tag];

    if (joiner->connection)
        serve(joiner);
}

static uint64_t due_of(const struct cluster_joiner *joiner)
{
    uint64_t due;

    if (!joiner->connection)
        return HUB_NEVER;
    due = cluster_connection_due(joiner->connection);
    return due < joiner->deadline_ns ? due : joiner->deadline_ns;
}

uint64_t cluster_joiners_due(const struct cluster_joiners *self)
{
    uint64_t due = HUB_NEVER;

    for (unsigned i = 0; i < CLUSTER_JOINERS_MAX; i++)
        if (due_of(&self->all[i]) < due)
            due = due_of(&self->all[i]);
    return due;
}

void cluster_joiners_do_due(struct cluster_joiners *self, uint64_t now_ns)
{
    for (unsigned i = 0; i < CLUSTER_JOINERS_MAX; i++) {
        struct cluster_joiner *joiner = &self->all[i];

        if (due_of(joiner) <= now_ns && joiner->deadline_ns > now_ns)
            serve(joiner);
        else if (due_of(joiner) <= now_ns && joiner->answered)
            release(joiner);
        else if (due_of(joiner) <= now_ns) {
            rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.join.bounds", "its time to join is over");
            refuse(joiner);
            (void)cluster_connection_flush(joiner->connection);
            release(joiner);
        }
    }
}

void cluster_joiners_answer(struct cluster_joiners *self, uint64_t number,
                            const struct cluster_body_join_ok *ok)
{
    for (unsigned i = 0; i < CLUSTER_JOINERS_MAX; i++) {
        struct cluster_joiner *joiner = &self->all[i];
        const struct cluster_body body = {.join_ok = ok ? *ok : (struct cluster_body_join_ok){0}};

        if (!joiner->connection || joiner->number != number || joiner->answered)
            continue;
        if (ok)
            put(joiner, CLUSTER_FRAME_JOIN_OK, &body);
        else
            refuse(joiner);
        settle(joiner);
        return;
    }
}

void cluster_joiners_close(struct cluster_joiners *self)
{
    for (unsigned i = 0; i < CLUSTER_JOINERS_MAX; i++)
        if (self->all[i].connection)
            release(&self->all[i]);
}
