/* SPDX-License-Identifier: Apache-2.0 */
/* main: the program `rapahub` where the cluster is built: the commands of host/cli, and those of a
 * node. */
#include <stddef.h>

#include "cluster/cli/cluster_commands.h"
#include "host/cli/commands.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/start.h"

int main(int argc, char **argv)
{
    static const struct cli_command *const tables[] = {cli_commands, cli_region_commands,
                                                       cluster_commands, NULL};

    return cli_start(tables, argc, argv);
}
