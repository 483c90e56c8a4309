/* SPDX-License-Identifier: Apache-2.0 */
/* run: the command of that name. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

struct cli;

int cli_run(struct cli *cli);

#endif
