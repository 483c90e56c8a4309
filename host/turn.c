/* SPDX-License-Identifier: Apache-2.0 */
#include "host/turn.h"

#include "host/asyncs.h"
#include "host/death.h"
#include "host/events.h"
#include "host/guests.h"
#include "host/host.h"
#include "host/requests.h"
#include "host/threads.h"
#include "host/watch.h"
#include "hub/base/clock.h"
#include "hub/link/call_ends.h"

#define BATCH   64    /* messages of one guest, before the next one's turn */
#define IDLE_MS 10000 /* the longest wait */

#define GLANCES 8 /* turns in a row that look at no descriptor */

#define OWED_AGAIN (2 * HUB_MILLISECOND)

/* What calls the embedder is left to the turns outside of a deep one: a callback that calls begins
 * a turn inside of its own. */
static bool is_deep(const struct rapahub_host *host)
{
    return host->depth > HOST_TURN_DEPTH_MAX;
}

static int serve_embedder(struct rapahub_host *host, struct host_life *life, uint32_t work)
{
    int count = 0;

    if (is_deep(host)) {
        hub_arm(&life->work, work);
        return 0;
    }
    if (work & HOST_WORK_REQUEST)
        count += host_requests_serve(host, life);
    if (work & HOST_WORK_ANSWER)
        count += (int)hub_call_ends_deliver(life->connection.calls);
    return count;
}

/* What that brought is done in this turn: the loop need not be woken for it. */
static bool sweep(struct host_life *life, uint32_t *work)
{
    struct host_loop *loop = life->loop;
    bool received;
    uint32_t more;

    loop->handling = true;
    received = hub_link_sweep(life->connection.link, BATCH) > 0;
    loop->handling = false;
    more = hub_exchange(&life->work, 0);
    if (more & HOST_WORK_SWEEP) { /* in the next one */
        hub_arm(&life->work, HOST_WORK_SWEEP);
        host_loop_wake(loop);
    }
    *work |= more & ~HOST_WORK_SWEEP;
    return received;
}

static int serve_life(struct rapahub_host *host, struct host_life *life)
{
    uint32_t work = hub_exchange(&life->work, 0);
    int count = 0;

    if (work & HOST_WORK_SWEEP)
        count += sweep(life, &work);
    if (work & HOST_WORK_HINT)
        host_death_look(life);
    if (work & HOST_WORK_CLOSED)
        host_death_closed(life);
    if (work & HOST_WORK_GOODBYE)
        host_guests_leaving(life);
    if (work & (HOST_WORK_REQUEST | HOST_WORK_ANSWER))
        count += serve_embedder(host, life, work & (HOST_WORK_REQUEST | HOST_WORK_ANSWER));
    return count + (work != 0);
}

/* What is done for one life may end another, and move it to another list: so first all are noted.
 * None is freed before the outermost turn is over. */
static int serve_lives(struct rapahub_host *host)
{
    struct host_life *all[HUB_GUESTS_MAX];
    int count = 0, n = 0;

    HUB_LIST_EACH (&host->lives, link)
        if (n < HUB_GUESTS_MAX)
            all[n++] = HUB_LIST_ITEM(link, struct host_life, link);
    for (int i = 0; i < n; i++)
        if (hub_peek(&all[i]->work) != 0)
            count += serve_life(host, all[i]);
    return count;
}

/* What is armed here is done behind the timers of the same turn; of a deep one, by one outside. */
static void on_overdue(void *user)
{
    struct rapahub_host *host = user;

    HUB_LIST_EACH (&host->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);
        bool owes = hub_connection_owes(&life->connection);

        hub_arm(&life->work, HOST_WORK_ANSWER | (owes ? HOST_WORK_SWEEP : 0));
    }
    if (is_deep(host))
        host_loop_wake(&host->loop);
}

static void set_timer(struct rapahub_host *host, uint64_t due_ns)
{
    host->overdue.on = on_overdue;
    host->overdue.user = host;
    if (host->overdue.due_ns != due_ns || !host_loop_is_set(&host->overdue))
        host_loop_set(&host->loop, &host->overdue, due_ns);
}

/* The next end of a call nobody waits for, or the next try to send what a guest has no space for.
 */
