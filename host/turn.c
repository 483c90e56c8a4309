/* SPDX-License-Identifier: Apache-2.0 */
#include "host/turn.h"

#include "host/call/async_pieces.h"
#include "host/call/asyncs.h"
#include "host/call/router.h"
#include "host/call/upcalls.h"
#include "host/guest/watch.h"
#include "host/host.h"
#include "host/lives/death.h"
#include "host/lives/guests.h"
#include "host/observe/observe.h"
#include "host/owner/changes.h"
#include "host/owner/detached.h"
#include "host/owner/events.h"
#include "host/owner/ownership.h"
#include "host/owner/threads.h"
#include "host/owner/wait.h"
#include "host/process/nap.h"
#include "hub/base/clock.h"
#include "hub/call/call_ends.h"

#define BATCH   64    /* messages of one guest before the turn of the next */
#define IDLE_MS 10000 /* the longest wait */

#define LIVES_MAX (HUB_GUESTS_MAX + HOST_OPTIONS_ADMITTED)

#define ROUNDS 4 /* work is done so often in one turn */

#define GLANCES 8 /* turns in a row that look at no descriptor */

#define POLLS 8 /* turns in a row without a wait, after which another is expected at once */

#define OWED_AGAIN (2 * HUB_MILLISECOND)

/* A deep turn leaves all callbacks of the embedder to the turns around it: a callback that makes a
 * call begins a turn inside its own. */
static bool is_deep(const struct rapahub_host *host)
{
    return host->observe.supervision.call.process.owner.depth +
               host->observe.supervision.call.process.owner.nested >
           HOST_WAIT_DEPTH_MAX;
}

static int serve_embedder(struct rapahub_host *host, struct host_life *life, uint32_t work)
{
    int count = 0;

    if (is_deep(host)) {
        hub_arm(&life->work, work);
        return 0;
    }
    if (work & HOST_WORK_REQUEST)
        count += (int)host_upcalls_serve(HOST_CALL(host), life, HOST_UPCALLS_BATCH);
    if (work & HOST_WORK_ANSWER)
        count += (int)hub_call_ends_deliver(life->connection.calls);
    return count;
}

/* ---- without doorbells ---- */

/* An owner that dispatches again and again without a wait polls the rings itself, as long as no
 * thread can wait for the loop's descriptor. No guest rings for it then, which saves a system call
 * on either side. An owner that naps does not poll: doorbells tell it of the other guests. */
static bool is_polling(const struct rapahub_host *host)
{
    return host->polls >= POLLS &&
           hub_observe(&host->observe.supervision.call.process.owner.shown) == 0 &&
           (host->observe.supervision.call.process.options.waiting == RAPAHUB_WAIT_ADAPT ||
            host->observe.supervision.call.process.options.waiting == RAPAHUB_WAIT_POLL);
}

/* After this fence, either the thread that shows the descriptor wakes the loop, or the owner sees
 * that it is shown. */
static void begin_to_poll(struct rapahub_host *host)
{
    if (hub_load_relaxed(&host->polled) != 0)
        return;
    hub_store_relaxed(&host->polled, 1);
    hub_fence(&host->polled);
}

void host_turn_show(struct rapahub_host *host)
{
    if (hub_exchange(&HOST_OWNER(host)->shown, 1) == 0 && hub_observe(&host->polled) != 0)
        host_loop_wake(&HOST_OWNER(host)->loop);
}

/* After this the owner may sleep. The loop is woken for messages that came before the doorbell was
 * armed, or that are left: they do not ring. */
static void listen_again(struct rapahub_host *host)
{
    if (!host->unheard)
        return;
    host->unheard = false;
    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (!life->doorbell.unheard)
            continue;
        life->doorbell.unheard = false;
        hub_link_listen(life->connection.link);
        if (hub_load_relaxed(&life->work) & HOST_WORK_SWEEP)
            host_loop_wake(&HOST_OWNER(host)->loop);
    }
}

static bool count_polls(struct rapahub_host *host, int timeout_ms)
{
    if (timeout_ms != 0)
        host->polls = 0;
    else if (host->polls < POLLS && ++host->polls == POLLS)
        begin_to_poll(host);
    if (is_polling(host))
        return true;
    listen_again(host);
    return false;
}

static int sweep_link(struct host_life *life)
{
    struct hub_link *link = life->connection.link;

    life->doorbell.unheard = is_polling(HOST_WHOLE(life->host));
    if (!life->doorbell.unheard)
        return hub_link_sweep(link, BATCH);
    HOST_WHOLE(life->host)->unheard = true;
    return hub_link_poll(link, BATCH);
}

