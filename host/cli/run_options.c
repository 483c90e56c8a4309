/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_options.h"

#include "host/cli/cli.h"
#include "host/cli/limits.h"
#include "host/config/units.h"

int cli_run_options_take(struct cli *cli, struct cli_run_options *out)
{
    const struct cli_arguments *arguments = &cli->arguments;
    int r;

    *out = (struct cli_run_options){
        .trust = (enum rapahub_trust)cli_arguments_choice(arguments, "trust"),
        .supervision.restart = (enum rapahub_restart)cli_arguments_choice(arguments, "restart")};
    out->check = cli_arguments_flag(arguments, "check");
    out->host.anonymous = cli_arguments_flag(arguments, "anonymous");
    out->host.path = cli_arguments_text(arguments, "hub-path");
    if (arguments->count == 0 && !out->host.anonymous)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "FILE|DIR... is missing");
    if (out->host.path && !out->host.anonymous)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "--hub-path needs --anonymous");
    r = config_units_budget(cli_arguments_text(arguments, "budget"), &out->supervision.restarts_max,
                            &out->supervision.period_ns);
    if (r == 0)
        r = cli_limits_take(arguments, &out->host);
    cli_arguments_all(arguments, "plain", out->plain);
    return r;
}
