/* SPDX-License-Identifier: Apache-2.0 */
/* stop: the commands stop, kill and restart. */
#ifndef CLI_STOP_H
#define CLI_STOP_H

struct cli;

int cli_stop(struct cli *cli);
int cli_stop_kill(struct cli *cli);
int cli_stop_restart(struct cli *cli);

#endif
