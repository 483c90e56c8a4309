/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lives/death.h"

#include <sys/epoll.h>

#include "host/call/upcalls.h"
#include "host/guest/probes.h"
#include "host/guest/progress.h"
#include "host/guest/watch.h"
#include "host/lives/guests.h"
#include "host/observe/observe.h"
#include "host/observe/observer.h"
#include "host/owner/changes.h"
#include "host/process/confinement.h"
#include "host/process/fd_store.h"
#include "host/roles/links.h"
#include "hub/base/clock.h"
#include "hub/call/call_ends.h"

#define BATCH       64                      /* messages of one guest before the turn of the next */
#define PURGE_AGAIN (10 * HUB_MILLISECOND)  /* until all processes of the guest are gone */
#define OUTPUT_END  (100 * HUB_MILLISECOND) /* for a pipe that outlives its guest */

/* Settles a life that is proven dead and whose link is closed. All calls have ended, perhaps on
 * another thread that is still on its way through them. The death is told, and what follows is
 * decided. r[impl shm.crash.host-owned] r[impl shm.death.detection-methods]
 * r[impl supervise.pending] */
static void settle(struct host_life *life)
{
    struct host_observe *host = HOST_OBSERVE(life->guest->host);

    if (life->death.settled || life->death.proven_ns == 0 ||
        !hub_connection_over(&life->connection))
        return;
    life->death.settled = true;
    host_life_note_exit(life);
    host_fd_store_hear(life);
    host_fd_store_close(life);
    host_guests_blame(life);
    life->death.calls_lost = (uint32_t)hub_calls_lost(life->connection.calls);
    host_output_finish(&life->process.output);
    hub_list_remove(&life->link);
    hub_list_append(&HOST_PROCESS(host)->ended, &life->link);
    host_upcalls_forget(&host->supervision.call, life);
    host_links_suspend(life);
    host_guests_ended(life);
    hub_call_ends_deliver(life->connection.calls);
}

/* The record of its guest may be gone. */
static void tell(const struct host_life *life)
{
    if (life->guest)
        host_guest_tell(life->guest);
}

static void end_watches(struct host_life *life)
{
    life->death.proven_ns = hub_clock_now();
    tell(life);
    host_loop_unwatch(life->loop, &life->process.on_death);
    host_loop_unwatch(life->loop, &life->process.on_hangup);
    host_loop_unwatch(life->loop, &life->doorbell.watch);
    host_life_look_away(life);
    host_progress_end(&life->progress);
    host_probes_end(life);
    host_loop_clear(&life->startup.again);
}

static void prove(struct host_life *life)
{
    if (host_life_said_goodbye(life)) {
        life->goodbye.detached = life->anonymous || life->admitted;
        hub_publish(&life->goodbye.leaving, 1); /* even if it ended right then */
    }
    end_watches(life);
    host_life_finish(life);
    host_life_part(life);
    settle(life);
}

/* The process may still write, so the memory that it can reach is never used again.
 * r[impl hub.death.quarantine] */
static void quarantine(struct host_life *life)
{
    life->death.quarantined = true;
    end_watches(life);
    host_life_part(life);
    hub_link_close(life->connection.link, RAPAHUB_EDIED, "hub.death.quarantine");
    rapahub_log(RAPAHUB_LOG_ERROR, "death",
                "%s: attached without a lock, so nobody can prove that it is dead; its entry %u "
                "stays out of use",
                life->name, life->id.peer);
    settle(life);
}

/* A guest without a lock can prove its end only by its own goodbye. When its time is over, or it
 * broke a rule, it is quarantined. */
static bool is_hopeless(const struct host_life *life)
{
    return life->anonymous && !life->segment.locked &&
           hub_observe(&life->exit.cause) != HOST_CAUSE_NONE;
}

void host_death_look(struct host_life *life)
{
    if (life->death.proven_ns != 0)
        return;
    if (host_life_proven(life))
        prove(life);
    else if (is_hopeless(life))
        quarantine(life);
    else if (hub_observe(&life->goodbye.parted) != 0 && !life->death.killed)
        host_guests_end(life, HOST_CAUSE_NONE, "it is being killed");
}

/* The process of an anonymous guest is dead, but its lock is not free: a process that it forked
 * still has it. From now on the lock is tested by timer: the pidfd would report the same for
 * ever. */
