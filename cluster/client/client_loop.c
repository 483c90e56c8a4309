/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/client_loop.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/client/client_link.h"
#include "cluster/client/transport/unix_transport.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/own.h"
#include "hub/base/random.h"
#include "hub/base/thread.h"

#define SLEEP_MS_MOST 60000
#define HELLO_NS      (5 * HUB_SECOND)        /* before the next of several nodes is tried */
#define LOOK_NS       HUB_MILLISECOND         /* between two looks at the times of all calls */
#define FRESH_NS      (100 * HUB_MICROSECOND) /* a look at the connection is good for this time */

void cluster_client_loop_wake(struct cluster_client_loop *loop)
{
    const uint64_t one = 1;

    (void)!write(loop->wake, &one, sizeof one);
    cluster_client_lead_call(&loop->lead);
}

bool cluster_client_loop_is_here(const struct cluster_client_loop *loop)
{
    return pthread_equal(pthread_self(), loop->thread) != 0;
}

/* ---- times ---- */

/* Returns until when a call waits for a node that is away. r[impl cluster.client.times] */
static uint64_t until_of(const struct cluster_client_loop *loop,
                         const struct cluster_client_call *call)
{
    uint64_t since =
        call->begun_ns > loop->reconnect.since_ns ? call->begun_ns : loop->reconnect.since_ns;

    return loop->helloed || call->state == CLUSTER_CLIENT_CALL_SETTLING ? HUB_NEVER
                                                                        : since + loop->retry_ns;
}

/* The leader alone writes why the node is away, so it reads that without the lock. */
static void end_late(struct cluster_client_loop *loop, struct cluster_client_call *call, int code)
{
    bool away = !loop->helloed && loop->why[0];
    char text[CLUSTER_CLIENT_WHY + 64];
    struct cluster_client_end end = {.code = code, .text = {text, 0}};

    snprintf(text, sizeof text, "%s%s%s",
             code == RAPAHUB_ETIMEDOUT ? "no answer of the node in time"
                                       : "the node is away, and did not come back",
             away ? ": " : "", away ? loop->why : "");
    end.text.size = strlen(text);
    cluster_client_link_cancel(loop, call);
    cluster_client_calls_end(&loop->calls, call, &end);
}

