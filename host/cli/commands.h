/* SPDX-License-Identifier: Apache-2.0 */
/* commands: the one table of the commands of this room, and the functions that carry them out, each
 * in the file of its name. Only main names the table: all others get it and its like with the
 * arguments, so that a command does not depend on the other ones. r[impl exp.table] */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "host/cli/command/command.h"

/* Ends with an entry that has no name. */
extern const struct cli_command cli_commands[];

int cli_build(struct cli *cli);
int cli_call(struct cli *cli);
int cli_completion(struct cli *cli);
int cli_completion_words(struct cli *cli); /* __complete, which the scripts of completion run */
int cli_doctor(struct cli *cli);
int cli_explain(struct cli *cli);
int cli_inspect(struct cli *cli);
int cli_logs(struct cli *cli);
int cli_new(struct cli *cli);
int cli_ps(struct cli *cli);
int cli_run(struct cli *cli);
int cli_stats(struct cli *cli);
int cli_stop(struct cli *cli);
int cli_stop_kill(struct cli *cli);
int cli_stop_restart(struct cli *cli);
int cli_upgrade(struct cli *cli);

#endif
