/* SPDX-License-Identifier: Apache-2.0 */
/* ps: the command of that name. */
#ifndef CLI_PS_H
#define CLI_PS_H

struct cli;

int cli_ps(struct cli *cli);

#endif
