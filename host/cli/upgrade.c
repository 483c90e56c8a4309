/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/upgrade.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/cli.h"
#include "host/cli/failure.h"
#include "host/cli/json.h"
#include "host/cli/runtime.h"
#include "host/cli/units.h"

#define VERSION_SIZE 64

struct outcome {
    char before[VERSION_SIZE], after[VERSION_SIZE];
    struct control_upgraded told;
    bool there;
};

static void copy(struct rapahub_string from, char *to)
{
    snprintf(to, VERSION_SIZE, "%.*s", (int)from.size, from.size > 0 ? from.data : "");
}

static int take(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    struct outcome *outcome = user;

    if (kind != HOST_FRAME_UPGRADED)
        return 0;
    outcome->told = record->upgraded;
    copy(record->upgraded.before, outcome->before);
    copy(record->upgraded.after, outcome->after);
    outcome->there = true;
    return 0;
}

static void report_json(const struct cli *cli, const struct cli_runtime_place *place,
                        const struct outcome *outcome, bool check)
{
    const struct control_upgraded *told = &outcome->told;
    struct cli_json json;

    cli_json_begin(&json, stdout, cli->command->schema);
    cli_json_text(&json, "host", place->host);
    cli_json_text(&json, "guest", place->guest);
    cli_json_text(&json, "version_before", outcome->before);
    cli_json_text(&json, "version_after", outcome->after);
    cli_json_bool(&json, "check", check);
    cli_json_number(&json, "start_ns", told->start_ns);
    cli_json_number(&json, "blackout_ns", told->blackout_ns);
    cli_json_number(&json, "calls_held", told->calls_held);
    cli_json_number(&json, "state_bytes", told->state_bytes);
    cli_json_number(&json, "containers", told->containers);
    cli_json_number(&json, "methods_kept", told->methods_kept);
    cli_json_number(&json, "methods_new", told->methods_new);
    cli_json_number(&json, "methods_lost", told->methods_lost);
    cli_json_end(&json);
}

static void report(const struct cli *cli, const struct cli_runtime_place *place,
                   const struct outcome *outcome, bool check)
{
    char start[CLI_UNITS_TEXT], blackout[CLI_UNITS_TEXT], size[CLI_UNITS_TEXT];
    const struct control_upgraded *told = &outcome->told;

    cli_units_print_span(told->start_ns, start);
    cli_units_print_span(told->blackout_ns, blackout);
    cli_units_print_size(told->state_bytes, size);
    if (check)
        cli_failure_note(cli, "%s: %s could take over from %s; ready in %s", place->guest,
                         outcome->after, outcome->before, start);
    else
        cli_failure_note(
            cli, "%s: %s took over from %s; ready in %s, state %s, %llu call%s held for %s",
            place->guest, outcome->after, outcome->before, start, size,
            (unsigned long long)told->calls_held, told->calls_held == 1 ? "" : "s", blackout);
    if (told->methods_lost > 0)
        cli_failure_note(cli, "%s: %u of its methods %s in %s", place->guest, told->methods_lost,
                         told->methods_lost == 1 ? "is not" : "are not", outcome->after);
}

/* The host may be in another folder. */
static int find_file(struct cli *cli, const char *given, char path[PATH_MAX])
{
    if (realpath(given, path))
        return 0;
    cli_failure_hint(cli, "look at the path; rapahub build makes build/NAME.so");
    return rapahub_fail(-errno, "", "cannot find %s: %s", given, strerror(errno));
}

int cli_upgrade(struct cli *cli)
{
    const char *name = cli->arguments.operands[0], *file = cli->arguments.operands[1];
    bool check = cli_arguments_flag(&cli->arguments, "check");
    struct outcome outcome = {.there = false};
    struct cli_runtime_place place;
    struct control_upgrade request;
    char path[PATH_MAX];
    int r = find_file(cli, file, path);

    if (r < 0)
        return r;
    cli_failure_about(cli, "%s", name);
    r = cli_runtime_find(cli, name, &place);
    if (r < 0)
        return r;
    if (!place.guest[0])
        return rapahub_fail(RAPAHUB_EINVAL, "", "that is a host; upgrade takes a guest");
    /* The rest of the time is for the old process to end. */
    request = (struct control_upgrade){.guest = rapahub_string_of(place.guest),
                                       .chimod = rapahub_string_of(path),
                                       .timeout_ns = cli->timeout_ns / 4 * 3,
                                       .check = check};
    r = cli_runtime_ask(cli, HOST_FRAME_UPGRADE, &request, take, &outcome);
    if (r == RAPAHUB_EBUSY)
        cli_failure_hint(cli, "wait for that to end; rapahub ps shows its '%s.next' until then",
                         place.guest);
    else if (r < 0)
        cli_failure_hint(cli, "the old version serves on; rapahub inspect %s", file);
    if (r < 0 || !outcome.there)
        return r;
    if (cli_json_wanted(cli))
        report_json(cli, &place, &outcome, check);
    else
        report(cli, &place, &outcome, check);
    return 0;
}
