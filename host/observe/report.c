/* SPDX-License-Identifier: Apache-2.0 */
#include "host/observe/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "host/guest/children.h"
#include "host/guest/supervision.h"
#include "host/observe/observe.h"
#include "host/owner/threads.h"
#include "host/process/build_id.h"
#include "host/supervise/budget.h"
#include "hub/base/clock.h"

/* The next report of the ring. NULL if there is no memory. r[impl supervise.report.kept] */
static struct rapahub_report *next_of(struct host_guest_ends *ends)
{
    if (!ends->reports)
        ends->reports = calloc(HOST_REPORT_KEPT, sizeof *ends->reports);
    if (!ends->reports)
        return NULL;
    return &ends->reports[ends->count++ % HOST_REPORT_KEPT];
}

static struct rapahub_report *last_of(const struct host_guest_ends *ends, uint64_t back)
{
    if (!ends->reports || back >= ends->count || back >= HOST_REPORT_KEPT)
        return NULL;
    return &ends->reports[(ends->count - 1 - back) % HOST_REPORT_KEPT];
}

static void take_exit(const struct hub_exit *exit, struct rapahub_report *out)
{
    if (exit->code == CLD_EXITED)
        out->code = exit->status;
    else
        out->signal = exit->status;
    out->core = exit->code == CLD_DUMPED;
}

/* A method id that the guest does not serve would tell a reader nothing. */
static void take_oldest(struct host_guest *guest, const struct host_life *life,
                        struct rapahub_report *out)
{
    uint64_t id = hub_calls_lost_method(life->connection.calls);
    const struct hub_signature *oldest =
        guest->methods && out->calls_lost > 0 ? host_methods_of_id(guest->methods, id) : NULL;

    if (oldest)
        snprintf(out->method, sizeof out->method, "%s", oldest->text);
}

/* r[impl supervise.report.last-words] */
static void take_life(struct host_guest *guest, struct host_life *life, struct rapahub_report *out)
{
    out->guest = life->id;
    out->pid = life->process.pid;
    out->user_ns = life->exit.usage.user_ns;
    out->system_ns = life->exit.usage.system_ns;
    out->memory_max = life->exit.usage.memory_max;
    snprintf(out->last_words, sizeof out->last_words, "%s", life->process.output.words);
    take_oldest(guest, life, out);
}

/* The state before the host itself took the life for one that ends: a hang-up had it killed. */
static const char *state_of(const struct host_child *child, const struct host_life *life)
{
    uint32_t state = child->state;

    if (state == HOST_CHILD_STOPPING && life && hub_observe(&life->goodbye.leaving) == 0) {
        state = life->startup.ready_seen ? HOST_CHILD_ATTACHED : HOST_CHILD_STARTING;
        if (life->ready_ns != 0)
            state = HOST_CHILD_READY;
    }
    return host_tree_states.of[state].name;
}

/* A step failed: there was no life, or its links could not be built. */
static void add_failure(const struct host_guest *guest, const struct host_life *life,
                        struct rapahub_report *out)
{
    if (life && out->exit_class != RAPAHUB_EXIT_LINK)
        return;
    out->failure = guest->failure.verdict.code;
    if (guest->failure.step)
        out->step = guest->failure.step;
}

/* r[impl supervise.report] */
void host_report_ended(struct host_guest *guest, struct host_life *life, const struct host_end *end)
{
    struct rapahub_report *out = guest->child.node == HOST_TREE_NONE ? NULL : next_of(&guest->ends);
    const struct host_child *child;

    if (!out)
        return;
    child = host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node);
    *out = (struct rapahub_report){.child = {child->number},
                                   .incarnation = guest->child.incarnation,
                                   .time_ns = hub_clock_wall(),
                                   .exit_class = end->class,
                                   .code = -1,
                                   .step = "",
                                   .rule = end->rule,
                                   .state = state_of(child, life),
                                   .uptime_ns = end->uptime_ns,
                                   .calls_lost = end->calls_lost,
                                   .decision = ""};
    snprintf(out->name, sizeof out->name, "%s", guest->name);
    snprintf(out->module, sizeof out->module, "%s", guest->module.chimod);
    snprintf(out->cause, sizeof out->cause, "%s", end->cause);
    memcpy(out->build_id, host_build_id_of(&guest->module.build_id, guest->module.fd),
           HOST_BUILD_ID_SIZE);
    if (end->exit)
        take_exit(end->exit, out);
    if (life)
        take_life(guest, life, out);
    add_failure(guest, life, out);
    host_tail_read(&guest->tail, out->log, sizeof out->log);
}

