/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/shm/wait_ends.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/lock.h"

#define OWED_SLICE   HUB_MILLISECOND
#define PARENT_SLICE (100 * HUB_MILLISECOND) /* if the host's end shows in no event */

#define HANG_UP (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)

/* Only the holder of the receive token polls. Another thread would consume a byte, or the only
 * report of a hang-up, that belongs to it. */
static bool may_poll(const struct hub_wait_ends *ends)
{
    return (ends->order->bits & HUB_WAIT_RX) != 0;
}

bool hub_wait_ends_by_bell(const struct hub_wait_ends *ends)
{
    return may_poll(ends) && ends->wait->doorbell >= 0 && !ends->deaf &&
           !hub_load_relaxed(&ends->wait->peer_gone);
}

bool hub_wait_ends_by_pidfd(const struct hub_wait_ends *ends)
{
    return may_poll(ends) && ends->wait->pidfd >= 0 && !ends->pidfd_done;
}

static void see_bell(struct hub_wait_ends *ends, short events)
{
    struct hub_wait *wait = ends->wait;
    bool gone = (events & HANG_UP) != 0;

    if (events & POLLIN) {
        hub_wait_note_bell(wait);
        gone = !hub_wait_drain(wait) || gone;
    }
    if (gone && !hub_exchange(&wait->peer_gone, 1))
        ends->order->hung_up(ends->order->user);
}

static void see_pidfd(struct hub_wait_ends *ends, short events)
{
    if (!events)
        return;
    ends->pidfd_done = true;
    ends->order->hung_up(ends->order->user);
}

/* A doorbell of datagrams does not hang up. A changed parent is the host's end. */
void hub_wait_ends_see_parent(struct hub_wait_ends *ends)
{
    struct hub_wait *wait = ends->wait;

    if (wait->parent == 0 || !may_poll(ends))
        return;
    if ((hub_load_relaxed(&wait->refused) || getppid() != wait->parent) &&
        !hub_exchange(&wait->peer_gone, 1))
        ends->order->hung_up(ends->order->user);
}

/* Polls the descriptors that this thread may poll, for at most `span_ns`, which must not be
 * HUB_NEVER. r[impl shm.death.process-handle] */
void hub_wait_ends_poll(struct hub_wait_ends *ends, uint64_t span_ns)
{
    const struct timespec span = hub_clock_timespec(span_ns);
    struct pollfd fds[] = {
        {.fd = hub_wait_ends_by_bell(ends) ? ends->wait->doorbell : -1,
         .events = POLLIN | POLLRDHUP},
        {.fd = hub_wait_ends_by_pidfd(ends) ? ends->wait->pidfd : -1, .events = POLLIN},
        {.fd = may_poll(ends) ? ends->wait->nudge : -1, .events = POLLIN},
    };
    eventfd_t nudges;

    if (ppoll(fds, 3, &span, NULL) <= 0)
        return;
    ends->told = true;
    if (fds[2].revents)
        (void)eventfd_read(ends->wait->nudge, &nudges);
    see_bell(ends, fds[0].revents);
    see_pidfd(ends, fds[1].revents);
}

/* A byte that this side owes is tried again soon. */
void hub_wait_ends_sleep(struct hub_wait_ends *ends, uint64_t span_ns)
{
    struct hub_wait *wait = ends->wait;
    uint32_t bits = ends->order->bits & (HUB_WAIT_RX_BELL | HUB_WAIT_TX_BELL);

    if (hub_load_relaxed(&wait->bell_owed) && span_ns > OWED_SLICE)
        span_ns = OWED_SLICE;
    hub_wait_arm(wait, bits);
    if (wait->parent != 0 && span_ns > PARENT_SLICE)
        span_ns = PARENT_SLICE;
    if (!ends->order->ready(ends->order->user))
        hub_wait_ends_poll(ends, span_ns);
    hub_wait_disarm(wait, bits);
    hub_wait_ends_see_parent(ends);
}

/* Without a doorbell there is no hang-up. r[impl shm.doorbell.optional] */
void hub_wait_ends_look(struct hub_wait_ends *ends)
{
    struct hub_wait *wait = ends->wait;

    if (!may_poll(ends) || wait->doorbell >= 0)
        return;
    if (hub_wait_ends_by_pidfd(ends))
        hub_wait_ends_poll(ends, 0);
    if (wait->host_lock >= 0 && hub_lock_free(wait->host_lock, HUB_LOCK_HOST, 1) == 1 &&
        !hub_exchange(&wait->peer_gone, 1))
        ends->order->hung_up(ends->order->user);
}
