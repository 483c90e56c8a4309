/* SPDX-License-Identifier: Apache-2.0 */
/* explain: the command of that name. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

struct cli;

int cli_explain(struct cli *cli);

#endif
