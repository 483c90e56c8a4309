/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade/upgrade.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/guest/supervision.h"
#include "host/lives/after_exit.h"
#include "host/lives/startup.h"
#include "host/observe/observe.h"
#include "host/process/fd_store.h"
#include "host/roles/links.h"
#include "host/supervise/lint.h"
#include "host/upgrade/successor.h"
#include "host/upgrade/upgrade_post.h"
#include "host/upgrade/upgrade_roles.h"
#include "host/upgrade/upgrade_transfer.h"
#include "hub/base/clock.h"

#define HOLD       (5 * HUB_SECOND)
#define CLEAR_MOST HUB_SECOND
#define PROOF_MOST (10 * HUB_SECOND) /* until the proof of death of a killed process */

static void happens(struct host_upgrade *upgrade, enum host_upgrade_event event);
static void fails(struct host_upgrade *upgrade, int code);

/* ---- checks ---- */

bool host_upgrade_is_lost(const struct host_guest *guest, const struct host_life *life)
{
    return guest->life != life || !host_guest_is_up(guest) ||
           hub_link_closed(life->connection.link) || host_life_proven(life);
}

static bool is_new_lost(const struct host_upgrade *upgrade)
{
    const struct host_guest *successor = upgrade->successor;

    if (upgrade->state != HOST_UPGRADE_STARTING)
        return host_upgrade_is_lost(successor, upgrade->to);
    return upgrade->to &&
           (successor->life != upgrade->to || successor->state == HOST_GUEST_STOPPING ||
            hub_link_closed(upgrade->to->connection.link));
}

/* Records a failure. The first one is the reason; the later ones are ignored. */
static void note_failure(struct host_upgrade *upgrade, int code)
{
    if (upgrade->verdict.code < 0 || !host_upgrade_steps_undecided(upgrade->state))
        return;
    upgrade->failed = upgrade->state;
    host_verdict_take(&upgrade->verdict, code);
}

static void lose_old(struct host_upgrade *upgrade)
{
    note_failure(upgrade, rapahub_fail(RAPAHUB_EDIED, "", "the running version ended meanwhile"));
    happens(upgrade, HOST_UPGRADE_OLD_LOST);
}

static int compare_methods(struct host_upgrade *upgrade)
{
    const struct host_methods *before = upgrade->guest->methods;
    const struct host_methods *after = upgrade->successor->methods;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < before->count; i++)
        kept += host_methods_of_id(after, before->list[i]->id) != NULL;
    upgrade->result.methods_kept = kept;
    upgrade->result.methods_lost = before->count - kept;
    upgrade->result.methods_new = after->count - kept;
    return 0;
}

/* r[impl supervise.upgrade.state] */
static int compare(struct host_upgrade *upgrade)
{
    const struct host_guest *guest = upgrade->guest, *successor = upgrade->successor;

    snprintf(upgrade->result.version_after, sizeof upgrade->result.version_after, "%s",
             successor->module.version);
    upgrade->result.start_ns = hub_clock_now() - upgrade->began_ns;
    compare_methods(upgrade);
    if (!guest->module.plain && strcmp(guest->module.name, successor->module.name) != 0)
        return rapahub_fail(RAPAHUB_ESTATE, "", "%s is a version of %s, and %s runs %s",
                            successor->module.chimod, successor->module.name, guest->name,
                            guest->module.name);
    return 0;
}

/* ---- actions ---- */

static int list_containers(struct host_upgrade *upgrade)
{
    int r = host_gate_init(&upgrade->holding, upgrade->guest);

    upgrade->held_before = host_gate_calls(&upgrade->holding);
    upgrade->result.containers = upgrade->holding.count;
    return r;
}

static void begin(struct host_upgrade *upgrade)
{
    int r = list_containers(upgrade);

    if (r < 0)
        fails(upgrade, r);
    else
        host_upgrade_transfer_begin(upgrade);
}

