/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/watch.h"

#include "host/guest/supervision.h"
#include "host/process/nap.h"
#include "host/process/tracer.h"
#include "hub/base/clock.h"
#include "hub/shm/peer_table.h"

#define SILENT_BUSY  HUB_MILLISECOND
#define SILENT_IDLE  (10 * HUB_MILLISECOND)
#define AWAKE_LOOK   HUB_SECOND
#define RESTING_LOOK (10 * HUB_SECOND) /* if nothing is open */
#define EXCUSED_MOST (3600 * HUB_SECOND)
#define SILENT_AFTER HUB_SECOND /* a life without traffic for so long is idle */

static void violated(struct host_life *life, const char *rule)
{
    hub_link_close(life->connection.link, RAPAHUB_EPROTOCOL, rule);
}

/* r[impl shm.segment.peer-state] r[impl shm.crash.epoch] */
void host_watch_look(struct host_life *life)
{
    uint32_t before = life->segment.peer_state;

    if (life->death.proven_ns != 0 || hub_link_closed(life->connection.link) ||
        hub_observe(&life->goodbye.parted) != 0)
        return;
    if (hub_peer_table_look(life->segment.view.entry, life->id.epoch, &life->segment.peer_state) <
        0) {
        violated(life, rapahub_last_error()->rule);
        return;
    }
    if (before == HUB_PEER_RESERVED && life->segment.peer_state != HUB_PEER_RESERVED)
        HOST_SUPERVISION(life->host)->hooks->lives.attached(life);
    if (before != HUB_PEER_GOODBYE && life->segment.peer_state == HUB_PEER_GOODBYE)
        HOST_SUPERVISION(life->host)->hooks->lives.leaving(life);
}

/* The excuse of a debugger ends. `debug` in the guest's options has no end.
 * r[impl supervise.watchdog.tracer] */
bool host_watch_is_traced(struct host_life *life)
{
    uint64_t now = hub_clock_now();

    if (!host_tracer_has(&life->process))
        return false;
    if (life->traced_ns == 0)
        life->traced_ns = now;
    if (now - life->traced_ns < EXCUSED_MOST)
        return true;
    rapahub_log(
        RAPAHUB_LOG_WARN, "watch",
        "%s: a debugger has looked at it for an hour, which excuses it no more; `debug` does",
        life->name);
    return false;
}

bool host_watch_is_excused(struct host_life *life)
{
    return life->guest->supervision.debug || host_watch_is_traced(life);
}

static void judge(struct host_life *life, uint64_t now, uint64_t interval)
{
    const struct host_pulse_sight sight = {
        .beat_ns = hub_load_relaxed64(&life->segment.view.entry->last_heartbeat),
        .now_ns = now,
        .most_ns = host_pulse_most(interval, life->guest->supervision.heartbeat_misses)};

    switch (host_pulse_judge(&life->pulse, &sight)) {
    case HOST_PULSE_WRONG:
        violated(life, "shm.crash.heartbeat-clock");
        break;
    case HOST_PULSE_LATE:
        if (host_watch_is_excused(life))
            host_pulse_forgive(&life->pulse, now);
        else
            HOST_SUPERVISION(life->host)->hooks->lives.stuck(life, HOST_CAUSE_WATCHDOG);
        break;
    default:
        break;
    }
}

bool host_watch_is_judged(const struct host_life *life)
{
    return life->segment.peer_state == HUB_PEER_ATTACHED && life->death.proven_ns == 0 &&
           !hub_link_closed(life->connection.link) &&
           hub_observe(&life->exit.cause) == HOST_CAUSE_NONE;
}

/* If the host itself did not look for longer than an interval, it was stopped: no guest is judged
 * by that time. r[impl shm.crash.heartbeat] */
static void on_beat(void *user)
{
    struct host_supervision *host = user;
    uint64_t interval = host->call.process.options.limits.heartbeat_ns, now = hub_clock_now();
    bool paused = host_pulse_stood_still(host->beat.due_ns, interval, now);

    HUB_LIST_EACH (&host->call.process.lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        host_watch_look(life);
        if (paused)
            host_pulse_forgive(&life->pulse, now);
        else if (host_watch_is_judged(life))
            judge(life, now, interval);
    }
    if (!host->call.process.options.anonymous)
        (void)host->hooks->anonymous_guests(host);
    if (!hub_list_empty(&host->call.process.lives))
        host_loop_set(&HOST_OWNER(host)->loop, &host->beat, now + interval);
}

