/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <rapahub/error.h>
#include <rapahub/region.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/text/json.h"

int cli_region_rm(struct cli *cli)
{
    const char *name = cli->arguments.operands[0];
    int r = rapahub_region_remove(name, cli_arguments_number(&cli->arguments, "wait"));

    cli_failure_about(cli, "%s", name);
    if (r == RAPAHUB_EBUSY)
        cli_failure_hint(cli, "stop what takes part in it, or allow more time with --wait");
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("name", name));
    return r;
}
