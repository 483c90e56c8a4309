/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/run_anonymous.h"
#include "host/cli/text/json.h"
#include "host/cli/text/view.h"
#include "host/config/units.h"
#include "host/supervise/defaults.h"
#include "hub/base/clock.h"

/* The protection that this release really gives. r[impl exp.honest] */
static const char *const trust_texts[] = {"own segment; no jail in this release", "refused",
                                          "shares the host's segment"};

struct cli_run_guest *cli_run_events_add(struct cli_run_events *events, const char *name,
                                         const char *file, enum rapahub_trust trust,
                                         const struct rapahub_supervision *how)
{
    struct cli_run_guest *guest = &events->guests[events->count++];

    guest->file = file;
    snprintf(guest->name, sizeof guest->name, "%s", name);
    guest->trust = trust;
    guest->period_ns = how->period_ns;
    guest->lazy = how->start == RAPAHUB_START_LAZY;
    guest->began_ns = how->start == RAPAHUB_START_EAGER ? hub_clock_now() : 0;
    return guest;
}

static struct cli_run_guest *find(struct cli_run_events *events, const char *name)
{
    for (unsigned i = 0; i < events->count; i++) {
        if (strcmp(events->guests[i].name, name) == 0)
            return &events->guests[i];
    }
    return NULL;
}

/* The present state of the guest of an event. */
struct state {
    const struct rapahub_event *event;
    int32_t pid;
    char version[64];
    enum rapahub_trust trust;
};

/* An anonymous guest shares the host's segment, whatever the trust level of the others. */
static void note(void *user, const struct rapahub_guest_status *status)
{
    struct state *state = user;
    const struct rapahub_event *event = state->event;

    if (status->guest.group == event->guest.group && status->guest.peer == event->guest.peer)
        state->trust = status->trust;
    if (strcmp(status->name, event->name) != 0)
        return;
    state->pid = status->pid;
    snprintf(state->version, sizeof state->version, "%s", status->version);
}

static struct state look(const struct cli_run_events *events, const struct rapahub_event *event)
{
    struct state state = {.event = event, .trust = events->trust};

    if (rapahub_host_guests(events->host, note, &state) < 0)
        rapahub_clear_error();
    return state;
}

static void tell_ready(struct cli_run_events *events, struct cli_run_guest *guest,
                       const struct rapahub_event *event)
{
    struct state now = look(events, event);
    /* Ready again, although its last life has not ended. */
    bool upgraded = guest->started && !guest->ended;
    char ready[sizeof now.version + CONFIG_UNITS_TEXT] = "ready";

    if (guest->down > 0) /* it was stopped and started on request */
        cli_run_events_settle(events);
    if (upgraded)
        snprintf(ready, sizeof ready, "upgraded to %s", now.version);
    else if (guest->began_ns)
        snprintf(ready, sizeof ready, "ready in %s", SPAN_TEXT(hub_clock_now() - guest->began_ns));
    if (guest->started)
        cli_failure_note(events->cli, "%s: %s  pid %" PRId32 "  epoch %" PRIu32, guest->name, ready,
                         now.pid, event->guest.epoch);
    else
        cli_failure_note(events->cli, "%s: %s  pid %" PRId32 "  trust %s (%s)", guest->name, ready,
                         now.pid, cli_view_trust(guest->trust), trust_texts[guest->trust]);
    guest->started = true;
    guest->failed = guest->ended = false;
    guest->began_ns = 0;
}

static void note_cause(struct cli_run_guest *guest, const struct rapahub_event *event)
{
    snprintf(guest->cause, sizeof guest->cause, "%s%s%s", event->cause,
             event->rule[0] ? "  rule " : "", event->rule);
}

static void note_down(struct cli_run_events *events, struct cli_run_guest *guest,
                      const struct rapahub_event *event)
{
    guest->down = ++events->downs;
    guest->ended = true;
    guest->uptime_ns = event->uptime_ns;
    guest->calls_lost = event->calls_lost;
    note_cause(guest, event);
}

/* "calc: died: signal SIGKILL after 8.10 s, 0 calls lost; WHAT FOLLOWS" */
static void tell_death(const struct cli_run_events *events, struct cli_run_guest *guest,
                       const char *follows)
{
    cli_failure_note(events->cli, "%s: died: %s after %s, %" PRIu32 " call%s lost; %s", guest->name,
                     guest->cause, SPAN_TEXT(guest->uptime_ns), guest->calls_lost,
                     guest->calls_lost == 1 ? "" : "s", follows);
    guest->down = 0;
}

/* Prints details of a death, if more is known than its cause. */
static void tell_report(const struct cli_run_events *events, const struct rapahub_event *event)
{
    struct rapahub_child_id child;
    struct rapahub_report report;

    if (rapahub_child_of(events->host, event->guest, &child) < 0 ||
        rapahub_child_report(events->host, child, 0, &report) < 0)
        return;
    if (report.method[0])
        cli_failure_note(events->cli, "%s: the oldest call was %s", event->name, report.method);
    if (report.last_words[0] && report.build_id[0])
        cli_failure_note(events->cli, "%s: its module has the build id %s", event->name,
                         report.build_id);
}