/* The guest takes no part in waiting, has not attached yet, or has no doorbell. */
static bool is_silent(const struct host_life *life)
{
    if (life->anonymous)
        return life->death.proven_ns == 0;
    return life->death.proven_ns == 0 && !hub_link_closed(life->connection.link) &&
           (hub_load_relaxed(&life->segment.view.entry->guest_wait) & HUB_WAIT_PART) == 0;
}

/* Nothing signals that the lock of an anonymous guest is free. If it died before the host opened
 * its pidfd, not even its process can be waited for. */
static bool is_ending(const struct host_life *life)
{
    return life->segment.peer_state == HUB_PEER_GOODBYE ||
           hub_observe(&life->goodbye.parted) != 0 ||
           hub_observe(&life->exit.cause) != HOST_CAUSE_NONE ||
           (life->segment.locked && life->process.pidfd < 0) ||
           hub_link_closed(life->connection.link);
}

static bool is_deaf(const struct host_life *life, uint64_t now)
{
    return hub_link_deaf_until(life->connection.link) > now;
}

static void note_traffic(struct host_life_looks *looks, const struct hub_link_counters *counters,
                         uint64_t now)
{
    uint64_t traffic =
        hub_load_relaxed64(&counters->sent) + hub_load_relaxed64(&counters->received);

    if (traffic != looks->traffic) {
        looks->traffic = traffic;
        looks->traffic_ns = now;
    }
}

/* Returns the time until the next look. */
static uint64_t look_at_silent(struct host_life *life, uint64_t now)
{
    const struct hub_link_counters *counters = hub_link_counters(life->connection.link);

    HOST_SUPERVISION(life->host)->rests = false;
    note_traffic(&life->looks, counters, now);
    if (!life->doorbell.deaf)
        hub_link_note_unrung(life->connection.link);
    if (!hub_link_closed(life->connection.link))
        hub_arm(&life->work, HOST_WORK_SWEEP);
    host_watch_look(life);
    if (life->anonymous && is_ending(life)) {
        HOST_SUPERVISION(life->host)->hooks->lives.may_be_dead(life);
        return SILENT_BUSY;
    }
    return now - life->looks.traffic_ns < SILENT_AFTER ? SILENT_BUSY : SILENT_IDLE;
}

/* r[impl hub.wait.flood] */
void host_watch_listen(struct host_life *life)
{
    struct host_supervision *host = HOST_SUPERVISION(life->host);

    if (life->doorbell.deaf || life->death.proven_ns != 0 || !is_deaf(life, hub_clock_now()))
        return;
    if (!life->doorbell.flooded)
        rapahub_log(RAPAHUB_LOG_WARN, "watch",
                    "guest '%s' rings its doorbell for nothing: now and then nobody listens",
                    life->name);
    life->doorbell.deaf = life->doorbell.flooded = true;
    host_loop_unwatch(life->loop, &life->doorbell.watch);
    host_loop_set(&HOST_OWNER(host)->loop, &host->silent, hub_clock_after(SILENT_BUSY));
}

/* A descriptor that is watched anew reports at once what it holds. If it cannot be watched, the
 * next look tries again. */
static uint64_t look_at_deaf(struct host_life *life, uint64_t now)
{
    if (is_deaf(life, now) || host_life_listen(life) < 0) {
        hub_arm(&life->work, HOST_WORK_SWEEP);
        return HUB_FLOOD_LOOK;
    }
    life->doorbell.deaf = false;
    return HUB_NEVER;
}

/* May a message of the guest be expected? While it starts, always. */
static bool has_open(struct host_life *life)
{
    struct hub_connection *connection = &life->connection;

    if (life->death.proven_ns != 0 || hub_link_closed(connection->link))
        return false;
    return !host_guest_is_up(life->guest) || hub_calls_open(connection->calls) > 0 ||
           hub_inbound_calls_open(connection->served) > 0 ||
           hub_channels_count(connection->channels) > 0 || hub_connection_owes(connection);
}

