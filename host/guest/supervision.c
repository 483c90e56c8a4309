/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/supervision.h"

#include <stdio.h>
#include <stdlib.h>

#include "host/owner/detached.h"
#include "host/supervise/supervisor.h"
#include "hub/base/clock.h"

#define SUPERVISORS_MAX 64

static void begin(struct host_guest *guest)
{
    guest->child.begins = false;
    HOST_SUPERVISION(guest->host)->begins--;
    HOST_SUPERVISION(guest->host)->hooks->decisions.start(guest);
}

static void begin_all(struct host_supervision *host)
{
    for (uint32_t i = 0; host->begins > 0 && i < host->machine.tree.max; i++)
        if (host->children[i] && host->children[i]->child.begins)
            begin(host->children[i]);
}

static void on_time(void *user)
{
    struct host_supervision *host = user;

    host_supervisor_tick(&host->machine, hub_clock_now());
    host_supervision_settle(host);
    begin_all(host);
}

/* r[impl supervise.exhausted] */
static int ask(void *user, uint32_t place, enum rapahub_exit_class class)
{
    struct host_supervision *host = user;
    const struct host_child *child = host_machine_child(&host->machine, place);
    const struct rapahub_child_id id = {child->number};
    int answer = RAPAHUB_EXHAUSTED_DEFAULT;

    HOST_OWNER(host)->callbacks++;
    if (child->how.on_budget)
        answer = child->how.on_budget(child->how.user, id, class);
    HOST_OWNER(host)->callbacks--;
    return answer;
}

/* The default supervisor exists from the beginning; it costs nothing. */
static int add_root(struct host_supervision *host)
{
    const struct rapahub_supervisor_options options = {0};
    const struct host_tree_plan plan = {.name = "", .parent = HOST_TREE_NONE, .group = &options};
    uint32_t place;

    return host_supervisor_add(&host->machine, &plan, hub_clock_now(), &place);
}

int host_supervision_open(struct host_supervision *host)
{
    const struct host_machine_limits limits = {
        .children_max = HOST_REGISTRY(host)->guests_max + SUPERVISORS_MAX,
        .starts_parallel_max = host->call.process.options.starts_parallel_max,
        .start_burst = host->call.process.options.starts_burst,
        .start_each_ns = HUB_SECOND / host->call.process.options.starts_per_s,
        .seed = hub_random_nonce(),
        .ask = ask,
        .ask_user = host};
    int r = host_machine_init(&host->machine, &limits);

    if (r < 0)
        return r;
    host->supervise.on = on_time;
    host->supervise.user = host;
    host->children = calloc(limits.children_max, sizeof *host->children);
    if (!host->children)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u children", limits.children_max);
    r = add_root(host);
    host_supervision_settle(host);
    return r;
}

void host_supervision_close(struct host_supervision *host)
{
    free(host->children);
    host->children = NULL;
    if (host->machine.queue)
        host_machine_fini(&host->machine);
}

/* ---- decisions are carried out ---- */

/* A decision may be out of date when its turn comes, because the life has ended meanwhile. */
static bool is_present(const struct host_guest *guest, const struct host_decision *decision)
{
    const struct host_child *child =
        host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node);

    return child->incarnation == decision->incarnation && !host_tree_is_down(child);
}

static void carry_out(struct host_guest *guest, const struct host_decision *decision)
{
    const struct host_child *child =
        host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node);
    const struct host_supervision_decisions *hooks =
        &HOST_SUPERVISION(guest->host)->hooks->decisions;

    if (decision->kind == HOST_DECISION_MOVED) {
        hooks->move(guest, decision);
        return;
    }
    if (!is_present(guest, decision))
        return;
    if (decision->kind == HOST_DECISION_START) {
        guest->child.incarnation = decision->incarnation;
        guest->child.begins = true;
        HOST_SUPERVISION(guest->host)->begins++;
        return;
    }
    if (guest->child.begins)
        begin(guest); /* a guest begins before it stops */
    guest->child.asked = !child->wanted;
    if (decision->kind == HOST_DECISION_KILL)
        hooks->finish(guest);
    if (decision->kind == HOST_DECISION_KILL && guest->life)
        hooks->end(guest->life, HOST_CAUSE_STOP_TIMEOUT, "its time is over");
    else
        hooks->ask(guest);
}

