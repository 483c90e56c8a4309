/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/failure.h"
#include "host/cli/json.h"
#include "host/cli/run_visitors.h"
#include "host/cli/units.h"
#include "hub/base/clock.h"

static const char *const trust_names[] = {"standard", "strict", "trusted"};

/* What holds, not what is meant to hold. r[impl exp.honest] */
static const char *const trust_texts[] = {"own segment; no jail in this release", "refused",
                                          "shares the host's segment"};

static struct cli_run_guest *find(struct cli_run_events *events, const char *name)
{
    for (unsigned i = 0; i < events->count; i++) {
        if (strcmp(events->guests[i].name, name) == 0)
            return &events->guests[i];
    }
    return NULL;
}

struct looking {
    const char *name;
    int32_t pid;
};

static void note_pid(void *user, const struct rapahub_guest_status *status)
{
    struct looking *looking = user;

    if (strcmp(status->name, looking->name) == 0)
        looking->pid = status->pid;
}

static int32_t pid_of(const struct cli_run_events *events, const char *name)
{
    struct looking looking = {.name = name};

    return rapahub_host_guests(events->host, note_pid, &looking) < 0 ? 0 : looking.pid;
}

static void tell_ready(const struct cli_run_events *events, struct cli_run_guest *guest,
                       const struct rapahub_event *event)
{
    char span[CLI_UNITS_TEXT];
    int32_t pid = pid_of(events, guest->name);

    cli_units_print_span(hub_clock_now() - guest->began_ns, span);
    if (guest->started)
        cli_failure_note(events->cli, "%s: ready in %s  pid %" PRId32 "  epoch %" PRIu32,
                         guest->name, span, pid, event->guest.epoch);
    else
        cli_failure_note(events->cli, "%s: ready in %s  pid %" PRId32 "  trust %s (%s)",
                         guest->name, span, pid, trust_names[events->trust],
                         trust_texts[events->trust]);
    guest->started = true;
}

static void note_down(struct cli_run_guest *guest, const struct rapahub_event *event)
{
    guest->down = true;
    guest->uptime_ns = event->uptime_ns;
    guest->calls_lost = event->calls_lost;
    snprintf(guest->cause, sizeof guest->cause, "%s%s%s", event->cause,
             event->rule[0] ? "  rule " : "", event->rule);
}

/* "calc: died: signal SIGKILL after 8.10 s, 0 calls lost; WHAT FOLLOWS" */
static void tell_death(const struct cli_run_events *events, struct cli_run_guest *guest,
                       const char *follows)
{
    char span[CLI_UNITS_TEXT];

    cli_failure_note(events->cli, "%s: died: %s after %s, %" PRIu32 " call%s lost; %s", guest->name,
                     guest->cause, cli_units_print_span(guest->uptime_ns, span), guest->calls_lost,
                     guest->calls_lost == 1 ? "" : "s", follows);
    guest->down = false;
}

static void tell_restart(const struct cli_run_events *events, struct cli_run_guest *guest,
                         const struct rapahub_event *event)
{
    char follows[128], span[CLI_UNITS_TEXT], when[CLI_UNITS_TEXT + 8] = "now";

    if (event->due_ns > 0)
        snprintf(when, sizeof when, "in %s", cli_units_print_span(event->due_ns, span));
    snprintf(follows, sizeof follows, "restart %" PRIu32 " of %" PRIu32 " %s", event->restarts,
             event->restarts_max, when);
    tell_death(events, guest, follows);
    guest->began_ns = hub_clock_after(event->due_ns);
}

static void tell_failed(const struct cli_run_events *events, struct cli_run_guest *guest,
                        const struct rapahub_event *event)
{
    char follows[128], span[CLI_UNITS_TEXT];

    guest->failed = true;
    if (events->restart == RAPAHUB_RESTART_TEMPORARY || event->restarts_max == 0)
        snprintf(follows, sizeof follows, "not started again");
    else
        snprintf(follows, sizeof follows, "%" PRIu32 " restarts within %s used up",
                 event->restarts_max, cli_units_print_span(events->period_ns, span));
    tell_death(events, guest, follows);
}

