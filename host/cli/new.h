/* SPDX-License-Identifier: Apache-2.0 */
/* new: the command of that name. */
#ifndef CLI_NEW_H
#define CLI_NEW_H

struct cli;

int cli_new(struct cli *cli);

#endif
