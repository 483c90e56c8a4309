/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <rapahub/error.h>
#include <rapahub/region.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/region/region_report.h"
#include "host/cli/region/region_stages.h"
#include "host/cli/text/json.h"

static int read_mode(const char *text, uint32_t *out)
{
    return config_region_options_mode(text, out)
               ? 0
               : rapahub_fail(RAPAHUB_ECONFIG, "", "--file-mode: '%s' is no mode of at most 660",
                              text);
}

static uint32_t number(const struct cli *cli, const char *option)
{
    uint64_t value = cli_arguments_number(&cli->arguments, option);

    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static bool is_state(enum rapahub_region_kind kind)
{
    return kind == RAPAHUB_REGION_STATE_V1 || kind == RAPAHUB_REGION_STATE_LATCH;
}

static int read_options(struct cli *cli, struct rapahub_region_stage list[CONFIG_REGION_STAGES],
                        struct rapahub_region_options *out)
{
    static const enum rapahub_region_kind kinds[] = {
        RAPAHUB_REGION_SPSC,       RAPAHUB_REGION_MPSC,      RAPAHUB_REGION_FANOUT,
        RAPAHUB_REGION_FANIN,      RAPAHUB_REGION_SEQUENCER, RAPAHUB_REGION_STATE_V1,
        RAPAHUB_REGION_STATE_LATCH};
    const struct cli_arguments *arguments = &cli->arguments;
    int r;

    if (!cli_arguments_text(arguments, "kind")) {
        cli_failure_hint(cli, "rapahub help %s", cli->command->name);
        return rapahub_fail(
            RAPAHUB_ECONFIG, "",
            "--kind is missing: spsc, mpsc, fanout, fanin, sequencer, state-v1 or state-latch");
    }
    *out = (struct rapahub_region_options){
        .kind = kinds[cli_arguments_choice(arguments, "kind")],
        .profile = cli_arguments_choice(arguments, "profile") == 0 ? RAPAHUB_REGION_HARDENED
                                                                   : RAPAHUB_REGION_V1,
        .cells = number(cli, "cells"),
        .cell_bytes = number(cli, "cell-bytes"),
        .leases = number(cli, "leases"),
        .producers = number(cli, "producers"),
        .ring_size = number(cli, "ring-size"),
        .user_bytes = number(cli, "user-bytes"),
        .value_bytes = number(cli, "value-bytes"),
        .buffers = number(cli, "buffers"),
        .consumers = number(cli, "consumers"),
        .mode = (enum rapahub_region_mode)cli_arguments_choice(arguments, "mode"),
        .credit = (enum rapahub_region_credit)cli_arguments_choice(arguments, "credit"),
        .credit_max = number(cli, "credit-max"),
        .detach_after_ns = cli_arguments_number(arguments, "detach-after")};
    config_region_options_complete(out);
    r = cli_region_stages_read(cli, list, out);
    return r == 0 ? read_mode(cli_arguments_text(arguments, "file-mode"), &out->file_mode) : r;
}

static int tell(const struct cli *cli, const struct rapahub_region_options *options)
{
    const char *name = cli->arguments.operands[0];
    const struct rapahub_region_report report = {.kind = options->kind};
    const char *kind = cli_region_report_kind(&report);
    const char *profile = options->profile == RAPAHUB_REGION_V1 ? "v1" : "hardened";

    if (cli_json_wanted(cli))
        return cli_json_print(
            stdout, cli->command->schema, MEMBER("name", name), MEMBER("kind", kind),
            MEMBER("profile", profile), MEMBER("cells", options->cells),
            MEMBER("cell_bytes", options->cell_bytes), MEMBER("value_bytes", options->value_bytes),
            MEMBER("ring_size", options->ring_size), MEMBER("user_bytes", options->user_bytes),
            MEMBER("stages", options->stages));
    if (is_state(options->kind))
        cli_failure_note(cli, "%s: %s, %s, values of up to %u bytes", name, kind, profile,
                         options->value_bytes);
    else if (options->kind == RAPAHUB_REGION_SEQUENCER)
        cli_failure_note(cli, "%s: %s, %s, %u stages, %u positions of %u bytes", name, kind,
                         profile, options->stages, options->ring_size, options->user_bytes);
    else
        cli_failure_note(cli, "%s: %s, %s, %u cells of %u bytes", name, kind, profile,
                         options->cells, options->cell_bytes);
    return 0;
}

int cli_region_create(struct cli *cli)
{
    const char *name = cli->arguments.operands[0];
    struct rapahub_region_stage list[CONFIG_REGION_STAGES];
    struct rapahub_region_options options;
    struct rapahub_region *region;
    int r;

    cli_failure_about(cli, "%s", name);
    r = read_options(cli, list, &options);
    if (r == 0)
        r = rapahub_region_create(name, &options, &region);
    if (r == 0)
        r = rapahub_region_close(region);
    return r == 0 ? tell(cli, &options) : r;
}

int cli_region_create_anew(struct cli *cli)
{
    const char *name = cli->arguments.operands[0];
    uint64_t wait_ns = cli_arguments_number(&cli->arguments, "wait");
    struct rapahub_region_stage list[CONFIG_REGION_STAGES];
    struct rapahub_region_options options;
    int r;

    cli_failure_about(cli, "%s", name);
    if (cli_arguments_flag(&cli->arguments, "in-place")) {
        r = rapahub_region_renew(name, wait_ns);
    } else {
        r = read_options(cli, list, &options);
        if (r == 0)
            r = rapahub_region_recreate(name, &options, wait_ns);
    }
    if (r == RAPAHUB_EBUSY)
        cli_failure_hint(cli, "stop what takes part in it, or allow more time with --wait");
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("name", name));
    return r;
}
