/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_commands: the table of the commands of a node, and the functions that carry them out,
 * each in the file of its name. Main hands it down after that of host/cli. r[impl exp.table] */
#ifndef CLUSTER_CLI_CLUSTER_COMMANDS_H
#define CLUSTER_CLI_CLUSTER_COMMANDS_H

#include "host/cli/command/command.h"

/* Ends with an entry that has no name. */
extern const struct cli_command cluster_commands[];

int cluster_apply(struct cli *cli);

#endif
