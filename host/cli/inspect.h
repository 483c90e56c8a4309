/* SPDX-License-Identifier: Apache-2.0 */
/* inspect: the command of that name. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

struct cli;

int cli_inspect(struct cli *cli);

#endif
