/* SPDX-License-Identifier: Apache-2.0 */
/* logs: the command of that name. */
#ifndef CLI_LOGS_H
#define CLI_LOGS_H

struct cli;

int cli_logs(struct cli *cli);

#endif
