/* SPDX-License-Identifier: Apache-2.0 */
/* build: the command of that name. */
#ifndef CLI_BUILD_H
#define CLI_BUILD_H

struct cli;

int cli_build(struct cli *cli);

#endif
