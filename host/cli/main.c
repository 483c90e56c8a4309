/* SPDX-License-Identifier: Apache-2.0 */
/* main: the program `rapahub`, which has the commands of this room. */
#include <stddef.h>

#include "host/cli/commands.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/start.h"

int main(int argc, char **argv)
{
    static const struct cli_command *const tables[] = {cli_commands, cli_region_commands, NULL};

    return cli_start(tables, argc, argv);
}