static void tell_restart(const struct cli_run_events *events, struct cli_run_guest *guest,
                         const struct rapahub_event *event)
{
    char follows[128], when[CONFIG_UNITS_TEXT + 8] = "now";

    guest->began_ns = guest->lazy ? 0 : hub_clock_after(event->due_ns);
    if (event->restarts ==
        0) { /* it goes with another one, or its failure counts when it is called */
        cli_failure_note(events->cli, "%s: down: %s after %s; starts again", guest->name,
                         guest->cause, SPAN_TEXT(guest->uptime_ns));
        guest->down = 0;
        return;
    }
    if (event->due_ns > 0)
        snprintf(when, sizeof when, "in %s", SPAN_TEXT(event->due_ns));
    snprintf(follows, sizeof follows, "restart %" PRIu32 " of %" PRIu32 " %s", event->restarts,
             event->restarts_max, when);
    tell_death(events, guest, follows);
    tell_report(events, event);
}

static void tell_failed(struct cli_run_events *events, struct cli_run_guest *guest,
                        const struct rapahub_event *event)
{
    uint64_t period_ns = guest->period_ns ? guest->period_ns : HOST_DEFAULT_S(PERIOD);
    const char *period = period_ns == RAPAHUB_FOREVER ? "its life" : SPAN_TEXT(period_ns);
    char follows[128];

    guest->failed = true;
    note_cause(guest, event);
    events->culprit = guest;
    if (event->restarts_max == 0)
        snprintf(follows, sizeof follows, "not started again");
    else
        snprintf(follows, sizeof follows, "%" PRIu32 " restart%s within %s used up",
                 event->restarts_max, event->restarts_max == 1 ? "" : "s", period);
    tell_death(events, guest, follows);
    tell_report(events, event);
}

static void write_json(const struct cli_run_events *events, const struct rapahub_event *event)
{
    static const char *const names[] = {"ready",  "down",     "restart",  "failed",  "violation",
                                        "output", "attached", "degraded", "restored"};
    struct state now = look(events, event);

    /* The guests run on where it cannot be printed. */
    (void)cli_json_print(
        stdout, "rapahub.run/1", MEMBER_TIME("time", hub_clock_wall()),
        MEMBER("event", names[event->kind]),
        MEMBER_OBJECT("guest", MEMBER("name", event->name), MEMBER("peer", event->guest.peer),
                      MEMBER("epoch", event->guest.epoch), MEMBER("pid", now.pid)),
        MEMBER("cause", event->cause), MEMBER("rule", event->rule),
        MEMBER("uptime_ns", event->uptime_ns), MEMBER("calls_lost", event->calls_lost),
        MEMBER("restarts", event->restarts), MEMBER("budget", event->restarts_max),
        MEMBER("due_ns", event->due_ns), MEMBER("trust", cli_view_trust(now.trust)),
        MEMBER_LIST("layers"));
    fflush(stdout);
}

void cli_run_events_take(void *user, const struct rapahub_event *event)
{
    struct cli_run_events *events = user;
    struct cli_run_guest *guest = find(events, event->name);

    if (cli_json_wanted(events->cli) && event->kind != RAPAHUB_EVENT_OUTPUT)
        write_json(events, event);
    if (events->visitors && cli_run_anonymous_take(events->visitors, event))
        return;
    if (!guest)
        return;
    if (event->kind == RAPAHUB_EVENT_READY)
        tell_ready(events, guest, event);
    else if (event->kind == RAPAHUB_EVENT_DOWN)
        note_down(events, guest, event);
    else if (event->kind == RAPAHUB_EVENT_RESTART)
        tell_restart(events, guest, event);
    else if (event->kind == RAPAHUB_EVENT_FAILED)
        tell_failed(events, guest, event);
    else if (event->kind == RAPAHUB_EVENT_VIOLATION)
        cli_failure_note(events->cli, "%s: broke %s, and is killed", event->name, event->rule);
    else if (event->kind == RAPAHUB_EVENT_DEGRADED)
        cli_failure_note(events->cli, "%s: degraded: %s; it gets no calls", event->name,
                         event->cause);
    else if (event->kind == RAPAHUB_EVENT_RESTORED)
        cli_failure_note(events->cli, "%s: ready again", event->name);
    else
        cli_failure_note(events->cli, "%s| %s", event->name, event->cause);
}

/* Says whether the guest was asked to end. Otherwise it died, and its supervisor failed with it. */
static bool is_going(const char *cause)
{
    if (strcmp(cause, "exit status 0") == 0 || strcmp(cause, "signal SIGTERM") == 0)
        return true;
    return strncmp(cause, "signal ", strlen("signal ")) != 0 &&
           strncmp(cause, "exit status ", strlen("exit status ")) != 0;
}

/* Returns the unreported guest that died first; NULL: none. */
static struct cli_run_guest *first_down(const struct cli_run_events *events)
{
    struct cli_run_guest *first = NULL;

    for (unsigned i = 0; i < events->count; i++) {
        struct cli_run_guest *guest = &events->guests[i];

        if (guest->down > 0 && (!first || guest->down < first->down))
            first = guest;
    }
    return first;
}

void cli_run_events_settle(struct cli_run_events *events)
{
    for (struct cli_run_guest *guest; (guest = first_down(events));) {
        bool went = is_going(guest->cause);

        guest->down = 0;
        cli_failure_note(events->cli, "%s: %s: %s after %s", guest->name, went ? "stopped" : "died",
                         guest->cause, SPAN_TEXT(guest->uptime_ns));
        events->culprit = went ? events->culprit : guest;
    }
}