void host_death_on_pidfd(void *user, uint32_t events)
{
    struct host_life *life = user;

    (void)events;
    host_death_look(life);
    if (life->death.proven_ns != 0 || !life->anonymous)
        return;
    host_loop_unwatch(life->loop, &life->process.on_death);
    host_guests_end(life, HOST_CAUSE_NONE, "its process is dead");
}

void host_death_on_hangup(void *user, uint32_t events)
{
    struct host_life *life = user;

    (void)events;
    host_life_kill(life, HOST_CAUSE_NONE);
    host_death_look(life);
}

void host_death_on_bell(void *user, uint32_t events)
{
    struct host_life *life = user;

    /* Most peers that hang up are dead: then there is nothing left to read or to kill. */
    if ((events & (EPOLLHUP | EPOLLRDHUP)) && life->admitted)
        host_death_on_hangup(life, events);
    else if (events & (EPOLLHUP | EPOLLRDHUP))
        host_death_look(life);
    if (life->death.proven_ns != 0)
        return;
    (void)hub_link_rung(life->connection.link, BATCH);
    host_watch_listen(life);
    host_watch_look(life);
}

void host_death_closed(struct host_life *life)
{
    tell(life);
    if (hub_link_broken(life->connection.link))
        host_guests_violated(life);
    else if (hub_link_cause(life->connection.link) != RAPAHUB_EDIED && life->death.proven_ns == 0)
        host_guests_end(life, HOST_CAUSE_NONE, "its link is closed");
    settle(life);
}

/* r[impl supervise.pending] */
int host_death_deliver(struct host_observe *host)
{
    int count = 0;

    HUB_LIST_EACH (&HOST_PROCESS(host)->ended, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (hub_clear_bits(&life->work, HOST_WORK_ANSWER) & HOST_WORK_ANSWER)
            count += (int)hub_call_ends_deliver(life->connection.calls);
    }
    return count;
}

/* A grandchild may hold the pipes. Its output is waited for, but only for a moment. */
static bool is_over(struct host_observe *host, struct host_life *life)
{
    const struct host_output_pipe *pipes = life->process.output.pipes;
    uint64_t until = life->death.proven_ns + OUTPUT_END;
    bool open = pipes[0].watch.fd >= 0 || pipes[1].watch.fd >= 0;

    if (hub_observe(&life->users) != 0 ||
        host_caller_inside_life(&HOST_REGISTRY(host)->callers, life) != 0 ||
        (hub_observe(&life->work) & HOST_WORK_ANSWER) != 0)
        return false;
    if (host_confinement_lasts(life)) {
        until = hub_clock_after(PURGE_AGAIN);
        if (!host_loop_is_set(&HOST_PROCESS(host)->linger))
            host_loop_set(&HOST_OWNER(host)->loop, &HOST_PROCESS(host)->linger, until);
        return false;
    }
    if (!open || HOST_PROCESS(host)->closing || hub_clock_left(until) == 0)
        return true;
    if (!host_loop_is_set(&HOST_PROCESS(host)->linger))
        host_loop_set(&HOST_OWNER(host)->loop, &HOST_PROCESS(host)->linger, until);
    return false;
}

/* Waits for cgroups that empty themselves, each within its bound. There may be several, and the end
 * of the host is too late to begin to watch them. */
void host_death_sweep_all(struct host_observe *host)
{
    bool lasts;

    do {
        lasts = false;
        host_death_sweep(host);
        HUB_LIST_EACH (&HOST_PROCESS(host)->ended, link)
            lasts = lasts || host_confinement_lasts(HUB_LIST_ITEM(link, struct host_life, link));
        if (lasts)
            hub_clock_pause(HUB_MILLISECOND);
    } while (lasts);
    host_death_sweep(host);
}

void host_death_sweep(struct host_observe *host)
{
    bool freed = false;

    HUB_LIST_EACH (&HOST_PROCESS(host)->ended, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (!is_over(host, life))
            continue;
        host_guests_blame(life); /* a last user may have found a violation since */
        hub_list_remove(&life->link);
        host_observer_reaped(host, life);
        host_life_release(&life);
        freed = true;
    }
    if (freed) /* another life may have its entry */
        host_changes_tell(HOST_OWNER(host));
}