static void carry_out_all(struct host_supervision *host)
{
    struct host_decision decision;

    while (host_machine_next(&host->machine, &decision)) {
        if (decision.kind == HOST_DECISION_MOVED)
            host->hooks->listeners.deciding(host, &decision);
        if (host->children[decision.place])
            carry_out(host->children[decision.place], &decision);
        if (decision.kind == HOST_DECISION_MOVED)
            host->hooks->listeners.decided(host, &decision);
    }
}

static void set_timer(struct host_supervision *host, uint64_t due)
{
    if (due == HUB_NEVER)
        host_loop_clear(&host->supervise);
    else
        host_loop_set(&HOST_OWNER(host)->loop, &host->supervise, due);
}

/* Shows the outlook that calls read. It may change while the state stays: a guest that is down is
 * stopped or called. */
static void show_outlook(struct host_guest *guest)
{
    struct host_supervision *host = HOST_SUPERVISION(guest->host);
    enum host_outlook outlook = host_supervisor_outlook(&host->machine, guest->child.node);

    if (outlook == guest->child.outlook)
        return;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    guest->child.outlook = outlook;
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
}

static void show_outlooks(struct host_supervision *host)
{
    for (uint32_t i = 0; i < host->machine.tree.max; i++)
        if (host->children[i])
            show_outlook(host->children[i]);
}

/* The timer is set with the time of the last tick. With a later time, a child that fell due in
 * between would be neither started nor waited for. */
void host_supervision_settle(struct host_supervision *host)
{
    uint64_t now;

    if (host->deciding)
        return;
    host->deciding = true;
    do {
        carry_out_all(host);
        now = hub_clock_now();
        host_supervisor_tick(&host->machine, now);
    } while (host->machine.count > 0);
    host->deciding = false;
    show_outlooks(host);
    set_timer(host, host->begins > 0 ? now : host_supervisor_due(&host->machine, now));
    host_detached_rouse(HOST_OWNER(host));
}

/* ---- children and guests ---- */

/* Dependencies need a name that is unique among siblings. */
static void name_among_siblings(const struct host_guest *guest, char *to, size_t size)
{
    snprintf(to, size, "%s", guest->name);
    for (unsigned n = 2; host_tree_named(&HOST_SUPERVISION(guest->host)->machine.tree,
                                         guest->child.supervisor, to) != HOST_TREE_NONE;
         n++)
        snprintf(to, size, "%.52s#%u", guest->name, n);
}

int host_supervision_add(struct host_guest *guest, const struct rapahub_supervision *how,
                         bool trial)
{
    struct host_supervision *host = HOST_SUPERVISION(guest->host);
    char name[HOST_TREE_NAME_MAX + 1];
    const struct host_tree_plan plan = {
        .name = name, .parent = guest->child.supervisor, .how = how, .trial = trial, .used = true};
    uint32_t place;
    int r;

    name_among_siblings(guest, name, sizeof name);
    r = host_supervisor_add(&host->machine, &plan, hub_clock_now(), &place);
    if (r < 0)
        return r;
    guest->child.node = place;
    guest->child.initial = trial;
    guest->supervision = host_machine_child(&host->machine, place)->how;
    host->children[place] = guest;
    host->hooks->listeners.added(host, place);
    host_supervision_settle(host);
    begin_all(host);
    return 0;
}

void host_supervision_start(struct host_guest *guest)
{
    const struct host_child *child =
        host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node);

    if (child->how.start != RAPAHUB_START_EAGER)
        (void)host_supervisor_start(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                    hub_clock_now());
    host_supervision_settle(HOST_SUPERVISION(guest->host));
    begin_all(HOST_SUPERVISION(guest->host));
}

void host_supervision_called(struct host_guest *guest)
{
    if (guest->child.node == HOST_TREE_NONE)
        return;
    (void)host_supervisor_call(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                               hub_clock_now());
    host_supervision_settle(HOST_SUPERVISION(guest->host));
}

void host_supervision_forget(struct host_guest *guest)
{
    struct host_supervision *host = HOST_SUPERVISION(guest->host);

    if (guest->child.node == HOST_TREE_NONE)
        return;
    host->begins -= guest->child.begins;
    guest->child.begins = false;
    host->children[guest->child.node] = NULL;
    (void)host_supervisor_close(&host->machine, guest->child.node, hub_clock_now());
    host_machine_child(&host->machine, guest->child.node)->used = false;
    guest->child.node = HOST_TREE_NONE;
    host_supervision_settle(host);
}

