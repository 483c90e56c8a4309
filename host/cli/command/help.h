/* SPDX-License-Identifier: Apache-2.0 */
/* help: the table as text for people: the commands help, version and __manual. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "host/cli/command/arguments.h"

struct cli;

int cli_help(struct cli *cli);
int cli_help_version(struct cli *cli);
int cli_help_manual(struct cli *cli);

/* Says how the command is used; if none is named, lists those of the group, or all. */
void cli_help_print(const struct cli_arguments *arguments, FILE *to);

#endif
