/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/stall.h"

#include "hub/base/clock.h"

#define LOOKS     4 /* checks within a limit */
#define OFTEN_MAX (10 * HUB_MILLISECOND)
#define SELDOM    HUB_SECOND

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t host_stall_every(const struct rapahub_supervision *how)
{
    uint64_t stall = how->stall_ns ? how->stall_ns : HUB_NEVER;
    uint64_t least = lesser(stall, how->overrun_ns ? how->overrun_ns : HUB_NEVER);

    if (least == HUB_NEVER)
        return 0;
    least /= LOOKS;
    return least < OFTEN_MAX ? OFTEN_MAX : lesser(least, SELDOM);
}

/* Records the time since when it stands still, or 0. */
static void note(uint64_t *since_ns, bool stands, bool moved, uint64_t now)
{
    if (!stands)
        *since_ns = 0;
    else if (*since_ns == 0 || moved)
        *since_ns = now;
}

static bool is_over(uint64_t since_ns, uint64_t limit_ns, uint64_t now)
{
    return since_ns != 0 && limit_ns != 0 && now - since_ns >= limit_ns;
}

/* A busy guest publishes late how much it has received, so a message from it counts as progress
 * too. Its beat thread receives while a call runs, so receiving does not show progress of the call.
 * r[impl supervise.stall] r[impl supervise.overrun] */
enum host_stall_verdict host_stall_judge(struct host_stall *stall,
                                         const struct rapahub_supervision *how,
                                         const struct host_stall_sight *sight, uint64_t now)
{
    uint64_t overdue =
        sight->overdue_ns > stall->forgiven_ns ? sight->overdue_ns : stall->forgiven_ns;
    bool spoke = sight->sent != stall->sent;

    note(&stall->unread_ns, sight->unread, spoke || sight->taken != stall->taken, now);
    note(&stall->runs_ns, sight->runs, spoke, now);
    stall->taken = sight->taken;
    stall->sent = sight->sent;
    if (is_over(stall->unread_ns, how->stall_ns, now) ||
        is_over(stall->runs_ns, how->stall_ns, now))
        return HOST_STALL_STANDS;
    if (overdue < now && is_over(overdue, how->overrun_ns, now))
        return HOST_STALL_OVERRUN;
    return HOST_STALL_NONE;
}

void host_stall_forgive(struct host_stall *stall, uint64_t now)
{
    stall->unread_ns = stall->runs_ns = 0;
    stall->forgiven_ns = now;
}