static void set_overdue(struct rapahub_host *host)
{
    bool owes = false, deep = is_deep(host);
    uint64_t next = deep ? HUB_NEVER : host_asyncs_next_deadline(host);

    HUB_LIST_EACH (&host->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);
        uint64_t due = deep ? HUB_NEVER : hub_call_ends_next(life->connection.calls);

        owes = owes || hub_connection_owes(&life->connection);
        if (due < next)
            next = due;
    }
    if (owes && hub_clock_after(OWED_AGAIN) < next)
        next = hub_clock_after(OWED_AGAIN);
    set_timer(host, next);
}

static void sweep_containers(struct rapahub_host *host)
{
    if (hub_list_empty(&host->containers.gone))
        return;
    host_write_lock(host);
    host_containers_sweep(&host->containers);
    host_unlock(host);
}

/* The lives have had their turn: what a timer finds now would wait, and with it all who see that it
 * is noted and leave the loop alone. */
static void look_again(struct rapahub_host *host)
{
    bool noted = false;

    HUB_LIST_EACH (&host->lives, link)
        noted = noted || hub_peek(&HUB_LIST_ITEM(link, struct host_life, link)->work) != 0;
    if (noted)
        host_loop_wake(&host->loop);
}

/* What has ended is given back, and then what was to begin at once begins: a guest that is started
 * again without a delay finds the entry that it had, and waits for no other turn. */
static int clear(struct rapahub_host *host)
{
    bool ended = !hub_list_empty(&host->ended);
    int count;

    host_death_sweep(host);
    sweep_containers(host);
    count = ended ? host_loop_run_timers(&host->loop) : 0;
    if (count > 0)
        look_again(host);
    return count;
}

/* Who is told of a death is told before anything of it is given back: so events come first.
 * r[impl shm.death.recovery] */
static int work(struct rapahub_host *host)
{
    int count = serve_lives(host);

    if (!is_deep(host)) {
        count += host_threads_serve(host, false);
        host_requests_look(host);
        count += host_asyncs_serve(host);
        count += host_events_deliver(host);
    }
    if (host->depth == 1)
        count += clear(host);
    set_overdue(host);
    host_watch_rouse(host);
    return count;
}

/* Who sleeps holds nothing back. r[impl hub.ring.cork] */
static void push_all(struct rapahub_host *host)
{
    HUB_LIST_EACH (&host->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (life->open)
            hub_link_push(life->connection.link);
    }
}

/* What guests have rung for is taken without a system call, be the byte still on its way: a program
 * that dispatches again and again gets the answers to many calls so. Now and then, and where nobody
 * has rung, all descriptors and timers get their turn. */
static bool glance(struct rapahub_host *host)
{
    bool found = false;

    if (host->depth != 1 || host->glances == GLANCES) {
        host->glances = 0;
        return false;
    }
    HUB_LIST_EACH (&host->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (life->guest->state != HOST_GUEST_READY || !hub_link_was_rung(life->connection.link))
            continue;
        hub_arm(&life->work, HOST_WORK_SWEEP);
        found = true;
    }
    host->glances = found ? host->glances + 1 : 0;
    return found;
}

int host_turn(struct rapahub_host *host, int timeout_ms)
{
    int n = 0, count;

    host->depth++;
    if (timeout_ms != 0)
        push_all(host);
    if (timeout_ms != 0 || !glance(host))
        n = host_loop_turn(&host->loop,
                           timeout_ms < 0 || timeout_ms > IDLE_MS ? IDLE_MS : timeout_ms);
    count = work(host);
    host_loop_arm(&host->loop);
    host->depth--;
    return n < 0 ? n : n + count;
}

int host_turn_until(struct rapahub_host *host, uint64_t deadline_ns)
{
    host_watch_expect(host);
    return host_turn(host, hub_clock_left_ms(deadline_ns, IDLE_MS));
}

void host_turn_expect(struct rapahub_host *host, uint64_t due_ns)
{
    if (!host_threads_is_owner(host)) {
        host_loop_wake(&host->loop);
        return;
    }
    host_watch_expect(host);
    if (!host_loop_is_set(&host->overdue) || host->overdue.due_ns > due_ns)
        set_timer(host, due_ns);
    if (host->depth == 0) /* else the turn arms it when it ends */
        host_loop_arm(&host->loop);
}