static void hold(struct host_upgrade *upgrade)
{
    uint64_t most = upgrade->options->hold_ns ? upgrade->options->hold_ns : HOLD;

    upgrade->held_ns = hub_clock_now();
    upgrade->hold_until_ns = upgrade->held_ns + most;
    if (upgrade->hold_until_ns > upgrade->deadline_ns)
        upgrade->hold_until_ns = upgrade->deadline_ns;
    host_gate_begin(upgrade->host, &upgrade->holding);
    host_upgrade_transfer_plug(upgrade);
}

static void note_released(struct host_upgrade *upgrade)
{
    upgrade->result.blackout_ns = hub_clock_now() - upgrade->held_ns;
}

static int may_switch(struct host_upgrade *upgrade)
{
    if (host_upgrade_is_lost(upgrade->successor, upgrade->to))
        return rapahub_fail(RAPAHUB_EDIED, "", "the new version ended meanwhile");
    if (!host_gate_is_whole(&upgrade->holding, upgrade->guest))
        return rapahub_fail(RAPAHUB_ESTATE, "", "the containers of %s changed meanwhile",
                            upgrade->guest->name);
    return host_supervision_replaced(upgrade->guest);
}

/* The guest's health is what the probes of the new process say, whatever it was before. Calls are
 * still held, so none is refused because of it. r[impl supervise.upgrade.degraded] */
static void show_health(struct host_guest *guest)
{
    if (!guest->life->probes.set.serves) /* it could not be reported before */
        host_supervision_degraded(guest);
    else if (guest->state == HOST_GUEST_DEGRADED)
        host_supervision_ready(guest);
}

/* What the new process was given stands from now on. Under the write lock of routes. */
static void take_roles(const struct host_upgrade *upgrade)
{
    struct host_guest *guest = upgrade->guest;

    guest->linked = guest->life->incarnation;
    for (uint32_t i = 0; i < upgrade->holding.count; i++)
        host_links_stand(upgrade->holding.list[i], guest->life);
}

/* A call finds either the old process, where it waits, or the new one.
 * r[impl supervise.upgrade.hold] */
static void change_over(struct host_upgrade *upgrade)
{
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_READY};
    int r;

    host_fd_store_hear(upgrade->from); /* a broken rule ends its link */
    host_fd_store_hear(upgrade->to);
    if (host_upgrade_is_lost(upgrade->guest, upgrade->from)) {
        lose_old(upgrade);
        return;
    }
    r = may_switch(upgrade);
    if (r < 0) {
        fails(upgrade, r);
        return;
    }
    host_fd_store_change_over(upgrade->guest, upgrade->successor);
    host_routes_write(&HOST_REGISTRY(upgrade->host)->routes);
    host_successor_exchange(upgrade->guest, upgrade->successor);
    host_gate_renew(&upgrade->holding);
    take_roles(upgrade);
    host_routes_unlock(&HOST_REGISTRY(upgrade->host)->routes);
    host_after_exit_tell(upgrade->guest, &event); /* before any event about its health */
    show_health(upgrade->guest);
    host_gate_end(upgrade->host, &upgrade->holding);
    host_startup_open_roles(upgrade->guest->life);
    note_released(upgrade);
    rapahub_log(RAPAHUB_LOG_INFO, "upgrade",
                "%s: version %s took over from %s, %" PRIu64 " bytes of state, calls held for "
                "%" PRIu64 " us",
                upgrade->guest->name, upgrade->guest->module.version,
                upgrade->successor->module.version, upgrade->result.state_bytes,
                upgrade->result.blackout_ns / HUB_MICROSECOND);
    happens(upgrade, HOST_UPGRADE_SWITCHED);
}

/* The process may be gone already, so the next change is this one. */
static void await_end(struct host_upgrade *upgrade, uint64_t most_ns)
{
    upgrade->end_by_ns = hub_clock_after(most_ns);
    host_changes_tell(HOST_OWNER(upgrade->host));
}

static void retire(struct host_upgrade *upgrade)
{
    await_end(upgrade, host_lint_stop_ns(&upgrade->successor->supervision) + PROOF_MOST);
    host_successor_retire(upgrade->successor);
}