struct trusted {
    struct rapahub_guest_id guest;
    enum rapahub_trust trust;
};

/* Who came by itself shares the host's segment, whatever the others may. */
static void note_trust(void *user, const struct rapahub_guest_status *status)
{
    struct trusted *trusted = user;

    if (status->guest.group == trusted->guest.group && status->guest.peer == trusted->guest.peer)
        trusted->trust = status->trust;
}

static enum rapahub_trust trust_of(const struct cli_run_events *events,
                                   struct rapahub_guest_id guest)
{
    struct trusted trusted = {guest, events->trust};

    return rapahub_host_guests(events->host, note_trust, &trusted) < 0 ? events->trust
                                                                       : trusted.trust;
}

static void write_json(const struct cli_run_events *events, const struct rapahub_event *event)
{
    static const char *const names[] = {"ready",     "down",   "restart", "failed",
                                        "violation", "output", "attached"};
    struct cli_json json;

    cli_json_begin(&json, stdout, "rapahub.run/1");
    cli_json_time(&json, "time", hub_clock_wall());
    cli_json_text(&json, "event", names[event->kind]);
    cli_json_object(&json, "guest");
    cli_json_text(&json, "name", event->name);
    cli_json_number(&json, "peer", event->guest.peer);
    cli_json_number(&json, "epoch", event->guest.epoch);
    cli_json_signed(&json, "pid", pid_of(events, event->name));
    cli_json_close(&json, '}');
    cli_json_text(&json, "cause", event->cause);
    cli_json_text(&json, "rule", event->rule);
    cli_json_number(&json, "uptime_ns", event->uptime_ns);
    cli_json_number(&json, "calls_lost", event->calls_lost);
    cli_json_number(&json, "restarts", event->restarts);
    cli_json_number(&json, "budget", event->restarts_max);
    cli_json_number(&json, "due_ns", event->due_ns);
    cli_json_text(&json, "trust", trust_names[trust_of(events, event->guest)]);
    cli_json_list(&json, "layers");
    cli_json_close(&json, ']');
    cli_json_end(&json);
    fflush(stdout);
}

void cli_run_events_take(void *user, const struct rapahub_event *event)
{
    struct cli_run_events *events = user;
    struct cli_run_guest *guest = find(events, event->name);

    if (cli_json_wanted(events->cli) && event->kind != RAPAHUB_EVENT_OUTPUT)
        write_json(events, event);
    if (events->visitors && cli_run_visitors_take(events->visitors, event))
        return;
    if (!guest)
        return;
    if (event->kind == RAPAHUB_EVENT_READY)
        tell_ready(events, guest, event);
    else if (event->kind == RAPAHUB_EVENT_DOWN)
        note_down(guest, event);
    else if (event->kind == RAPAHUB_EVENT_RESTART)
        tell_restart(events, guest, event);
    else if (event->kind == RAPAHUB_EVENT_FAILED)
        tell_failed(events, guest, event);
    else if (event->kind == RAPAHUB_EVENT_VIOLATION)
        cli_failure_note(events->cli, "%s: broke %s, and is killed", event->name, event->rule);
    else
        cli_failure_note(events->cli, "%s| %s", event->name, event->cause);
}

void cli_run_events_settle(struct cli_run_events *events)
{
    for (unsigned i = 0; i < events->count; i++) {
        struct cli_run_guest *guest = &events->guests[i];
        char span[CLI_UNITS_TEXT];

        if (!guest->down)
            continue;
        guest->down = false;
        cli_failure_note(events->cli, "%s: stopped: %s after %s", guest->name, guest->cause,
                         cli_units_print_span(guest->uptime_ns, span));
    }
}
