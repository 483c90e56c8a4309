/* SPDX-License-Identifier: Apache-2.0 */
/* help: the table as text for people: the commands help, version and __manual. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "host/cli/command/command.h"

int cli_help(struct cli *cli);
int cli_help_version(struct cli *cli);
int cli_help_manual(struct cli *cli);

/* Says how a command of a table is used; NULL: lists them all. */
void cli_help_print(const struct cli_command *commands, const struct cli_command *command,
                    FILE *to);

#endif
