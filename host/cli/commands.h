/* SPDX-License-Identifier: Apache-2.0 */
/* commands: the one table of all commands. Only the program's main names it: all others get it with
 * the arguments, so that a command does not depend on the other ones. r[impl exp.table] */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "host/cli/command.h"

/* Ends with an entry that has no name. */
extern const struct cli_command cli_commands[];

#endif
