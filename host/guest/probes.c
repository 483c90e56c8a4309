/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/probes.h"

#include "host/call/request.h"
#include "host/guest/supervision.h"
#include "host/guest/watch.h"
#include "hub/base/clock.h"

enum health { HEALTH_READY, HEALTH_DEGRADED, HEALTH_UNHEALTHY };

static bool is_asked(const struct host_life *life)
{
    return host_watch_is_judged(life) && life->guest->state != HOST_GUEST_STOPPING;
}

static void set_timer(struct host_life *life)
{
    uint64_t due = host_probe_due(&life->probes.set);

    if (due == HUB_NEVER)
        host_loop_clear(&life->probes.timer);
    else
        host_loop_set(&life->host->owner.loop, &life->probes.timer, due);
}

/* ---- consequences ---- */

/* Under a debugger, or with `debug`, the probes of a guest begin anew instead. */
static void end_stuck(struct host_life *life)
{
    if (host_watch_is_excused(life)) {
        host_probe_forgive(&life->probes.set, hub_clock_now());
        return;
    }
    host_probes_end(life);
    HOST_SUPERVISION(life->host)->hooks->lives.stuck(life, HOST_CAUSE_PROBE);
}

static void serve(struct host_life *life)
{
    if (life->guest->state == HOST_GUEST_ATTACHED)
        HOST_SUPERVISION(life->host)->hooks->lives.ready(life);
    else
        host_supervision_restored(life->guest);
}

static void carry_out(struct host_life *life, enum host_probe_news news)
{
    switch (news) {
    case HOST_PROBE_STUCK:
        end_stuck(life);
        break;
    case HOST_PROBE_SERVES:
        serve(life);
        break;
    case HOST_PROBE_DEGRADED:
        host_supervision_degraded(life->guest);
        break;
    default:
        break;
    }
}

/* ---- probes and responses ---- */

/* A guest of another library that does not know this method is well: it has responded.
 * r[impl supervise.probe.answer] */
static bool is_well(struct host_life *life, enum host_probe_kind kind, struct hub_answer *answer)
{
    uint8_t health = HEALTH_READY;
    int r = host_request_decode(life, answer, "rapahub.ping", &rapahub_type_u8, &health);

    if (r < 0)
        return r == RAPAHUB_ENOMETHOD;
    return kind == HOST_PROBE_READINESS ? health == HEALTH_READY : health < HEALTH_UNHEALTHY;
}

static void on_answer(void *user, int code, struct hub_answer *answer)
{
    const struct host_probes_seat *seat = user;
    struct host_life *life = seat->life;
    bool well;

    if (code < 0 || !is_asked(life))
        return; /* the guest is dead, or leaves */
    well = is_well(life, seat->kind, answer);
    carry_out(life, host_probe_answered(&life->probes.set, seat->kind, well, hub_clock_now()));
    if (is_asked(life))
        set_timer(life);
}

/* The probe has no call deadline: it stays open as long as it takes. If there is no space to send
 * it now, it is sent again in a moment. */
static bool send(struct host_life *life, enum host_probe_kind kind)
{
    struct host_probes_seat *seat = &life->probes.seats[kind];
    uint8_t head[HOST_REQUEST_HEAD_MAX];
    const struct hub_call call = {.method_id = hub_lifecycle_id(HUB_LIFECYCLE_PING),
                                  .payload = {.head = {head, host_request_head(0, 0, head)}},
                                  .deadline_ns = HUB_NEVER,
                                  .at_once = true,
                                  .done = on_answer,
                                  .user = seat};
    uint64_t number;

    *seat = (struct host_probes_seat){life, kind};
    return hub_calls_begin(life->connection.calls, &call, &number) == 0;
}

/* Received messages, and the end of the probe's call, are handled before the next look. */
static void look(struct host_life *life)
{
    hub_arm(&life->work, HOST_WORK_SWEEP | HOST_WORK_ANSWER);
    host_loop_wake(&life->host->owner.loop);
}

static void take_steps(struct host_life *life)
{
    struct host_probe_set *set = &life->probes.set;
    enum host_probe_kind kind;
    uint64_t now = hub_clock_now();

    while (is_asked(life)) {
        switch (host_probe_next(set, now, &kind)) {
        case HOST_PROBE_ASK:
            host_probe_asked(set, kind, send(life, kind), now);
            break;
        case HOST_PROBE_LOOK:
            look(life);
            break;
        case HOST_PROBE_MISS:
            carry_out(life, host_probe_missed(set, kind, now));
            break;
        default:
            set_timer(life);
            return;
        }
    }
}

/* If the timer comes late, the host itself stood still. r[impl supervise.watchdog.pause] */
static void on_time(void *user)
{
    struct host_life *life = user;
    struct host_probe_set *set = &life->probes.set;
    uint64_t now = hub_clock_now();

    if (now > life->probes.timer.due_ns + host_probe_interval(set))
        host_probe_forgive(set, now);
    take_steps(life);
}

/* r[impl supervise.probe.ready] */
bool host_probes_begin(struct host_life *life)
{
    host_probe_begin(&life->probes.set, &life->guest->supervision, hub_clock_now());
    life->probes.timer.on = on_time;
    life->probes.timer.user = life;
    set_timer(life);
    return life->probes.set.serves;
}

void host_probes_end(struct host_life *life)
{
    host_probe_end(&life->probes.set);
    host_loop_clear(&life->probes.timer);
}