/* While calls are held, the wait for its end is shorter. */
static void end_new(struct host_upgrade *upgrade)
{
    await_end(upgrade, host_upgrade_steps_holds(upgrade->state) ? CLEAR_MOST : PROOF_MOST);
    host_successor_kill(upgrade->successor);
}

static void let_go(struct host_upgrade *upgrade)
{
    host_gate_end(upgrade->host, &upgrade->holding);
    note_released(upgrade);
    end_new(upgrade);
}

static void finish(struct host_upgrade *upgrade)
{
    host_loop_wake(&HOST_OWNER(upgrade->host)->loop);
}

static void act(struct host_upgrade *upgrade, enum host_upgrade_action action)
{
    static void (*const actions[])(struct host_upgrade *) = {
        [HOST_UPGRADE_BEGIN] = begin,
        [HOST_UPGRADE_HOLD] = hold,
        [HOST_UPGRADE_DRAIN] = host_upgrade_transfer_drain,
        [HOST_UPGRADE_RELEASE] = host_upgrade_roles_release,
        [HOST_UPGRADE_LINK] = host_upgrade_roles_link,
        [HOST_UPGRADE_SAVE] = host_upgrade_transfer_save,
        [HOST_UPGRADE_LOAD] = host_upgrade_transfer_load,
        [HOST_UPGRADE_SWITCH] = change_over,
        [HOST_UPGRADE_RETIRE] = retire,
        [HOST_UPGRADE_RETURN] = host_upgrade_roles_return,
        [HOST_UPGRADE_LET_GO] = let_go,
        [HOST_UPGRADE_END_NEW] = end_new,
        [HOST_UPGRADE_FINISH] = finish,
    };

    if (actions[action])
        actions[action](upgrade);
}

/* When the upgrade goes on by itself, whatever happens. */
static uint64_t due_of(const struct host_upgrade *upgrade)
{
    struct host_upgrade_step step;
    uint64_t due = HUB_NEVER;

    if (host_upgrade_steps_undecided(upgrade->state))
        due = host_upgrade_post_deadline(upgrade);
    else if (host_upgrade_steps_find(upgrade->state, HOST_UPGRADE_GONE, &step))
        due = upgrade->end_by_ns;
    return upgrade->again && upgrade->again_ns < due ? upgrade->again_ns : due;
}

/* Called after each step. */
static void set_timer(struct host_upgrade *upgrade)
{
    uint64_t due = due_of(upgrade);

    if (!host_loop_is_set(&upgrade->timer) || upgrade->timer.due_ns != due)
        host_loop_set(&HOST_OWNER(upgrade->host)->loop, &upgrade->timer, due);
}

static void happens(struct host_upgrade *upgrade, enum host_upgrade_event event)
{
    struct host_upgrade_step step;

    if (!host_upgrade_steps_find(upgrade->state, event, &step))
        return;
    upgrade->state = step.next;
    upgrade->again = NULL;
    act(upgrade, step.action);
    set_timer(upgrade);
}

static void fails(struct host_upgrade *upgrade, int code)
{
    note_failure(upgrade, code);
    happens(upgrade, HOST_UPGRADE_FAILED);
}

/* r[impl sec.call.time] */
static void late(struct host_upgrade *upgrade)
{
    bool holds = upgrade->hold_until_ns != 0;
    uint64_t began = holds ? upgrade->held_ns : upgrade->began_ns;
    uint64_t until = host_upgrade_post_deadline(upgrade);

    note_failure(upgrade, rapahub_fail(RAPAHUB_ETIMEDOUT, "supervise.upgrade.deadline",
                                       "%s: %" PRIu64 " ms were over, which %s; raise them, or "
                                       "let there be less to do",
                                       upgrade->guest->name, (until - began) / HUB_MILLISECOND,
                                       holds ? "calls may be held for (hold_ns, and timeout_ns)"
                                             : "it may last (timeout_ns)"));
    happens(upgrade, HOST_UPGRADE_LATE);
}

