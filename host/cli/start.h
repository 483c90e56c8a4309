/* SPDX-License-Identifier: Apache-2.0 */
/* start: a program of commands, from the command line to the exit status. Its main function hands
 * in the commands, so a room above can make a program that has these and its own. */
#ifndef CLI_START_H
#define CLI_START_H

#include "host/cli/command/command.h"

/* Carries out the command of a command line, by a list of tables that NULL ends, and returns the
 * exit status. It changes what the process does at SIGPIPE. */
int cli_start(const struct cli_command *const *tables, int argc, char **argv);

#endif