/* ---- events of a life ---- */

void host_supervision_attached(struct host_guest *guest)
{
    if (guest->child.node == HOST_TREE_NONE)
        host_guest_move(guest, HOST_GUEST_ATTACHED, "");
    else
        (void)host_supervisor_attached(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                       guest->child.incarnation);
    host_supervision_settle(HOST_SUPERVISION(guest->host));
}

void host_supervision_ready(struct host_guest *guest)
{
    if (guest->child.node == HOST_TREE_NONE)
        host_guest_move(guest, HOST_GUEST_READY, "");
    else
        (void)host_supervisor_ready(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                    guest->child.incarnation, hub_clock_now());
    host_supervision_settle(HOST_SUPERVISION(guest->host));
}

/* r[impl supervise.probe.readiness] */
void host_supervision_degraded(struct host_guest *guest)
{
    if (guest->child.node == HOST_TREE_NONE)
        return;
    rapahub_log(RAPAHUB_LOG_WARN, "supervision", "%s: its readiness probe fails; no calls for now",
                guest->name);
    (void)host_supervisor_degraded(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                   guest->child.incarnation);
    host_supervision_settle(HOST_SUPERVISION(guest->host));
}

void host_supervision_restored(struct host_guest *guest)
{
    if (guest->child.node == HOST_TREE_NONE)
        return;
    rapahub_log(RAPAHUB_LOG_INFO, "supervision", "%s: its readiness probe passes", guest->name);
    host_supervision_ready(guest);
}

int host_supervision_replaced(struct host_guest *guest)
{
    return host_supervisor_replaced(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                    guest->child.incarnation, hub_clock_now(),
                                    &guest->child.incarnation);
}

void host_supervision_leaving(struct host_guest *guest, const char *why)
{
    if (guest->state == HOST_GUEST_STOPPING)
        return;
    if (guest->child.node == HOST_TREE_NONE)
        host_guest_move(guest, HOST_GUEST_STOPPING, why);
    else
        (void)host_supervisor_leaving(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                      guest->child.incarnation);
    host_supervision_settle(HOST_SUPERVISION(guest->host));
}

void host_supervision_exited(struct host_guest *guest, const struct host_ending *ending)
{
    (void)host_supervisor_exited(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                 guest->child.incarnation, ending, hub_clock_now());
    host_supervision_settle(HOST_SUPERVISION(guest->host));
}

void host_supervision_deferred(struct host_guest *guest, uint64_t due_ns)
{
    guest->child.deferred = true;
    (void)host_supervisor_deferred(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                   guest->child.incarnation, due_ns, hub_clock_now());
    host_supervision_settle(HOST_SUPERVISION(guest->host));
}

bool host_supervision_is_closed(const struct host_guest *guest)
{
    return guest->child.node == HOST_TREE_NONE ||
           host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node)->state ==
               HOST_CHILD_CLOSED;
}

bool host_supervision_is_one_of_many(const struct host_guest *guest)
{
    const struct host_machine *machine = &HOST_SUPERVISION(guest->host)->machine;
    uint32_t above = guest->child.node == HOST_TREE_NONE
                         ? HOST_TREE_NONE
                         : host_machine_child(machine, guest->child.node)->parent;

    return above != HOST_TREE_NONE &&
           host_machine_child(machine, above)->group.strategy == RAPAHUB_SIMPLE;
}

void host_supervision_end(struct host_guest *guest)
{
    if (guest->child.node == HOST_TREE_NONE) {
        guest->child.asked = true;
        HOST_SUPERVISION(guest->host)->hooks->decisions.ask(guest);
        return;
    }
    (void)host_supervisor_close(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                                hub_clock_now());
    host_supervision_settle(HOST_SUPERVISION(guest->host));
}

void host_supervision_stop_all(struct host_supervision *host, uint64_t deadline_ns)
{
    for (uint32_t i = 0; i < HOST_REGISTRY(host)->guests_max; i++)
        if (HOST_REGISTRY(host)->guests[i] &&
            HOST_REGISTRY(host)->guests[i]->child.node == HOST_TREE_NONE)
            host_supervision_end(HOST_REGISTRY(host)->guests[i]);
    (void)host_supervisor_stop_by(&host->machine, HOST_SUPERVISION_ROOT, deadline_ns,
                                  hub_clock_now());
    host_supervision_settle(host);
}