/* r[impl supervise.report] */
void host_report_decided(struct host_guest *guest, const struct host_decision *decision)
{
    const struct host_child *child =
        host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node);
    struct rapahub_report *last = last_of(&guest->ends, 0);
    uint64_t now = hub_clock_now();

    if (decision->from != HOST_CHILD_EXITED || !last || last->decision[0])
        return;
    last->decision = host_tree_states.of[decision->to].name;
    last->exit_class = decision->class;
    last->failures = host_budget_used(&child->budget, now);
    last->failures_max = child->budget.max;
    if (decision->to == HOST_CHILD_BACKOFF && decision->due_ns > now)
        last->due_ns = decision->due_ns - now;
}

/* ---- for the embedder ---- */

struct asking {
    struct rapahub_guest_id life;
    struct rapahub_child_id child;
    unsigned back;
    struct rapahub_report *out;
};

static int run_report(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    const struct asking *asking = argument;
    const struct rapahub_report *report;
    struct host_guest *guest;
    int r = host_children_find(&host->supervision, asking->child, &guest);

    if (r < 0)
        return r;
    report = last_of(&guest->ends, asking->back);
    if (!report)
        return rapahub_fail(RAPAHUB_ENOENT, "",
                            "%s has not ended so often, or that was too long ago", guest->name);
    *asking->out = *report;
    return 0;
}

int rapahub_child_report(struct rapahub_host *host, struct rapahub_child_id child, unsigned back,
                         struct rapahub_report *out)
{
    struct asking asking = {.child = child, .back = back, .out = out};

    return host_threads_look(HOST_OWNER(host), run_report, &asking);
}

static bool is_same(struct rapahub_guest_id a, struct rapahub_guest_id b)
{
    return a.peer != 0 && a.group == b.group && a.epoch == b.epoch && a.peer == b.peer;
}

static bool has_lived(const struct host_guest *guest, struct rapahub_guest_id life)
{
    const struct rapahub_report *report;
    bool has = is_same(guest->id, life);

    for (uint64_t back = 0; !has && (report = last_of(&guest->ends, back)); back++)
        has = is_same(report->guest, life);
    return has;
}

/* r[impl supervise.unsupervised] */
static int run_of(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    struct asking *asking = argument;

    for (uint32_t i = 0; i < HOST_REGISTRY(host)->guests_max; i++) {
        const struct host_guest *guest = HOST_REGISTRY(host)->guests[i];

        if (!guest || !has_lived(guest, asking->life))
            continue;
        if (guest->anonymous && guest->state != HOST_GUEST_CLOSED)
            return rapahub_fail(RAPAHUB_EUNSUPERVISED, "", "%s came by itself", guest->name);
        if (host_supervision_is_closed(guest))
            continue;
        asking->child.number =
            host_machine_child(&host->supervision.machine, guest->child.node)->number;
        return 0;
    }
    return rapahub_fail(RAPAHUB_ESTALE, "",
                        "no child has this life as its present one, or as one "
                        "of its last");
}

int rapahub_child_of(struct rapahub_host *host, struct rapahub_guest_id life,
                     struct rapahub_child_id *out)
{
    struct asking asking = {.life = life};
    int r = host_threads_look(HOST_OWNER(host), run_of, &asking);

    if (r == 0)
        *out = asking.child;
    return r;
}
