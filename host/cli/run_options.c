/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_options.h"

#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/limits.h"
#include "host/config/units.h"

static int index_of(const char *value, const char *const *names)
{
    int index = 0;

    while (names[index] && strcmp(names[index], value) != 0)
        index++;
    return index;
}

int cli_run_options_take(struct cli *cli, struct cli_run_options *out)
{
    static const char *const trusts[] = {"standard", "strict", "trusted", NULL};
    static const char *const restarts[] = {"permanent", "transient", "temporary", NULL};
    const struct cli_arguments *arguments = &cli->arguments;
    const char *plain;
    int r;

    *out = (struct cli_run_options){
        .trust = (enum rapahub_trust)index_of(cli_arguments_text(arguments, "trust"), trusts),
        .supervision.restart =
            (enum rapahub_restart)index_of(cli_arguments_text(arguments, "restart"), restarts)};
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
    for (unsigned i = 0;
         r == 0 && i < CLI_RUN_PLAIN_MAX && (plain = cli_arguments_each(arguments, "plain", i));
         i++)
        out->plain[i] = plain;
    return r;
}
