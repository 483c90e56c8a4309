/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/commands.h"
#include "host/cli/target/elf_methods.h"
#include "host/cli/target/remote.h"
#include "host/cli/target/runtime.h"
#include "host/cli/text/json.h"
#include "host/cli/text/view.h"
#include "host/config/module.h"
#include "host/config/units.h"
#include "hub/base/own.h"

struct outcome {
    char before[CLI_REMOTE_VERSION], after[CLI_REMOTE_VERSION];
    struct control_upgraded told;
    bool there;
};

static int take(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    struct outcome *outcome = user;

    if (kind != HOST_FRAME_UPGRADED)
        return 0;
    outcome->told = record->upgraded;
    cli_view_copy(outcome->before, CLI_REMOTE_VERSION, record->upgraded.before);
    cli_view_copy(outcome->after, CLI_REMOTE_VERSION, record->upgraded.after);
    outcome->there = true;
    return 0;
}

static int report_json(const struct cli *cli, const struct cli_runtime_place *place,
                       const struct outcome *outcome, bool check)
{
    const struct control_upgraded *told = &outcome->told;

    return cli_json_print(
        stdout, cli->command->schema, MEMBER("host", place->host), MEMBER("guest", place->guest),
        MEMBER("version_before", outcome->before), MEMBER("version_after", outcome->after),
        MEMBER("check", check), MEMBER("start_ns", told->start_ns),
        MEMBER("blackout_ns", told->blackout_ns), MEMBER("calls_held", told->calls_held),
        MEMBER("state_bytes", told->state_bytes), MEMBER("containers", told->containers),
        MEMBER("methods_kept", told->methods_kept), MEMBER("methods_new", told->methods_new),
        MEMBER("methods_lost", told->methods_lost));
}

static void report(const struct cli *cli, const struct cli_runtime_place *place,
                   const struct outcome *outcome, bool check)
{
    const struct control_upgraded *told = &outcome->told;

    if (check && told->start_ns == 0)
        cli_failure_note(cli,
                         "%s: %s could take over from %s, by what its file says; --load starts it",
                         place->guest, outcome->after, outcome->before);
    else if (check)
        cli_failure_note(cli, "%s: %s could take over from %s; ready in %s", place->guest,
                         outcome->after, outcome->before, SPAN_TEXT(told->start_ns));
    else
        cli_failure_note(cli,
                         "%s: %s took over from %s; ready in %s, state %s, %llu call%s held for %s",
                         place->guest, outcome->after, outcome->before, SPAN_TEXT(told->start_ns),
                         SIZE_TEXT(told->state_bytes), (unsigned long long)told->calls_held,
                         told->calls_held == 1 ? "" : "s", SPAN_TEXT(told->blackout_ns));
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

/* ---- by the file alone ---- */

static void compare_methods(const struct cli_texts *before, const struct cli_texts *after,
                            struct control_upgraded *told)
{
    for (unsigned i = 0; i < before->count; i++)
        for (unsigned j = 0; j < after->count; j++)
            told->methods_kept += strcmp(before->texts[i], after->texts[j]) == 0;
    told->methods_lost = before->count - told->methods_kept;
    told->methods_new = after->count - told->methods_kept;
}

static int compare_modules(const struct cli_remote_guest *running, const char *path,
                           struct outcome *outcome)
{
    /* The new one, the running one. */
    OWN(hub_memory) struct config_module *elf = calloc(2, sizeof *elf);
    int r = elf ? config_module_read(path, elf) : RAPAHUB_ENOMEM;

    if (r < 0)
        return r;
    if (!elf[0].is_chimod)
        return rapahub_fail(RAPAHUB_ELOAD, "", "%s is no chimod", path);
    snprintf(outcome->after, CLI_REMOTE_VERSION, "%s", elf[0].version);
    /* The file of the running module may be gone, or replaced: then its name is not known. */
    if (config_module_read(running->file, &elf[1]) < 0 || !elf[1].name[0] ||
        strcmp(elf[0].name, elf[1].name) == 0)
        return 0;
    return rapahub_fail(RAPAHUB_ESTATE, "", "%s is a version of %s, and %s runs %s", path,
                        elf[0].name, running->name, elf[1].name);
}

/* No code of the new version is run. r[impl exp.inspect.unloaded] */
static int compare(struct cli *cli, const char *guest, const char *path, struct outcome *outcome)
{
    struct cli_remote_guest running;
    struct cli_texts before = {0}, after = {0};
    int r = cli_remote_guest(cli, guest, &running);

    memcpy(outcome->before, running.version, CLI_REMOTE_VERSION);
    if (r == 0)
        r = compare_modules(&running, path, outcome);
    if (r == 0)
        r = cli_remote_methods(cli, guest, &before);
    if (r == 0)
        r = cli_elf_methods_read(path, &after);
    if (r == 0)
        compare_methods(&before, &after, &outcome->told);
    outcome->there = r == 0;
    cli_texts_fini(&before);
    cli_texts_fini(&after);
    return r;
}

/* ---- by the host ---- */

static int ask(struct cli *cli, const char *guest, const char *path, bool check,
               struct outcome *outcome)
{
    /* The rest of the time is for the old process to end. */
    const struct control_upgrade request = {.guest = rapahub_string_of(guest),
                                            .chimod = rapahub_string_of(path),
                                            .timeout_ns = cli->timeout_ns / 4 * 3,
                                            .check = check};
    int r = cli_runtime_ask(cli, HOST_FRAME_UPGRADE, &request, take, outcome);

    if (r == RAPAHUB_EBUSY)
        cli_failure_hint(cli, "wait for that to end; rapahub ps shows its '%s.next' until then",
                         guest);
    else if (r < 0)
        cli_failure_hint(cli, "the old version serves on; rapahub inspect %s",
                         cli->arguments.operands[1]);
    return r;
}

int cli_upgrade(struct cli *cli)
{
    const char *name = cli->arguments.operands[0], *file = cli->arguments.operands[1];
    bool check = cli_arguments_flag(&cli->arguments, "check");
    struct outcome outcome = {.there = false};
    bool load = !check || cli_arguments_flag(&cli->arguments, "load");
    struct cli_runtime_place place;
    char path[PATH_MAX];
    int r = find_file(cli, file, path);

    if (r < 0)
        return r;
    r = cli_runtime_find(cli, name, CLI_RUNTIME_GUESTS, &place);
    if (r < 0)
        return r;
    if (!place.guest[0])
        return rapahub_fail(RAPAHUB_EINVAL, "", "that is a host; upgrade takes a guest");
    r = load ? ask(cli, place.guest, path, check, &outcome)
             : compare(cli, place.guest, path, &outcome);
    if (r < 0 || !outcome.there)
        return r;
    if (cli_json_wanted(cli))
        return report_json(cli, &place, &outcome, check);
    report(cli, &place, &outcome, check);
    return 0;
}