/* ---- changes and deadlines ---- */

/* The cause is known when its process is proven dead. */
static void lose_new(struct host_upgrade *upgrade)
{
    upgrade->new_lost = upgrade->verdict.code == 0;
    note_failure(upgrade, rapahub_fail(RAPAHUB_EDIED, "", "the new version ended"));
    happens(upgrade, HOST_UPGRADE_NEW_LOST);
}

static bool is_late(const struct host_upgrade *upgrade)
{
    return host_upgrade_steps_undecided(upgrade->state) &&
           hub_clock_left(host_upgrade_post_deadline(upgrade)) == 0;
}

/* Starts the new process; tries again after a change if no peer entry is free while ended lives
 * still hold some. */
static void start(struct host_upgrade *upgrade)
{
    int r = host_successor_start(upgrade->successor);

    if (r == RAPAHUB_EFULL && !hub_list_empty(&HOST_PROCESS(upgrade->host)->ended)) {
        host_upgrade_post_await(upgrade, start);
    } else if (r < 0) {
        fails(upgrade, r);
    } else {
        upgrade->to = upgrade->successor->life;
        host_life_hold(upgrade->to);
    }
}

static void look_for_ready(struct host_upgrade *upgrade)
{
    int r;

    if (upgrade->state != HOST_UPGRADE_STARTING || !upgrade->to ||
        upgrade->successor->state != HOST_GUEST_READY)
        return;
    r = compare(upgrade);
    if (r < 0) {
        fails(upgrade, r);
        upgrade->failed = upgrade->state; /* not "did not start": the start itself worked */
        return;
    }
    happens(upgrade, upgrade->options->check ? HOST_UPGRADE_MATCHES : HOST_UPGRADE_READY);
}

/* A process that does not die of SIGKILL is left to the host. */
static void look_for_end(struct host_upgrade *upgrade)
{
    if (upgrade->end_by_ns != 0 &&
        (!upgrade->successor->life || hub_clock_left(upgrade->end_by_ns) == 0))
        happens(upgrade, HOST_UPGRADE_GONE);
}

/* r[impl supervise.upgrade.deadline] */
static void look(struct host_upgrade *upgrade)
{
    bool undecided = host_upgrade_steps_undecided(upgrade->state);

    if (undecided && is_new_lost(upgrade))
        lose_new(upgrade);
    else if ((undecided || host_upgrade_steps_holds(upgrade->state)) &&
             host_upgrade_is_lost(upgrade->guest, upgrade->from))
        lose_old(upgrade);
    else if (is_late(upgrade))
        late(upgrade);
    look_for_ready(upgrade);
    look_for_end(upgrade);
}

static void go_on(struct host_upgrade *upgrade, bool changed)
{
    void (*again)(struct host_upgrade *) = upgrade->again;
    bool due = upgrade->again_ns == HUB_NEVER ? changed : hub_clock_left(upgrade->again_ns) == 0;

    look(upgrade);
    if (again && due && upgrade->again == again) {
        upgrade->again = NULL;
        again(upgrade);
    }
    set_timer(upgrade);
}

static void on_change(void *user)
{
    go_on(user, true);
}

static void on_time(void *user)
{
    go_on(user, false);
}

static const struct host_upgrade_events events = {happens, fails, late};

void host_upgrade_begin(struct host_upgrade *upgrade)
{
    struct host_owner *owner = HOST_OWNER(upgrade->host);

    upgrade->events = &events;
    upgrade->timer.on = on_time;
    upgrade->listener.on_change = on_change;
    upgrade->timer.user = upgrade->listener.user = upgrade;
    host_changes_listen(&owner->changes, &upgrade->listener);
    start(upgrade);
    set_timer(upgrade);
}

void host_upgrade_end(struct host_upgrade *upgrade)
{
    host_loop_clear(&upgrade->timer);
    host_changes_forget(&upgrade->listener);
}