/* A guest that takes part in waiting wakes the host. In case it does not, or a wake-up is lost, the
 * host still looks at its ring, its entry, and its need of slots. All guests are looked at
 * when a second of the clock begins, or every tenth one: the host wakes once for all.
 * r[impl hub.wait.bound] r[impl shm.host.poll-peers] */
static uint64_t look_at_awake(struct host_life *life, uint64_t now)
{
    bool again = now / AWAKE_LOOK != life->looks.last_ns / AWAKE_LOOK;
    uint64_t every;

    if (life->death.proven_ns != 0 || hub_link_closed(life->connection.link))
        return HUB_NEVER;
    if (again) {
        life->looks.rests = !has_open(life);
        hub_connection_trim(&life->connection, false);
    }
    every = life->looks.rests ? RESTING_LOOK : AWAKE_LOOK;
    if (now / every != life->looks.last_ns / every) {
        hub_arm(&life->work, HOST_WORK_SWEEP);
        host_watch_look(life);
    }
    if (again)
        life->looks.last_ns = now;
    HOST_SUPERVISION(life->host)->rests = HOST_SUPERVISION(life->host)->rests && life->looks.rests;
    return every - now % every;
}

/* If a guest wakes by futex instead of its doorbell, the host sleeps on that word: the owner
 * itself, or a thread for it. r[impl hub.wait.foreign] */
static void follow_its_wakes(struct host_life *life)
{
    struct host_futexes *futexes = &life->host->owner.futexes;
    bool by_thread = life->death.proven_ns == 0 && hub_link_wakes_by_futex(life->connection.link) &&
                     !host_nap_may(life->host);

    if (by_thread && !life->futex.watched)
        (void)host_futexes_watch(futexes, &life->futex);
    else if (!by_thread)
        host_futexes_forget(futexes, &life->futex);
}

static uint64_t look_at(struct host_life *life, uint64_t now)
{
    uint64_t of_deaf =
        life->doorbell.deaf && life->death.proven_ns == 0 ? look_at_deaf(life, now) : HUB_NEVER;
    uint64_t other = is_silent(life) ? look_at_silent(life, now) : look_at_awake(life, now);

    follow_its_wakes(life);
    return of_deaf < other ? of_deaf : other;
}

/* r[impl hub.wait.foreign] */
static void on_silent(void *user)
{
    struct host_supervision *host = user;
    uint64_t now = hub_clock_now(), next = HUB_NEVER;

    host->rests = true;
    HUB_LIST_EACH (&host->call.process.lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);
        uint64_t span = look_at(life, now);

        next = span < next ? span : next;
    }
    if (host->call.process.options.anonymous) {
        uint64_t span = host->hooks->anonymous_guests(host) ? SILENT_BUSY : SILENT_IDLE;

        next = span < next ? span : next;
    }
    if (next != HUB_NEVER)
        host_loop_set(&HOST_OWNER(host)->loop, &host->silent, now + next);
}

static void look_by(struct host_supervision *host, uint64_t due_ns)
{
    if (!host_loop_is_set(&host->silent) || host->silent.due_ns > due_ns)
        host_loop_set(&HOST_OWNER(host)->loop, &host->silent, due_ns);
}

void host_watch_expect(struct host_supervision *host)
{
    uint64_t now;

    if (!host->rests)
        return;
    host->rests = false;
    now = hub_clock_now();
    look_by(host, now + AWAKE_LOOK - now % AWAKE_LOOK);
}

/* The next look comes soon after the rest ends, and finds out itself what is open then. */
void host_watch_rouse(struct host_supervision *host)
{
    if (!host->rests)
        return;
    HUB_LIST_EACH (&host->call.process.lives, link)
        if (has_open(HUB_LIST_ITEM(link, struct host_life, link))) {
            host_watch_expect(host);
            return;
        }
}

static void begin_silent(struct host_supervision *host)
{
    host->silent.on = on_silent;
    host->silent.user = host;
    look_by(host, hub_clock_after(SILENT_IDLE));
}

void host_watch_begin(struct host_supervision *host)
{
    uint64_t interval = host->call.process.options.limits.heartbeat_ns;

    begin_silent(host);

    if (interval == 0 || host_loop_is_set(&host->beat))
        return;
    host->beat.on = on_beat;
    host->beat.user = host;
    host_loop_set(&HOST_OWNER(host)->loop, &host->beat, hub_clock_after(interval));
}