/* ---- a turn ---- */

/* New work from the sweep is done in this turn: the loop need not be woken for it. */
static bool sweep(struct host_life *life, uint32_t *work)
{
    struct host_loop *loop = life->loop;
    bool received;
    uint32_t more;

    loop->handling = true;
    received = sweep_link(life) > 0;
    loop->handling = false;
    more = hub_exchange(&life->work, 0);
    if (more & HOST_WORK_SWEEP) { /* in the next turn */
        hub_arm(&life->work, HOST_WORK_SWEEP);
        if (!life->doorbell.unheard)
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

/* The work for one life may end another, and move it to another list. So all lives are listed
 * first. None is freed before the outermost turn is over. */
static int serve_lives(struct rapahub_host *host)
{
    struct host_life *all[LIVES_MAX];
    int count = 0, n = 0;

    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link)
        if (n < LIVES_MAX)
            all[n++] = HUB_LIST_ITEM(link, struct host_life, link);
    for (int i = 0; i < n; i++)
        if (hub_load_relaxed(&all[i]->work) != 0)
            count += serve_life(host, all[i]);
    return count;
}

/* Work that is armed here is done after the timers of the same turn. A deep turn leaves it to one
 * around it. */
static void on_overdue(void *user)
{
    struct rapahub_host *host = user;

    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);
        bool owes = hub_connection_owes(&life->connection);

        hub_arm(&life->work, HOST_WORK_ANSWER | (owes ? HOST_WORK_SWEEP : 0));
    }
    if (is_deep(host))
        host_loop_wake(&HOST_OWNER(host)->loop);
}

static void set_timer(struct rapahub_host *host, uint64_t due_ns)
{
    HOST_CALL(host)->overdue.on = on_overdue;
    HOST_CALL(host)->overdue.user = host;
    if (HOST_CALL(host)->overdue.due_ns != due_ns || !host_loop_is_set(&HOST_CALL(host)->overdue))
        host_loop_set(&HOST_OWNER(host)->loop, &HOST_CALL(host)->overdue, due_ns);
}

/* Returns when a call that was not sent, or that the router has, ends or is tried again. A deep
 * turn does neither. */
static uint64_t next_of_calls(struct rapahub_host *host)
{
    uint64_t parked = host_asyncs_next_deadline(HOST_CALL(host));
    uint64_t routed = host_router_next_deadline(HOST_CALL(host));

    return parked < routed ? parked : routed;
}

/* Sets the timer to the next end of an asynchronous call, or to the next attempt to send to a guest
 * that had no space. */
static void set_overdue(struct rapahub_host *host)
{
    bool owes = false, deep = is_deep(host);
    uint64_t next = deep ? HUB_NEVER : next_of_calls(host);

    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link) {
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

static bool is_inside(void *user, const struct host_container *container)
{
    return host_caller_inside_container(user, container) != 0;
}

static void sweep_containers(struct rapahub_host *host)
{
    if (hub_list_empty(&HOST_REGISTRY(host)->containers.gone))
        return;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    host_containers_sweep(&HOST_REGISTRY(host)->containers, is_inside,
                          &HOST_REGISTRY(host)->callers);
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
}

/* The lives have had their turn, so work that a timer has just noted would wait. Threads that see
 * it noted do not wake the loop either. */
static void look_again(struct rapahub_host *host)
{
    bool noted = false;

    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link)
        noted = noted || hub_load_relaxed(&HUB_LIST_ITEM(link, struct host_life, link)->work) != 0;
    if (noted)
        host_loop_wake(&HOST_OWNER(host)->loop);
}

/* Frees what has ended, then runs timers that are due at once. A guest that restarts without a
 * delay so finds its old entry free, and waits for no other turn. */
static int clear(struct rapahub_host *host)
{
    bool ended = !hub_list_empty(&HOST_PROCESS(host)->ended);
    int count;

    host_death_sweep(HOST_OBSERVE(host));
    sweep_containers(host);
    count = ended ? host_loop_run_timers(&HOST_OWNER(host)->loop) : 0;
    if (count > 0)
        look_again(host);
    return count;
}

/* Events come first: an embedder is told of a death before anything of the dead is returned.
 * r[impl shm.death.recovery] */