/* r[impl cluster.client.times] */
static void look_at_times(struct cluster_client_loop *loop, uint64_t now_ns)
{
    uint64_t due = HUB_NEVER;

    if (now_ns < loop->calls.due_ns)
        return;
    HUB_LIST_EACH (&loop->calls.open, link) {
        struct cluster_client_call *call = HUB_LIST_ITEM(link, struct cluster_client_call, open);
        uint64_t until = until_of(loop, call), end = cluster_client_call_until(call);

        if (end <= now_ns) {
            end_late(loop, call, RAPAHUB_ETIMEDOUT);
            continue;
        }
        if (until <= now_ns) {
            end_late(loop, call, RAPAHUB_ENETTIMEOUT);
            continue;
        }
        end = until < end ? until : end;
        due = end < due ? end : due;
    }
    loop->calls.due_ns = due != HUB_NEVER && due < now_ns + LOOK_NS ? now_ns + LOOK_NS : due;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Returns when there is something to do, if nothing comes. */
static uint64_t due_of(const struct cluster_client_loop *loop)
{
    const struct cluster_client_calls *calls = &loop->calls;
    uint64_t due = calls->due_ns;

    if (!loop->connection)
        return least(due, loop->reconnect.next_ns);
    if (cluster_node_list_is_remote(loop->at) || !hub_list_empty(&calls->open))
        due = least(due, cluster_connection_due(loop->connection));
    if (!loop->helloed)
        return loop->nodes.count > 1 ? least(due, loop->asked_ns + HELLO_NS) : due;
    due = least(due, loop->share_ns);
    if (loop->acks_count > 0)
        due = least(due, loop->acks_ns);
    HUB_LIST_EACH (&calls->waiting, link) {
        uint64_t not_before =
            HUB_LIST_ITEM(link, struct cluster_client_call, waiting)->not_before_ns;

        if (not_before == 0)
            break; /* it waits for credit, and so do those after it */
        due = least(due, not_before);
    }
    return due;
}

/* ---- turns ---- */

static void do_cancels(struct cluster_client_loop *loop)
{
    static const char text[] = "the call was cancelled";
    const struct cluster_client_end end = {.code = RAPAHUB_ECANCELED,
                                           .text = {text, sizeof text - 1}};
    struct cluster_client_call *call;

    while ((call = cluster_client_calls_cancelled(&loop->calls))) {
        cluster_client_link_cancel(loop, call);
        cluster_client_calls_end(&loop->calls, call, &end);
    }
}

/* A node that hangs while others could serve is left. A single node is waited for. */
static bool is_left(const struct cluster_client_loop *loop, uint64_t now_ns)
{
    return loop->connection && !loop->helloed && loop->nodes.count > 1 &&
           now_ns >= loop->asked_ns + HELLO_NS;
}

/* The things to look at after a sleep. */
enum look { LOOK_NOTHING, LOOK_CONNECTION = 1, LOOK_DEATH = 2 };

static unsigned sleep_until(struct cluster_client_loop *loop, uint64_t due_ns)
{
    struct pollfd fds[] = {{.fd = loop->wake, .events = POLLIN},
                           {.fd = -1},
                           {.fd = loop->pidfd, .events = POLLIN},
                           {.fd = cluster_bell_fd(loop->calls.streams.bell), .events = POLLIN}};
    uint64_t count;

    if (loop->connection) {
        fds[1].fd = cluster_connection_fd(loop->connection);
        fds[1].events = cluster_connection_events(loop->connection);
    }
    if (poll(fds, 4, hub_clock_left_ms(due_ns, SLEEP_MS_MOST)) <= 0)
        return due_ns == 0 ? LOOK_NOTHING : LOOK_CONNECTION | LOOK_DEATH; /* something is due */
    if (fds[0].revents)
        (void)!read(loop->wake, &count, sizeof count);
    if (fds[3].revents)
        cluster_bell_hear(loop->calls.streams.bell);
    return (fds[1].revents || fds[2].revents ? LOOK_CONNECTION : LOOK_NOTHING) |
           (fds[2].revents ? LOOK_DEATH : LOOK_NOTHING);
}

/* Takes frames that have come, and finds out whether there is a node. */
static void hear(struct cluster_client_loop *loop, unsigned look, uint64_t now_ns)
{
    if (!loop->connection && now_ns >= loop->reconnect.next_ns)
        cluster_client_link_connect(loop, now_ns);
    if (loop->connection && (look & LOOK_CONNECTION))
        cluster_client_link_dispatch(loop, now_ns);
    if (is_left(loop, now_ns)) {
        rapahub_fail(RAPAHUB_ENETTIMEOUT, "", "a node has not answered for 5 s");
        cluster_client_link_lose(loop, now_ns);
    }
    if (loop->connection && (look & LOOK_DEATH) && cluster_unix_transport_is_dead(loop->pidfd)) {
        rapahub_fail(RAPAHUB_EDIED, "", "the node's process has died");
        cluster_client_link_lose(loop, now_ns);
    }
}

static void tend(struct cluster_client_loop *loop, uint64_t now_ns)
{
    do_cancels(loop);
    look_at_times(loop, now_ns);
    cluster_client_link_send(loop, now_ns);
    cluster_client_calls_settle(&loop->calls, false);
}

static void turn(struct cluster_client_loop *loop, unsigned look)
{
    uint64_t now_ns = hub_clock_now();

    hear(loop, look, now_ns);
    cluster_client_calls_take(&loop->calls);
    tend(loop, now_ns);
}

static void end_all(struct cluster_client_loop *loop)
{
    static const char text[] = "the client was closed";
    const struct cluster_client_end end = {.code = RAPAHUB_ECANCELED,
                                           .text = {text, sizeof text - 1}};

    cluster_client_calls_take(&loop->calls);
    HUB_LIST_EACH (&loop->calls.open, link)
        cluster_client_calls_end(&loop->calls,
                                 HUB_LIST_ITEM(link, struct cluster_client_call, open), &end);
    cluster_client_calls_settle(&loop->calls, true);
}

/* Says whether the next call is expected of a thread that waits for it: such a call was the last
 * one. Where there is shared memory, or may be soon, the thread of the client stays: it alone
 * begins and ends the beats that show the node that this process lives. */
static bool may_rest(struct cluster_client_loop *loop)
{
    bool waited = loop->calls.waited;

    loop->calls.waited = false;
    return waited && loop->helloed && hub_list_empty(&loop->calls.open) && !loop->calls.shm &&
           !loop->asks && loop->share_ns == HUB_NEVER;
}

static void *run(void *user)
{
    struct cluster_client_loop *loop = user;
    unsigned look = LOOK_NOTHING;

    while (!cluster_client_calls_is_closed(&loop->calls)) {
        turn(loop, look);
        if (may_rest(loop)) {
            cluster_client_lead_rest(&loop->lead);
            look = LOOK_NOTHING;
        } else {
            look = sleep_until(loop, due_of(loop));
        }
    }
    end_all(loop);
    cluster_client_link_close(loop);
    return NULL;
}

/* ---- turns of another thread ---- */

/* Returns false if the thread of the client must go on: callbacks run there, and it connects. They
 * are not told of anything before: calls with callbacks are not sent here. */
static bool turn_of_caller(struct cluster_client_loop *loop, unsigned look)
{
    uint64_t now_ns = hub_clock_now();

    hear(loop, look, now_ns);
    cluster_client_calls_take(&loop->calls);
    if (!loop->helloed || loop->calls.told > 0)
        return false;
    tend(loop, now_ns);
    loop->looked_ns = now_ns;
    return loop->helloed;
}

/* A call must not be sent to a node whose death could be known: it would be one that may have run.
 */
static unsigned look_first(struct cluster_client_loop *loop)
{
    return hub_clock_now() - loop->looked_ns < FRESH_NS ? LOOK_NOTHING : sleep_until(loop, 0);
}

/* A thread that adds a call finds no leader any more, or its call is found here. */
static void leave(struct cluster_client_loop *loop)
{
    bool more = !loop->helloed || !hub_list_empty(&loop->calls.open);

    if (cluster_client_lead_leave(&loop->lead) || more ||
        cluster_client_calls_are_added(&loop->calls))
        cluster_client_lead_call(&loop->lead);
}

bool cluster_client_loop_lead(struct cluster_client_loop *loop, struct cluster_client_call *call)
{
    unsigned look;

    if (!cluster_client_lead_claim(&loop->lead))
        return false;
    call->is_led = true;
    look = loop->helloed ? look_first(loop) : LOOK_NOTHING;
    while (loop->helloed && turn_of_caller(loop, look) && hub_observe(&call->ended) == 0)
        look = sleep_until(loop, due_of(loop));
    call->is_led = false;
    leave(loop);
    return true;
}

/* ---- from outside ---- */

int cluster_client_loop_start(struct cluster_client_loop *loop)
{
    int r;

    loop->origin = hub_random_nonce() | UINT64_C(1) << 63;
    loop->pidfd = -1;
    hub_mutex_init(&loop->lock, HUB_MUTEX_CLIENT);
    cluster_reconnect_begin(&loop->reconnect, hub_clock_now(), true);
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake < 0)
        return rapahub_fail(-errno, "", "cannot make an eventfd");
    r = cluster_client_calls_init(&loop->calls);
    if (r == 0)
        r = hub_closer_create(&loop->closer);
    if (r == 0) {
        r = hub_thread_start(&loop->thread, run, loop);
        if (r < 0)
            rapahub_fail(r, "", "cannot start the thread of a client");
    }
    if (r == 0)
        return 0;
    hub_closer_release(&loop->closer);
    cluster_client_calls_fini(&loop->calls);
    hub_fd_release(&loop->wake);
    return r;
}

