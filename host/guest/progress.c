/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/progress.h"

#include "host/guest/supervision.h"
#include "host/guest/watch.h"
#include "hub/base/clock.h"
#include "hub/call/call_debt.h"

/* A guest that waits for the host is not stuck, whatever calls it has not answered. It sleeps on an
 * empty ring, has an upcall open, or has a stream on which the host must act next. */
static bool waits_for_host(const struct host_life *life)
{
    const struct hub_connection *connection = &life->connection;

    return (hub_load_relaxed(&life->segment.view.entry->guest_wait) &
            (HUB_WAIT_RX | HUB_WAIT_TX)) != 0 ||
           hub_inbound_calls_open(connection->served) > 0 ||
           hub_channels_count(connection->channels) > 0;
}

/* Messages that are still held back for the guest are sent first: it cannot receive them yet. */
static void see(const struct host_life *life, struct host_stall_sight *out)
{
    const struct hub_peer_entry *entry = life->segment.view.entry;
    struct hub_call_debt debt;

    hub_link_push(life->connection.link);
    hub_call_debt_look(life->connection.calls, &debt);
    out->taken = hub_observe(&entry->host_to_guest_tail);
    out->sent = hub_observe(&entry->guest_to_host_head);
    out->unread = hub_observe(&entry->host_to_guest_head) != out->taken;
    out->runs = debt.open > 0 && !waits_for_host(life);
    out->overdue_ns = debt.overdue_ns;
}

/* If the timer comes late, the host itself stood still. r[impl supervise.watchdog.pause] */
static void on_time(void *user)
{
    struct host_life *life = user;
    const struct rapahub_supervision *how = &life->guest->supervision;
    uint64_t now = hub_clock_now(), every = host_stall_every(how);
    enum host_stall_verdict verdict;
    struct host_stall_sight sight;

    if (!host_watch_is_judged(life) || life->guest->state == HOST_GUEST_STOPPING)
        return;
    if (now > life->progress.timer.due_ns + every)
        host_stall_forgive(&life->progress.stall, now);
    see(life, &sight);
    verdict = host_stall_judge(&life->progress.stall, how, &sight, now);
    if (verdict != HOST_STALL_NONE && host_watch_is_excused(life))
        host_stall_forgive(&life->progress.stall, now);
    else if (verdict != HOST_STALL_NONE)
        HOST_SUPERVISION(life->host)
            ->hooks->lives.stuck(life, verdict == HOST_STALL_OVERRUN ? HOST_CAUSE_OVERRUN
                                                                     : HOST_CAUSE_STALL);
    host_loop_set(&life->host->owner.loop, &life->progress.timer, now + every);
}

void host_progress_begin(struct host_life *life)
{
    uint64_t every = host_stall_every(&life->guest->supervision);

    if (every == 0)
        return;
    life->progress.timer.on = on_time;
    life->progress.timer.user = life;
    host_loop_set(&life->host->owner.loop, &life->progress.timer, hub_clock_after(every));
}

void host_progress_end(struct host_progress *progress)
{
    host_loop_clear(&progress->timer);
}
