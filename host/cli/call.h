/* SPDX-License-Identifier: Apache-2.0 */
/* call: the command of that name. */
#ifndef CLI_CALL_H
#define CLI_CALL_H

struct cli;

int cli_call(struct cli *cli);

#endif