void cluster_client_loop_stop(struct cluster_client_loop *loop)
{
    cluster_client_calls_close(&loop->calls);
    cluster_client_loop_wake(loop);
    pthread_join(loop->thread, NULL);
    hub_closer_release(&loop->closer);
    cluster_client_calls_fini(&loop->calls);
    hub_fd_release(&loop->wake);
    hub_mutex_fini(&loop->lock);
}

int cluster_client_loop_wait(struct cluster_client_loop *loop, uint64_t deadline_ns)
{
    char why[CLUSTER_CLIENT_WHY];
    int code;

    while (hub_observe(&loop->opened) == CLUSTER_CLIENT_OPENING && hub_clock_left(deadline_ns) > 0)
        (void)hub_futex_wait_private(&loop->opened, CLUSTER_CLIENT_OPENING, deadline_ns);
    if (hub_observe(&loop->opened) == CLUSTER_CLIENT_OPENED)
        return 0;
    hub_mutex_lock(&loop->lock);
    snprintf(why, sizeof why, "%s", loop->why[0] ? loop->why : "it does not answer");
    code = loop->why_code;
    hub_mutex_unlock(&loop->lock);
    if (hub_observe(&loop->opened) == CLUSTER_CLIENT_REFUSED)
        return rapahub_fail(code, "", "%s", why);
    return rapahub_fail(RAPAHUB_ENETTIMEOUT, "", "no node in time: %s", why);
}