static int work(struct rapahub_host *host)
{
    int count = serve_lives(host);

    if (!is_deep(host)) {
        count += host_death_deliver(HOST_OBSERVE(host));
        count += host_threads_serve(HOST_OWNER(host), false);
        host_upcalls_look(HOST_CALL(host));
        HOST_OWNER(host)->again = false; /* the rest serves all that was said until here */
        count += host_asyncs_serve(HOST_CALL(host));
        count += host_router_serve(HOST_CALL(host));
        count += host_detached_settle(HOST_OWNER(host));
        count += host_events_deliver(HOST_OWNER(host));
    }
    if (HOST_OWNER(host)->depth == 1) {
        host_async_pieces_settle(HOST_CALL(host));
        count += clear(host);
    }
    count += host_changes_serve(HOST_OWNER(host));
    set_overdue(host);
    host_watch_rouse(HOST_SUPERVISION(host));
    if (!is_deep(host))
        host_detached_rouse(HOST_OWNER(host));
    return count;
}

/* Work that the work itself has begun is done in the same turn, if that comes to an end soon. */
static int work_on(struct rapahub_host *host)
{
    int count = work(host);

    for (int i = 1; i < ROUNDS && HOST_OWNER(host)->again && !is_deep(host); i++)
        count += work(host);
    host_wait_settle(HOST_OWNER(host));
    return count;
}

/* A thread that sleeps holds no messages back. r[impl hub.ring.cork] */
static void push_all(struct rapahub_host *host)
{
    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (life->open)
            hub_link_push(life->connection.link);
    }
}

/* A doorbell that is still armed although the owner polls is disarmed by a sweep. */
static bool has_news(const struct host_life *life, bool polls)
{
    const struct hub_link *link = life->connection.link;

    if (life->doorbell.unheard)
        return hub_link_has_news(link);
    return host_guest_is_up(life->guest) && (polls || hub_link_was_rung(link));
}

/* Receives from guests that have rung without a system call, even if the byte is still on its way:
 * a program that dispatches again and again gets many responses this way. Now and then, and if no
 * guest has rung, all descriptors and timers get their turn. In a program that polls the loop's
 * descriptor a byte that is left would cost a turn of its own. */
static bool glance(struct rapahub_host *host, bool polls)
{
    bool found = polls;

    if (HOST_OWNER(host)->depth != 1 || host->glances == GLANCES ||
        hub_observe(&HOST_OWNER(host)->shown) != 0) {
        host->glances = 0;
        return false;
    }
    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (!has_news(life, polls))
            continue;
        hub_arm(&life->work, HOST_WORK_SWEEP);
        found = true;
    }
    host->glances = found ? host->glances + 1 : 0;
    return found;
}

/* Sleeps where the next event wakes it, on futexes or in the loop, then handles the loop's
 * events. */
static int wait_in_turn(struct rapahub_host *host, int timeout_ms)
{
    int most = timeout_ms < 0 || timeout_ms > IDLE_MS ? IDLE_MS : timeout_ms;

    push_all(host);
    return host_loop_turn(
        &HOST_OWNER(host)->loop,
        host_nap_may(HOST_PROCESS(host)) && host_nap(HOST_PROCESS(host), most) ? 0 : most);
}

int host_turn(struct rapahub_host *host, int timeout_ms)
{
    bool polls = count_polls(host, timeout_ms);
    int n = 0, count;

    host_wait_settle(HOST_OWNER(host)); /* for the turn around this one */
    HOST_OWNER(host)->depth++;
    if (timeout_ms != 0)
        n = wait_in_turn(host, timeout_ms);
    else if (!glance(host, polls))
        n = host_loop_turn(&HOST_OWNER(host)->loop, 0);
    count = work_on(host);
    host_loop_arm(&HOST_OWNER(host)->loop);
    HOST_OWNER(host)->depth--;
    return n < 0 ? n : n + count;
}

int host_turn_until(struct rapahub_host *host, uint64_t deadline_ns)
{
    host_watch_expect(HOST_SUPERVISION(host));
    return host_turn(host, hub_clock_left_ms(deadline_ns, IDLE_MS));
}

void host_turn_expect(struct rapahub_host *host, uint64_t due_ns)
{
    if (!host_ownership_is_owner(HOST_OWNER(host))) {
        host_loop_wake(&HOST_OWNER(host)->loop);
        return;
    }
    host_watch_expect(HOST_SUPERVISION(host));
    if (!host_loop_is_set(&HOST_CALL(host)->overdue) || HOST_CALL(host)->overdue.due_ns > due_ns)
        set_timer(host, due_ns);
    if (HOST_OWNER(host)->depth == 0) /* else the turn arms it when it ends */
        host_loop_arm(&HOST_OWNER(host)->loop);
}
